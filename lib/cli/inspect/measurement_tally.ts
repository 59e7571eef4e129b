/** Counts measurements in files of any format. @module */
import { formatShare, isoTime } from "../../base/text.ts";
import { basename, dirname } from "@std/path";
import { FAILED_RTT_MS } from "../../data/formats/batch.ts";
import { KeyTable } from "../../data/probe_rows/external_sort/keys.ts";
import { SPLIT_NAMES } from "../../data/probe_rows/splits.ts";
import { mix } from "../../base/random.ts";
import {
  distributionFact,
  type Fact,
  type Histogram,
  logHistogram,
  TimeHistogram,
  ValueHistogram,
} from "./report.ts";

// About 100 bytes each in a Set: 100 MB.
const MAX_DISTINCT = 1_000_000;

/** Counts distinct values, exactly up to a bound on memory. */
export class DistinctCount {
  readonly #seen = new Set<string | bigint>();

  /** @param maxDistinct The most values to store. */
  constructor(readonly maxDistinct: number = MAX_DISTINCT) {}

  /** @returns Whether the value is known to have been added before. */
  add(value: string | bigint): boolean {
    if (this.#seen.has(value)) return true;
    if (this.#seen.size < this.maxDistinct) this.#seen.add(value);
    return false;
  }

  get count(): number {
    return this.#seen.size;
  }

  /** Whether the bound was reached, so that the count may be too small. */
  get isCapped(): boolean {
    return this.#seen.size >= this.maxDistinct;
  }

  /** The count, such as `17` or `at least 1000000`. */
  toString(): string {
    return `${this.isCapped ? "at least " : ""}${this.count}`;
  }
}

export class MeasurementTally {
  readonly sources = new DistinctCount();
  readonly destinations = new DistinctCount();
  count = 0;
  /** Values that are neither an RTT nor the marker of a failure. */
  numImpossible = 0;
  readonly #times = new TimeHistogram();
  readonly #rttMs = new ValueHistogram();
  #numFailed = 0;
  #numIpv6 = 0;
  #firstUs = Infinity;
  #lastUs = -Infinity;

  /** Adds a measurement except its addresses, which the caller adds to `sources` and `destinations`. */
  add(timeUs: number, rttMs: number, ipVersion: number): void {
    this.count++;
    this.#times.add(timeUs);
    if (timeUs < this.#firstUs) this.#firstUs = timeUs;
    if (timeUs > this.#lastUs) this.#lastUs = timeUs;
    if (rttMs === FAILED_RTT_MS) this.#numFailed++;
    else if (rttMs >= 0 && rttMs < Infinity) this.#rttMs.add(rttMs);
    else this.numImpossible++;
    if (ipVersion === 6) this.#numIpv6++;
  }

  facts(others: readonly DistinctCount[] = []): Fact[] {
    const share = (count: number) => count / Math.max(1, this.count);
    const firstTime = this.count > 0 ? isoTime(this.#firstUs / 1e6) : null;
    const lastTime = this.count > 0 ? isoTime(this.#lastUs / 1e6) : null;
    const distinct = [this.sources, this.destinations, ...others];
    return [
      ["sources", `${this.sources}`, { sources: this.sources.count }],
      ["destinations", `${this.destinations}`, {
        destinations: this.destinations.count,
        distinctCapped: distinct.some(({ isCapped }) => isCapped),
      }],
      ["IPv6", formatShare(share(this.#numIpv6)), { ipv6Share: share(this.#numIpv6) }],
      ["time", firstTime === null ? "none" : `${firstTime} to ${lastTime}`, { firstTime, lastTime }],
      ["no reply", formatShare(share(this.#numFailed)), { failedShare: share(this.#numFailed) }],
      distributionFact("RTT", this.#rttMs, "ms", "rttMs"),
    ];
  }

  histograms(): Histogram[] {
    return [
      logHistogram("RTT, ms", "measurements", this.#rttMs),
      { label: "time, UTC", countLabel: "measurements", scale: "utc", bins: this.#times.bins() },
    ];
  }
}

/** A set of measurements, identified by their time and a 64-bit hash of the other values. */
export class MeasurementSet {
  readonly #keys = new KeyTable();
  readonly #numbers = new Float64Array(3);
  readonly #words = new Uint32Array(this.#numbers.buffer);

  get size(): number {
    return this.#keys.size;
  }

  add(timeUs: number, rttMs: number, src: number, dst: number, msmId = 0): void {
    const words = this.#words;
    this.#numbers[0] = timeUs;
    this.#numbers[1] = rttMs;
    this.#numbers[2] = msmId;
    words[2] = mix(words[2] ^ mix(words[3] ^ mix(src)));
    words[3] = mix(words[4] ^ mix(words[5] ^ mix(dst)));
    this.#keys.idOf(words, 0, 0);
  }

  clear(): void {
    this.#keys.clear();
  }
}

/** Counts the times that are earlier than the previous one. */
export function countStepsBack(timesUs: Float64Array): number {
  let count = 0;
  for (let i = 1; i < timesUs.length; i++) if (timesUs[i] < timesUs[i - 1]) count++;
  return count;
}

/** The split that a file belongs to, by the name of its folder. */
export function splitOf(path: string): string | undefined {
  const folder = basename(dirname(path));
  return SPLIT_NAMES.find((name) => name === folder);
}
