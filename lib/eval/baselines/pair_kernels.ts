/**
 * The empirical distribution of a pair's RTTs, each weighted by a kernel: by its distance in time from the
 * question, or by the distance in the hour of the day. Hall, Wolff, Yao, "Methods for Estimating a Conditional
 * Distribution Function", JASA 94 (1999), equation 2.1.
 *
 * Several kernels are averaged per pair by leave-one-out: each one's share falls exponentially with the CRPS
 * of its forecasts of the pair's measurements from the others. Yao, Vehtari, Simpson, Gelman, "Using Stacking
 * to Average Bayesian Predictive Distributions", Bayesian Analysis 13 (2018), section 2.2 (pseudo-BMA), with
 * CRPS in place of the log score.
 *
 * The same measurements are known as for medians (`histories.ts`). At most {@link MAX_OF_PAIR} of a pair are
 * kept, which bounds the time of a question, and at most {@link MAX_OF_ALL} in total, which bounds the memory:
 * if there are more, the longest histories are halved.
 *
 * @module
 */
import { getOrMake, lowerBound } from "../../base/collections.ts";
import { quantilesOfWeighted } from "../../base/sample_statistics.ts";
import { crpsOfSampleMs } from "../metrics/forecast_errors.ts";
import { type BaselineMeasurement, type BaselineQuery, OnePassBaseline, SAMPLE_LEVELS } from "./baseline.ts";
import { placesInOrder } from "./measurement_table.ts";

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

/** Measurements kept of each pair. Of more, every 2nd, 4th, … is. */
const MAX_OF_PAIR = 4096;
/** Histories of this length are not halved. */
const MIN_OF_PAIR = 32;
/** Measurements kept of all pairs. Each takes 16 bytes. */
const MAX_OF_ALL = 4_000_000;

/** The weight of a measurement by its distance in time, s. */
type Kernel = (distanceS: number) => number;

function inTime(scaleS: number): Kernel {
  return (distanceS) => Math.exp(-distanceS / scaleS);
}

const KERNELS = {
  "3 h": inTime(3 * HOUR_S),
  "6 h": inTime(6 * HOUR_S),
  "1 d": inTime(DAY_S),
  "3 d": inTime(3 * DAY_S),
  "hour of day": (distanceS) => {
    const hourS = distanceS % DAY_S;
    return Math.exp(-Math.min(hourS, DAY_S - hourS) / (2 * HOUR_S) - distanceS / (7 * DAY_S));
  },
  "all": () => 1,
} satisfies Record<string, Kernel>;

export type KernelName = keyof typeof KERNELS;

/** The name of their average in reports. */
export const KERNEL_AVERAGE = "pair kernels averaged";
export const ALL_KERNELS = Object.keys(KERNELS) as KernelName[];

/** Added to each weight, so that measurements far from the question count if there are no others. */
const MIN_WEIGHT = 1e-9;
/** Measurements of a pair that the shares of its kernels are chosen on. */
const MAX_LEFT_OUT = 40;
/** How much more CRPS than the best kernel divides a kernel's share by e. */
const TOLERANCE = 0.05;
/** The part of an average in which all measurements count alike. */
const UNIFORM_SHARE = 0.03;
/** Shares are chosen again when a pair has this many times as many measurements. */
const REFIT_GROWTH = 2;

/** Predicts the weighted median of a pair's measurements. */
export class PairKernelBaseline extends OnePassBaseline {
  readonly #pairs = new Map<string, PairHistory>();
  readonly #kernels: readonly Kernel[];
  #maxOfPair = MAX_OF_PAIR;
  /** Measurements of all pairs in memory. */
  numKept = 0;

  /** @param kernels One, or several to average. @param maxKept See {@link MAX_OF_ALL}. */
  constructor(kernels: readonly KernelName[], readonly maxKept = MAX_OF_ALL) {
    super();
    this.#kernels = kernels.map((name) => KERNELS[name]);
  }

  observe({ source, destination, timeS, rttMs, isRepeated }: BaselineMeasurement): void {
    if (rttMs === null || isRepeated) return;
    const pair = getOrMake(this.#pairs, `${source} ${destination}`, () => new PairHistory());
    this.numKept += pair.add(timeS, rttMs, this.#maxOfPair);
    while (this.numKept > this.maxKept && this.#maxOfPair > MIN_OF_PAIR) {
      this.#maxOfPair /= 2;
      for (const each of this.#pairs.values()) this.numKept += each.thin(this.#maxOfPair);
    }
  }

  /** The median; undefined for a pair that was never measured. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#quantilesMs(query, [0.5])?.[0];
  }

  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.#quantilesMs(query, SAMPLE_LEVELS);
  }

  /** The weighted mean, with another value that counts as one measurement. */
  meanWith(value: number, query: BaselineQuery): number {
    const forecast = this.#forecast(query);
    if (!forecast) return value;
    const { rttsMs, weights } = forecast;
    // Weights with sum 1 are worth as many measurements as 1 / (the sum of their squares).
    const squares = weights.reduce((sum, weight) => sum + weight ** 2, 0);
    const mean = weights.reduce((sum, weight, i) => sum + weight * rttsMs[i], 0);
    return (mean + squares * value) / (1 + squares);
  }

  #quantilesMs(query: BaselineQuery, levels: readonly number[]): Float64Array | undefined {
    const forecast = this.#forecast(query);
    return forecast && quantilesOfWeighted(forecast.rttsMs, forecast.weights, levels);
  }

  #forecast(
    { source, destination, timeS }: BaselineQuery,
  ): { rttsMs: readonly number[]; weights: Float64Array } | undefined {
    const pair = this.#pairs.get(`${source} ${destination}`);
    return pair && { rttsMs: pair.rttsMs, weights: pair.weightsAt(timeS, this.#kernels) };
  }
}

class PairHistory {
  /** The kept measurements, by RTT. */
  #timesS: number[] = [];
  /** Ascending. */
  rttsMs: number[] = [];
  #numSeen = 0;
  /** How many measurements each kept one stands for. */
  #stride = 1;
  #shares: Float64Array = new Float64Array(0);
  /** The number of measurements when the shares were chosen. */
  #chosenAt = 0;

  /** Returns by how much the number of kept measurements grows. */
  add(timeS: number, rttMs: number, max: number): number {
    if (this.#numSeen++ % this.#stride > 0) return 0;
    const place = lowerBound(this.rttsMs, rttMs);
    this.#timesS.splice(place, 0, timeS);
    this.rttsMs.splice(place, 0, rttMs);
    return 1 + this.thin(max);
  }

  /** Keeps every second measurement, by RTT, if there are too many. Returns as {@link add} does. */
  thin(max: number): number {
    const before = this.rttsMs.length;
    if (before <= max) return 0;
    const isKept = (_: number, place: number) => place % 2 > 0;
    this.#timesS = this.#timesS.filter(isKept);
    this.rttsMs = this.rttsMs.filter(isKept);
    this.#stride *= 2;
    return this.rttsMs.length - before;
  }

  /** The weights of the RTTs at a time, with sum 1. */
  weightsAt(timeS: number, kernels: readonly Kernel[]): Float64Array {
    if (kernels.length === 1) return this.#weightsOf(kernels[0], timeS);
    if (this.#numSeen >= REFIT_GROWTH * this.#chosenAt) {
      this.#shares = this.#choose(kernels);
      this.#chosenAt = this.#numSeen;
    }
    const sum = new Float64Array(this.rttsMs.length).fill(UNIFORM_SHARE / this.rttsMs.length);
    kernels.forEach((kernel, k) => {
      const share = (1 - UNIFORM_SHARE) * this.#shares[k];
      const weights = this.#weightsOf(kernel, timeS);
      for (let i = 0; i < sum.length; i++) sum[i] += share * weights[i];
    });
    return sum;
  }

  /** @param without The place of a measurement that gets no weight. */
  #weightsOf(kernel: Kernel, timeS: number, without?: number): Float64Array {
    const weights = new Float64Array(this.#timesS.length);
    let sum = 0;
    for (let i = 0; i < weights.length; i++) {
      if (i !== without) sum += weights[i] = kernel(Math.abs(this.#timesS[i] - timeS)) + MIN_WEIGHT;
    }
    for (let i = 0; i < weights.length; i++) weights[i] /= sum;
    return weights;
  }

  /** The kernels' shares by leave-one-out, with sum 1. */
  #choose(kernels: readonly Kernel[]): Float64Array {
    const { length } = this.rttsMs;
    if (length === 1) return new Float64Array(kernels.length).fill(1 / kernels.length);
    const byTime = placesInOrder(Float64Array.from(this.#timesS));
    const count = Math.min(length, MAX_LEFT_OUT);
    const leftOut = Array.from(
      { length: count },
      (_, i) => byTime[Math.floor(i * (length - 1) / (count - 1))],
    );
    const losses = Float64Array.from(kernels, (kernel) =>
      leftOut.reduce((sum, place) => {
        const weights = this.#weightsOf(kernel, this.#timesS[place], place);
        return sum + crpsOfSampleMs(this.rttsMs, this.rttsMs[place], weights) / count;
      }, 0));
    const best = losses.reduce((a, b) => Math.min(a, b));
    const shares = losses.map((loss) => Math.exp((best - loss) / (TOLERANCE * best + 1e-6)));
    const sum = shares.reduce((a, b) => a + b);
    return shares.map((share) => share / sum);
  }
}
