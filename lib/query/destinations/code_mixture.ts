/**
 * A range of RTTs as a weighted mixture of few RTT codes.
 *
 * P(x | RTT in the range) is the sum of P(code | range) P(x | code) over the codes of the range. A range with few codes
 * uses all of them. A range with more is cut into H strata of equal probability, and the code in the middle of each
 * stratum represents it: the midpoint rule in the variable F(code), which is deterministic. The error depends on how much
 * P(x | code) varies within a stratum. It is estimated from the differences of neighbouring strata, as for a sample of
 * one element per stratum (collapsed strata: Cochran, Sampling Techniques, 3rd ed., 1977, section 5A.12). This estimate
 * is too large rather than too small.
 *
 * @module
 */
import { ensure } from "../../errors.ts";

/** RTT codes with weights. */
export interface CodeMixture {
  /** Canonical codes, ascending; null alone where no reply came. */
  readonly codes: readonly (number | null)[];
  /** One for each code; they sum to 1. */
  readonly weights: Float64Array;
  /** For each stratum, the index of its code; undefined where all codes of the range are there. */
  readonly strata: readonly number[] | undefined;
}

/**
 * The mixture of a range.
 *
 * @param codes All codes of the range, ascending; null alone where no reply came.
 * @param options `probabilities`: of each, up to a factor; `maxCodes`: how many the mixture may have.
 */
export function rangeMixture(
  codes: readonly (number | null)[],
  { probabilities, maxCodes }: { probabilities: Float64Array; maxCodes: number },
): CodeMixture {
  const total = probabilities.reduce((sum, p) => sum + p, 0);
  ensure(total > 0 && codes.length === probabilities.length, "a range of RTTs has codes with mass");
  if (codes.length <= maxCodes) {
    return { codes, weights: probabilities.map((p) => p / total), strata: undefined };
  }
  const chosen: (number | null)[] = [];
  const counts: number[] = [];
  const strata: number[] = [];
  let below = 0;
  for (let i = 0, stratum = 0; stratum < maxCodes; stratum++) {
    const middle = (stratum + 0.5) * total / maxCodes;
    while (i < codes.length - 1 && below + probabilities[i] < middle) below += probabilities[i++];
    if (chosen.at(-1) !== codes[i]) {
      chosen.push(codes[i]);
      counts.push(0);
    }
    counts[counts.length - 1]++;
    strata.push(chosen.length - 1);
  }
  return { codes: chosen, weights: Float64Array.from(counts, (count) => count / maxCodes), strata };
}

/**
 * The standard error of a probability that a mixture gives: see the module.
 *
 * @param joint For each code, its weight times the probability given the code.
 * @returns 0 where the mixture is exact.
 */
export function mixtureError({ weights, strata }: CodeMixture, joint: Float64Array): number {
  if (!strata) return 0;
  const given = (stratum: number) => joint[strata[stratum]] / weights[strata[stratum]];
  let variance = 0;
  for (let i = 0; i + 1 < strata.length; i += 2) variance += (given(i) - given(i + 1)) ** 2;
  return Math.sqrt(variance) / strata.length;
}
