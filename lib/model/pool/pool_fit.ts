/**
 * Fits the weights of a linear pool to measurements by expectation maximisation: stacking of predictive distributions
 * (Wolpert, "Stacked Generalization", Neural Networks 5, 1992; Gneiting, Ranjan, "Combining Predictive Distributions",
 * Electronic Journal of Statistics 7, 2013).
 *
 * Kinds of questions with few measurements have weights near those of a larger group: the weights of a group are the prior
 * of its parts, worth {@link PRIOR_CASES} measurements.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { allKinds, EVEN, isOfPair, type Kind, NUM_COMPONENTS, NUM_KINDS } from "./simple_forecasts.ts";

/** What the weights of the larger group are worth. */
const PRIOR_CASES = 12;
const NUM_ITERATIONS = 200;
/** The model's weight before any measurement, and that of the even component always. */
const MODEL_SHARE = 0.8;
const EVEN_SHARE = 0.001;

/** A measurement as the pool is fitted to it. */
export interface PoolCase {
  readonly kind: Kind;
  /** For each of {@link RESOLUTIONS} P(a code of the measured one's run | a reply) of each component. */
  readonly masses: readonly Float64Array[];
}

/**
 * Lengths of runs of codes. The logarithmic score of codes alone would choose what is sharp rather than near; the sum of the
 * scores of codes and of runs is proper too (Gneiting, Raftery, JASA 102, 2007).
 */
const RESOLUTIONS = [1, 32, 256];

/** The runs that a code is in: indexes of the first code and of the one after the last. @param index Its own. */
export function runsOfCode(index: number): (readonly [first: number, end: number])[] {
  return RESOLUTIONS.map((length) => {
    // Below 2.048 ms code 0 is missing.
    const first = Math.floor((index + 1) / length) * length - 1;
    return [Math.max(0, first), first + length];
  });
}

/** Weights of one group of cases. @param prior (components): its weights before any case, which add to 1. */
export function fitWeights(
  cases: readonly Float64Array[],
  prior: Float64Array,
  numIterations = NUM_ITERATIONS,
): Float64Array {
  let weights = prior;
  for (let iteration = 0; iteration < numIterations; iteration++) {
    const counts = prior.map((share) => share * PRIOR_CASES);
    for (const masses of cases) {
      let total = 0;
      for (let k = 0; k < masses.length; k++) total += weights[k] * masses[k];
      if (total === 0) continue;
      for (let k = 0; k < masses.length; k++) counts[k] += weights[k] * masses[k] / total;
    }
    counts[EVEN] = 0;
    const sum = counts.reduce((a, b) => a + b, 0);
    weights = counts.map((count, k) => k === EVEN ? prior[EVEN] : count / sum * (1 - prior[EVEN]));
  }
  return weights;
}

/** What {@link fitWeights} makes greater: the log-likelihood of the cases, nats, and that of the prior. */
export function logPosterior(
  cases: readonly Float64Array[],
  prior: Float64Array,
  weights: Float64Array,
): number {
  let sum = 0;
  for (const masses of cases) {
    sum += Math.log(masses.reduce((total, mass, k) => total + mass * weights[k], 0));
  }
  prior.forEach((share, k) => sum += share > 0 ? PRIOR_CASES * share * Math.log(weights[k]) : 0);
  return sum;
}

/** The weights before any measurement. @param hasPair Whether an RTT of the pair is known. */
function firstWeights(hasPair: boolean): Float64Array {
  const used = Array.from(
    { length: NUM_COMPONENTS },
    (_, k) => k > 0 && k < EVEN && (hasPair || !isOfPair(k)),
  );
  const share = (1 - MODEL_SHARE - EVEN_SHARE) / used.filter(Boolean).length;
  const weights = Float64Array.from(used, (isUsed) => isUsed ? share : 0);
  weights[0] = MODEL_SHARE;
  weights[EVEN] = EVEN_SHARE;
  return weights;
}

/** The weights of all kinds, (kinds, components). */
export function fitPool(cases: readonly PoolCase[]): Float64Array {
  const scoresOf = (chosen: readonly PoolCase[]) => chosen.flatMap(({ masses }) => masses);
  const fitted = new Map<string, Float64Array>();
  const all = new Float64Array(NUM_KINDS * NUM_COMPONENTS);
  for (const { number, groups } of allKinds()) {
    let weights = firstWeights(groups[0] === "pair");
    for (const [level, group] of groups.entries()) {
      const prior = weights;
      weights = getOrMake(
        fitted,
        group,
        () => fitWeights(scoresOf(cases.filter(({ kind }) => kind.groups[level] === group)), prior),
      );
    }
    const own = cases.filter(({ kind }) => kind.number === number);
    all.set(fitWeights(scoresOf(own), weights), number * NUM_COMPONENTS);
  }
  return all;
}
