/**
 * How far a float32 kernel may be from its float64 reference. All tolerances of the kernel tests are derived
 * here, from the length of the reduction and the unit roundoff.
 *
 * Sources: N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci.
 * Comput. 41 (2019), theorem 2.4 (the error of n roundings grows as sqrt(n) with a probability that a factor
 * of 6 makes practically one); WGSL, section 15.7.4.1 (accuracy of the built-in functions).
 *
 * @module
 */

import type { ModelConfig } from "../lib/model/model_config.ts";

/** Half the distance from 1 to the next float32: the relative error of one rounding. */
export const UNIT_ROUNDOFF = 2 ** -24;

/** The smallest normal float32; WGSL lets implementations flush smaller numbers to zero (15.7.2). */
const SMALLEST_NORMAL = 2 ** -126;

/** Accuracy required of WGSL's built-ins, in units in the last place (WGSL 15.7.4.1). */
export const BUILT_IN_ULPS = {
  division: 2.5,
  inverseSqrt: 2,
  /** sqrt is 1 / inverseSqrt. */
  sqrt: 4.5,
  log: 3,
  /** `3 + 2 |x|`, for |x| <= 16. */
  exp: 35,
} as const;

/** Absolute error of tanh, sin, cos (WGSL allows 2^-11; all adapters seen are within this). */
export const TRIGONOMETRY_ABSOLUTE = 1e-6;

/** `|actual - expected| <= absolute + relative * |expected|`. */
export interface Tolerance {
  readonly relative: number;
  readonly absolute: number;
}

/**
 * For sums (or dot products) in any order.
 *
 * @param length The number of terms.
 * @param magnitude The sum of the terms' absolute values, the largest over the compared outputs.
 */
export function sumTolerance(length: number, magnitude: number): Tolerance {
  return { relative: 4 * UNIT_ROUNDOFF, absolute: 6 * Math.sqrt(length + 1) * UNIT_ROUNDOFF * magnitude };
}

/**
 * For expressions without a long sum.
 *
 * @param numUlps Roundings on the longest path (a built-in counts as its {@link BUILT_IN_ULPS}).
 * @param magnitude The largest intermediate that may cancel; 0 if nothing is subtracted.
 */
export function expressionTolerance(numUlps: number, magnitude = 0): Tolerance {
  return {
    relative: 2 * numUlps * UNIT_ROUNDOFF,
    absolute: 2 * numUlps * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL,
  };
}

/**
 * For results stored as f16. WGSL lets the conversion take either neighbour (15.7.6), which is one unit in
 * the last place, and lets implementations flush numbers below the smallest normal f16 to zero (15.7.2).
 */
export const HALF_STORAGE: Tolerance = { relative: 2 ** -10, absolute: 2 ** -14 };

/** For results that must be exact. */
export const EXACT: Tolerance = { relative: 0, absolute: 0 };

/**
 * For attention's gradients with respect to q and k if the output is stored as f16. The output's error causes
 * one of delta = dOut . out, which is subtracted from every gradient of a probability before that is
 * multiplied by a key or query and summed.
 *
 * @param inner A bound on |dOut| |out| of a row.
 * @param weights A bound on the sum of the probabilities of a query, or of a key.
 * @param largest The largest absolute value of the keys, or of the queries.
 */
export function halfDeltaTolerance(
  headDim: number,
  inner: number,
  weights: number,
  largest: number,
): Tolerance {
  const deltaError = inner * HALF_STORAGE.relative;
  return { relative: 0, absolute: weights * deltaError * largest / Math.sqrt(headDim) };
}

/**
 * For sums over positions whose weights are rounded to f16, some of them below its normal range.
 *
 * @param weights A bound on the sum of the weights' absolute values.
 * @param largest The largest absolute value of the weighted numbers.
 */
export function halfWeightsTolerance(
  { sequenceLength }: { sequenceLength: number },
  weights: number,
  largest: number,
): Tolerance {
  return {
    relative: 0,
    absolute: (weights * HALF_STORAGE.relative + sequenceLength * 2 ** -24) * largest,
  };
}

export function addTolerances(a: Tolerance, b: Tolerance): Tolerance {
  return { relative: a.relative + b.relative, absolute: a.absolute + b.absolute };
}

/**
 * For losses and gradients of the whole model: every matrix product, attention and norm on the longest path
 * adds its roundings, forward and backward.
 *
 * @param magnitude The largest absolute value of the compared tensor.
 */
export function modelTolerance(
  config: Pick<ModelConfig, "numLayers" | "width" | "numHeads" | "headDim" | "mlpWidth" | "sequenceLength">,
  magnitude: number,
): Tolerance {
  const { numLayers, width, numHeads, headDim, mlpWidth, sequenceLength } = config;
  const block = 4 * width + numHeads * headDim + mlpWidth + headDim + sequenceLength;
  return sumTolerance(2 * (numLayers * block + width), magnitude);
}

/**
 * For losses and gradients of a model with activations, their gradients and weights in f16. About twelve of
 * them are rounded in each block on the longest path, forward and backward, by half a unit in the last place
 * of f16.
 *
 * @param magnitude The largest absolute value of the compared tensor.
 */
export function halfModelTolerance(
  { numLayers }: Pick<ModelConfig, "numLayers">,
  magnitude: number,
): Tolerance {
  return { relative: 0, absolute: 6 * Math.sqrt(2 * 12 * numLayers + 4) * 2 ** -11 * magnitude };
}

/**
 * For attention's outputs and gradients: the roundings of four dot products over a head and of one sum over
 * the positions. An absolute error of a score is a relative error of its probability, so scores amplify.
 *
 * @param maxScore A bound on the scores' absolute values.
 * @param magnitude The largest absolute value of the compared tensor.
 */
export function attentionTolerance(
  { headDim, sequenceLength }: { headDim: number; sequenceLength: number },
  maxScore: number,
  magnitude: number,
): Tolerance {
  const length = 4 * headDim + sequenceLength;
  return addTolerances(
    sumTolerance(length, (1 + 2 * maxScore) * magnitude),
    expressionTolerance(BUILT_IN_ULPS.exp + BUILT_IN_ULPS.division, magnitude),
  );
}

/**
 * For the capped logits z = s tanh(logit / s) with tanh(x) = 1 - 2 / (e^(2 x) + 1). The derivative of tanh
 * with respect to the relative error of the power is at most 1 / 2, and the largest |x| that matters is below
 * 8.
 *
 * @param softcap s; null for z = logit, which is exact.
 */
export function softcapTolerance(softcap: number | null): Tolerance {
  const exponentUlps = 3 + 2 * 8;
  return {
    relative: 0,
    absolute: softcap === null ? 0 : softcap * (exponentUlps / 2 + 3) * 2 * UNIT_ROUNDOFF,
  };
}

/**
 * For log-probabilities and losses: the errors of two capped logits, of a sum of powers, and of differences
 * of scores up to `magnitude`.
 *
 * @param shape The columns and the cap.
 * @param magnitude A bound on the capped logits' absolute values.
 */
export function logProbabilityTolerance(
  { vocabSize, softcap }: { vocabSize: number; softcap: number | null },
  magnitude: number,
): Tolerance {
  return [
    softcapTolerance(softcap),
    softcapTolerance(softcap),
    sumTolerance(vocabSize, 1),
    expressionTolerance(BUILT_IN_ULPS.exp + BUILT_IN_ULPS.log, 1),
    expressionTolerance(4, magnitude),
  ].reduce(addTolerances);
}

/**
 * For values of the whole model against a float32 implementation in another framework: they agree to 1e-4;
 * values near 0 may differ by a tenth of the tolerance of the largest value.
 */
export function parityTolerance(expected: ArrayLike<number>): Tolerance {
  let largest = 0;
  for (let i = 0; i < expected.length; i++) largest = Math.max(largest, Math.abs(expected[i]));
  return { relative: 1e-4, absolute: 1e-5 * largest };
}

/** For the losses of 20 optimizer steps against another framework. */
export const PARITY_LOSS: Tolerance = { relative: 1e-3, absolute: 0 };
