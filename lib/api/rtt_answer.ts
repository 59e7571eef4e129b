/** The distribution of an RTT as it is answered. @module */
import { basisJson, basisOf } from "../addresses/known_addresses.ts";
import type { PingModel } from "../query/ping_model.ts";
import { type AnsweredQuery, notesOn } from "../query/rtt/answer_queries.ts";
import type { RttDistribution } from "../query/rtt/rtt_distribution.ts";
import { summaryOf } from "../query/rtt/rtt_summary.ts";
import type { AskedRtt } from "./read_question.ts";
import type { RttApiAnswer } from "./schemas.ts";
import { snakeKeys } from "./snake_case.ts";

/** Those that `query rtt` gives. */
const DEFAULT_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];
/** The quantiles between which points of the distribution function lie. */
const CDF_ENDS = [0.001, 0.999] as const;

/** What is answered. */
export function rttAnswerOf(
  answered: AnsweredQuery<AskedRtt["query"]>,
  { quantiles = DEFAULT_QUANTILES, at = [], cdf }: AskedRtt["wanted"],
  { step, trainingData }: Pick<PingModel, "step" | "trainingData">,
): RttApiAnswer {
  const { query: { src, dst, source, destination, timeS }, answer, numContextUsed } = answered;
  const notes = notesOn(answered);
  return {
    src_addr: src,
    dst_addr: dst,
    timestamp: timeS,
    context_measurements: numContextUsed,
    ...snakeKeys(summaryOf(answer, { quantiles, atMs: at })),
    ...(cdf !== undefined && { cdf: cdfPoints(answer.mixture.distribution, cdf) }),
    basis: basisJson(basisOf(trainingData, source, destination)),
    ...(notes.length > 0 && { notes }),
    step,
  };
}

/** P(RTT <= rtt_ms | a reply came) at so many RTTs, evenly spaced on a logarithmic axis. */
function cdfPoints(distribution: RttDistribution, numPoints: number): { rtt_ms: number; cdf: number }[] {
  const [low, high] = CDF_ENDS.map((q) => distribution.quantileMs(q));
  return Array.from({ length: numPoints }, (_, i) => {
    const rttMs = low * (high / low) ** (i / (numPoints - 1));
    return { rtt_ms: rttMs, cdf: distribution.cdf(rttMs) };
  });
}
