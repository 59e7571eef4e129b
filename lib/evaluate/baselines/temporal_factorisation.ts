/**
 * Baseline: temporal regularised matrix factorisation. Yu, Rao, Dhillon, "Temporal Regularized Matrix Factorization for
 * High-dimensional Time Series Prediction", NIPS 2016, equation 7: the series are the logarithms of the pairs' RTTs by
 * slice of time, each less its mean; series p in slice t is f_p . x_t, where x_t = sum over lags of w_lag * x_{t - lag}
 * but for noise, elementwise. All three are found in turns by least squares with L2 regularisation.
 *
 * It suits rows in which the same pairs are measured slice after slice, as in a mesh, and says nothing of others.
 *
 * @module
 */
import { RandomStream } from "../../random/philox.ts";
import type { Baseline, BaselineMeasurement, BaselineQuery } from "./baseline.ts";
import { logOfRtt } from "../../coordinates/log_rtt.ts";
import { meanOf } from "../means.ts";
import { quantileOfSample } from "../quantile.ts";
import { RidgeSum } from "../../coordinates/ridge.ts";

/** Lags of the autoregression, in slices (ASSUMPTION). */
const LAGS = [1, 2, 3];
const NUM_SWEEPS = 8;
/** Weight of the L2 regularisation of the series' factors and of the lags' weights (ASSUMPTION). */
const REGULARISATION = 1;
/** Fewer slices, or a smaller share of the pairs in each, tell nothing of how all of them move together. */
const MIN_SLICES = 10;
const MIN_SHARE = 0.3;
/** Gaps between measurements of a pair that tell the width of a slice. */
const MAX_GAPS = 100_000;

/** How the factorisation is trained. */
export interface TemporalFactorisationOptions {
  /** Seed of the slices' first factors. */
  seed: number;
  /** Length of the factors (default 4). */
  rank?: number;
  /** How much the autoregression weighs against the measurements (default 1). */
  smoothness?: number;
}

interface Series {
  /** Of the logarithms. */
  mean: number;
  slices: number[];
  logs: number[];
  factors: Float64Array;
}

/** Predicts each pair's mean and the common movement of all, by the newest slices. */
export class TemporalFactorisationBaseline implements Baseline {
  readonly #seed: number;
  readonly #rank: number;
  readonly #smoothness: number;
  readonly #series = new Map<string, Series>();
  /** Factors of the slices that are over. */
  #slices: Float64Array[] = [];
  /** What was measured in the slice after these. */
  readonly #current: RidgeSum;
  /** (lags, rank) */
  #weights: Float64Array[] = [];
  #startS = 0;
  #widthS = 1;
  applies = false;

  /** @param options See {@link TemporalFactorisationOptions}. */
  constructor(options: TemporalFactorisationOptions) {
    this.#seed = options.seed;
    this.#rank = options.rank ?? 4;
    this.#smoothness = options.smoothness ?? 1;
    this.#current = new RidgeSum(this.#rank);
  }

  /** As {@link Baseline.train}, unless the rows have too few pairs in too few slices. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    this.#widthS = sliceWidthS(measurements);
    this.#startS = NaN;
    let [last, numCells] = [-1, 0];
    for (const { source, destination, timeS, rttMs } of measurements) {
      if (rttMs === null) continue;
      if (Number.isNaN(this.#startS)) this.#startS = timeS;
      last = this.#sliceOf(timeS);
      const key = `${source} ${destination}`;
      let series = this.#series.get(key);
      if (!series) {
        this.#series.set(
          key,
          series = { mean: 0, slices: [], logs: [], factors: new Float64Array(this.#rank) },
        );
      }
      if (series.slices.at(-1) !== last) numCells++;
      series.slices.push(last);
      series.logs.push(logOfRtt(rttMs));
    }
    const numSlices = last + 1;
    this.applies = numSlices >= MIN_SLICES && numCells >= MIN_SHARE * numSlices * this.#series.size;
    if (this.applies) this.#fit(numSlices);
    else this.#series.clear();
  }

  /** As {@link Baseline.observe}: it moves the factors of its slice. */
  observe({ source, destination, timeS, rttMs }: BaselineMeasurement): void {
    const series = this.#series.get(`${source} ${destination}`);
    const slice = this.#sliceOf(timeS);
    if (rttMs === null || !series || slice < this.#slices.length) return;
    this.#advanceTo(slice);
    this.#current.add(series.factors, logOfRtt(rttMs) - series.mean);
  }

  /** The prediction; undefined of a pair that training never met. */
  predictMs({ source, destination, timeS }: BaselineQuery): number | undefined {
    const series = this.#series.get(`${source} ${destination}`);
    if (!series) return undefined;
    const slice = Math.max(0, this.#sliceOf(timeS));
    this.#advanceTo(slice);
    const factors = this.#slices[slice] ?? this.#currentFactors();
    return Math.exp(series.mean + series.factors.reduce((sum, f, k) => sum + f * factors[k], 0));
  }

  #sliceOf(timeS: number): number {
    return Math.floor((timeS - this.#startS) / this.#widthS);
  }

  #advanceTo(slice: number): void {
    while (this.#slices.length < slice) {
      this.#slices.push(this.#currentFactors());
      this.#current.clear();
    }
  }

  #currentFactors(): Float64Array {
    return this.#current.solve(this.#smoothness, this.#expected(this.#slices.length));
  }

  /** What the autoregression says of a slice. */
  #expected(slice: number): Float64Array {
    const factors = new Float64Array(this.#rank);
    LAGS.forEach((lag, l) =>
      this.#slices[slice - lag]?.forEach((x, k) => factors[k] += this.#weights[l][k] * x)
    );
    return factors;
  }

  #fit(numSlices: number): void {
    const random = new RandomStream(this.#seed, "evaluate/temporal-factorisation");
    const first = () => Float64Array.from({ length: this.#rank }, () => random.normal());
    this.#slices = Array.from({ length: numSlices }, first);
    this.#weights = LAGS.map((lag) => new Float64Array(this.#rank).fill(lag === 1 ? 1 : 0));
    const bySlice = this.#slices.map((): [Float64Array, number][] => []);
    for (const series of this.#series.values()) {
      const { factors, slices, logs } = series;
      series.mean = meanOf(logs) ?? 0;
      logs.forEach((log, i) => {
        logs[i] = log - series.mean;
        bySlice[slices[i]].push([factors, logs[i]]);
      });
    }
    const sums = new RidgeSum(this.#rank);
    for (let sweep = 0; sweep < NUM_SWEEPS; sweep++) {
      for (const { factors, slices, logs } of this.#series.values()) {
        sums.clear();
        slices.forEach((slice, i) => sums.add(this.#slices[slice], logs[i]));
        factors.set(sums.solve(REGULARISATION));
      }
      bySlice.forEach((cells, slice) => {
        sums.clear();
        for (const [factors, rest] of cells) sums.add(factors, rest);
        this.#slices[slice] = this.#smoothed(slice, sums);
      });
      this.#fitWeights();
    }
    for (const series of this.#series.values()) Object.assign(series, { slices: [], logs: [] });
  }

  /** The factors of a slice, between what was measured in it, those before it and those after it. */
  #smoothed(slice: number, sums: RidgeSum): Float64Array {
    const own = this.#slices[slice];
    const expected = this.#expected(slice);
    const weight = new Float64Array(this.#rank).fill(1);
    LAGS.forEach((lag, l) => {
      const later = this.#slices[slice + lag];
      if (!later) return;
      const ofLater = this.#expected(slice + lag);
      this.#weights[l].forEach((w, k) => {
        weight[k] += w * w;
        expected[k] += w * (later[k] - ofLater[k] + w * own[k]);
      });
    });
    return sums.solve(weight.map((w) => w * this.#smoothness), expected.map((x, k) => x / weight[k]));
  }

  #fitWeights(): void {
    const sums = new RidgeSum(LAGS.length);
    for (let k = 0; k < this.#rank; k++) {
      sums.clear();
      for (let slice = Math.max(...LAGS); slice < this.#slices.length; slice++) {
        const before = Float64Array.from(LAGS, (lag) => this.#slices[slice - lag][k]);
        sums.add(before, this.#slices[slice][k]);
      }
      sums.solve(REGULARISATION).forEach((w, l) => this.#weights[l][k] = w);
    }
  }
}

/** The median gap between two measurements of the same pair. */
function sliceWidthS(measurements: Iterable<BaselineMeasurement>): number {
  const last = new Map<string, number>();
  const gapsS: number[] = [];
  for (const { source, destination, timeS, rttMs } of measurements) {
    if (rttMs === null) continue;
    const key = `${source} ${destination}`;
    const before = last.get(key);
    if (before !== undefined && timeS > before) gapsS.push(timeS - before);
    if (gapsS.length === MAX_GAPS) break;
    last.set(key, timeS);
  }
  return gapsS.length === 0 ? Infinity : quantileOfSample(gapsS, 0.5);
}
