/**
 * What is usual for a pair at an hour of the day and, after three weeks, of the week.
 *
 * A level that a pair has also had at the same hour of other days is not unusual. How much less likely its RTTs
 * are at the hours of those days than on their own is the evidence against that. The day on which they are
 * likeliest does not count: a fault that happened once does not become usual.
 *
 * @module
 */
import { lowerBound } from "../../base/collections.ts";
import { quantileOfSample, quantilesOfWeighted } from "../../base/sample_statistics.ts";
import type { Level } from "./change_detector.ts";
import { decodeRttCode } from "../../data/tokens/rtt_code.ts";
import { CollectedPair } from "../../model/pool/pair_memory.ts";
import type { TimedMeasurement } from "../files/arriving.ts";
import { hasWeeks, HOUR_KERNEL, kernelWeights, WEEK_KERNEL } from "../../model/pool/time_kernels.ts";

const DAY_S = 86_400;
/** One reply in this time is remembered, s. */
const SPACING_S = 900;
/** Remembered replies: all of the last days and ever fewer before, of more than a month in all. */
const MAX_REMEMBERED = 512;
/** Measurements with less weight do not count: those hours away from the hour. */
const LEAST_WEIGHT = 0.007;
/** Number of earlier days, or weeks, at an hour that make it known. */
const LEAST_DAYS = 2;
/** Quantiles of the RTTs of a day between which its level is. */
const MIDDLE = [0.35, 0.65];
/** Remembered RTTs of a day that show its level. */
const LEAST_OF_DAY = 6;
/** Density of RTTs that are unlike all known ones, 1/ms. */
const OUTLIER_DENSITY = 1e-4;
/** Kernel width as a share of the interquartile range, and its lower bound, ms. */
const WIDTH_SHARE = 0.5;
const MIN_WIDTH_MS = 0.25;

/** A reply. */
export interface TimedRtt {
  /** Unix seconds. */
  readonly timeS: number;
  readonly rttMs: number;
}

/** The usual RTTs of one pair by hour. Memory: at most about 20 kB. */
export class UsualHours {
  readonly #replies = new CollectedPair();
  #lastS = -Infinity;

  /** Adds a measurement; losses are not remembered. */
  add({ timeS, rttCode }: Pick<TimedMeasurement, "timeS" | "rttCode">): void {
    // A wrong clock may go back.
    if (rttCode === null || Math.abs(timeS - this.#lastS) < SPACING_S) return;
    this.#lastS = timeS;
    this.#replies.add(timeS, rttCode);
    if (this.#replies.length > 4 / 3 * MAX_REMEMBERED) this.#replies.thin(MAX_REMEMBERED);
  }

  /** Whether a pair had a level for most of the last day. */
  isOfLastDay({ medianMs, spreadMs }: Level, timeS: number): boolean {
    const { timesS, codes } = this.#replies;
    const lastDay = codes.filter((_, i) => timesS[i] < timeS && timesS[i] >= timeS - DAY_S).map(
      decodeRttCode,
    );
    if (lastDay.length < LEAST_OF_DAY) return false;
    const [low, high] = MIDDLE.map((q) => quantileOfSample(lastDay, q));
    return medianMs >= low - spreadMs / 2 && medianMs <= high + spreadMs / 2;
  }

  /**
   * How much less likely successive replies are at their hours than on their own, nats; Infinity as long as the
   * hours are not known.
   */
  evidence(replies: readonly TimedRtt[]): number {
    const firstS = replies[0]?.timeS;
    if (replies.length < 2 || !(firstS - this.#replies.timesS[0] >= DAY_S)) return Infinity;
    const known = this.#replies.sorted();
    const weeks = hasWeeks(known);
    const { timesS, codes } = known;
    const knownMs = Array.from(codes, decodeRttCode);
    const end = lowerBound(timesS, firstS - DAY_S / 2);
    const weights = replies.map(({ timeS }) => kernelWeights(known, timeS, { end, weeks }));
    const likeliest = (weeks ? [HOUR_KERNEL, WEEK_KERNEL] : [HOUR_KERNEL]).map((kernel) => {
      const periodS = kernel === WEEK_KERNEL ? 7 * DAY_S : DAY_S;
      const similar = replies.map(({ timeS }, reply) => {
        const found: Similar[] = [];
        for (let i = 0; i < end; i++) {
          const weight = weights[reply][kernel * end + i];
          if (weight < LEAST_WEIGHT) continue;
          const day = Math.round((timeS - timesS[i]) / periodS);
          if (day > 0) found.push({ day, rttMs: knownMs[i], weight });
        }
        return found;
      });
      return logLikelihood(replies.map(({ rttMs }) => rttMs), similar);
    });
    const own = logLikelihoodAlone(replies.map(({ rttMs }) => rttMs));
    return own - Math.max(...likeliest);
  }
}

/** A known RTT at about the hour of a reply. */
interface Similar {
  /** Days or weeks before. */
  readonly day: number;
  readonly rttMs: number;
  readonly weight: number;
}

/** @param similar Of each RTT. @returns -Infinity if too few days are known. */
function logLikelihood(rttsMs: readonly number[], similar: readonly (readonly Similar[])[]): number {
  const days = [...new Set(similar.flat().map(({ day }) => day))];
  if (days.length < LEAST_DAYS) return -Infinity;
  const all = similar.flat().sort((a, b) => a.rttMs - b.rttMs);
  const [low, high] = quantilesOfWeighted(
    all.map(({ rttMs }) => rttMs),
    all.map(({ weight }) => weight),
    [0.25, 0.75],
  );
  const widthMs = widthOf(high - low);
  const sumsOfDay = new Map(days.map((day) => [day, {
    densities: new Float64Array(rttsMs.length),
    weights: new Float64Array(rttsMs.length),
  }]));
  const sums = [...sumsOfDay.values()];
  similar.forEach((each, i) => {
    for (const { day, rttMs, weight } of each) {
      const ofDay = sumsOfDay.get(day);
      if (!ofDay) continue;
      ofDay.densities[i] += weight * kernelAt(rttsMs[i] - rttMs, widthMs);
      ofDay.weights[i] += weight;
    }
  });
  const logOf = (counted: typeof sums) =>
    rttsMs.reduce((log, _, i) => {
      let [density, weight] = [0, 0];
      for (const { densities, weights } of counted) {
        density += densities[i];
        weight += weights[i];
      }
      return log + Math.log(OUTLIER_DENSITY + density / (weight || 1));
    }, 0);
  const logs = sums.map((each) => logOf([each]));
  const likeliest = logs.indexOf(Math.max(...logs));
  return logOf(sums.filter((_, row) => row !== likeliest));
}

/** The log-likelihood of RTTs if each is like the others. */
function logLikelihoodAlone(rttsMs: readonly number[]): number {
  const widthMs = widthOf(quantileOfSample(rttsMs, 0.75) - quantileOfSample(rttsMs, 0.25));
  return rttsMs.reduce((sum, rttMs, i) => {
    const density = rttsMs.reduce(
      (sum, other, j) => j === i ? sum : sum + kernelAt(rttMs - other, widthMs),
      0,
    );
    return sum + Math.log(OUTLIER_DENSITY + density / (rttsMs.length - 1));
  }, 0);
}

const widthOf = (spreadMs: number) => Math.max(MIN_WIDTH_MS, WIDTH_SHARE * spreadMs);

/** Density of the normal distribution. */
function kernelAt(distanceMs: number, widthMs: number): number {
  return Math.exp(-0.5 * (distanceMs / widthMs) ** 2) / (widthMs * Math.sqrt(2 * Math.PI));
}
