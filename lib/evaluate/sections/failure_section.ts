/** Part of an evaluation: how well the model foresees that no reply comes. @module */
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
  /** Mean squared difference of P(no reply) and what came, and its 95 % interval; null of nothing, and of too few. */
  brier: number | null;
  brierInterval: Interval | null;
}

/** How well the model foresees that no reply comes. */
export interface FailureSection extends FailureMetrics {
  /** The share of the training measurements without reply, and the Brier score of forecasting it always. */
  trainingShare: number | null;
  trainingShareBrier: number | null;
  trainingShareBrierInterval: Interval | null;
  /** The 95 % interval of the model's score minus that one, and what it shows; nothing where all were alike. */
  differenceInterval: Interval | null;
  verdict: Verdict;
  /** The same for the share of the predicted measurements, the best constant, which nobody knows beforehand. */
  heldOutShare: number | null;
  heldOutShareBrier: number | null;
  byContext: (FailureMetrics & { numContext: number })[];
  /** At most ten groups of as many measurements, by rising probability. */
  reliability: ReliabilityBin[];
}

/** P(no reply) beside what came. */
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
 * @param options `contexts`: the numbers of context; `trainingShare`: failed before; `bootstrap`: has a place for each.
 * @returns What gives the section, to be called when the bootstrap has run.
 */
export function failureSection(
  { pFailed, isFailed, numContext }: FailureForecasts,
  options: { contexts: readonly number[]; trainingShare: number | null; bootstrap: ClusterBootstrap },
): () => FailureSection {
  const { contexts, trainingShare, bootstrap } = options;
  const everywhere = pFailed.keys().toArray();
  const always = (share: number) => new Float64Array(pFailed.length).fill(share);
  const model = bootstrap.mean(brierScores(pFailed, isFailed), everywhere);
  const constant = bootstrap.mean(brierScores(always(trainingShare ?? NaN), isFailed), everywhere);
  const metricsOf = (places: readonly number[]) =>
    failureMetrics(
      Float64Array.from(places, (place) => pFailed[place]),
      Uint8Array.from(places, (place) => isFailed[place]),
      { bootstrap, places },
    );
  const overall = metricsOf(everywhere);
  const byContext = contexts.map((count) => ({
    numContext: count,
    metrics: metricsOf(everywhere.filter((place) => numContext[place] === count)),
  }));
  const numFailed = isFailed.reduce((sum, failed) => sum + failed, 0);
  const heldOutShare = isFailed.length === 0 ? null : numFailed / isFailed.length;
  const brierOf = (share: number | null) => share === null ? null : brierScore(always(share), isFailed);
  return () => {
    // Where nothing failed, or all did, there was nothing to tell apart, however near to it a probability came.
    const isAlike = numFailed === 0 || numFailed === isFailed.length;
    const difference = isAlike ? null : differenceInterval(model, constant);
    return {
      ...overall(),
      trainingShare,
      trainingShareBrier: brierOf(trainingShare),
      trainingShareBrierInterval: intervalOf(constant),
      ...{ differenceInterval: difference, verdict: verdictOf(difference) },
      heldOutShare,
      heldOutShareBrier: brierOf(heldOutShare),
      byContext: byContext.map(({ numContext, metrics }) => ({ numContext, ...metrics() })),
      reliability: reliability(pFailed, isFailed, { numBins: NUM_BINS }),
    };
  };
}

function failureMetrics(
  pFailed: Float64Array,
  isFailed: Uint8Array,
  { bootstrap, places }: { bootstrap: ClusterBootstrap; places: readonly number[] },
): () => FailureMetrics {
  const replicates = bootstrap.mean(brierScores(pFailed, isFailed), places);
  return () => ({
    numMeasurements: isFailed.length,
    numFailed: isFailed.reduce((sum, failed) => sum + failed, 0),
    brier: brierScore(pFailed, isFailed),
    brierInterval: intervalOf(replicates),
  });
}
