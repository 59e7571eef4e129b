/**
 * The calibration of forecasts: coverage of intervals, probability integral transforms (PIT), and failure
 * probabilities.
 *
 * RTT codes are discrete, so a measurement covers a range of its forecast distribution. It is spread evenly
 * over that range: Czado, Gneiting, Held, "Predictive Model Assessment for Count Data", Biometrics 65 (2009),
 * section 2.1 (the nonrandomized PIT). A calibrated forecaster then has a flat histogram and exactly the
 * nominal coverage.
 *
 * @module
 */
import { type MassRanges, sharesWithin } from "../../query/rtt/quantile_calibration.ts";
import { type ClusterBootstrap, type Interval, intervalOf } from "./bootstrap.ts";
import { meanOf } from "../../base/sample_statistics.ts";

/** The share of measurements that a central interval should contain, and the share it does. */
export interface Coverage {
  level: number;
  /** Null if there are no measurements. */
  share: number | null;
  /** The 95 % interval of the share, if resampled; null with too few clusters. */
  interval?: Interval | null;
}

/** Levels of the central intervals whose coverage is reported. */
export const COVERAGE_LEVELS: readonly number[] = [0.5, 0.8, 0.9, 0.95];

/** Coverage of the central intervals at each of {@link COVERAGE_LEVELS}. */
export function coverages(ranges: MassRanges): Coverage[] {
  return COVERAGE_LEVELS.map((level) => ({
    level,
    share: meanOf(isWithin(ranges, level)),
  }));
}

/** As {@link coverages}, with intervals. @param places The measurement of each range in the bootstrap. */
export function resampledCoverages(
  ranges: MassRanges,
  bootstrap: ClusterBootstrap,
  places: readonly number[],
): Required<Coverage>[] {
  return coverages(ranges).map(({ level, share }) => ({
    level,
    share,
    interval: intervalOf(bootstrap.mean(isWithin(ranges, level), places)),
  }));
}

function isWithin(ranges: MassRanges, level: number): Float64Array {
  return sharesWithin(ranges, [0.5 - level / 2, 0.5 + level / 2]);
}

/** The share of the measurements in each of `numBins` equal parts of their distributions; flat if calibrated. */
export function pitHistogram(ranges: MassRanges, numBins: number): number[] {
  const edges = Array.from({ length: numBins }, (_, i) => [i / numBins, (i + 1) / numBins] as const);
  return edges.map((edge) => meanOf(sharesWithin(ranges, edge)) ?? 0);
}

/** Similar predicted probabilities of failure, and how many of the measurements failed. */
export interface ReliabilityBin {
  numMeasurements: number;
  predicted: number;
  observed: number;
}

/**
 * The mean squared difference between probabilities and outcomes (Brier, Monthly Weather Review 78, 1950);
 * null if there are none.
 */
export function brierScore(pFailed: Float64Array, isFailed: Uint8Array): number | null {
  return meanOf(brierScores(pFailed, isFailed));
}

export function brierScores(pFailed: Float64Array, isFailed: Uint8Array): Float64Array {
  return pFailed.map((p, i) => (p - isFailed[i]) ** 2);
}

/** At most `numBins` bins of equal size, by increasing probability; equal probabilities share a bin. */
export function reliability(
  pFailed: Float64Array,
  isFailed: Uint8Array,
  { numBins }: { numBins: number },
): ReliabilityBin[] {
  const order = pFailed.keys().toArray().sort((a, b) => pFailed[a] - pFailed[b]);
  const bins: number[][] = [];
  order.forEach((i, rank) => {
    const bin = bins.at(-1);
    const isEqual = rank > 0 && pFailed[i] === pFailed[order[rank - 1]];
    const isFull = bin !== undefined && rank >= bins.length * order.length / numBins;
    if (!bin || (isFull && !isEqual)) bins.push([i]);
    else bin.push(i);
  });
  return bins.map((bin) => ({
    numMeasurements: bin.length,
    predicted: meanOf(bin.map((i) => pFailed[i])) ?? 0,
    observed: meanOf(bin.map((i) => isFailed[i])) ?? 0,
  }));
}
