/**
 * Where measurements lie in their forecast distributions. RTT codes are discrete, so that is not one place but a range,
 * over which a measurement counts as spread evenly.
 *
 * Source: Czado, Gneiting, Held, "Predictive Model Assessment for Count Data", Biometrics 65 (2009), section 2.1.
 *
 * @module
 */

/** Where measurements lie in their forecast distributions: from P(less) to P(less or equal). */
export interface MassRanges {
  /** P(less) of each. */
  readonly below: Float64Array;
  /** P(less or equal) of each. */
  readonly upTo: Float64Array;
}

/** Which share of each measurement's range lies within [low, high]; a range of no width is a point, high excluded. */
export function sharesWithin(
  { below, upTo }: MassRanges,
  [low, high]: readonly [number, number],
): Float64Array {
  return below.map((start, i) => {
    const width = upTo[i] - start;
    if (width > 0) return Math.max(0, Math.min(high, upTo[i]) - Math.max(low, start)) / width;
    return start >= low && (start < high || high === 1) ? 1 : 0;
  });
}
