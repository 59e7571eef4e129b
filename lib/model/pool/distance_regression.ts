/**
 * How RTTs depend on the great-circle distance.
 *
 * @module
 */
import { quantileOfSample } from "../../base/sample_statistics.ts";

/** ln RTT = base + ln(1 + slope km), ln ms; the median if the distance is unknown. */
export interface Regression {
  readonly base: number;
  readonly slope: number;
  readonly median: number;
}

/** The slowest and the fastest rise per km, relative to the RTT at 0 km, and the number of values to try. */
const [SLOWEST, FASTEST, NUM_SLOPES] = [1e-5, 0.3, 40];
const MAX_FITTED = 4096;

/** The logarithm of the RTT that a distance suggests, ln ms. @param km NaN if it is unknown. */
export function expectedLog(km: number, { base, slope, median }: Regression): number {
  return Number.isNaN(km) ? median : base + Math.log1p(slope * km);
}

/**
 * Fits ln RTT = base + ln(1 + slope km). Minimises absolute errors, so wrong places and slow pairs have little
 * influence.
 *
 * @param pairs At most {@link MAX_FITTED} are used; those without a distance, NaN, are not. @returns The slope is 0
 *   if none is used.
 */
export function fitDistances(pairs: readonly { km: number; log: number }[]): Regression {
  const step = Math.max(1, pairs.length / MAX_FITTED);
  const some = Array.from({ length: Math.floor(pairs.length / step) }, (_, i) => pairs[Math.floor(i * step)])
    .filter(({ km }) => !Number.isNaN(km));
  const ofAll = quantileOfSample(pairs.map(({ log }) => log), 0.5);
  let [base, slope, least] = [ofAll, 0, Infinity];
  for (let i = 0; i < NUM_SLOPES && some.length > 0; i++) {
    const tried = SLOWEST * (FASTEST / SLOWEST) ** (i / (NUM_SLOPES - 1));
    const bases = Float64Array.from(some, ({ km, log }) => log - Math.log1p(tried * km));
    const median = quantileOfSample(bases, 0.5);
    const error = bases.reduce((sum, each) => sum + Math.abs(each - median), 0);
    if (error < least) [least, base, slope] = [error, median, tried];
  }
  return { base, slope, median: ofAll };
}
