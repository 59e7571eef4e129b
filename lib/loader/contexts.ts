/**
 * Draws contexts from probe rows: the units of training, within which attention stays.
 *
 * A context is a sample of a row's measurements over a random window of time, so that every time scale from
 * seconds to weeks is equally frequent. Some contexts have all their times, some a part, some none, so that
 * the model can be queried with and without a time.
 *
 * @module
 */
import type { RandomStream } from "../random/philox.ts";
import { encodeRttCode } from "../tokens/rtt_code.ts";
import { NUM_RECALLED, recallRtts, type RttRecall } from "../tokens/rtt_recall.ts";
import {
  type Field,
  FIELD_ORDERS,
  measurementLength,
  QUERY_ORDER,
  type TokenMeasurement,
} from "../tokens/vocab_v2.ts";
import {
  drawCandidates,
  drawWhole,
  drawWindow,
  indexOfKey,
  isDrawn,
  isTimedKey,
  lengthOfKeys,
} from "./context_keys.ts";
import type { PreparedRow } from "./prepared_row.ts";
import type { SamplingConfig } from "./sampling_config.ts";

/** Tokens of the longest measurement: IPv6 with an absolute time. */
export const MAX_MEASUREMENT_TOKENS = 47;
/** In a partially timed context the share of measurements that lose their time is uniform between these. */
const MIN_UNTIMED_SHARE = 0.1;
const MAX_UNTIMED_SHARE = 0.9;
/** The largest log2 of the number of unknown RTTs. */
const MAX_LOG_UNKNOWN = 7;

/** The measurements of a context that have a time: all, some, none. */
export type TimestampMode = "full" | "partial" | "none";

/** A measurement of a context, with the order of its blocks. */
export interface ContextMeasurement extends TokenMeasurement {
  order: readonly Field[];
  /** The RTT of `rttCode`, milliseconds; null if there was no reply. */
  rttMs: number | null;
  /** The history features of its pair's earlier RTTs in the row. */
  recall: RttRecall | undefined;
}

/** Measurements in the order of writing. */
export interface Context {
  mode: TimestampMode;
  measurements: ContextMeasurement[];
  /** Its length in tokens, exact. */
  numTokens: number;
}

/**
 * The number of contexts that a row yields per epoch: clamp(ceil(n / measurementsPerContext), 1, maximum); 0 if
 * empty.
 */
export function numContextsOfRow(numMeasurements: number, config: SamplingConfig): number {
  return Math.min(Math.ceil(numMeasurements / config.measurementsPerContext), config.maxContextsPerRow);
}

/**
 * Draws one context.
 *
 * @param row The row, of at least one measurement.
 * @param maxTokens Largest length in tokens, at least {@link MAX_MEASUREMENT_TOKENS}.
 * @param random Source of every choice.
 * @param config Shares of the timestamp modes.
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
  const numUnknown = drawUnknown(config.staleRecallShare, random);
  for (const key of arrange(keys, random)) {
    const order = hasQueryOrder ? QUERY_ORDER : FIELD_ORDERS[random.below(FIELD_ORDERS.length)];
    measurements.push(measurementOf(row, sources, key, { order, numUnknown }));
  }
  return { mode, measurements, numTokens };
}

/** The number of a pair's newest RTTs that are unknown in a context: in a share of contexts 1 to 127, log-uniform. */
function drawUnknown(share: number, random: RandomStream): number {
  return isDrawn(share, random) ? Math.floor(2 ** (MAX_LOG_UNKNOWN * random.float64())) : 0;
}

/** The history features of a measurement's pair. @param numUnknown Number of the newest RTTs before it that are unknown. */
function recallOf(row: PreparedRow, key: number, numUnknown: number): RttRecall | undefined {
  const index = indexOfKey(key);
  let earlier = row.previous[index];
  for (let i = 0; i < numUnknown && earlier >= 0; i++) earlier = row.previous[earlier];
  if (earlier < 0) return undefined;
  const ageS = isTimedKey(key) ? row.timeS[index] - row.timeS[earlier] : null;
  let count = 0;
  for (; earlier >= 0 && count < NUM_RECALLED; earlier = row.previous[earlier]) {
    RECALLED_CODES[count++] = encodeRttCode(row.rttMs[earlier]);
  }
  return recallRtts(RECALLED_CODES, count, ageS);
}

/** Overwritten by each call of {@link recallOf}, of which there are millions. */
const RECALLED_CODES = new Uint16Array(NUM_RECALLED);

/**
 * The lengths of a context's prefixes, in tokens.
 *
 * @returns `lengths[k]` is the length of the first k, k = 0..number of measurements.
 */
export function prefixLengths(measurements: readonly TokenMeasurement[]): Uint32Array {
  const lengths = new Uint32Array(measurements.length + 1);
  let previousTimeS: number | null = null;
  for (let i = 0; i < measurements.length; i++) {
    lengths[i + 1] = lengths[i] + measurementLength(measurements[i], previousTimeS);
    previousTimeS = measurements[i].timeS ?? previousTimeS;
  }
  return lengths;
}

/**
 * Cuts a context in two between measurements. The first time of the second part becomes absolute.
 *
 * @param context The context, of more than `numFirst` measurements.
 * @param numFirst Number of measurements in the first part, 1 or more.
 */
export function cutContext(context: Context, numFirst: number): [Context, Context] {
  const part = (measurements: ContextMeasurement[]): Context => ({
    mode: context.mode,
    measurements,
    numTokens: prefixLengths(measurements)[measurements.length],
  });
  return [part(context.measurements.slice(0, numFirst)), part(context.measurements.slice(numFirst))];
}

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

/** The order of writing: timed measurements in time order, the others shuffled, every interleaving equally likely. */
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
 * A row's source addresses; with probability `unknownShare` random ones, which keep a uniformly drawn number of the
 * first bytes of each address, from none to all but one.
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
    rttCode: rttMs < 0 ? null : encodeRttCode(rttMs),
    rttMs: rttMs < 0 ? null : rttMs,
    timeS: isTimedKey(key) ? row.timeS[index] : null,
    order,
    recall: recallOf(row, key, numUnknown),
  };
}
