/** Means and quantiles of samples. @module */

/** `mean` is null for an empty sample, `standardError` for fewer than two values. */
export interface MeanWithError {
  mean: number | null;
  standardError: number | null;
}

/** Null for an empty sample. */
export function meanOf(values: ArrayLike<number>): number | null {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return values.length === 0 ? null : sum / values.length;
}

/** The standard error uses the unbiased variance of the values. */
export function meanWithError(values: readonly number[]): MeanWithError {
  const mean = meanOf(values);
  if (mean === null) return { mean, standardError: null };
  const count = values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, standardError: count < 2 ? null : Math.sqrt(squares / (count - 1) / count) };
}

/** The smallest value that a share of at least `q` of the sample does not exceed; NaN if it is empty. */
export function quantileOfSample(sample: Iterable<number>, q: number): number {
  return quantileOfSorted(Float64Array.from(sample).sort(), q);
}

/** Like {@link quantileOfSample}, for values in ascending order. */
export function quantileOfSorted(ascending: Float64Array, q: number): number {
  return ascending.length === 0 ? NaN : ascending[Math.max(0, Math.ceil(q * ascending.length) - 1)];
}

/**
 * Like {@link quantileOfSorted}, for weighted values: the smallest value up to which the weights reach a share
 * of their sum.
 *
 * @param ascending At least one. @param weights Those of the values, not all 0. @param levels Ascending.
 */
export function quantilesOfWeighted(
  ascending: ArrayLike<number>,
  weights: ArrayLike<number>,
  levels: readonly number[],
): Float64Array {
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i];
  let at = 0;
  let upTo = weights[0];
  return Float64Array.from(levels, (level) => {
    while (upTo < level * total && at < weights.length - 1) upTo += weights[++at];
    return ascending[at];
  });
}

/** Null for an empty sample. */
export function medianOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : quantileOfSample(values, 0.5);
}
