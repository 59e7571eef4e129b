/** The section on missing replies: how well the model predicts that no reply comes. @module */
import {
  type ClusterBootstrap,
  differenceInterval,
  type Interval,
  intervalOf,
} from "../metrics/bootstrap.ts";
import { brierScore, brierScores, reliability, type ReliabilityBin } from "../metrics/calibration.ts";
import { type Verdict, verdictOf } from "../metrics/rtt_comparison.ts";

/** Forecasts of failure. */
export interface FailureMetrics {
  numMeasurements: number;
  numFailed: number;
  /** Mean squared difference of P(no reply) and the outcome, 0 or 1; null of none. Its 95 % interval; null of few. */
  brier: number | null;
  brierInterval: Interval | null;
}

/** How well the model predicts that no reply comes. */
export interface FailureSection extends FailureMetrics {
  /** The share of the training measurements without reply, and the Brier score of forecasting it always. */
  trainingShare: number | null;
  trainingShareBrier: number | null;
  trainingShareBrierInterval: Interval | null;
  /** The 95 % interval of the model's score minus that one, and the verdict; null and none where all outcomes are equal. */
  differenceInterval: Interval | null;
  verdict: Verdict;
  /** The same for the share of the predicted measurements: the best constant, not known beforehand. */
  heldOutShare: number | null;
  heldOutShareBrier: number | null;
  byContext: (FailureMetrics & { numContext: number })[];
  /** At most ten groups of as many measurements, by rising probability. */
  reliability: ReliabilityBin[];
}

/** P(no reply) and the outcomes. */
export interface FailureForecasts {
  pFailed: Float64Array;
  /** 1 if no reply came. */
  isFailed: Uint8Array;
  numContext: Uint32Array;
}

const NUM_BINS = 10;

/**
 * Scores forecasts of failure.
 *
 * @param options `contexts`: the numbers of context; `trainingShare`: the share of failures in the training;
 *   `bootstrap`: with a place for each forecast.
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
  // Where all outcomes are equal there is nothing to tell apart.
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
