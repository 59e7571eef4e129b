/**
 * How far predicted RTT distributions are from the true ones of a synthetic Internet.
 *
 * RTT codes are discrete, so a predicted quantile lies somewhere within a code; the code's mass is taken as spread
 * evenly there, on both sides of the comparison, and a prediction that equals the truth covers exactly what it says.
 *
 * @module
 */
import type { RttLaw } from "../../synth/law.ts";
import { codeProbability } from "../../synth/rtt_codes.ts";
import type { RttDistribution } from "../../query/rtt/rtt_distribution.ts";
import { encodeRttCode, rttCodeBounds } from "../../tokens/rtt_code.ts";
import { COVERAGE_LEVELS } from "../metrics/calibration.ts";

/** Quantiles that are compared with the true ones. */
export const TRUTH_QUANTILES: readonly number[] = [0.05, 0.25, 0.5, 0.75, 0.95];

/** One reply, its predicted distribution beside the true one. */
export interface ReplyScore {
  /** -log2 P(measured code | a reply came) of the truth; its mean is the conditional entropy. */
  trueBits: number;
  /** The same of the prediction, less `trueBits`; its mean is the excess over the conditional entropy. */
  excessBits: number;
  /** For each of {@link COVERAGE_LEVELS} the true probability of the predicted central interval. */
  coverage: number[];
  /** For each of {@link TRUTH_QUANTILES}, ms. */
  predictedMs: number[];
  trueMs: number[];
}

/**
 * Compares a prediction with the truth.
 *
 * @param law The true distribution.
 * @param predicted The predicted one; exact at the measured code.
 * @param rttCode The measured code, one that the truth can give.
 */
export function scoreReply(law: RttLaw, predicted: RttDistribution, rttCode: number): ReplyScore {
  const trueBits = -Math.log2(codeProbability(law, rttCode));
  const { lowMs } = rttCodeBounds(rttCode);
  return {
    trueBits,
    excessBits: -Math.log2(predicted.probabilityOf(lowMs)) - trueBits,
    coverage: COVERAGE_LEVELS.map((level) =>
      trueProbabilityBelow(law, predicted, 0.5 + level / 2) -
      trueProbabilityBelow(law, predicted, 0.5 - level / 2)
    ),
    predictedMs: TRUTH_QUANTILES.map((q) => predicted.quantileMs(q)),
    trueMs: TRUTH_QUANTILES.map((q) => law.quantile(q)),
  };
}

/** The bits by which the prediction of whether a reply comes is worse than the truth's. */
export function outcomeExcessBits(law: RttLaw, pFailed: number, isFailed: boolean): number {
  return isFailed ? Math.log2(law.pFailed / pFailed) : Math.log2((1 - law.pFailed) / (1 - pFailed));
}

/** The probability of the truth that a reply's RTT is below the predicted q-quantile. */
export function trueProbabilityBelow(law: RttLaw, predicted: RttDistribution, q: number): number {
  const quantileMs = predicted.quantileMs(q);
  const p = predicted.probabilityOf(quantileMs);
  const shareBelow = (q - (predicted.cdf(quantileMs) - p)) / p;
  const { lowMs, highMs } = rttCodeBounds(encodeRttCode(quantileMs));
  return law.probabilityBetween(0, lowMs) + shareBelow * law.probabilityBetween(lowMs, highMs);
}
