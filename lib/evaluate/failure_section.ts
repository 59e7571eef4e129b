/** Part of an evaluation: how well the model foresees that no reply comes. @module */
import { brierScore, reliability, type ReliabilityBin } from "./calibration.ts";

/** Forecasts of failure. */
export interface FailureMetrics {
  numMeasurements: number;
  numFailed: number;
  /** Mean squared difference of P(no reply) and what came; null of nothing. */
  brier: number | null;
}

/** How well the model foresees that no reply comes. */
export interface FailureSection extends FailureMetrics {
  /** The share of the training measurements without reply, and the Brier score of forecasting it always. */
  trainingShare: number | null;
  trainingShareBrier: number | null;
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

/** Scores forecasts of failure. @param options `contexts`: the numbers of context; `trainingShare`: failed before. */
export function failureSection(
  { pFailed, isFailed, numContext }: FailureForecasts,
  { contexts, trainingShare }: { contexts: readonly number[]; trainingShare: number | null },
): FailureSection {
  const overall = failureMetrics(pFailed, isFailed);
  const { numMeasurements, numFailed } = overall;
  const heldOutShare = numMeasurements === 0 ? null : numFailed / numMeasurements;
  const brierOf = (share: number | null) =>
    share === null ? null : brierScore(new Float64Array(pFailed.length).fill(share), isFailed);
  return {
    ...overall,
    trainingShare,
    trainingShareBrier: brierOf(trainingShare),
    heldOutShare,
    heldOutShareBrier: brierOf(heldOutShare),
    byContext: contexts.map((count) => {
      const isOfCount = (_: number, i: number) => numContext[i] === count;
      return {
        numContext: count,
        ...failureMetrics(pFailed.filter(isOfCount), isFailed.filter(isOfCount)),
      };
    }),
    reliability: reliability(pFailed, isFailed, { numBins: NUM_BINS }),
  };
}

function failureMetrics(pFailed: Float64Array, isFailed: Uint8Array): FailureMetrics {
  return {
    numMeasurements: isFailed.length,
    numFailed: isFailed.reduce((sum, failed) => sum + failed, 0),
    brier: brierScore(pFailed, isFailed),
  };
}
