/**
 * The continuous ranked probability score of a forecast distribution.
 *
 * Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007), equation 20.
 *
 * @module
 */
import { type RttDistribution, RTTS_MS } from "../query/rtt_distribution.ts";

/**
 * The integral of (F(x) - 1{x >= measured})^2 over all x, in ms, where F has its mass at the middles of the buckets of
 * RTT codes; of a distribution with one value it is the absolute error.
 *
 * @param distribution Of the RTT given a reply.
 * @param measuredMs The RTT that was measured.
 */
export function crpsMs({ probabilities }: RttDistribution, measuredMs: number): number {
  const last = RTTS_MS.length - 1;
  let score = Math.max(0, RTTS_MS[0] - measuredMs) + Math.max(0, measuredMs - RTTS_MS[last]);
  let below = 0;
  for (let i = 0; i < last; i++) {
    below += probabilities[i];
    const above = 1 - below;
    // The part of the gap up to the next value that lies below the measured RTT, and the part above it.
    const [low, high] = [RTTS_MS[i], RTTS_MS[i + 1]];
    const middle = measuredMs <= low ? low : measuredMs >= high ? high : measuredMs;
    score += below * below * (middle - low) + above * above * (high - middle);
  }
  return score;
}
