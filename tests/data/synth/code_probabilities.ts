import { CANONICAL_RTT_CODES } from "../../../lib/data/tokens/rtt_code.ts";
import { codeProbability } from "../../../lib/data/synth/truth.ts";
import type { LatencyModel } from "../../../lib/data/synth/latency_model.ts";

/** P(code | a reply came) of every one of `CANONICAL_RTT_CODES`, in their order. */
export function codeProbabilities(model: LatencyModel): Float64Array {
  return Float64Array.from(CANONICAL_RTT_CODES, (code) => codeProbability(model, code));
}
