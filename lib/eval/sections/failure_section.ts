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

interface FailureBaseline {
  name: string;
  brier: number;
  brierInterval: Interval | null;
  /**
   * The 95 % interval of the model's score minus this one, and the verdict; null and none if all outcomes are
   * equal.
   */
  differenceInterval: Interval | null;
  verdict: Verdict;
}

export interface FailureSection extends FailureMetrics {
  /** Empty if there are no measurements. */
  baselines: FailureBaseline[];
  /** The share in the predicted measurements: the best constant, not known beforehand; its Brier score. */
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
 * @param options `contexts`: context sizes; `baselines`: their P(no reply) for each forecast, by name;
 *   `bootstrap`: over the forecasts.
 */
export function failureSection(
  { pFailed, isFailed, numContext }: FailureForecasts,
  { contexts, baselines, bootstrap }: {
    contexts: readonly number[];
    baselines: ReadonlyMap<string, Float64Array>;
    bootstrap: ClusterBootstrap;
  },
): FailureSection {
  const everywhere = pFailed.keys().toArray();
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
  // If all outcomes are equal there is nothing to distinguish.
  const isAlike = numFailed === 0 || numFailed === numMeasurements;
  const scored = [...baselines].flatMap(([name, ofBaseline]): FailureBaseline[] => {
    const brier = brierScore(ofBaseline, isFailed);
    if (brier === null) return [];
    const replicates = bootstrap.mean(brierScores(ofBaseline, isFailed), everywhere);
    const difference = isAlike ? null : differenceInterval(model, replicates);
    return [{
      name,
      brier,
      brierInterval: intervalOf(replicates),
      differenceInterval: difference,
      verdict: verdictOf(difference),
    }];
  });
  const heldOutShare = numMeasurements === 0 ? null : numFailed / numMeasurements;
  return {
    ...overall,
    baselines: scored,
    heldOutShare,
    heldOutShareBrier: heldOutShare === null
      ? null
      : brierScore(new Float64Array(numMeasurements).fill(heldOutShare), isFailed),
    byContext: contexts.map((count) => ({
      numContext: count,
      ...metricsOf(everywhere.filter((place) => numContext[place] === count)),
    })),
    reliability: reliability(pFailed, isFailed, { numBins: NUM_BINS }),
  };
}
