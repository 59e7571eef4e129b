/**
 * How known RTTs age. Paths change, so an answer widens with the age of the RTTs that it rests on.
 *
 * Paths change at different rates. If rates follow a gamma distribution of shape 1/2, the probability that a
 * path has not changed after a time t is (1 + t / s)^(-1/2): it falls quickly for some paths and hardly at
 * all for others (Lomax, "Business Failures", JASA 49, 1954). After a change the RTT is one of those seen
 * before, or near one of them, at a heavy-tailed distance that grows with age. Together, |ln(RTT now / RTT
 * then)| grows like the fourth root of the age, as measurements do. Much later, old RTTs are no more
 * informative than those of other pairs.
 *
 * @module
 */
import { real, SHARE, type Tensor } from "../possible_numbers.ts";
import { type Kernel, kernelWidth } from "./kernel_mixture.ts";

const DAY_S = 86_400;
/** Widths of kernels around RTTs from before a change, ln, at an age of a day. */
const WIDTHS = [-10, -7, -6, -5, -4, -3, -1].map((exponent) => 2 ** exponent);
/**
 * Kernel widths grow with this power of the age. With 1/8, intervals contain 83 % of the results of MENOG
 * 2019 after 18 days; with 1/4, 98 % of those of the traces after 14 days: lib/eval/RESULTS.md.
 */
const GROWTH = 3 / 16;
/**
 * A pair's RTTs become worthless this many times more slowly than its path changes. ASSUMPTION: with this
 * value, they are worthless for 3 % of pairs after 18 days. Of 3,233 results of MENOG 2019 of that age, 1.4 %
 * more than after half a day were off by a factor of two.
 */
const REPLACED_FACTOR = 512;

/** Smaller probabilities of worthless RTTs count as 0, which saves the forecasts without them. */
const LEAST_REPLACED = 0.001;

export interface AgeCurve {
  /** The scale s of changes, seconds: after 3 s, half of the paths have changed. */
  readonly changeS: number;
  /** The shares of the kernels of each width after a change; they sum to 1. */
  readonly shares: readonly number[];
}

export const AGE: Tensor = ["pool.age", [real(60, 1e9), ...WIDTHS.map(() => SHARE)]];

/**
 * The curve of paths that nothing else is known about. `fitAge` fitted it to 25 traces of RIPE Atlas, 4
 * minutes apart, up to 33 days long (Shao et al. 2017, https://github.com/WenqinSHAO/rtt).
 */
export const USUAL_AGE: AgeCurve = {
  changeS: DAY_S / 2,
  shares: [0.289, 0.001, 0.038, 0.617, 0.03, 0.0245, 0.0005],
};

export function ageTensor({ changeS, shares }: AgeCurve): Float32Array {
  return Float32Array.of(changeS, ...shares);
}

export function ageCurveOf([changeS, ...shares]: Float32Array): AgeCurve {
  const sum = shares.reduce((a, b) => a + b, 0);
  return { changeS, shares: shares.map((share) => share / sum) };
}

export interface AgeShares {
  /** P(the pair's RTTs have become worthless). */
  readonly replaced: number;
  /** P(the path has changed), if the RTTs are not worthless. */
  readonly changed: number;
}

/** The probabilities of what may have happened since an RTT. @param ageS Seconds. */
export function ageShares({ changeS }: Pick<AgeCurve, "changeS">, ageS: number): AgeShares {
  const after = (scaleS: number) => 1 - 1 / Math.sqrt(1 + ageS / scaleS);
  const replaced = after(REPLACED_FACTOR * changeS);
  return { replaced: replaced < LEAST_REPLACED ? 0 : replaced, changed: after(changeS) };
}

/** Kernel widths after a change, ln. @param ageS Above 0. */
function changedWidths(ageS: number): number[] {
  const growth = (ageS / DAY_S) ** GROWTH;
  return WIDTHS.map((width) => kernelWidth(width * growth));
}

/** Kernels around RTTs from before a change; masses sum to 1. @param logs ln ms. @param ageS Above 0. */
export function changedKernels(
  { shares }: Pick<AgeCurve, "shares">,
  logs: readonly number[],
  ageS: number,
): Kernel[] {
  return changedWidths(ageS).flatMap((width, w) =>
    logs.map((log) => ({ log, width, mass: shares[w] / logs.length }))
  );
}

/** Widens kernels of an answer without RTTs of the pair by the mean change of RTTs. @param ageS Above 0. */
export function widenedKernels(
  { shares }: AgeCurve,
  kernels: readonly Kernel[],
  ageS: number,
): Kernel[] {
  const mean = changedWidths(ageS).reduce((sum, width, w) => sum + shares[w] * width, 0);
  return kernels.map((kernel) => ({ ...kernel, width: kernelWidth(Math.hypot(kernel.width, mean)) }));
}

/**
 * The share of time that each RTT represents: from halfway since the previous RTT to halfway to the next.
 * RTTs with equal times divide their span equally; an RTT without a time gets the mean share.
 *
 * @param timesS Unix seconds; null if unknown. At least one.
 */
export function spansOf(timesS: readonly (number | null)[]): number[] {
  const distinct = [...new Set(timesS)].filter((timeS) => timeS !== null).sort((a, b) => a - b);
  const last = distinct.length - 1;
  const spanOf = (i: number) => (distinct[Math.min(last, i + 1)] - distinct[Math.max(0, i - 1)]) / 2;
  const spans = new Map(distinct.map((timeS, i) => [timeS, last > 0 ? spanOf(i) : 1]));
  const counts = Map.groupBy(timesS, (timeS) => timeS);
  const timed = timesS.filter((timeS) => timeS !== null).length;
  const total = [...spans.values()].reduce((sum, span) => sum + span, 0);
  return timesS.map((timeS) =>
    timeS === null
      ? 1 / timesS.length
      : (spans.get(timeS) ?? 0) / total / (counts.get(timeS)?.length ?? 1) * timed / timesS.length
  );
}
