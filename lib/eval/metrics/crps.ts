/**
 * The continuous ranked probability score of forecasts.
 *
 * Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007), equation 20;
 * weighted by a threshold as in Gneiting and Ranjan, "Comparing Density Forecasts Using Threshold- and
 * Quantile-Weighted Scoring Rules", JBES 29 (2011), equation 14, which keeps it proper: RTT codes go up to 51 days, and
 * the score of a forecast that leaves 1 in 10,000 to the last of them would be 40 ms for that alone.
 *
 * @module
 */
import { MAX_PING_RTT_MS, type RttDistribution, RTTS_MS } from "../../query/rtt/rtt_distribution.ts";

/** Longer RTTs count as this one, ms. */
export const CRPS_LIMIT_MS = MAX_PING_RTT_MS;

/** The first of the codes' RTTs that is above the limit. */
const END = RTTS_MS.findIndex((rttMs) => rttMs > CRPS_LIMIT_MS);

/**
 * The integral of (F(x) - 1{x >= measured})^2 over x up to {@link CRPS_LIMIT_MS}, in ms, where F has its mass at the
 * middles of the buckets of RTT codes; of a distribution with one value it is the absolute error.
 *
 * @param distribution Of the RTT given a reply.
 * @param measuredMs The RTT that was measured.
 */
export function crpsMs({ probabilities }: RttDistribution, measuredMs: number): number {
  const atMs = Math.min(measuredMs, CRPS_LIMIT_MS);
  let score = Math.max(0, RTTS_MS[0] - atMs);
  let below = 0;
  for (let i = 0; i < END; i++) {
    below += probabilities[i];
    const above = 1 - below;
    // The part of the gap up to the next value that lies below the measured RTT, and the part above it.
    const low = RTTS_MS[i];
    const high = i + 1 === END ? CRPS_LIMIT_MS : RTTS_MS[i + 1];
    const middle = atMs <= low ? low : atMs >= high ? high : atMs;
    score += below * below * (middle - low) + above * above * (high - middle);
  }
  return score;
}

/**
 * The score of a sample of equally likely RTTs, ms: the mean distance to the measured one less half of the mean distance
 * of two of them (Gneiting and Raftery, equation 21).
 *
 * @param ascendingMs The sample, ascending, at least one.
 */
export function crpsOfSampleMs(ascendingMs: Float64Array, measuredMs: number): number {
  const count = ascendingMs.length;
  let distance = 0;
  let spread = 0;
  ascendingMs.forEach((ms, i) => {
    distance += crpsOfNumberMs(ms, measuredMs);
    spread += (2 * i + 1 - count) * Math.min(ms, CRPS_LIMIT_MS);
  });
  return distance / count - spread / count ** 2;
}

/** The score of a single number, ms: its absolute error up to {@link CRPS_LIMIT_MS}. */
export function crpsOfNumberMs(predictedMs: number, measuredMs: number): number {
  return Math.abs(Math.min(predictedMs, CRPS_LIMIT_MS) - Math.min(measuredMs, CRPS_LIMIT_MS));
}
