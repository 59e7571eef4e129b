/**
 * Finds the coordinates of a node that was not fitted.
 *
 * A few RTTs cannot determine two dozen numbers, but they show which nodes the new one resembles: those with similar
 * estimates to the same others (compare GNP, Ng and Zhang, INFOCOM 2002, and nearest neighbours, Cover and Hart, IEEE Trans.
 * Inf. Theory 13, 1967). The new node's vectors are regularised towards the weighted mean of these nodes.
 *
 * @module
 */

/** Factor on the regularisation of a new node's vectors, since similar nodes determine them. */
export const PRIOR_STRENGTH = 5;
/** Degrees of freedom of Student's t, with which a few outlying RTTs reduce a node's weight only little. */
const DEGREES = 3;
/** The largest number of nodes that are compared, evenly spread, so that the time does not grow with the network. */
export const MAX_CANDIDATES = 2048;
/** The largest number of RTTs by which they are compared. */
export const MAX_COMPARED = 64;
/** Nodes of a smaller weight, relative to the largest one, do not count. */
const LEAST_WEIGHT = 1e-6;
/** The weight of the expected error, in RTTs, and how much larger it is with a single RTT. */
const NUM_EXPECTED = 8;
const EXPECTED_OF_ONE = 2;

/** The nodes that a new node resembles. */
export interface SimilarNodes {
  /** Nodes and weights; the weights sum to 1. */
  readonly nodes: readonly { readonly node: number; readonly weight: number }[];
  /** The error of estimates: the smoothed difference of each RTT from the prediction by the others. */
  readonly error: number;
}

/**
 * Finds the nodes that a new one resembles.
 *
 * @param candidates Nodes and their coordinates.
 * @param known Coordinates of nodes and the logarithms of their RTTs to the new one; at least one.
 * @param options `estimate`: the logarithm of the RTT for two nodes' coordinates; `usualError`: the usual error of
 *   such estimates.
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

/** Normalises weights given as logarithms. @returns Weights that sum to 1. */
function shares(logs: Float64Array): Float64Array {
  const most = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = logs.map((log) => Math.exp(log - most)).map((weight) => weight < LEAST_WEIGHT ? 0 : weight);
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** At most `most` of the items, evenly spread. */
export function spread<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, i) => all[Math.floor(i * all.length / most)]);
}
