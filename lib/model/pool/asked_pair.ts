/**
 * A pair's own measurements at an asked time: kernels around its RTTs, and how often it does not reply.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { type AgeCurve, ageShares, changedKernels } from "./age.ts";
import { type Kernel, kernelsOfWidth, logOfCode } from "./kernel_mixture.ts";
import type { RememberedPair } from "./pair_memory.ts";
import {
  hasWeeks,
  kernelWeights,
  NUM_KERNELS,
  type PairMeasurements,
  repliesOf,
  sharesAt,
} from "./time_kernels.ts";

/** A kernel's width is this times the pair's spread, times n^(-1/5) (Silverman 1986), of n measurements. */
const WIDTH_OF_SPREAD = 1 / 2;
/** Maximum number of different RTTs that kernels are around; more are grouped. */
const MAX_CENTRES = 512;
/** Maximum number of different RTTs around which RTTs change. */
const MAX_CHANGED = 16;
/** Smaller masses count as 0. */
const NEGLIGIBLE = 1e-12;

/** Measurements without a reply at the asked time. */
export interface PairLosses {
  /** All measurements of the pair, and those without a reply. */
  readonly measurements: number;
  readonly failures: number;
  /** The share without a reply by the kernels in time, and how many measurements that is based on. */
  readonly share: number;
  readonly worth: number;
}

export class AskedPair {
  readonly #pair: RememberedPair;
  readonly #timeS: number | null;
  readonly #age: AgeCurve;
  /** RTT codes that occurred, ascending, and how many measurements have each. */
  readonly #codes: Uint16Array;
  readonly #codeCounts: Float64Array;
  readonly numReplies: number;
  /** Seconds from the asked time to the span of the replies; 0 within it, or if no time is asked. */
  readonly gapS: number;
  /** Seconds between the first and the last reply. */
  readonly spanS: number;
  /** P(the RTTs have changed since they were measured). */
  readonly changed: number;
  readonly #weights = new Map<PairMeasurements, Float64Array>();
  /** Apart from the others, as the nearest of them has the greatest weight, however far it is. */
  readonly #replies: PairMeasurements;
  /** The masses of the codes by the width of their kernels. */
  #found: ReadonlyMap<number, Float64Array> | undefined;

  constructor(pair: RememberedPair, timeS: number | null, age: AgeCurve) {
    this.#pair = pair;
    this.#replies = repliesOf(pair);
    this.#timeS = timeS;
    this.#age = age;
    let [firstS, lastS] = [Infinity, -Infinity];
    const counts = new Map<number, number>();
    pair.codes.forEach((code, i) => {
      if (code === 0) return;
      counts.set(code, (counts.get(code) ?? 0) + pair.counts[i]);
      firstS = Math.min(firstS, pair.timesS[i]);
      lastS = Math.max(lastS, pair.timesS[i]);
    });
    this.#codes = Uint16Array.from(counts.keys()).sort();
    this.#codeCounts = Float64Array.from(this.#codes, (code) => counts.get(code) ?? 0);
    this.numReplies = this.#codeCounts.reduce((a, b) => a + b, 0);
    const hasReply = this.numReplies > 0;
    this.gapS = timeS === null || !hasReply ? 0 : Math.max(0, firstS - timeS, timeS - lastS);
    this.spanS = hasReply ? lastS - firstS : 0;
    this.changed = ageShares(age, this.gapS, this.spanS).changed;
  }

  /** Computed on first use, because P(no reply) does not need them. */
  get #masses(): ReadonlyMap<number, Float64Array> {
    if (this.#timeS !== null) {
      return this.#found ??= this.#massesAt(sharesAt(this.#pair.shares, this.#pair, this.#timeS, "rtts"));
    }
    const parts = kernelsOfWidth({
      log: 0,
      width: this.#widthOf(this.numReplies),
      mass: 1 / this.numReplies,
    });
    return this.#found ??= new Map(
      parts.map(({ width, mass }) => [width, this.#codeCounts.map((count) => count * mass)]),
    );
  }

  #massesAt(ofKernels: Float64Array): Map<number, Float64Array> {
    const { codes, counts } = this.#replies;
    const places = new Uint16Array(2 ** 16);
    this.#codes.forEach((code, place) => places[code] = place);
    let known = 0;
    const byWidth = new Map<number, Float64Array>();
    for (let k = 0; k < NUM_KERNELS; k++) {
      const own = this.#weightsOf(k, this.#replies);
      let [sum, squares] = [0, 0];
      for (let i = 0; i < own.length; i++) {
        sum += own[i];
        squares += own[i] * own[i] / counts[i];
      }
      const kernel = { log: 0, width: this.#widthOf(sum ** 2 / squares), mass: ofKernels[k] / sum };
      for (const { width, mass } of kernelsOfWidth(kernel)) {
        const masses = getOrMake(byWidth, width, () => new Float64Array(this.#codes.length));
        for (let i = 0; i < own.length; i++) masses[places[codes[i]]] += mass * own[i];
      }
      known += ofKernels[k];
    }
    for (const masses of byWidth.values()) masses.forEach((mass, i) => masses[i] = mass / known);
    return byWidth;
  }

  /** The least and the greatest RTT, ln ms; empty without replies. */
  get bounds(): number[] {
    if (this.#codes.length === 0) return [];
    return [this.#codes[0], this.#codes[this.#codes.length - 1]].map(logOfCode);
  }

  /** Kernels around the RTTs, whose masses sum to 1; without a time, each measurement counts alike. */
  kernels(): Kernel[] {
    return [...this.#masses].flatMap(([width, masses]) =>
      this.#grouped(masses, MAX_CENTRES).map((each) => ({ ...each, width }))
    );
  }

  /** The kernels if the RTTs have changed; masses sum to 1. */
  kernelsAfterChange(age = this.#age): Kernel[] {
    const masses = new Float64Array(this.#codes.length);
    for (const each of this.#masses.values()) each.forEach((mass, i) => masses[i] += mass);
    return changedKernels(age, this.#grouped(masses, MAX_CHANGED), this.gapS);
  }

  /** At most `most` RTTs and their masses. More are replaced by means of neighbours of equal frequency. */
  #grouped(masses: Float64Array, most: number): { log: number; mass: number }[] {
    const numGroups = Math.min(most, masses.length);
    const groups = Array.from({ length: numGroups }, () => ({ log: 0, mass: 0, count: 0 }));
    let before = 0;
    this.#codeCounts.forEach((count, i) => {
      const rank = Math.floor((before + count / 2) / this.numReplies * numGroups);
      const group = groups[numGroups < masses.length ? rank : i];
      group.log += count * logOfCode(this.#codes[i]);
      group.mass += masses[i];
      group.count += count;
      before += count;
    });
    return groups.filter(({ mass }) => mass > NEGLIGIBLE)
      .map(({ log, mass, count }) => ({ log: log / count, mass }));
  }

  /** How often the pair does not reply at the asked time. */
  losses(): PairLosses {
    const { codes, counts, shares } = this.#pair;
    const measurements = counts.reduce((a, b) => a + b, 0);
    const failures = measurements - this.numReplies;
    if (this.#timeS === null) {
      return { measurements, failures, share: failures / measurements, worth: Infinity };
    }
    const ofKernels = sharesAt(shares, this.#pair, this.#timeS, "losses");
    const mean = new Float64Array(codes.length);
    for (let k = 0; k < NUM_KERNELS; k++) {
      const own = this.#weightsOf(k, this.#pair);
      let sum = 0;
      for (let i = 0; i < own.length; i++) sum += own[i];
      for (let i = 0; i < own.length; i++) mean[i] += ofKernels[k] / sum * own[i];
    }
    let [share, squares] = [0, 0];
    for (let i = 0; i < mean.length; i++) {
      if (codes[i] === 0) share += mean[i];
      squares += mean[i] * mean[i] / counts[i];
    }
    return { measurements, failures, share, worth: 1 / squares };
  }

  /** @param worth The effective number of measurements (Kish, "Survey Sampling", 1965). */
  #widthOf(worth: number): number {
    return WIDTH_OF_SPREAD * this.#pair.spread * worth ** -0.2;
  }

  /** The weights of all measurements, or of replies, by a kernel. */
  #weightsOf(kernel: number, of: PairMeasurements): Float64Array {
    const weights = getOrMake(
      this.#weights,
      of,
      () => kernelWeights(of, this.#timeS ?? 0, { weeks: hasWeeks(this.#pair) }),
    );
    const { length } = of.timesS;
    return weights.subarray(kernel * length, (kernel + 1) * length);
  }
}
