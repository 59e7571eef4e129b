/**
 * RTT predictions of held-out measurements against what was measured: the model's predictive median, and the
 * medians of what the same history says without a model.
 *
 * @module
 */
import type { PingModel } from "../query/ping_model.ts";
import { decodeRttCode } from "../tokens/rtt_code.ts";
import { RttHistogram } from "./baselines/rtt_histogram.ts";
import type { HeldOutMeasurement } from "./held_out.ts";

/** Absolute errors in ms and relative errors of one predictor. */
export interface RttErrors {
  medianAbsoluteMs: number;
  meanAbsoluteMs: number;
  /** 90 % of the relative errors |predicted - measured| / measured are at most this. */
  p90Relative: number;
}

/**
 * Compares predictions with measurements.
 *
 * @param predictedMs One per measurement.
 * @param measuredMs The measured RTTs, above 0.
 */
export function rttErrors(predictedMs: readonly number[], measuredMs: readonly number[]): RttErrors {
  const absolute = predictedMs.map((predicted, i) => Math.abs(predicted - measuredMs[i]));
  const relative = absolute.map((error, i) => error / measuredMs[i]);
  return {
    medianAbsoluteMs: quantileOfSample(absolute, 0.5),
    meanAbsoluteMs: absolute.reduce((sum, error) => sum + error, 0) / absolute.length,
    p90Relative: quantileOfSample(relative, 0.9),
  };
}

/** The smallest value of a sample that at least the share `q` of it does not exceed; NaN of an empty one. */
export function quantileOfSample(sample: Iterable<number>, q: number): number {
  const ascending = Float64Array.from(sample).sort();
  return ascending.length === 0 ? NaN : ascending[Math.max(0, Math.ceil(q * ascending.length) - 1)];
}

/** The model's predictive medians of held-out measurements, in ms, given their contexts. */
export function modelMediansMs(
  model: PingModel,
  heldOut: readonly HeldOutMeasurement[],
  onProgress?: (done: number) => void,
): Promise<number[]> {
  return model.medianRttsMs(
    heldOut.map(({ measurement, context }) => ({ ...measurement, context })),
    onProgress,
  );
}

/** What histories say without a model, for the same held-out measurements. */
export interface MedianBaselines {
  /** Median of all answered training measurements. */
  globalMedian: number[];
  /** Median of the source's answered measurements in training and context; the global one where there is none. */
  sourceMedian: number[];
  /** Median of the pair's, in training and context; the source's where there is none. */
  pairMedian: number[];
}

/**
 * The median baselines, each allowed the training measurements and the context the model saw.
 *
 * @param training The answered training measurements of the held-out sources, and of all.
 * @param heldOut The held-out measurements.
 */
export function medianBaselinesMs(
  training: TrainingRtts,
  heldOut: readonly HeldOutMeasurement[],
): MedianBaselines {
  const result: MedianBaselines = { globalMedian: [], sourceMedian: [], pairMedian: [] };
  const globalMs = training.globalMedianMs();
  for (const { srcAddr, dstAddr, measurement, context } of heldOut) {
    const answered = context.filter(({ rttCode }) => rttCode !== null);
    const toPair = answered.filter(({ destination }) => isSame(destination, measurement.destination));
    const codesMs = (part: typeof context) => part.map(({ rttCode }) => decodeRttCode(rttCode ?? 0));
    const source = quantileOfSample([...training.ofSource(srcAddr), ...codesMs(answered)], 0.5);
    const pair = quantileOfSample([...training.ofPair(srcAddr, dstAddr), ...codesMs(toPair)], 0.5);
    const sourceMs = Number.isNaN(source) ? globalMs : source;
    result.globalMedian.push(globalMs);
    result.sourceMedian.push(sourceMs);
    result.pairMedian.push(Number.isNaN(pair) ? sourceMs : pair);
  }
  return result;
}

/** Answered training RTTs: all of them as a histogram, those of chosen sources one by one. */
export class TrainingRtts {
  readonly #all = new RttHistogram();
  readonly #bySource = new Map<string, number[]>();
  readonly #byPair = new Map<string, number[]>();

  /** @param sources The sources whose RTTs are kept one by one. */
  constructor(sources: Iterable<string>) {
    for (const source of sources) this.#bySource.set(source, []);
  }

  /** Adds an answered measurement. @param rttCode Its RTT code. */
  add(srcAddr: string, dstAddr: string, rttCode: number): void {
    this.#all.addCode(rttCode);
    const ofSource = this.#bySource.get(srcAddr);
    if (!ofSource) return;
    const rttMs = decodeRttCode(rttCode);
    ofSource.push(rttMs);
    const pair = `${srcAddr} ${dstAddr}`;
    const ofPair = this.#byPair.get(pair);
    if (ofPair) ofPair.push(rttMs);
    else this.#byPair.set(pair, [rttMs]);
  }

  /** The RTTs of a source, ms. */
  ofSource(srcAddr: string): readonly number[] {
    return this.#bySource.get(srcAddr) ?? [];
  }

  /** The RTTs of a pair, ms. */
  ofPair(srcAddr: string, dstAddr: string): readonly number[] {
    return this.#byPair.get(`${srcAddr} ${dstAddr}`) ?? [];
  }

  /** The median of all, ms, to the 0.05 % of an RTT code. */
  globalMedianMs(): number {
    return this.#all.medianMs();
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
