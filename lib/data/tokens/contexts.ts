/**
 * Draws contexts from probe rows. A context is the unit of training: attention stays within it.
 *
 * A context is a sample of a row's measurements over a random time window, such that every time scale from
 * seconds to weeks is equally frequent. Some contexts have all their times, some have a part of them, and
 * some have none, so that the model can be queried with and without a time.
 *
 * @module
 */
import * as z from "zod";
import { partitionPoint } from "../../base/collections.ts";
import { drawDistinct, type RandomStream } from "../../base/random.ts";
import type { PreparedRow } from "../loader/prepared_row.ts";
import { NUM_HISTORY_RTTS, type RttHistory, rttHistoryOf } from "./rtt_history.ts";
import {
  type Field,
  FIELD_ORDERS,
  prefixLengths,
  QUERY_ORDER,
  timeLength,
  type TokenMeasurement,
} from "./vocab_v2.ts";

const share = z.number().min(0).max(1);

/** @internal How to draw contexts, with all defaults filled in. */
export type SamplingConfig = z.infer<typeof samplingSchema>;
export const samplingSchema = z.strictObject({
  /** A row of n measurements yields ceil(n / this) contexts per epoch, at least 1; 1..1,000,000. */
  measurementsPerContext: z.number().int().min(1).max(1_000_000).default(30),
  /** Maximum number of contexts per row and epoch, however long the row; 1..1024. */
  maxContextsPerRow: z.number().int().min(1).max(1024).default(16),
  /**
   * The share of a campaign among several is proportional to its number of measurements to the power of this,
   * 0 to 1. With 0, all campaigns have the same share; with 1, each as much as its measurements.
   */
  campaignExponent: share.default(0.5),
  /** Shares of contexts with all, some and no times, which add up to 1. */
  timestampModes: z.strictObject({
    full: share.default(0.4),
    partial: share.default(0.3),
    none: share.default(0.3),
  })
    .refine((s) => Math.abs(s.full + s.partial + s.none - 1) < 1e-9, "shares that add up to 1")
    .default({ full: 0.4, partial: 0.3, none: 0.3 }),
  /**
   * Share of contexts with few destinations, among rows that do not fit completely. They contain more of the
   * measurements of a pair. Half of them have one destination, a quarter two, and so on.
   */
  fewDestinationsShare: share.default(0),
  /**
   * Share of contexts with the newest measurements up to a moment, not a sample; for rows that do not fit.
   */
  denseWindowShare: share.default(0),
  /** Maximum number of measurements per context, 1..65,535; null for as many as fit. */
  maxMeasurements: z.number().int().min(1).max(65_535).nullable().default(null),
  /** Share of contexts in the field order of queries: source, destination, time, result. */
  queryOrderShare: share.default(0),
  /** Share of contexts with an unknown source: random bytes replace the end of each source address. */
  unknownSourceShare: share.default(0),
  /** Share of contexts whose history features only come from older RTTs of each pair. */
  staleHistoryShare: share.default(0),
});

export const DEFAULT_SAMPLING: SamplingConfig = samplingSchema.parse({});

/** The sampling for validation. Sources keep their own addresses, whatever the training settings. */
export function heldOutSampling(sampling: SamplingConfig = DEFAULT_SAMPLING): SamplingConfig {
  return { ...sampling, unknownSourceShare: 0 };
}

/** Number of tokens of the shortest measurement: IPv4, failed, without a time. */
export const MIN_MEASUREMENT_TOKENS = 12;
/** Number of tokens of the longest measurement: IPv6 with an absolute time. */
export const MAX_MEASUREMENT_TOKENS = 47;
/** The share of measurements without a time in a partially timed context is uniform between these. */
const MIN_UNTIMED_SHARE = 0.1;
const MAX_UNTIMED_SHARE = 0.9;
/** The largest log2 of the number of unknown RTTs. */
const MAX_LOG_UNKNOWN = 7;

/** Which measurements of a context have a time: all, some, or none. */
export type TimestampMode = "full" | "partial" | "none";

export interface ContextMeasurement extends TokenMeasurement {
  order: readonly Field[];
  /** The RTT of `rttCode` in milliseconds; null for no reply. */
  rttMs: number | null;
  /** Features of earlier RTTs of its pair in the row. */
  rttHistory: RttHistory | undefined;
}

/** Measurements in the order they are written. */
export interface Context {
  mode: TimestampMode;
  measurements: ContextMeasurement[];
  numTokens: number;
}

/** Contexts that a row yields per epoch: clamp(ceil(n / measurementsPerContext), 1, maximum); 0 if empty. */
export function numContextsOfRow(numMeasurements: number, config: SamplingConfig): number {
  return Math.min(Math.ceil(numMeasurements / config.measurementsPerContext), config.maxContextsPerRow);
}

/**
 * Draws a context.
 *
 * @param row A row with at least one measurement.
 * @param maxTokens Maximum length in tokens, at least {@link MAX_MEASUREMENT_TOKENS}.
 */
export function sampleContext(
  row: PreparedRow,
  maxTokens: number,
  random: RandomStream,
  config: SamplingConfig,
): Context {
  const mode = drawMode(random, config);
  const timedShare = drawTimedShare(mode, random);
  const maxCount = config.maxMeasurements ?? Infinity;
  let keys = row.timeS.length > maxCount ? undefined : drawWhole(row, maxTokens, timedShare, random);
  if (!keys) {
    const candidates = drawCandidates(row, config.fewDestinationsShare, random);
    const isDense = isDrawn(config.denseWindowShare, random);
    keys = drawWindow(row, candidates, { isDense, maxTokens, maxCount, timedShare, random });
  }
  const numTokens = lengthOfKeys(row, keys);
  const measurements: ContextMeasurement[] = [];
  const hasQueryOrder = isDrawn(config.queryOrderShare, random);
  const sources = drawSources(row.sources, config.unknownSourceShare, random);
  const numUnknown = drawUnknown(config.staleHistoryShare, random);
  for (const key of arrange(keys, random)) {
    const order = hasQueryOrder ? QUERY_ORDER : FIELD_ORDERS[random.below(FIELD_ORDERS.length)];
    measurements.push(measurementOf(row, sources, key, { order, numUnknown }));
  }
  return { mode, measurements, numTokens };
}

/**
 * Cuts a context in two between measurements. The first time of the second part becomes absolute.
 *
 * @param context A context with more than `numFirst` measurements.
 * @param numFirst Number of measurements in the first part, at least 1.
 */
export function cutContext(context: Context, numFirst: number): [Context, Context] {
  const part = (measurements: ContextMeasurement[]): Context => ({
    mode: context.mode,
    measurements,
    numTokens: prefixLengths(measurements)[measurements.length],
  });
  return [part(context.measurements.slice(0, numFirst)), part(context.measurements.slice(numFirst))];
}

// A key represents a drawn measurement: 2 * its index in the row, + 1 if it has its time. Keys sort by time,
// and one array of small integers represents a draw.
const toKey = (index: number, isTimed: boolean) => 2 * index + (isTimed ? 1 : 0);
const indexOfKey = (key: number) => key >> 1;
const isTimedKey = (key: number) => (key & 1) === 1;

/** Draws whether an event with the given probability happens. A share of 0 consumes no random number. */
function isDrawn(share: number, random: RandomStream): boolean {
  return share > 0 && random.float64() < share;
}

function drawTimed(timedShare: number, random: RandomStream): boolean {
  return timedShare === 1 || isDrawn(timedShare, random);
}

/** Takes all measurements of the row if they fit. */
function drawWhole(
  row: PreparedRow,
  maxTokens: number,
  timedShare: number,
  random: RandomStream,
): Int32Array | undefined {
  const numMeasurements = row.timeS.length;
  if (numMeasurements * MIN_MEASUREMENT_TOKENS > maxTokens) return undefined;
  const keys = new Int32Array(numMeasurements);
  for (let i = 0; i < numMeasurements; i++) keys[i] = toKey(i, drawTimed(timedShare, random));
  return lengthOfKeys(row, keys) <= maxTokens ? keys : undefined;
}

/**
 * Draws the measurements from which to take a window: all, or with probability `fewDestinationsShare` those
 * of a few destinations. The first destination is that of a uniformly drawn measurement; more are added with
 * probability 1/2 each.
 *
 * @returns Indexes in time order; undefined for all.
 */
function drawCandidates(
  { destinations, dstIndex }: PreparedRow,
  fewDestinationsShare: number,
  random: RandomStream,
): Int32Array | undefined {
  if (!isDrawn(fewDestinationsShare, random)) return undefined;
  const first = dstIndex[random.below(dstIndex.length)];
  const count = Math.min(destinations.length, 1 + Math.floor(-Math.log2(1 - random.float64())));
  const others = drawDistinct(destinations.length, count, random);
  const isChosen = new Uint8Array(destinations.length);
  for (const destination of [first, ...others.subarray(1)]) isChosen[destination] = 1;
  return Int32Array.from(dstIndex.keys()).filter((index) => isChosen[dstIndex[index]] === 1);
}

/** floor(exp(u)) with u uniform in [0, ln n): an integer from 1 to n, with every scale equally likely. */
function logUniform(n: number, random: RandomStream): number {
  return Math.min(Math.floor(Math.exp(random.float64() * Math.log(n))), n);
}

/**
 * Draws as many measurements of a random window as fit. The window's size is log-uniform, its position
 * uniform, and the sample uniform without replacement; if dense, the newest up to a uniform one are drawn.
 *
 * @param candidates Indexes of the measurements to choose from, in time order; undefined for all.
 * @returns Keys in time order.
 */
function drawWindow(
  row: PreparedRow,
  candidates: Int32Array | undefined,
  { isDense, maxTokens, maxCount, timedShare, random }: {
    isDense: boolean;
    maxTokens: number;
    maxCount: number;
    timedShare: number;
    random: RandomStream;
  },
): Int32Array {
  const numMeasurements = candidates?.length ?? row.timeS.length;
  const windowSize = isDense ? 1 + random.below(numMeasurements) : logUniform(numMeasurements, random);
  const offset = isDense ? 0 : random.below(numMeasurements - windowSize + 1);
  const numDraws = Math.min(windowSize, maxCount, Math.floor(maxTokens / MIN_MEASUREMENT_TOKENS));
  // In the order in which they are added.
  const keys = isDense
    ? Int32Array.from({ length: numDraws }, (_, i) => windowSize - 1 - i)
    : drawDistinct(windowSize, numDraws, random);
  for (let i = 0; i < numDraws; i++) {
    const index = offset + keys[i];
    keys[i] = toKey(candidates ? candidates[index] : index, drawTimed(timedShare, random));
  }
  return keys.subarray(0, largestFit(row, keys, maxTokens)).sort();
}

/**
 * The number of drawn measurements that fit, in drawing order. The length of the first k increases with k (a
 * measurement of 12 tokens or more can shorten the gap after it by 3 at most), so a binary search, bounded by
 * the shortest and the longest times, finds the last k that fits.
 */
function largestFit(row: PreparedRow, keys: Int32Array, maxTokens: number): number {
  const [shortestGap, longestGap, absolute] = [timeLength(0, 0), timeLength(256, 0), timeLength(0, null)];
  let low = 0;
  let high = 0;
  let shortest = 0;
  let longest = 0;
  let hasTime = false;
  for (const key of keys) {
    const untimed = row.untimedLength[indexOfKey(key)];
    shortest += untimed;
    longest += untimed;
    if (isTimedKey(key)) {
      shortest += hasTime ? shortestGap : absolute;
      longest += hasTime ? longestGap : absolute;
      hasTime = true;
    }
    if (shortest > maxTokens) break;
    high++;
    if (longest <= maxTokens) low = high;
  }
  const isTooLong = (count: number) => lengthOfKeys(row, keys.slice(0, count).sort()) > maxTokens;
  return low + partitionPoint(high - low, (index) => isTooLong(low + 1 + index));
}

function lengthOfKeys(row: PreparedRow, keys: Int32Array): number {
  let numTokens = 0;
  let previousTimeS: number | null = null;
  for (const key of keys) {
    const index = indexOfKey(key);
    numTokens += row.untimedLength[index];
    if (!isTimedKey(key)) continue;
    numTokens += timeLength(row.timeS[index], previousTimeS);
    previousTimeS = row.timeS[index];
  }
  return numTokens;
}

/** Draws how many of a pair's newest RTTs are unknown: in a share of contexts 1 to 127, log-uniform. */
function drawUnknown(share: number, random: RandomStream): number {
  return isDrawn(share, random) ? Math.floor(2 ** (MAX_LOG_UNKNOWN * random.float64())) : 0;
}

/** History features of a measurement's pair. @param numUnknown Number of newest RTTs to omit. */
function historyOf(row: PreparedRow, key: number, numUnknown: number): RttHistory | undefined {
  const index = indexOfKey(key);
  let earlier = row.previous[index];
  for (let i = 0; i < numUnknown && earlier >= 0; i++) earlier = row.previous[earlier];
  if (earlier < 0) return undefined;
  const ageS = isTimedKey(key) ? row.timeS[index] - row.timeS[earlier] : null;
  let count = 0;
  for (; earlier >= 0 && count < NUM_HISTORY_RTTS; earlier = row.previous[earlier]) {
    HISTORY_CODES[count++] = row.rttCode[earlier];
  }
  return rttHistoryOf(HISTORY_CODES, count, ageS);
}

/** Overwritten by each of the millions of calls of {@link historyOf}. */
const HISTORY_CODES = new Uint16Array(NUM_HISTORY_RTTS);

function drawMode(random: RandomStream, config: SamplingConfig): TimestampMode {
  const { full, partial } = config.timestampModes;
  const draw = random.float64();
  if (draw < full) return "full";
  return draw < full + partial ? "partial" : "none";
}

function drawTimedShare(mode: TimestampMode, random: RandomStream): number {
  if (mode !== "partial") return mode === "full" ? 1 : 0;
  return 1 - (MIN_UNTIMED_SHARE + random.float64() * (MAX_UNTIMED_SHARE - MIN_UNTIMED_SHARE));
}

/** Draws the writing order: timed ones by time, the others shuffled, every interleaving equally likely. */
function arrange(keys: Int32Array, random: RandomStream): Int32Array {
  let numTimed = 0;
  for (let i = 0; i < keys.length; i++) if (isTimedKey(keys[i])) numTimed++;
  if (numTimed === keys.length) return keys;
  const untimed = new Int32Array(keys.length - numTimed);
  for (let i = 0, at = 0; i < keys.length; i++) if (!isTimedKey(keys[i])) untimed[at++] = keys[i];
  random.shuffle(untimed);
  if (numTimed === 0) return untimed;
  const pattern = new Uint8Array(keys.length).fill(1, 0, numTimed);
  random.shuffle(pattern);
  const arranged = new Int32Array(keys.length);
  for (let i = 0, nextTimed = 0, nextUntimed = 0; i < keys.length; i++) {
    if (pattern[i] === 0) {
      arranged[i] = untimed[nextUntimed++];
      continue;
    }
    while (!isTimedKey(keys[nextTimed])) nextTimed++;
    arranged[i] = keys[nextTimed++];
  }
  return arranged;
}

/**
 * Returns a row's source addresses, or with probability `unknownShare` random ones that keep a uniformly
 * drawn number of leading bytes, from none to all but one.
 */
function drawSources(sources: Uint8Array[], unknownShare: number, random: RandomStream): Uint8Array[] {
  if (!isDrawn(unknownShare, random)) return sources;
  return sources.map((source) => {
    const numKept = random.below(source.length);
    return source.map((byte, i) => i < numKept ? byte : random.below(256));
  });
}

function measurementOf(
  row: PreparedRow,
  sources: Uint8Array[],
  key: number,
  { order, numUnknown }: { order: readonly Field[]; numUnknown: number },
): ContextMeasurement {
  const index = indexOfKey(key);
  const rttMs = row.rttMs[index];
  return {
    source: sources[row.srcIndex[index]],
    destination: row.destinations[row.dstIndex[index]],
    rttCode: rttMs < 0 ? null : row.rttCode[index],
    rttMs: rttMs < 0 ? null : rttMs,
    timeS: isTimedKey(key) ? row.timeS[index] : null,
    order,
    rttHistory: historyOf(row, key, numUnknown),
  };
}
