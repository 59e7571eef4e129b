/**
 * How far RTT forecasts are from the measured RTTs, with intervals.
 *
 * In the literature the median absolute error is called MAEE (median absolute estimation error) and the
 * relative error REE: Liao, Du, Geurts, Leduc, "DMFSGD", IEEE/ACM Transactions on Networking 21 (2013),
 * section VI, and Zhu et al., "Network Latency Estimation for Personal Devices", IEEE/ACM Transactions on
 * Networking 25 (2017). Its 90th percentile is called NPRE elsewhere. NMAE (normalised mean absolute error)
 * is defined as in Roughan, Zhang, Willinger, Qiu, "Spatio-Temporal Compressive Sensing and Internet Traffic
 * Matrices", IEEE/ACM Transactions on Networking 20 (2012), section V.
 *
 * @module
 */
import { type ClusterBootstrap, type Interval, intervalOf, type Replicates } from "./bootstrap.ts";
import { meanOf, quantileOfSorted } from "../../base/sample_statistics.ts";
import { MAX_PING_RTT_MS, type RttDistribution, RTTS_MS } from "../../query/rtt/rtt_distribution.ts";

/** Quantiles of the relative errors to report. */
const RELATIVE_SHARES = [0.5, 0.75, 0.9, 0.95] as const;

/** Errors of many forecasts; null if there were none. */
interface ErrorValues {
  medianAbsoluteMs: number | null;
  meanAbsoluteMs: number | null;
  /** Sum of |forecast - measured| divided by the sum of measured RTTs. */
  nmae: number | null;
  /** Quantiles of |forecast - measured| / measured. */
  relative: { p50: number | null; p75: number | null; p90: number | null; p95: number | null };
  /** Mean continuous ranked probability score, ms; for a point forecast it is the absolute error. */
  crpsMs: number | null;
}

const MEASURES = {
  medianAbsoluteMs: ({ medianAbsoluteMs }: ErrorValues) => medianAbsoluteMs,
  meanAbsoluteMs: ({ meanAbsoluteMs }: ErrorValues) => meanAbsoluteMs,
  nmae: ({ nmae }: ErrorValues) => nmae,
  p50Relative: ({ relative }: ErrorValues) => relative.p50,
  p75Relative: ({ relative }: ErrorValues) => relative.p75,
  p90Relative: ({ relative }: ErrorValues) => relative.p90,
  p95Relative: ({ relative }: ErrorValues) => relative.p95,
  crpsMs: ({ crpsMs }: ErrorValues) => crpsMs,
};

export type ErrorMeasure = keyof typeof MEASURES;

/** Errors, and the 95 % interval of each; null with too few clusters. */
export interface ErrorMetrics extends ErrorValues {
  numMeasurements: number;
  intervals: Record<ErrorMeasure, Interval | null>;
}

/** Scores of one method: overall, and by context size. */
export interface MethodMetrics<M extends ErrorMetrics> {
  overall: M;
  /** In the order of the section's `contexts`. A baseline knows its whole history for every context size. */
  byContext: (M & { numContext: number })[];
  /** Absolute errors in ms that 0, 1, …, 100 % of the forecasts do not exceed. */
  errorCdf: number[];
}

/** Missing forecasts are NaN and left out. */
export interface ScoredForecasts {
  /** The forecast RTT: the median of a forecast distribution. */
  predictedMs: Float64Array;
  /** Above 0. */
  measuredMs: Float64Array;
  /** CRPS of each forecast; absent for point forecasts. */
  crpsMs?: Float64Array | undefined;
}

export interface ScoredErrors {
  metrics: ErrorMetrics;
  replicates: Record<ErrorMeasure, Replicates>;
}

/** Points of an error CDF: the shares 0, 0.01, …, 1. */
const NUM_CDF_POINTS = 101;

export function errorOf(measure: ErrorMeasure, values: ErrorValues): number | null {
  return MEASURES[measure](values);
}

/** @param places The measurement of each forecast in the bootstrap. */
export function scoreErrors(
  { predictedMs, measuredMs, crpsMs }: ScoredForecasts,
  bootstrap: ClusterBootstrap,
  places: readonly number[],
): ScoredErrors {
  const absolute = predictedMs.map((predicted, i) => Math.abs(predicted - measuredMs[i]));
  const relative = absolute.map((errorMs, i) => errorMs / measuredMs[i]);
  const scores = predictedMs.map((predicted, i) => {
    if (Number.isNaN(predicted)) return NaN;
    return crpsMs ? crpsMs[i] : crpsOfNumberMs(predicted, measuredMs[i]);
  });
  const [p50, p75, p90, p95] = bootstrap.quantiles(relative, places, RELATIVE_SHARES);
  const replicates: Record<ErrorMeasure, Replicates> = {
    medianAbsoluteMs: bootstrap.quantiles(absolute, places, [0.5])[0],
    meanAbsoluteMs: bootstrap.mean(absolute, places),
    nmae: bootstrap.ratio(absolute, measuredMs, places),
    p50Relative: p50,
    p75Relative: p75,
    p90Relative: p90,
    p95Relative: p95,
    crpsMs: bootstrap.mean(scores, places),
  };
  const intervals = Object.fromEntries(
    Object.entries(replicates).map(([measure, ofMeasure]) => [measure, intervalOf(ofMeasure)]),
  ) as Record<ErrorMeasure, Interval | null>;
  return { metrics: { ...errorValues({ absolute, relative, scores, measuredMs }), intervals }, replicates };
}

interface Errors {
  absolute: Float64Array;
  relative: Float64Array;
  scores: Float64Array;
  measuredMs: Float64Array;
}

function errorValues({ absolute, relative, scores, measuredMs }: Errors): Omit<ErrorMetrics, "intervals"> {
  const isKnown = (_: number, i: number) => !Number.isNaN(absolute[i]);
  const errors = absolute.filter(isKnown).sort();
  const relatives = relative.filter(isKnown).sort();
  const meanMs = meanOf(errors);
  const meanMeasuredMs = meanOf(measuredMs.filter(isKnown));
  const [p50, p75, p90, p95] = RELATIVE_SHARES.map((q) => finiteOrNull(quantileOfSorted(relatives, q)));
  return {
    numMeasurements: errors.length,
    medianAbsoluteMs: finiteOrNull(quantileOfSorted(errors, 0.5)),
    meanAbsoluteMs: meanMs,
    nmae: meanMs === null || !meanMeasuredMs ? null : meanMs / meanMeasuredMs,
    relative: { p50, p75, p90, p95 },
    crpsMs: meanOf(scores.filter(isKnown)),
  };
}

/** The absolute errors, ms, that the shares 0, 0.01, …, 1 of the forecasts do not exceed; empty if none. */
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

// The continuous ranked probability score.
//
// Gneiting and Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 102 (2007),
// equation 20; weighted by a threshold as in Gneiting and Ranjan, "Comparing Density Forecasts Using
// Threshold- and Quantile-Weighted Scoring Rules", JBES 29 (2011), equation 14, which keeps it proper. RTT
// codes go up to 51 days, and a forecast that gives 1 in 10,000 to the last of them would score 40 ms for
// that alone.

/** Longer RTTs are scored as this one. */
export const CRPS_LIMIT_MS = MAX_PING_RTT_MS;

/** Index of the first code whose RTT is above the limit. */
const END = RTTS_MS.findIndex((rttMs) => rttMs > CRPS_LIMIT_MS);

/**
 * The integral of (F(x) - 1{x >= measured})^2 over x up to {@link CRPS_LIMIT_MS}, in ms, where F has its mass
 * at the centres of the RTT code buckets. For a distribution with a single value it is the absolute error.
 *
 * @param distribution Distribution of the RTT given a reply.
 */
export function crpsMs({ probabilities }: RttDistribution, measuredMs: number): number {
  const atMs = Math.min(measuredMs, CRPS_LIMIT_MS);
  let score = Math.max(0, RTTS_MS[0] - atMs);
  let below = 0;
  for (let i = 0; i < END; i++) {
    below += probabilities[i];
    const above = 1 - below;
    // The parts of the gap up to the next value below and above the measured RTT.
    const low = RTTS_MS[i];
    const high = i + 1 === END ? CRPS_LIMIT_MS : RTTS_MS[i + 1];
    const middle = atMs <= low ? low : atMs >= high ? high : atMs;
    score += below * below * (middle - low) + above * above * (high - middle);
  }
  return score;
}

/**
 * The CRPS of a sample of RTTs, ms: the mean distance from the measured RTT minus half the mean distance
 * between two of the sample (Gneiting and Raftery, equation 21).
 *
 * @param ascendingMs At least one, ascending.
 * @param weights Those of the RTTs, with sum 1; equal ones if absent.
 */
export function crpsOfSampleMs(
  ascendingMs: ArrayLike<number>,
  measuredMs: number,
  weights?: Float64Array,
): number {
  const total = weights ? 1 : ascendingMs.length;
  let distance = 0;
  let spread = 0;
  let upTo = 0;
  for (let i = 0; i < ascendingMs.length; i++) {
    const weight = weights ? weights[i] : 1;
    upTo += weight;
    distance += weight * crpsOfNumberMs(ascendingMs[i], measuredMs);
    spread += weight * (2 * upTo - weight - total) * Math.min(ascendingMs[i], CRPS_LIMIT_MS);
  }
  return distance / total - spread / total ** 2;
}

/** The CRPS of a point forecast, ms: its absolute error, up to {@link CRPS_LIMIT_MS}. */
export function crpsOfNumberMs(predictedMs: number, measuredMs: number): number {
  return Math.abs(Math.min(predictedMs, CRPS_LIMIT_MS) - Math.min(measuredMs, CRPS_LIMIT_MS));
}
