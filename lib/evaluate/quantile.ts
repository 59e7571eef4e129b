/** Quantiles of samples. @module */

/** The smallest value of a sample that at least the share `q` of it does not exceed; NaN of an empty one. */
export function quantileOfSample(sample: Iterable<number>, q: number): number {
  return quantileOfSorted(Float64Array.from(sample).sort(), q);
}

/** As {@link quantileOfSample}, of values in ascending order. */
export function quantileOfSorted(ascending: Float64Array, q: number): number {
  return ascending.length === 0 ? NaN : ascending[Math.max(0, Math.ceil(q * ascending.length) - 1)];
}
