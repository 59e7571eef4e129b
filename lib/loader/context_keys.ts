/**
 * Chooses the measurements of a context: drawn from a window of a row, as many as fit.
 *
 * @module
 */
import { partitionPoint } from "../collections/partition_point.ts";
import { drawDistinct } from "../random/distinct.ts";
import type { RandomStream } from "../random/philox.ts";
import { timeLength } from "../tokens/vocab_v2.ts";
import type { PreparedRow } from "./prepared_row.ts";

/** Tokens of the shortest measurement: IPv4, failed, without a time. */
export const MIN_MEASUREMENT_TOKENS = 12;

// A drawn measurement is a key: 2 * its index in the row, + 1 if it has its time. Keys sort by time, and one array of
// small integers holds a draw.
const toKey = (index: number, isTimed: boolean) => 2 * index + (isTimed ? 1 : 0);
/** The index in the row of a key's measurement. */
export const indexOfKey = (key: number) => key >> 1;
/** Whether the measurement has its time. */
export const isTimedKey = (key: number) => (key & 1) === 1;

/** True with the probability of a share; a share of 0 takes no draw. */
export function isDrawn(share: number, random: RandomStream): boolean {
  return share > 0 && random.float64() < share;
}

function drawTimed(timedShare: number, random: RandomStream): boolean {
  return timedShare === 1 || isDrawn(timedShare, random);
}

/** All measurements of the row, if they fit. */
export function drawWhole(
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
 * The measurements from which a window is taken: all, or with probability `fewDestinationsShare` those of a few
 * destinations. The first destination is that of a uniform measurement; with probability 1/2 each, more are added.
 *
 * @returns Indices in time order, or undefined for all.
 */
export function drawCandidates(
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

/** floor(exp(u)), u uniform in [0, ln n): an integer from 1 to n, every scale equally likely. */
function logUniform(n: number, random: RandomStream): number {
  return Math.min(Math.floor(Math.exp(random.float64() * Math.log(n))), n);
}

/**
 * As many measurements of a random window as fit. The window's size is log-uniform, its position uniform, the
 * sample uniform without replacement; or, if dense, the newest measurements up to a uniform one.
 *
 * @param candidates Indices of the measurements to take it from, in time order; undefined for all.
 * @returns Keys in time order.
 */
export function drawWindow(
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
 * The number of drawn measurements that fit, in the order of drawing. The length of the first k grows with
 * k (a measurement of 12 tokens or more can shorten the gap after it by 3 at most), so a binary search between
 * bounds from the shortest and the longest times finds the last k that fits.
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

/** Number of tokens of measurements given in time order. */
export function lengthOfKeys(row: PreparedRow, keys: Int32Array): number {
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
