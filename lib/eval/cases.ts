/**
 * The cases of an evaluation: held-out measurements, each with the earlier measurements that may be known.
 * All sections ask the model about them.
 *
 * Each case gets one of the context sizes (0, 1, 2, 5, 10, 20), in rotation, or every size: that many earlier
 * measurements of its source, those of the same pair first, the newest first. `score` starts its contexts by
 * the same rule. Regardless of the context, the model sees the pair's newest measurements that may be known, as
 * the baselines do. With the history `all` every earlier measurement of the source may be known, with `train`
 * only the training set, which is the default if pairs or addresses must be unseen.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../base/collections.ts";
import type { TokenMeasurement } from "../data/tokens/vocab_v2.ts";
import { pairNameOf, SourceHistory } from "../data/tokens/source_history.ts";
import { FAILED_RTT_MS } from "../data/formats/batch.ts";
import type { ProbeRowSource } from "../data/loader/row_source.ts";
import { meanOf, quantileOfSample } from "../base/sample_statistics.ts";
import { EventLoopPacer } from "../io/threads/stage_hooks.ts";
import { drawDistinct, RandomStream } from "../base/random.ts";
import type { EvalRows } from "./eval_rows.ts";
import { crpsOfNumberMs } from "./metrics/forecast_errors.ts";
import { type RttQuery, tokenMeasurement } from "../query/query_tokens.ts";
import { probeOf, type ProbeRow, probeRowSrcId, SEVERAL_PROBES } from "../data/probe_rows/probe_row.ts";
import { addressBytes, formatAddress } from "../data/addresses/ip.ts";

interface Timed {
  timeUs: number;
  /** Index in the order of reading; at equal times the later one counts as newer. */
  order: number;
  measurement: TokenMeasurement;
}

/** How many of a pair's newest measurements the model sees. */
const NUM_RECENT = 256;

/** The newest measurements before a time: of one pair of addresses, and of the other pairs of its source. */
class CaseHistory {
  #ofPair: Timed[] = [];
  #others: Timed[] = [];
  #numSeen = 0;

  /**
   * @param beforeUs Only older measurements count, µs since 1970. @param maxContext How many of each kind to
   *   keep.
   */
  constructor(readonly beforeUs: number, readonly maxContext: number) {}

  /** Adds the needed measurements of a row of the case's source. @param pair The case's addresses. */
  add(measurements: RowMeasurements, pair: { srcAddr: string; dstAddr: string }): void {
    const { eventTimeUs } = measurements.row;
    const isLater = (place: number) => eventTimeUs[place] >= this.beforeUs;
    const places = measurements.placesOfPair(pair);
    const ofPair = places.subarray(0, partitionPoint(places.length, (i) => isLater(places[i])));
    const numEarlier = partitionPoint(eventTimeUs.length, isLater);
    const join = (known: Timed[], found: number[], count: number): Timed[] => {
      const taken = found.map((place) => ({
        timeUs: eventTimeUs[place],
        order: this.#numSeen + place,
        measurement: measurements.at(place),
      }));
      return inOrder([...known, ...taken]).slice(-count || Infinity);
    };
    this.#ofPair = join(this.#ofPair, [...ofPair.slice(-NUM_RECENT)], NUM_RECENT);
    let next = ofPair.length - 1;
    const isOther = (place: number) => place !== ofPair[next] || next-- < 0;
    this.#others = join(this.#others, newestPlaces(numEarlier, this.maxContext, isOther), this.maxContext);
    this.#numSeen += eventTimeUs.length;
  }

  /** The newest measurements of the pair, oldest first. */
  recent(): TokenMeasurement[] {
    return this.#ofPair.map(({ measurement }) => measurement);
  }

  /** Everything kept for a context, oldest first. */
  measurements(): TokenMeasurement[] {
    const ofPair = this.#ofPair.slice(-this.maxContext || Infinity);
    return inOrder([...ofPair, ...this.#others]).map(({ measurement }) => measurement);
  }
}

function inOrder(measurements: Timed[]): Timed[] {
  return measurements.sort((a, b) => a.timeUs - b.timeUs || a.order - b.order);
}

/** Returns the last `count` wanted indexes below `length`, testing each from the last one down. */
function newestPlaces(length: number, count: number, isWanted: (place: number) => boolean): number[] {
  const found: number[] = [];
  for (let place = length - 1; place >= 0 && found.length < count; place--) {
    if (isWanted(place)) found.push(place);
  }
  return found;
}

/** A held-out measurement with the earlier measurements that may be known. */
export interface EvalCase {
  /** The name of the probe row's source, see {@link sourceKeyOf}. */
  sourceKey: string;
  srcAddr: string;
  dstAddr: string;
  /** The probe that has the source's address, if known. */
  probe?: number | undefined;
  /** Milliseconds; null if there was no reply. */
  rttMs: number | null;
  measurement: TokenMeasurement & { timeS: number };
  /**
   * Earlier measurements of the same source that may be used, oldest first: the newest `maxContext` of the
   * pair and the newest `maxContext` of the source's other pairs.
   */
  history: readonly TokenMeasurement[];
  /**
   * The newest measurements of the pair that may be used, oldest first, regardless of the context size
   * (default: those that the model remembers).
   */
  recent?: readonly TokenMeasurement[];
  /** The forecast of its RTT by the pair's other replies in its probe row, whatever their time. */
  ofPair?: PairSpread | undefined;
}

/** How a pair's other replies in a split predict one of them: the noise that is left if they are known. */
interface PairSpread {
  readonly medianMs: number;
  /**
   * Half the mean distance of the reply from the others, ms. Its mean over replies estimates the CRPS of the
   * distribution that the pair's RTTs are drawn from.
   */
  readonly crpsMs: number;
}

function spreadOf(rttMs: number, othersMs: readonly number[]): PairSpread | undefined {
  const distance = meanOf(othersMs.map((otherMs) => crpsOfNumberMs(otherMs, rttMs)));
  return distance === null ? undefined : { medianMs: quantileOfSample(othersMs, 0.5), crpsMs: distance / 2 };
}

interface CaseOptions {
  count: number;
  /** The largest context of any section. */
  maxContext: number;
  seed: number;
  /** Counts the probe rows read. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

interface CaseInProgress extends Omit<EvalCase, "history" | "recent"> {
  history: CaseHistory;
}

/**
 * Draws held-out measurements uniformly, with their histories. Memory grows with the cases, their context,
 * and the largest probe row, not with the data.
 *
 * @returns In the order of the rows.
 * @throws {FormatError} If a row cannot be read.
 */
export async function drawCases(rows: EvalRows, options: CaseOptions): Promise<EvalCase[]> {
  return (await drawCasesAnd(rows, [], options)).cases;
}

export interface RowPlace {
  readonly row: number;
  readonly index: number;
}

/**
 * As {@link drawCases}; also makes cases of given measurements in the same pass over the rows.
 *
 * @param others Held-out measurements.
 * @returns The drawn cases, and the others in their order.
 */
export async function drawCasesAnd(
  rows: EvalRows,
  others: readonly RowPlace[],
  options: CaseOptions,
): Promise<{ cases: EvalCase[]; others: EvalCase[] }> {
  const pacer = new EventLoopPacer(options);
  const drawn = chooseMeasurements(rows.heldOut, options);
  const slots = Map.groupBy(
    [...drawn, ...others].map((place, slot) => ({ ...place, slot })),
    ({ row }) => row,
  );
  const chosen = [...slots].sort(([a], [b]) => a - b);
  const history = rows.history === "all" ? [rows.training, ...rows.others, rows.heldOut] : [rows.training];
  const total = chosen.length + history.reduce((sum, { numRows }) => sum + numRows, 0);
  let done = 0;
  const onRow = async () => {
    options.onProgress?.(++done, total);
    await pacer.yieldToEventLoop();
  };
  const cases = new Array<CaseInProgress>(drawn.length + others.length);
  for (const [row, ofRow] of chosen) {
    const indexes = ofRow.map(({ index }) => index);
    const made = casesOf(rows.heldOut, { row, indexes, maxContext: options.maxContext });
    ofRow.forEach(({ slot }, i) => cases[slot] = made[i]);
    await onRow();
  }
  const bySource = Map.groupBy(cases, ({ sourceKey }) => sourceKey);
  for (const source of history) {
    for (let row = 0; row < source.numRows; row++) {
      collectHistory(source, row, bySource);
      await onRow();
    }
  }
  const finished = cases.map(({ history, ...drawn }) => ({
    ...drawn,
    history: history.measurements(),
    recent: history.recent(),
  }));
  return { cases: finished.slice(0, drawn.length), others: finished.slice(drawn.length) };
}

/**
 * The context of a case, by the rule of {@link SourceHistory}.
 *
 * @param count Measurements wanted, at most the `maxContext` that the case was drawn with.
 * @returns At most `count` measurements, oldest first.
 */
function contextOf({ measurement, history }: EvalCase, count: number): TokenMeasurement[] {
  const known = new SourceHistory(count);
  // All of them are earlier than the case. Equal times keep their order.
  for (const earlier of history) known.add(pairNameOf(earlier), 0, earlier);
  return known.contextOf(pairNameOf(measurement), 1);
}

/** The query that asks the model about a case. @param count See {@link contextOf}. */
export function queryOf(drawn: EvalCase, count: number): RttQuery {
  const { measurement, recent, probe } = drawn;
  return {
    ...measurement,
    context: contextOf(drawn, count),
    ...(recent && { recent }),
    ...(probe !== undefined && { probe }),
  };
}

/**
 * Assigns context sizes to cases: each case gets the next size in turn, or every size.
 *
 * @returns Index of the case, and its context size.
 */
export function withContexts(
  numCases: number,
  { contexts, everyContext = false }: { contexts: readonly number[]; everyContext?: boolean | undefined },
): { index: number; context: number }[] {
  const numEach = everyContext ? contexts.length : 1;
  return Array.from({ length: numCases * numEach }, (_, i) => ({
    index: Math.floor(i / numEach),
    context: contexts[i % contexts.length],
  }));
}

/** Draws measurements; returns them in the order of the rows. */
function chooseMeasurements(
  rows: ProbeRowSource,
  { count, seed }: { count: number; seed: number },
): RowPlace[] {
  const sizes = Array.from({ length: rows.numRows }, (_, row) => rows.numMeasurements(row));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const random = new RandomStream(seed, "evaluate/cases");
  const places = drawDistinct(total, Math.min(count, total), random).sort();
  const chosen: RowPlace[] = [];
  let row = 0;
  let first = 0;
  for (const place of places) {
    while (place >= first + sizes[row]) first += sizes[row++];
    chosen.push({ row, index: place - first });
  }
  return chosen;
}

export function casesOf(
  rows: ProbeRowSource,
  { row, indexes, maxContext }: { row: number; indexes: readonly number[]; maxContext: number },
): CaseInProgress[] {
  const measurements = new RowMeasurements(rows.row(row));
  const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs, eventTimeUs } = measurements.row;
  const isReply = (index: number) => rttMs[index] !== FAILED_RTT_MS;
  const probe = probeOf(measurements.row);
  return indexes.map((index) => {
    const pair = { srcAddr: srcAddrs[srcIndex[index]], dstAddr: dstAddrs[dstIndex[index]] };
    const others = [...measurements.placesOfPair(pair)].filter((i) => i !== index && isReply(i));
    return {
      sourceKey: sourceKeyOf(measurements.row),
      ...pair,
      probe: probe === SEVERAL_PROBES ? undefined : probe,
      rttMs: isReply(index) ? rttMs[index] : null,
      measurement: measurements.at(index),
      ofPair: isReply(index) ? spreadOf(rttMs[index], others.map((i) => rttMs[i])) : undefined,
      history: new CaseHistory(eventTimeUs[index], maxContext),
    };
  });
}

function collectHistory(
  source: ProbeRowSource,
  row: number,
  bySource: ReadonlyMap<string, readonly CaseInProgress[]>,
): void {
  const probeRow = source.row(row);
  const cases = bySource.get(sourceKeyOf(probeRow));
  if (!cases) return;
  const measurements = new RowMeasurements(probeRow);
  for (const { srcAddr, dstAddr, history } of cases) history.add(measurements, { srcAddr, dstAddr });
}

/**
 * The name of a probe row's source: its address if rows are grouped by address, else the id of the group,
 * such as a probe's. So a node that is both a source and a destination has one name.
 */
function sourceKeyOf({ srcId, srcAddrs }: Pick<ProbeRow, "srcId" | "srcAddrs">): string {
  const [address] = srcAddrs;
  return address !== undefined && probeRowSrcId(address) === srcId ? address : String(srcId);
}

/** An address in the canonical spelling of `formatAddress`. */
export function canonicalText(address: string): string {
  return formatAddress(addressBytes(address));
}

/** The measurements of a probe row. Each is made once, and each address is parsed once. */
class RowMeasurements {
  readonly #made = new Map<number, TokenMeasurement & { timeS: number }>();
  readonly #addresses = new Map<string, Uint8Array>();
  #byPair: Map<string, Int32Array> | undefined;

  constructor(readonly row: ProbeRow) {}

  at(index: number): TokenMeasurement & { timeS: number } {
    return getOrMake(this.#made, index, () => {
      const { srcAddrs, srcIndex, dstAddrs, dstIndex, rttMs, eventTimeUs } = this.row;
      const measurement = tokenMeasurement({
        source: this.#bytesOf(srcAddrs[srcIndex[index]]),
        destination: this.#bytesOf(dstAddrs[dstIndex[index]]),
        rttMs: rttMs[index],
        eventTimeUs: eventTimeUs[index],
      });
      return { ...measurement, timeS: Math.floor(eventTimeUs[index] / 1e6) };
    });
  }

  /** The indexes of a pair's measurements, ascending. */
  placesOfPair({ srcAddr, dstAddr }: { srcAddr: string; dstAddr: string }): Int32Array {
    this.#byPair ??= groupByPair(this.row);
    return this.#byPair.get(`${srcAddr} ${dstAddr}`) ?? new Int32Array(0);
  }

  #bytesOf(address: string): Uint8Array {
    return getOrMake(this.#addresses, address, () => addressBytes(address));
  }
}

function groupByPair({ srcAddrs, srcIndex, dstAddrs, dstIndex }: ProbeRow): Map<string, Int32Array> {
  const pairs = new Map<number, number[]>();
  for (let i = 0; i < srcIndex.length; i++) {
    const key = srcIndex[i] * dstAddrs.length + dstIndex[i];
    getOrMake(pairs, key, () => []).push(i);
  }
  return new Map([...pairs].map(([key, places]) => {
    const source = srcAddrs[Math.floor(key / dstAddrs.length)];
    return [`${source} ${dstAddrs[key % dstAddrs.length]}`, Int32Array.from(places)];
  }));
}
