/**
 * Measurements in time order, as baselines learn from them, in bounded memory.
 *
 * @module
 */
import type { ProbeRowSource } from "../../data/loader/row_source.ts";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { RandomStream } from "../../base/random.ts";
import type { BaselineMeasurement } from "./baseline.ts";
import { getOrMake, lowerBound } from "../../base/collections.ts";

interface TableOptions {
  /** How many measurements to keep. Each takes 24 bytes and its share of the names. */
  maxMeasurements: number;
  seed: number;
  signal?: AbortSignal | undefined;
  onRow?: () => void;
}

/** Measurements by time, a uniform sample if there are too many. Each iteration visits all answered ones. */
export class MeasurementTable implements Iterable<BaselineMeasurement> {
  /** Measurements in the probe rows, kept or not: all, and those without a reply. */
  numSeen = 0;
  numFailed = 0;
  /** How many answered ones are kept. */
  length = 0;
  readonly #sources = new Names();
  readonly #destinations = new Names();
  readonly #source: Uint32Array;
  readonly #destination: Uint32Array;
  readonly #timeUs: Float64Array;
  readonly #rttMs: Float32Array;
  #numKept = 0;
  #order: Uint32Array = new Uint32Array(0);

  private constructor(capacity: number) {
    this.#source = new Uint32Array(capacity);
    this.#destination = new Uint32Array(capacity);
    this.#timeUs = new Float64Array(capacity);
    this.#rttMs = new Float32Array(capacity);
  }

  /** @throws {FormatError} If a row cannot be read. */
  static async read(
    rowSources: readonly ProbeRowSource[],
    { maxMeasurements, seed, signal, onRow }: TableOptions,
  ): Promise<MeasurementTable> {
    const pacer = new EventLoopPacer({ signal });
    const total = rowSources.reduce((sum, rows) => sum + countMeasurements(rows), 0);
    const table = new MeasurementTable(Math.min(total, maxMeasurements));
    const sampler = new Sampler(total, { count: maxMeasurements, seed });
    for (const rows of rowSources) {
      for (let row = 0; row < rows.numRows; row++) {
        table.#addRow(rows, row, sampler);
        onRow?.();
        await pacer.yieldToEventLoop();
      }
    }
    table.#order = placesInOrder(table.#timeUs.subarray(0, table.#numKept));
    return table;
  }

  /** Time of the last measurement, seconds since 1970; -Infinity if there are none. */
  get lastTimeS(): number {
    return this.#numKept === 0 ? -Infinity : this.#timeUs[this.#order[this.#numKept - 1]] / 1e6;
  }

  *[Symbol.iterator](): Generator<BaselineMeasurement> {
    for (const place of this.#order) {
      if (this.#rttMs[place] !== FAILED_RTT_MS) yield this.#at(place, this.#rttMs[place]);
    }
  }

  /** All measurements, with 1 in place of the RTT if no reply came, else 0. */
  *outcomes(): Generator<BaselineMeasurement> {
    for (const place of this.#order) yield this.#at(place, this.#rttMs[place] === FAILED_RTT_MS ? 1 : 0);
  }

  #at(place: number, rttMs: number): BaselineMeasurement {
    return {
      source: this.#sources.all[this.#source[place]],
      destination: this.#destinations.all[this.#destination[place]],
      timeS: this.#timeUs[place] / 1e6,
      rttMs,
    };
  }

  #addRow(rows: ProbeRowSource, index: number, sampler: Sampler): void {
    const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs, eventTimeUs } = rows.row(index);
    const sources = srcAddrs.map((address) => this.#sources.idOf(address));
    for (let i = 0; i < rttMs.length; i++) {
      this.numSeen++;
      if (rttMs[i] === FAILED_RTT_MS) this.numFailed++;
      if (!sampler.takesNext()) continue;
      if (rttMs[i] !== FAILED_RTT_MS) this.length++;
      const place = this.#numKept++;
      this.#source[place] = sources[srcIndex[i]];
      this.#destination[place] = this.#destinations.idOf(dstAddrs[dstIndex[i]]);
      this.#timeUs[place] = eventTimeUs[i];
      this.#rttMs[place] = rttMs[i];
    }
  }
}

/** The indexes that sort some numbers, stably. Sorting numbers needs no comparator. */
export function placesInOrder(numbers: Float64Array): Uint32Array {
  const sorted = numbers.toSorted();
  const places = new Uint32Array(numbers.length);
  /** How many equal numbers were seen so far, by the index of the first of them in the sorted order. */
  const numMet = new Uint32Array(numbers.length);
  numbers.forEach((number, place) => {
    const first = lowerBound(sorted, number);
    places[first + numMet[first]++] = place;
  });
  return places;
}

/** Takes `count` of N items, all subsets equally likely: Knuth, TAOCP 2, 3.4.2, algorithm S. */
class Sampler {
  readonly #random: RandomStream;
  #numLeft: number;
  #numWanted: number;

  constructor(total: number, { count, seed }: { count: number; seed: number }) {
    this.#random = new RandomStream(seed, "evaluate/measurement-table");
    this.#numLeft = total;
    this.#numWanted = Math.min(count, total);
  }

  takesNext(): boolean {
    const isTaken = this.#numWanted >= this.#numLeft ||
      this.#random.float64() * this.#numLeft < this.#numWanted;
    this.#numLeft--;
    if (isTaken) this.#numWanted--;
    return isTaken;
  }
}

class Names {
  readonly #ids = new Map<string, number>();
  readonly all: string[] = [];

  idOf(name: string): number {
    return getOrMake(this.#ids, name, () => this.all.push(name) - 1);
  }
}

export function countMeasurements(rows: ProbeRowSource): number {
  let total = 0;
  for (let row = 0; row < rows.numRows; row++) total += rows.numMeasurements(row);
  return total;
}
