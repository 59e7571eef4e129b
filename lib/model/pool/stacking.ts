/**
 * Weights of predictive distributions by expectation maximisation: stacking (Wolpert, "Stacked
 * Generalization", Neural Networks 5, 1992; Gneiting, Ranjan, "Combining Predictive Distributions",
 * Electronic Journal of Statistics 7, 2013).
 *
 * @module
 */

/** The fit stops when all weights change by less than this. */
const SETTLED = 1e-5;
/**
 * A step changes ln(weight) by this times what a step of expectation maximisation does. Steps converge below 2
 * (Bauer, Koller, Singer, "Update Rules for Parameter Estimation in Bayesian Networks", UAI 1997).
 */
const STEP = 1.9;

export interface Stacked {
  /** (events, components): P(event) by each component, for events that occurred. */
  readonly masses: Float64Array;
  /** How much each event counts (1). */
  readonly counts?: Float64Array | undefined;
}

/**
 * @param prior (components): weights before any event; they sum to 1. Components with 0 keep it.
 * @param options `worth`: how many events the prior counts as; `numIterations`: at most; `fixed`: a component
 *   whose weight remains that of the prior.
 */
export function stack(
  { masses, counts }: Stacked,
  prior: Float64Array,
  { worth, numIterations, fixed = -1 }: { worth: number; numIterations: number; fixed?: number },
): Float64Array {
  const numComponents = prior.length;
  const numEvents = masses.length / numComponents;
  const free = fixed < 0 ? 1 : 1 - prior[fixed];
  let weights = prior.slice();
  for (let iteration = 0; iteration < numIterations; iteration++) {
    const gains = new Float64Array(numComponents);
    for (let event = 0; event < numEvents; event++) {
      const first = event * numComponents;
      let total = 0;
      for (let k = 0; k < numComponents; k++) total += weights[k] * masses[first + k];
      if (total === 0) continue;
      const share = (counts?.[event] ?? 1) / total;
      for (let k = 0; k < numComponents; k++) gains[k] += share * masses[first + k];
    }
    const next = weights.map((weight, k) =>
      k === fixed || weight === 0 ? 0 : weight * (worth * prior[k] / weight + gains[k]) ** STEP
    );
    const sum = next.reduce((a, b) => a + b, 0);
    for (let k = 0; k < numComponents; k++) next[k] = k === fixed ? prior[k] : next[k] / sum * free;
    const isSettled = next.every((weight, k) => Math.abs(weight - weights[k]) < SETTLED);
    weights = next;
    if (isSettled) break;
  }
  return weights;
}
