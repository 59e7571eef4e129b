/**
 * Computes the probabilities of canonical RTT codes from those of their two bytes, which the model generates
 * one after the other.
 *
 * The probability of bytes that do not form a canonical code is removed and the rest renormalised, byte by
 * byte. With a pool, the model's codes have a share of the probability and simple forecasts the rest.
 * Finally, codes below the floor (faster than light) are removed and the rest renormalised. In the first byte
 * that contains the floor, the model's mass is cut in the same proportion as the simple forecasts', so that
 * no further bytes need to be computed. All answers about results go through this module, so that they are
 * consistent.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { CANONICAL_RTT_CODES } from "../../data/tokens/rtt_code.ts";
import { FIRST_INDEXES, indexOfCode, NUM_CODES } from "../../model/pool/kernel_mixture.ts";
import type { PooledForecast } from "../../model/pool/pool.ts";
import { BYTE_BASE, FAILED, RTT_START } from "../../data/tokens/vocab_v2.ts";
import { rowOf } from "../decoder_rows.ts";
import { requirePossible } from "../possible.ts";
import { RttArrays, RttDistribution } from "./rtt_distribution.ts";

/** The 132 first bytes of canonical RTT codes, ascending. */
export const FIRST_BYTES: readonly number[] = [
  ...new Set([...CANONICAL_RTT_CODES].map((code) => code >> 8)),
];

const FIRST_TOKENS = FIRST_BYTES.map((byte) => BYTE_BASE + byte);
const OUTCOMES = [RTT_START, FAILED];

const SECOND_BYTES: number[][] = Array.from({ length: 256 }, () => []);
for (const code of CANONICAL_RTT_CODES) SECOND_BYTES[code >> 8].push(code & 255);

/** The second bytes that complete a canonical code, ascending. */
export function secondBytesOf(byte1: number): readonly number[] {
  return SECOND_BYTES[byte1];
}

/** The forecast with the parts that depend on the network. @param first Log-probabilities after `RttStart`, (V) nats. */
export function withNetwork<T extends PooledForecast | undefined>(pool: T, first: Float32Array): T {
  return pool?.withNetwork(() => restricted(first, FIRST_BYTES).probabilities) as T;
}

/** Number of a first byte's codes below the floor. @param place The byte's index in {@link FIRST_BYTES}. */
function numBelow(place: number, pool: PooledForecast | undefined): number {
  return Math.max(
    0,
    Math.min(SECOND_BYTES[FIRST_BYTES[place]].length, (pool?.begin ?? 0) - FIRST_INDEXES[place]),
  );
}

/** The simple forecasts' mass above the floor, of codes from `first` to before `end`. */
function massFromFloor(pool: PooledForecast, first: number, end: number): number {
  return end > pool.begin ? pool.massBetween(Math.max(first, pool.begin), end) : 0;
}

/** Share of a first byte's mass above the floor. */
function shareFromFloor(place: number, pool: PooledForecast): number {
  const below = numBelow(place, pool);
  if (below === 0) return 1;
  const [first, end] = [FIRST_INDEXES[place], FIRST_INDEXES[place + 1]];
  if (first + below === end) return 0;
  const whole = pool.massBetween(first, end);
  return whole > 0 ? pool.massBetween(pool.begin, end) / whole : (end - pool.begin) / (end - first);
}

/** The mixture's mass above the floor, for normalisation. @param masses From {@link firstByteMasses}. */
export function massOf(masses: Float64Array, pool: PooledForecast | undefined): number {
  if (!pool?.begin) return 1;
  return masses.reduce((sum, mass) => sum + mass, massFromFloor(pool, 0, NUM_CODES));
}

/** Removes the mass below the floor and renormalises. @returns The mass above the floor. */
function applyFloor(probabilities: Float64Array, pool: PooledForecast | undefined): number {
  if (!pool?.begin) return 1;
  let mass = 0;
  probabilities.fill(0, 0, pool.begin);
  for (let i = pool.begin; i < probabilities.length; i++) mass += probabilities[i];
  const factor = 1 / mass;
  for (let i = pool.begin; i < probabilities.length; i++) probabilities[i] *= factor;
  return mass;
}

/**
 * The model's contribution to P(first byte) in the mixture, not yet divided by {@link massOf}.
 *
 * @param first Log-probabilities after `RttStart`, (V) nats.
 */
export function firstByteMasses(first: Float32Array, pool: PooledForecast | undefined): Float64Array {
  const { probabilities } = restricted(first, FIRST_BYTES);
  if (!pool) return probabilities;
  let kept = 0;
  probabilities.forEach((p, i) => kept += FIRST_INDEXES[i] < pool.end ? p : 0);
  const factor = kept > 0 ? pool.modelShare / kept : 0;
  return probabilities.map((p, i) => FIRST_INDEXES[i] < pool.end ? p * factor * shareFromFloor(i, pool) : 0);
}

/** P(first byte | reply) in the mixture. @param first Log-probabilities after `RttStart`, (V) nats. */
export function firstByteProbabilities(
  first: Float32Array,
  forecast: PooledForecast | undefined,
): Float64Array {
  const pool = withNetwork(forecast, first);
  const masses = firstByteMasses(first, pool);
  if (!pool) return masses;
  const all = masses.slice();
  pool.addToFirstBytes(all);
  const below = partitionPoint(masses.length, (place) => FIRST_INDEXES[place] >= pool.begin);
  for (let place = 0; place < below; place++) {
    all[place] = masses[place] + massFromFloor(pool, FIRST_INDEXES[place], FIRST_INDEXES[place + 1]);
  }
  const whole = all.reduce((sum, mass) => sum + mass, 0);
  return all.map((mass) => mass / whole);
}

/** Removes the first probabilities and renormalises the others. */
function keepFrom(probabilities: Float64Array, numLeftOut: number): void {
  if (numLeftOut === 0 || numLeftOut === probabilities.length) return;
  let kept = 0;
  for (let i = numLeftOut; i < probabilities.length; i++) kept += probabilities[i];
  for (let i = 0; i < probabilities.length; i++) {
    probabilities[i] = i < numLeftOut ? 0 : probabilities[i] / kept;
  }
}

/** Log-probabilities of next tokens, (V) nats each. */
export interface RttLogProbabilities {
  /** At the beginning of the result: `Failed` or `RttStart`. */
  readonly outcome: Float32Array;
  /** After `RttStart`: byte 1. */
  readonly first: Float32Array;
  /** Indexes in {@link FIRST_BYTES} of the bytes whose second bytes are in `seconds`, ascending. */
  readonly expanded: readonly number[];
  /** After each expanded first byte: byte 2, (expanded, V). */
  readonly seconds: Float32Array;
}

/**
 * The distribution of the result: P(byte 1) P(byte 2 | byte 1) for every canonical code. The probability of a
 * first byte that is not expanded is spread evenly over its codes.
 *
 * @param options `arrays`: the memory of the result; `pool`: the simple forecast, if it is used.
 */
export function distributionOf(
  given: RttLogProbabilities,
  { arrays = new RttArrays(), ...options }: { arrays?: RttArrays; pool?: PooledForecast | undefined } = {},
): RttDistribution {
  const { outcome, first, seconds, expanded } = given;
  const pool = withNetwork(options.pool, first);
  const { probabilities, cumulative } = arrays;
  const byte1 = restricted(first, FIRST_BYTES);
  const masses = firstByteMasses(first, pool);
  let canonicalMass = 0;
  let spreadMass = 0;
  let row = 0;
  FIRST_BYTES.forEach((_, place) => {
    const isExpanded = expanded[row] === place;
    const second = isExpanded ? rowOf(seconds, row++) : undefined;
    const ofSeconds = fillCodes(probabilities, { place, mass: masses[place], second, pool });
    canonicalMass += byte1.probabilities[place] * byte1.mass * ofSeconds;
    if (!isExpanded) spreadMass += masses[place];
  });
  pool?.addTo(probabilities);
  const mass = applyFloor(probabilities, pool);
  const pFailed = failureProbability(outcome, pool);
  return new RttDistribution(pFailed, probabilities, canonicalMass, {
    spreadMass: spreadMass / mass,
    floorMs: pool?.floorMs || null,
    cumulative,
  });
}

/**
 * Fills the probabilities and cumulative sums of {@link distributionOf} for the codes of some first bytes.
 *
 * @param places Indexes in {@link FIRST_BYTES} of the first byte and of the last.
 * @param below P(a code of an earlier first byte | reply).
 */
export function fillPart(
  { first, seconds, expanded }: Omit<RttLogProbabilities, "outcome">,
  { probabilities, cumulative }: RttArrays,
  { places: [from, to], below, ...options }: {
    pool: PooledForecast | undefined;
    places: readonly [first: number, last: number];
    below: number;
  },
): void {
  const pool = withNetwork(options.pool, first);
  const masses = firstByteMasses(first, pool);
  for (let place = from; place <= to; place++) {
    const row = expanded.indexOf(place);
    const second = row < 0 ? undefined : rowOf(seconds, row);
    fillCodes(probabilities, { place, mass: masses[place], second, pool });
  }
  const [begin, end] = [FIRST_INDEXES[from], FIRST_INDEXES[to + 1]];
  pool?.addTo(probabilities, [begin, end]);
  const factor = 1 / massOf(masses, pool);
  let sum = below;
  for (let i = begin; i < end; i++) {
    probabilities[i] *= i < (pool?.begin ?? 0) ? 0 : factor;
    cumulative[i] = sum += probabilities[i];
  }
}

/**
 * Writes the model's probabilities of the codes of a first byte, which are even if the second bytes are not
 * known.
 *
 * @returns The probability of the second bytes that complete a code, before they are renormalised.
 */
function fillCodes(
  probabilities: Float64Array,
  { place, mass, second, pool }: {
    place: number;
    mass: number;
    second: Float32Array | undefined;
    pool: PooledForecast | undefined;
  },
): number {
  const given = probabilities.subarray(FIRST_INDEXES[place], FIRST_INDEXES[place + 1]);
  const numLeftOut = numBelow(place, pool);
  if (!second) {
    given.fill(0, 0, numLeftOut).fill(mass / (given.length - numLeftOut), numLeftOut);
    return 1;
  }
  const ofSeconds = restrictInto(given, second, SECOND_BYTES[FIRST_BYTES[place]]);
  keepFrom(given, numLeftOut);
  for (let i = 0; i < given.length; i++) given[i] *= mass;
  return ofSeconds;
}

/** P(no reply). @param outcome Log-probabilities at the beginning of the result. */
export function failureProbability(outcome: Float32Array, pool: PooledForecast | undefined): number {
  const ofModel = 1 / (1 + Math.exp(outcome[RTT_START] - outcome[FAILED]));
  return requirePossible("P(no reply)", pool?.failureProbability(ofModel) ?? ofModel);
}

/** ln P(no reply) or ln P(reply) with a pool, nats. @param ofModel The same without the pool. */
export function pooledOutcome(isFailed: boolean, pool: PooledForecast, ofModel: number): number {
  const pFailed = pool.failureProbability(isFailed ? Math.exp(ofModel) : -Math.expm1(ofModel));
  return logOf("P(no reply)", isFailed ? pFailed : 1 - pFailed);
}

/**
 * ln P(result), nats: the logarithm of the probability in {@link distributionOf}, computed without underflow.
 *
 * @param rttCode A canonical code; null for no reply.
 * @param given Log-probabilities at the beginning of the result, after `RttStart`, and after the result's
 *   byte 1, (V) each.
 */
export function resultLogProbability(
  rttCode: number | null,
  { outcome, first, second }: {
    readonly outcome: Float32Array;
    readonly first: Float32Array;
    readonly second: Float32Array;
  },
  forecast?: PooledForecast,
): number {
  const pool = withNetwork(forecast, first);
  const isFailed = rttCode === null;
  const alone = restrictedLogProbability(outcome, isFailed ? FAILED : RTT_START, OUTCOMES);
  const ofOutcome = pool ? pooledOutcome(isFailed, pool, alone) : alone;
  if (isFailed) return ofOutcome;
  const [byte1, byte2] = [rttCode >> 8, rttCode & 255];
  const ofByte2 = restrictedLogProbability(second, BYTE_BASE + byte2, secondTokens(byte1, pool));
  const ofCode = pool
    ? pooledLogProbabilities(rttCode, pool, {
      first: restrictedLogProbability(first, BYTE_BASE + byte1, firstTokens(pool)),
      second: ofByte2,
      mass: massOf(firstByteMasses(first, pool), pool),
    }).ofCode
    : restrictedLogProbability(first, BYTE_BASE + byte1, FIRST_TOKENS) + ofByte2;
  return ofOutcome + ofCode;
}

export function firstTokens({ end }: PooledForecast): readonly number[] {
  return FIRST_TOKENS.filter((_, i) => FIRST_INDEXES[i] < end);
}

/** Tokens of the second bytes above the floor; all of them if there are none. */
export function secondTokens(byte1: number, pool: PooledForecast | undefined): readonly number[] {
  const tokens = SECOND_BYTES[byte1].map((byte) => BYTE_BASE + byte);
  const below = numBelow(FIRST_BYTES.indexOf(byte1), pool);
  return below < tokens.length ? tokens.slice(below) : tokens;
}

/**
 * ln P(first byte | reply) and ln P(code | reply) with a pool, nats.
 *
 * @param ofModel ln P of the code's first byte among {@link firstTokens}, and of its second byte among {@link
 *   secondTokens}; `mass`: see {@link massOf}.
 */
export function pooledLogProbabilities(
  rttCode: number,
  pool: PooledForecast,
  { first, second, mass }: Record<"first" | "second" | "mass", number>,
): { ofFirst: number; ofCode: number } {
  const index = indexOfCode(rttCode);
  const place = FIRST_BYTES.indexOf(rttCode >> 8);
  const share = index < pool.end ? pool.modelShare * Math.exp(first) * shareFromFloor(place, pool) : 0;
  const ofFirst = share + massFromFloor(pool, FIRST_INDEXES[place], FIRST_INDEXES[place + 1]);
  const ofCode = share * Math.exp(second) + massFromFloor(pool, index, index + 1);
  return {
    ofFirst: logOf("P(first byte)", ofFirst / mass),
    ofCode: logOf("P(RTT)", index < pool.begin ? 0 : ofCode / mass),
  };
}

function logOf(name: string, probability: number): number {
  return Math.log(Math.min(1, requirePossible(name, probability)));
}

/**
 * P(code below a range) and P(code in it) given a reply. The result agrees with {@link distributionOf}, but
 * only needs the first bytes in which the range begins and ends.
 *
 * @param range Lowest and highest code, inclusive.
 * @param given Log-probabilities after `RttStart`, and after byte 1 of either code, (V) each.
 */
export function rangeMass(
  [low, high]: readonly [low: number, high: number],
  { first, ofLow, ofHigh }: {
    readonly first: Float32Array;
    readonly ofLow: Float32Array;
    readonly ofHigh: Float32Array;
  },
  forecast?: PooledForecast,
): { below: number; within: number } {
  const pool = withNetwork(forecast, first);
  const [from, to] = [indexOfCode(low), indexOfCode(high) + 1];
  const mass = { below: 0, within: 0 };
  if (pool) [mass.below, mass.within] = [massFromFloor(pool, 0, from), massFromFloor(pool, from, to)];
  const probabilities = firstByteMasses(first, pool);
  FIRST_BYTES.forEach((byte, i) => {
    if (byte !== low >> 8 && byte !== high >> 8) {
      if (byte < low >> 8) mass.below += probabilities[i];
      else if (byte < high >> 8) mass.within += probabilities[i];
      return;
    }
    const { probabilities: given } = restricted(byte === low >> 8 ? ofLow : ofHigh, SECOND_BYTES[byte]);
    keepFrom(given, numBelow(i, pool));
    SECOND_BYTES[byte].forEach((second, j) => {
      const code = byte << 8 | second;
      if (code < low) mass.below += probabilities[i] * given[j];
      else if (code <= high) mass.within += probabilities[i] * given[j];
    });
  });
  const whole = massOf(probabilities, pool);
  mass.below /= whole;
  mass.within /= whole;
  requirePossible("P(a shorter RTT)", mass.below);
  requirePossible("P(RTT in the range)", mass.within);
  return mass;
}

/** ln P(token) among the allowed tokens, nats. @param logP Log-probabilities of all tokens, (V) nats. */
export function restrictedLogProbability(
  logP: Float32Array,
  token: number,
  allowed: readonly number[],
): number {
  let greatest = -Infinity;
  for (const each of allowed) greatest = Math.max(greatest, logP[each]);
  let mass = 0;
  for (const each of allowed) mass += Math.exp(logP[each] - greatest);
  return logP[token] - greatest - Math.log(mass);
}

/**
 * The fewest, most probable first bytes that leave out at most a given probability.
 *
 * @param first Log-probabilities after `RttStart`.
 * @param options `code`: a code whose first byte is always included.
 * @returns Indexes in {@link FIRST_BYTES}, ascending.
 */
export function likelyFirstBytes(
  first: Float32Array,
  { maxSpreadMass, code, ...options }: {
    maxSpreadMass: number;
    code: number | null;
    pool?: PooledForecast | undefined;
  },
): number[] {
  const pool = withNetwork(options.pool, first);
  const { probabilities } = restricted(first, FIRST_BYTES);
  if (pool?.begin) {
    const kept = probabilities.map((p, i) => p * shareFromFloor(i, pool));
    const sum = kept.reduce((a, b) => a + b, 0);
    kept.forEach((p, i) => probabilities[i] = p / sum);
  }
  const byPlace = FIRST_BYTES.keys().toArray();
  const byProbability = byPlace.toSorted((a, b) => probabilities[b] - probabilities[a]);
  const chosen = new Set(code === null ? [] : [FIRST_BYTES.indexOf(code >> 8)]);
  let left = 1;
  for (const place of byProbability) {
    if (left <= maxSpreadMass) break;
    chosen.add(place);
    left -= probabilities[place];
  }
  return [...chosen].sort((a, b) => a - b);
}

/** Maximum difference between two ways of summing a distribution. */
const ROUNDING = 1e-9;

/**
 * The first bytes that contain quantiles of the distribution. If these are expanded, the quantiles of {@link
 * distributionOf} are exact. A level has two if rounding errors make it ambiguous.
 *
 * @param first Log-probabilities after `RttStart`.
 * @param levels In [0, 1].
 * @returns Indexes in {@link FIRST_BYTES}, ascending.
 */
export function firstBytesOfQuantiles(
  first: Float32Array,
  levels: readonly number[],
  forecast?: PooledForecast,
): number[] {
  const pool = withNetwork(forecast, first);
  let sum = 0;
  const masses = firstByteMasses(first, pool);
  const whole = massOf(masses, pool);
  const ofModel = masses.map((p) => sum += p);
  const known = new Map<number, number>();
  const ofOthers = (place: number) => pool ? massFromFloor(pool, 0, FIRST_INDEXES[place + 1]) : 0;
  const upTo = (place: number) => getOrMake(known, place, () => (ofModel[place] + ofOthers(place)) / whole);
  const last = FIRST_BYTES.length - 1;
  const chosen = new Set<number>();
  for (const level of levels) {
    const place = partitionPoint(last, (i) => upTo(i) >= Math.max(level - ROUNDING, Number.MIN_VALUE));
    chosen.add(place);
    if (place < last && upTo(place) < level + ROUNDING) chosen.add(place + 1);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** Probabilities of the given bytes, renormalised, and their sum before. @param logP (V) nats. */
export function restricted(
  logP: Float32Array,
  bytes: readonly number[],
): { probabilities: Float64Array; mass: number } {
  const probabilities = new Float64Array(bytes.length);
  return { mass: restrictInto(probabilities, logP, bytes), probabilities };
}

/** {@link restricted} into an array. @returns The sum before. */
function restrictInto(probabilities: Float64Array, logP: Float32Array, bytes: readonly number[]): number {
  let mass = 0;
  for (let i = 0; i < bytes.length; i++) mass += probabilities[i] = Math.exp(logP[BYTE_BASE + bytes[i]]);
  for (let i = 0; i < bytes.length; i++) probabilities[i] /= mass;
  return mass;
}
