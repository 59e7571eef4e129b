/**
 * Fits how fast RTTs age to pairs that were measured repeatedly. A case is a later result of a pair and the
 * earlier RTTs. While a path stays the same, forecasts around the pair's RTTs are valid; their weights are
 * fitted here too.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { type AgeCurve, ageShares, USUAL_AGE } from "./age.ts";
import type { AskedPair } from "./asked_pair.ts";
import type { KnownOfQuestion } from "./forecast.ts";
import { pairMemory } from "./forecasts/pair_memory.ts";
import { indexOfCode, type Kernel, KernelMixture, NUM_CODES } from "./kernel_mixture.ts";
import { kindOf } from "./question_kinds.ts";

export interface AgeCase {
  /** The earlier measurements, asked at the time of the result. */
  readonly pair: AskedPair;
  readonly rttCode: number;
}

/** Candidate scales of changes, as multiples of the usual scale. */
const FACTORS = [-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6].map((exponent) => 2 ** exponent);
/** The prior standard deviation of ln(scale); the scale of MENOG 2019 is twice that of the traces. */
const SCALE_SPREAD = Math.log(2);
/** How many cases the prior counts as: the usual shares, then equal weights of the forecasts. */
const PRIOR_CASES = 30;
const PRIOR_OF_FORECASTS = 10;
const NUM_ITERATIONS = 60;
/** The width of kernels for outliers on an unchanged path, ln. */
const OUTLIER_WIDTH = 2 ** -3;
/** Forecasts of an unchanged path. */
const NUM_SAME = pairMemory.numWeights + 1;
/** The probability that is always spread over all codes. */
const LEAST_MASS = 1e-3;

const NOTHING: Omit<KnownOfQuestion, "pair" | "measured"> = {
  ends: { source: "", destination: "" },
  hashes: [{ hash1: 0, hash2: 0 }, { hash1: 0, hash2: 0 }],
  ofHosts: [],
  estimate: undefined,
  ofSource: [],
  ofDestination: [],
  knowsSource: true,
  knowsDestination: true,
  knowsPlaces: true,
  inContext: [],
  ofAll: [],
  recall() {
    throw new Error("forecasts around a pair's RTTs remember nothing else");
  },
};

/** What the forecasts of a case say about the code of the result. */
interface Scored {
  /** Cases of a kind share the weights of the forecasts. */
  readonly kind: number;
  readonly ageS: number;
  readonly spanS: number;
  /** P(the code) by each forecast around the pair's RTTs, and by the kernels of each width after a change. */
  readonly same: readonly number[];
  readonly changed: readonly number[];
}

/**
 * Fits a curve by expectation maximisation for each candidate scale; returns the usual curve if there are no
 * cases.
 *
 * @param weight How much a case counts. Several cases of one pair should count less than cases of different
 *   pairs.
 */
export function fitAge(cases: readonly AgeCase[], weight = 1): AgeCurve {
  const scored = cases.map(scoreOf);
  if (cases.length === 0) return USUAL_AGE;
  let best = { curve: USUAL_AGE, score: -Infinity };
  for (const factor of FACTORS) {
    const { shares, score } = fitShares(scored, { changeS: factor * USUAL_AGE.changeS, weight });
    const ofScale = score - (Math.log(factor) / SCALE_SPREAD) ** 2 / 2;
    if (ofScale > best.score) {
      best = { curve: { changeS: factor * USUAL_AGE.changeS, shares }, score: ofScale };
    }
  }
  return best.curve;
}

function scoreOf({ pair, rttCode }: AgeCase): Scored {
  const index = indexOfCode(rttCode);
  const massOf = (kernels: Kernel[]) =>
    (1 - LEAST_MASS) * new KernelMixture(kernels, [0, NUM_CODES]).massBetween(index, index + 1) +
    LEAST_MASS / NUM_CODES;
  const each = (length: number, kernelsOf: (unit: number[]) => Kernel[]) =>
    Array.from({ length }, (_, k) => {
      const unit = Array.from({ length }, (_, i) => i === k ? 1 : 0);
      return massOf(kernelsOf(unit).filter(({ mass }) => mass > 0));
    });
  const known = { ...NOTHING, measured: pair, pair };
  const ageS = pair.gapS;
  return {
    kind: kindOf(known).number,
    ageS,
    spanS: pair.spanS,
    same: [
      ...each(pairMemory.numWeights, pairMemory.ask(known)),
      massOf(pair.kernels().map((kernel) => ({ ...kernel, width: OUTLIER_WIDTH }))),
    ],
    changed: each(USUAL_AGE.shares.length, (shares) => pair.kernelsAfterChange({ changeS: 0, shares })),
  };
}

/** The shares of widths for a given scale of changes, and the log-likelihood of cases and prior, nats. */
function fitShares(
  cases: readonly Scored[],
  { changeS, weight }: { changeS: number; weight: number },
): { shares: number[]; score: number } {
  let shares = Float64Array.from(USUAL_AGE.shares);
  const groups = new Map<number, Weights>();
  const counted = cases.map(({ kind, ageS, spanS, ...masses }) => {
    const even = () => new Float64Array(NUM_SAME).fill(1 / NUM_SAME);
    const weights = getOrMake(groups, kind, () => ({ now: even(), next: even() }));
    return { ...masses, weights, chance: ageShares({ changeS }, ageS, spanS).changed };
  });
  let score = 0;
  for (let iteration = 0; iteration < NUM_ITERATIONS; iteration++) {
    const counts = Float64Array.from(USUAL_AGE.shares, (share) => share * PRIOR_CASES);
    score = counts.reduce((sum, count, k) => sum + count * Math.log(shares[k]), 0);
    groups.forEach(({ next }) => next.fill(PRIOR_OF_FORECASTS / NUM_SAME));
    for (const { same, changed, weights: { now, next }, chance } of counted) {
      let total = 0;
      for (let k = 0; k < same.length; k++) total += (1 - chance) * now[k] * same[k];
      for (let k = 0; k < changed.length; k++) total += chance * shares[k] * changed[k];
      for (let k = 0; k < same.length; k++) next[k] += weight * (1 - chance) * now[k] * same[k] / total;
      for (let k = 0; k < changed.length; k++) counts[k] += weight * chance * shares[k] * changed[k] / total;
      score += weight * Math.log(total);
    }
    shares = normalised(counts);
    groups.forEach((weights) => weights.now = normalised(weights.next));
  }
  return { shares: [...shares], score };
}

/** The weights of forecasts in a group, and the counts for the next iteration. */
interface Weights {
  now: Float64Array;
  readonly next: Float64Array;
}

function normalised(counts: Float64Array): Float64Array<ArrayBuffer> {
  const sum = counts.reduce((a, b) => a + b, 0);
  return Float64Array.from(counts, (count) => count / sum);
}
