/**
 * The section on missing replies: how well the model predicts that no reply comes.
 *
 * @module
 */
import {
  type ClusterBootstrap,
  differenceInterval,
  type Interval,
  intervalOf,
} from "../metrics/bootstrap.ts";
import { brierScore, brierScores, reliability, type ReliabilityBin } from "../metrics/calibration.ts";
import { type Verdict, verdictOf } from "../metrics/rtt_comparison.ts";

interface FailureMetrics {
  numMeasurements: number;
  numFailed: number;
  /**
   * Mean squared difference between P(no reply) and the outcome, 0 or 1, null if there are none; its 95 %
   * interval, null with too few clusters.
   */
  brier: number | null;
  brierInterval: Interval | null;
}

export interface FailureSection extends FailureMetrics {
  /** The share of training measurements without a reply, and the Brier score of always forecasting it. */
  trainingShare: number | null;
  trainingShareBrier: number | null;
  trainingShareBrierInterval: Interval | null;
  /**
   * The 95 % interval of the model's score minus that one, and the verdict; null and none if all outcomes are
   * equal.
   */
  differenceInterval: Interval | null;
  verdict: Verdict;
  /** The same for the share in the predicted measurements: the best constant, not known beforehand. */
  heldOutShare: number | null;
  heldOutShareBrier: number | null;
  byContext: (FailureMetrics & { numContext: number })[];
  /** At most ten groups of equal size, by increasing probability. */
  reliability: ReliabilityBin[];
}

interface FailureForecasts {
  pFailed: Float64Array;
  /** 1 for no reply. */
  isFailed: Uint8Array;
  numContext: Uint32Array;
}

const NUM_BINS = 10;

/**
 * Scores forecasts of failure.
 *
 * @param options `contexts`: context sizes; `trainingShare`: the share of failures in the training set;
 *   `bootstrap`: over the forecasts.
 */
export function failureSection(
  { pFailed, isFailed, numContext }: FailureForecasts,
  options: { contexts: readonly number[]; trainingShare: number | null; bootstrap: ClusterBootstrap },
): FailureSection {
  const { contexts, trainingShare, bootstrap } = options;
  const everywhere = pFailed.keys().toArray();
  const always = (share: number) => new Float64Array(pFailed.length).fill(share);
  const brierOf = (share: number | null) => share === null ? null : brierScore(always(share), isFailed);
  const metricsOf = (places: readonly number[]): FailureMetrics => {
    const ofPlaces = Float64Array.from(places, (place) => pFailed[place]);
    const outcomes = Uint8Array.from(places, (place) => isFailed[place]);
    return {
      numMeasurements: places.length,
      numFailed: outcomes.reduce((sum, failed) => sum + failed, 0),
      brier: brierScore(ofPlaces, outcomes),
      brierInterval: intervalOf(bootstrap.mean(brierScores(ofPlaces, outcomes), places)),
    };
  };
  const overall = metricsOf(everywhere);
  const { numMeasurements, numFailed } = overall;
  const model = bootstrap.mean(brierScores(pFailed, isFailed), everywhere);
  const constant = bootstrap.mean(brierScores(always(trainingShare ?? NaN), isFailed), everywhere);
  // If all outcomes are equal there is nothing to distinguish.
  const isAlike = numFailed === 0 || numFailed === numMeasurements;
  const difference = isAlike ? null : differenceInterval(model, constant);
  const heldOutShare = numMeasurements === 0 ? null : numFailed / numMeasurements;
  return {
    ...overall,
    trainingShare,
    trainingShareBrier: brierOf(trainingShare),
    trainingShareBrierInterval: intervalOf(constant),
    differenceInterval: difference,
    verdict: verdictOf(difference),
    heldOutShare,
    heldOutShareBrier: brierOf(heldOutShare),
    byContext: contexts.map((count) => ({
      numContext: count,
      ...metricsOf(everywhere.filter((place) => numContext[place] === count)),
    })),
    reliability: reliability(pFailed, isFailed, { numBins: NUM_BINS }),
  };
}
