/**
 * The place of a node that factors were not fitted to.
 *
 * A few RTTs say little of two dozen numbers, but much of which nodes the further one is like: it is near those whose
 * estimates to the same others are the same (compare GNP, Ng and Zhang, INFOCOM 2002, and nearest neighbours of Cover
 * and Hart, IEEE Trans. Inf. Theory 13, 1967). Their weighted mean is what the vectors are regularised towards.
 *
 * @module
 */

/** How much more a further node's vectors are regularised: those of nodes like it say where they are. */
export const PRIOR_STRENGTH = 5;
/** Degrees of freedom of Student's t, by which few RTTs that lie far off do not count against a node. */
const DEGREES = 3;
/** Nodes that are compared at most, evenly spread, so that finding a place takes no longer in a large network. */
export const MAX_CANDIDATES = 2048;
/** RTTs by which they are compared at most. */
export const MAX_COMPARED = 64;
/** The part of the greatest weight below which a node does not count. */
const LEAST_WEIGHT = 1e-6;
/** As how many RTTs what is expected counts where an error is told, and how much more is expected of a single RTT. */
const NUM_EXPECTED = 8;
const EXPECTED_OF_ONE = 2;

/** Which nodes a further node is like. */
export interface SimilarNodes {
  /** Nodes with their weights, whose sum is 1. */
  readonly nodes: readonly { readonly node: number; readonly weight: number }[];
  /** How far estimates are off: by how far each RTT lies from what the others say of it, smoothed. */
  readonly error: number;
}

/**
 * Finds the nodes that are like a further one.
 *
 * @param candidates Nodes that may be, and their places.
 * @param known Places of nodes, and the logarithms of their RTTs to the further one; at least one.
 * @param options `estimate`: the logarithm of the RTT of two places; `usualError`: that of such estimates.
 */
export function similarNodes<P>(
  candidates: readonly { node: number; place: P }[],
  known: readonly { place: P; log: number }[],
  { estimate, usualError }: { estimate: (a: P, b: P) => number; usualError: number },
): SimilarNodes {
  const compared = spread(known, MAX_COMPARED);
  const logs = compared.map((known) =>
    Float64Array.from(candidates, (candidate) => estimate(candidate.place, known.place))
  );
  const fits = compared.map(({ log }, i) =>
    logs[i].map((found) => -(DEGREES + 1) / 2 * Math.log1p(((found - log) / usualError) ** 2 / DEGREES))
  );
  const sums = new Float64Array(candidates.length);
  for (const fit of fits) fit.forEach((value, i) => sums[i] += value);
  const errors = compared.map(({ log }, i) => {
    const weights = shares(sums.map((sum, j) => sum - fits[i][j]));
    return Math.abs(weights.reduce((mean, weight, j) => mean + weight * logs[i][j], 0) - log);
  }).sort((a, b) => a - b);
  const count = errors.length;
  const expected = usualError * (1 + EXPECTED_OF_ONE / count);
  return {
    nodes: [...shares(sums)].flatMap((weight, i) => weight > 0 ? [{ node: candidates[i].node, weight }] : []),
    error: (count * errors[count >> 1] + NUM_EXPECTED * expected) / (count + NUM_EXPECTED),
  };
}

/** What of a sum of 1 each has whose probabilities have these logarithms. */
function shares(logs: Float64Array): Float64Array {
  const most = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = logs.map((log) => Math.exp(log - most)).map((weight) => weight < LEAST_WEIGHT ? 0 : weight);
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** So many of them at most, evenly spread. */
export function spread<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor(i * all.length / most)]);
}
