import { CANONICAL_RTT_CODES } from "../../../lib/data/tokens/rtt_code.ts";
import { codeProbability } from "../../../lib/data/synth/truth.ts";
import type { LatencyModel } from "../../../lib/data/synth/latency_model.ts";

/** P(code | a reply came) for all `CANONICAL_RTT_CODES`, in order. */
export function codeProbabilities(model: LatencyModel): Float64Array {
  return Float64Array.from(CANONICAL_RTT_CODES, (code) => codeProbability(model, code));
}
