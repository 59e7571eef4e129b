/**
 * The exact probabilities of the RTT codes that models predict, in a synthetic Internet.
 *
 * P(code | reply) = P(low <= RTT < high) with the code's bounds, so the probabilities of all codes add up to 1 and
 * the mean of -log2 P over the generator's draws is the conditional entropy, the smallest loss of any model.
 *
 * @module
 */
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../tokens/rtt_code.ts";
import type { LatencyModel } from "./latency_model.ts";

/** P(code | a reply came). @param code A canonical code. */
export function codeProbability(model: LatencyModel, code: number): number {
  const { lowMs, highMs } = rttCodeBounds(code);
  return model.probabilityBetween(lowMs, highMs);
}

/** P(code | a reply came) of every one of `CANONICAL_RTT_CODES`, in their order. */
export function codeProbabilities(model: LatencyModel): Float64Array {
  return Float64Array.from(CANONICAL_RTT_CODES, (code) => codeProbability(model, code));
}
