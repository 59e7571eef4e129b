/**
 * How far forecasts of RTTs are from what was measured.
 *
 * @module
 */
import { crpsOfNumberMs } from "./crps.ts";
import { meanOf } from "./means.ts";
import { quantileOfSorted } from "./quantile.ts";

/** Errors of many forecasts; null where there were none. */
export interface ErrorMetrics {
  numMeasurements: number;
  medianAbsoluteMs: number | null;
  meanAbsoluteMs: number | null;
  /** Quantiles of |forecast - measured| / measured. */
  relative: { p50: number | null; p75: number | null; p90: number | null; p95: number | null };
  /** Mean continuous ranked probability score, ms, see crps.ts; of a single number it is the absolute error. */
  crpsMs: number | null;
}

/** Forecasts of one method: of all measurements, and by the number of measurements of context. */
export interface MethodMetrics<M extends ErrorMetrics> {
  overall: M;
  /** In the order of the section's `contexts`. A baseline knows its whole history, whatever their number. */
  byContext: (M & { numContext: number })[];
  /** Absolute errors in ms that 0, 1, …, 100 % of the forecasts do not exceed. */
  errorCdf: number[];
}

/** Forecasts beside what was measured; NaN where a method could not say, which counts as no forecast. */
export interface ScoredForecasts {
  /** The forecast RTT, ms: the median where a distribution was forecast. */
  predictedMs: Float64Array;
  /** Above 0. */
  measuredMs: Float64Array;
  /** One per forecast, ms; absent where single numbers were forecast. */
  crpsMs?: Float64Array;
}

/** Points of an error CDF: the shares 0, 0.01, …, 1. */
export const NUM_CDF_POINTS = 101;

/** Summarises the errors of forecasts. */
export function errorMetrics({ predictedMs, measuredMs, crpsMs }: ScoredForecasts): ErrorMetrics {
  const [absolute, relative, scores]: number[][] = [[], [], []];
  predictedMs.forEach((predicted, i) => {
    if (Number.isNaN(predicted)) return;
    const errorMs = Math.abs(predicted - measuredMs[i]);
    absolute.push(errorMs);
    relative.push(errorMs / measuredMs[i]);
    scores.push(crpsMs ? crpsMs[i] : crpsOfNumberMs(predicted, measuredMs[i]));
  });
  const relatives = Float64Array.from(relative).sort();
  const p = (q: number) => finiteOrNull(quantileOfSorted(relatives, q));
  return {
    numMeasurements: absolute.length,
    medianAbsoluteMs: finiteOrNull(quantileOfSorted(Float64Array.from(absolute).sort(), 0.5)),
    meanAbsoluteMs: meanOf(absolute),
    relative: { p50: p(0.5), p75: p(0.75), p90: p(0.9), p95: p(0.95) },
    crpsMs: meanOf(scores),
  };
}

/** The absolute errors that the shares 0, 0.01, …, 1 of the forecasts do not exceed, ms; none of no forecasts. */
export function errorCdf({ predictedMs, measuredMs }: ScoredForecasts): number[] {
  const errorsMs = predictedMs.map((predicted, i) => Math.abs(predicted - measuredMs[i]))
    .filter((errorMs) => !Number.isNaN(errorMs)).sort();
  if (errorsMs.length === 0) return [];
  const last = NUM_CDF_POINTS - 1;
  return Array.from({ length: NUM_CDF_POINTS }, (_, i) => quantileOfSorted(errorsMs, i / last));
}

function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
