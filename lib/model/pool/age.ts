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
import { type Kernel, kernelsOfWidth } from "./kernel_mixture.ts";

const DAY_S = 86_400;
/** Widths of kernels around RTTs from before a change, ln, at an age of a day. */
const WIDTHS = [-10, -7, -6, -5, -4, -3, -1].map((exponent) => 2 ** exponent);
/**
 * Kernel widths grow with this power of the age. With 1/8, intervals contain 83 % of the results of MENOG
 * 2019 after 18 days; with 1/4, 98 % of those of the traces after 14 days: lib/eval/RESULTS.md.
 */
const GROWTH = 3 / 16;
/**
 * The time scale at which a pair's RTTs become worthless. ASSUMPTION: with this value, they are worthless for
 * 3 % of pairs after 18 days. Of 3,233 results of MENOG 2019 of that age, 1.4 % more than after half a day
 * were off by a factor of two.
 */
const REPLACED_S = 256 * DAY_S;

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

interface AgeShares {
  /** P(the pair's RTTs have become worthless). */
  readonly replaced: number;
  /** P(the path has changed), if the RTTs are not worthless; of a pair about which nothing else is known. */
  readonly changed: number;
}

/**
 * The probabilities of what may have happened since an RTT. A path that has been measured for some time without
 * a change that its measurements do not show has a lower rate: the gamma distribution's scale grows by that
 * time (Gelman et al., "Bayesian Data Analysis", 3rd ed. 2013, section 2.6).
 *
 * @param ageS Seconds.
 * @param spanS Seconds between the first and the last measurement of the path.
 */
export function ageShares({ changeS }: Pick<AgeCurve, "changeS">, ageS: number, spanS = 0): AgeShares {
  const after = (scaleS: number) => 1 - 1 / Math.sqrt(1 + ageS / scaleS);
  const replaced = after(REPLACED_S);
  return { replaced: replaced < LEAST_REPLACED ? 0 : replaced, changed: after(changeS + spanS) };
}

/** Kernel widths after a change, ln. @param ageS Above 0. */
function changedWidths(ageS: number): number[] {
  const growth = (ageS / DAY_S) ** GROWTH;
  return WIDTHS.map((width) => width * growth);
}

/** Kernels around RTTs from before a change. @param rtts ln ms. @param ageS Above 0. */
export function changedKernels(
  { shares }: Pick<AgeCurve, "shares">,
  rtts: readonly { log: number; mass: number }[],
  ageS: number,
): Kernel[] {
  return changedWidths(ageS).flatMap((width, w) =>
    rtts.flatMap(({ log, mass }) => kernelsOfWidth({ log, width, mass: shares[w] * mass }))
  );
}

/** Widens kernels of an answer without RTTs of the pair by the mean change of RTTs. @param ageS Above 0. */
export function widenedKernels(
  { shares }: AgeCurve,
  kernels: readonly Kernel[],
  ageS: number,
): Kernel[] {
  const mean = changedWidths(ageS).reduce((sum, width, w) => sum + shares[w] * width, 0);
  return kernels.flatMap((kernel) => kernelsOfWidth({ ...kernel, width: Math.hypot(kernel.width, mean) }));
}
