/**
 * What a pair's own measurements say about a time: averages of them by kernels in time.
 *
 * A kernel gives each measurement a weight that falls with its distance in time, or from the same hour of
 * another day. The shares of the kernels depend on how well each would have predicted the pair's other
 * measurements, all around them or before them (leave one out; Gneiting, Raftery, "Strictly Proper Scoring
 * Rules", JASA 102, 2007). The shares of pairs with few measurements stay near those of all pairs.
 *
 * @module
 */
import { evenlySpread, lowerBound } from "../../base/collections.ts";
import { stack } from "./stacking.ts";

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const WEEK_S = 7 * DAY_S;

/** Measurements of a pair, oldest first. */
export interface PairMeasurements {
  /** Unix seconds. */
  readonly timesS: Float64Array;
  /** RTT codes; 0 for no reply. */
  readonly codes: Uint16Array;
  /** How many measurements each one represents. */
  readonly counts: Float64Array;
}

/** Kernels exp(-gap / scale): this is the longest scale, and each other one is a quarter of the next. */
const LONGEST_SCALE_S = 8 * DAY_S;
const NUM_SCALES = 5;
/**
 * Kernels of the distance from the same hour of other days have a quarter of this scale and this scale. The
 * kernel of other weeks has half of it.
 */
const HOUR_SCALE_S = 2 * HOUR_S;
/** How fast other days, and other weeks, fade. */
const DAYS_FADE_S = WEEK_S;
const WEEKS_FADE_S = 4 * WEEK_S;
/** Pairs measured for less have no hour of the week; that kernel is then the hour of the day. */
const LEAST_WEEKS_S = 3 * WEEK_S;

/** The kernels: by distance in time, of the hour of the day (2), of the hour of the week, and all alike. */
export const NUM_KERNELS: number = NUM_SCALES + 4;
/** The kernel of the hour of the day with the shorter scale, and that of the hour of the week. */
export const HOUR_KERNEL: number = NUM_SCALES;
export const WEEK_KERNEL: number = NUM_SCALES + 2;

/** The distance of a time from the nearest multiple of a period. */
function fromMultiple(gapS: number, periodS: number): number {
  const rest = gapS % periodS;
  return Math.min(rest, periodS - rest);
}

export function hasWeeks({ timesS }: PairMeasurements): boolean {
  return timesS.length > 0 && timesS[timesS.length - 1] - timesS[0] >= LEAST_WEEKS_S;
}

/**
 * Weights of the first `end` measurements by each kernel.
 *
 * @param options `end`: all by default; `without`: the index of a measurement that has no weight; `weeks`: see
 *   {@link hasWeeks}.
 * @returns (kernels, end); a common factor of a kernel's weights has no meaning.
 */
export function kernelWeights(
  { timesS, counts }: PairMeasurements,
  timeS: number,
  { end: length = timesS.length, without = -1, weeks }: { end?: number; without?: number; weeks: boolean },
): Float64Array {
  const weights = new Float64Array(NUM_KERNELS * length);
  let nearestS = Infinity;
  for (let i = 0; i < length; i++) {
    if (i !== without) nearestS = Math.min(nearestS, Math.abs(timesS[i] - timeS));
  }
  for (let i = 0; i < length; i++) {
    if (i === without) continue;
    const gapS = Math.abs(timesS[i] - timeS);
    // Relative to the nearest one, so that not all weights are 0 after a long time.
    const furtherS = gapS - nearestS;
    const set = (kernel: number, weight: number) => weights[kernel * length + i] = counts[i] * weight;
    let near = Math.exp(-furtherS / LONGEST_SCALE_S);
    for (let k = NUM_SCALES - 1; k >= 0; k--) {
      set(k, near);
      near *= near;
      near *= near;
    }
    const hour = Math.exp(-fromMultiple(gapS, DAY_S) / HOUR_SCALE_S);
    const recent = Math.exp(-furtherS / DAYS_FADE_S);
    set(NUM_SCALES, recent * hour * hour * hour * hour);
    set(NUM_SCALES + 1, recent * hour);
    const ofWeek = fromMultiple(gapS, WEEK_S) / (HOUR_SCALE_S / 2) + furtherS / WEEKS_FADE_S;
    set(NUM_SCALES + 2, weeks ? Math.exp(-ofWeek) : recent * hour * hour);
    set(NUM_SCALES + 3, 1);
  }
  return weights;
}

/**
 * Situations with shares of their own: a time within the measurements, and the gap since the last measurement
 * before it. Each has shares for RTTs and for P(no reply).
 */
const LONGEST_AFTER_S = 8 * DAY_S;
const AFTER_S = [0, DAY_S, LONGEST_AFTER_S];
const INSIDE = 0;
const NUM_SITUATIONS = 1 + AFTER_S.length;
/** Number of shares of a pair: of RTTs, then of P(no reply), by situation. */
export const NUM_SHARES: number = 2 * NUM_SITUATIONS * NUM_KERNELS;
const LOSSES = NUM_SITUATIONS * NUM_KERNELS;

/** Shares before any measurement, from the campaigns of tests/eval/ages_test.ts and lib/eval/RESULTS.md. */
const USUAL_RTT_SHARES = [
  [0.16, 0.27, 0.34, 0.12, 0.03, 0.02, 0.02, 0.02, 0.02],
  [0.13, 0.2, 0.33, 0.14, 0.05, 0.03, 0.04, 0.03, 0.05],
  [0.05, 0.1, 0.2, 0.2, 0.15, 0.05, 0.06, 0.05, 0.14],
  [0.02, 0.03, 0.07, 0.14, 0.22, 0.05, 0.06, 0.05, 0.36],
];
const USUAL_LOSS_SHARES = [0.05, 0.08, 0.14, 0.17, 0.18, 0.04, 0.04, 0.04, 0.26];
export const USUAL_SHARES: Float64Array = Float64Array.from([
  ...USUAL_RTT_SHARES.flat(),
  ...USUAL_RTT_SHARES.flatMap(() => USUAL_LOSS_SHARES),
]);

/**
 * The shares of the kernels at a time. They change evenly with ln(1 + gap / 3 h) between the gaps of the
 * situations.
 *
 * @param shares (NUM_SHARES).
 */
export function sharesAt(
  shares: Float64Array,
  { timesS }: PairMeasurements,
  timeS: number,
  of: "rtts" | "losses",
): Float64Array {
  const last = timesS.length - 1;
  const next = lowerBound(timesS, timeS);
  const gapS = Math.min(
    next <= last ? timesS[next] - timeS : Infinity,
    next > 0 ? timeS - timesS[next - 1] : Infinity,
  );
  const upper = Math.max(1, AFTER_S.findIndex((afterS) => Math.min(gapS, LONGEST_AFTER_S) <= afterS));
  const place = (gapS: number) => Math.log1p(gapS / (3 * HOUR_S));
  const [from, to] = [AFTER_S[upper - 1], AFTER_S[upper]].map(place);
  const part = (place(Math.min(gapS, LONGEST_AFTER_S)) - from) / (to - from);
  const isInside = timeS >= timesS[0] && timeS <= timesS[last];
  const begin = of === "rtts" ? 0 : LOSSES;
  const row = (after: number) => begin + (after === 0 && isInside ? INSIDE : 1 + after) * NUM_KERNELS;
  return Float64Array.from(
    { length: NUM_KERNELS },
    (_, k) => (1 - part) * shares[row(upper - 1) + k] + part * shares[row(upper) + k],
  );
}

/** Maximum number of measurements of a pair that its shares are fitted to. */
export const MAX_FITTED = 2000;
/** An RTT is predicted as being at most each of this many quantiles of the pair. */
const NUM_THRESHOLDS = 8;
/**
 * A kernel's predictions are at least this and at most 1 minus this, so that a change of level, which no kernel
 * predicts, does not decide its share.
 */
const LEAST_CHANCE = 0.05;
/** The same for P(no reply), which is small for most pairs. */
const LEAST_LOSS_CHANCE = 0.01;
/** How many measurements the shares of all pairs count as in the shares of one. */
const PRIOR_MEASUREMENTS = 1 / 4;
/** Iterations of the fit to RTTs. P(no reply) has fewer events, which say less each, and gets as much work. */
const NUM_ITERATIONS = 50;

/** Predictions of measurements, by set of shares: P(event) by each kernel, and how often the event occurred. */
export type PairEvents = readonly { readonly masses: number[]; readonly counts: number[] }[];

/** Predicts measurements of a pair from its others. @param most How many to predict. */
export function pairEvents(measurements: PairMeasurements, most: number): PairEvents {
  const pair = thinned(measurements, MAX_FITTED);
  const { timesS, codes } = pair;
  const length = timesS.length;
  const weeks = hasWeeks(pair);
  const replies = Uint16Array.from(codes.filter((code) => code > 0)).sort();
  const thresholds = Array.from(
    { length: NUM_THRESHOLDS },
    (_, q) => replies[Math.floor((q + 0.5) * replies.length / NUM_THRESHOLDS)],
  );
  // The number of thresholds below each RTT; one more for no reply.
  const bins = Uint8Array.from(
    codes,
    (code) => code === 0 ? NUM_THRESHOLDS + 1 : lowerBound(thresholds, code),
  );
  const events: PairEvents = Array.from({ length: 2 * NUM_SITUATIONS }, () => ({ masses: [], counts: [] }));
  const sums = new Float64Array(NUM_THRESHOLDS + 2);
  const chances = new Float64Array(NUM_KERNELS * (NUM_THRESHOLDS + 1));
  const predict = (
    index: number,
    situation: number,
    { end = length, without = -1, tried = { measurements: 1, failures: codes[index] === 0 ? 1 : 0 } },
  ) => {
    const weights = kernelWeights(pair, timesS[index], { end, without, weeks });
    let hasReply = true;
    for (let k = 0; k < NUM_KERNELS; k++) {
      sums.fill(0);
      for (let i = 0; i < end; i++) sums[bins[i]] += weights[k * end + i];
      const replied = sums.reduce((sum, each, bin) => bin <= NUM_THRESHOLDS ? sum + each : sum, 0);
      hasReply &&= replied > 0;
      let upTo = 0;
      for (let q = 0; q < NUM_THRESHOLDS; q++) {
        upTo += sums[q];
        chances[q * NUM_KERNELS + k] = upTo / replied;
      }
      const lost = sums[NUM_THRESHOLDS + 1];
      chances[NUM_THRESHOLDS * NUM_KERNELS + k] = lost / (lost + replied);
    }
    const add = (set: number, event: number, isTrue: boolean, { least = LEAST_CHANCE, count = 1 } = {}) => {
      for (let k = 0; k < NUM_KERNELS; k++) {
        const chance = chances[event * NUM_KERNELS + k];
        events[set].masses.push(least + (1 - 2 * least) * (isTrue ? chance : 1 - chance));
      }
      events[set].counts.push(count);
    };
    for (const isLost of [false, true]) {
      const count = isLost ? tried.failures : tried.measurements - tried.failures;
      const ofLosses = { least: LEAST_LOSS_CHANCE, count };
      if (count > 0) add(NUM_SITUATIONS + situation, NUM_THRESHOLDS, isLost, ofLosses);
    }
    if (codes[index] === 0 || !hasReply) return;
    for (let q = 0; q < NUM_THRESHOLDS; q++) add(situation, q, bins[index] <= q);
  };
  if (length < 2) return events;
  const indexes = Array.from(codes.keys());
  for (const index of evenlySpread(indexes, most)) predict(index, INSIDE, { without: index });
  // Within fewer days, all predictions over the longest gap fail or succeed together.
  const isLong = timesS[length - 1] - timesS[0] >= 2 * LONGEST_AFTER_S;
  const gapsS = isLong ? AFTER_S : AFTER_S.slice(0, -1);
  const later = evenlySpread(indexes.slice(Math.floor(length / 3)), most);
  later.forEach((index, i) => {
    // Losses are rare, so all up to the next predicted measurement count if the gap is much longer.
    const block = triedWithin(measurements, timesS[index], timesS[later[i + 1]] ?? Infinity);
    // Gaps of whole days would make all kernels know the hour.
    const aroundS = (i * GOLDEN_RATIO % 1 - 0.5) * DAY_S;
    gapsS.forEach((afterS, after) => {
      const gapS = afterS + (after > 0 ? aroundS : 0);
      const end = Math.min(index, partitionAfter(timesS, timesS[index] - gapS));
      if (end > 0) predict(index, 1 + after, { end, ...(after > 0 && { tried: block }) });
    });
  });
  return events;
}

/** The measurements from a time to before another one, and those without a reply. */
function triedWithin({ timesS, codes, counts }: PairMeasurements, fromS: number, untilS: number) {
  const tried = { measurements: 0, failures: 0 };
  for (let i = lowerBound(timesS, fromS); i < timesS.length && timesS[i] < untilS; i++) {
    tried.measurements += counts[i];
    if (codes[i] === 0) tried.failures += counts[i];
  }
  return tried;
}

/** Its multiples are spread evenly between whole numbers. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** Number of times up to a limit. */
function partitionAfter(timesS: Float64Array, limitS: number): number {
  let end = lowerBound(timesS, limitS);
  while (end < timesS.length && timesS[end] === limitS) end++;
  return end;
}

/** Predicted measurements after which the shares after a day are as good a guess after eight as those of all pairs. */
const FOLLOWED = 50;

/**
 * Fits shares (NUM_SHARES).
 *
 * @param prior The shares before any event, which count as `measurements`.
 * @param options `isPair`: few pairs are measured long enough to predict over the longest gap, so its prior is
 *   also what predicts over the shorter one.
 */
export function fitShares(
  events: PairEvents,
  prior: Float64Array,
  { measurements = PRIOR_MEASUREMENTS, isPair = false }: { measurements?: number; isPair?: boolean } = {},
): Float64Array {
  const shares = new Float64Array(NUM_SHARES);
  const eventsOf = (set: number) => events[set] ?? { masses: [], counts: [] };
  for (let set = 0; set < NUM_SHARES / NUM_KERNELS; set++) {
    const eventsEach = set < NUM_SITUATIONS ? NUM_THRESHOLDS : 1;
    const first = set * NUM_KERNELS;
    const own = prior.slice(first, first + NUM_KERNELS);
    if (isPair && set % NUM_SITUATIONS === NUM_SITUATIONS - 1) {
      const predicted = eventsOf(set - 1).counts.reduce((a, b) => a + b, 0) / eventsEach;
      const followed = predicted / (predicted + FOLLOWED);
      own.forEach((share, k) => own[k] = (1 - followed) * share + followed * shares[first - NUM_KERNELS + k]);
    }
    const { masses, counts } = eventsOf(set);
    const worth = measurements * eventsEach;
    const numIterations = NUM_ITERATIONS * NUM_THRESHOLDS / eventsEach;
    const found = { masses: Float64Array.from(masses), counts: Float64Array.from(counts) };
    shares.set(stack(found, own, { worth, numIterations }), first);
  }
  return shares;
}

/** At most `most` of the measurements, evenly spaced. */
function thinned(measurements: PairMeasurements, most: number): PairMeasurements {
  const { timesS } = measurements;
  if (timesS.length <= most) return measurements;
  return only(measurements, evenlySpread([...timesS.keys()], most));
}

/** The replies among the measurements. */
export function repliesOf(measurements: PairMeasurements): PairMeasurements {
  const { codes } = measurements;
  return codes.includes(0) ? only(measurements, [...codes.keys()].filter((i) => codes[i] > 0)) : measurements;
}

function only({ timesS, codes, counts }: PairMeasurements, kept: readonly number[]): PairMeasurements {
  return {
    timesS: Float64Array.from(kept, (i) => timesS[i]),
    codes: Uint16Array.from(kept, (i) => codes[i]),
    counts: Float64Array.from(kept, (i) => counts[i]),
  };
}
