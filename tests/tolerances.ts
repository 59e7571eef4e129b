/**
 * How far a float32 kernel may be from its float64 reference; every tolerance of the kernel tests is derived
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

/** The smallest normal float32; WGSL lets an implementation flush what is below to zero (15.7.2). */
const SMALLEST_NORMAL = 2 ** -126;

/** Accuracy that WGSL demands of a built-in, in units in the last place (WGSL 15.7.4.1). */
export const BUILT_IN_ULPS = {
  division: 2.5,
  inverseSqrt: 2,
  /** sqrt is 1 / inverseSqrt. */
  sqrt: 4.5,
  log: 3,
  /** `3 + 2 |x|`, for |x| <= 16. */
  exp: 35,
} as const;

/** WGSL's absolute error of tanh, sin, cos (2^-11 is allowed; every adapter seen is within this). */
export const TRIGONOMETRY_ABSOLUTE = 1e-6;

/** `|actual - expected| <= absolute + relative * |expected|`. */
export interface Tolerance {
  readonly relative: number;
  readonly absolute: number;
}

/**
 * For a sum (or dot product) in any order.
 *
 * @param length The number of terms.
 * @param magnitude The sum of the terms' absolute values, the largest over the outputs compared.
 */
export function sumTolerance(length: number, magnitude: number): Tolerance {
  return { relative: 4 * UNIT_ROUNDOFF, absolute: 6 * Math.sqrt(length + 1) * UNIT_ROUNDOFF * magnitude };
}

/**
 * For an expression without a long sum.
 *
 * @param numUlps Roundings on the longest path (a built-in counts its {@link BUILT_IN_ULPS}).
 * @param magnitude The largest intermediate that may cancel; 0 where nothing is subtracted.
 */
export function expressionTolerance(numUlps: number, magnitude = 0): Tolerance {
  return {
    relative: 2 * numUlps * UNIT_ROUNDOFF,
    absolute: 2 * numUlps * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL,
  };
}

/**
 * For a result that is stored as f16: WGSL lets the conversion take either neighbour (15.7.6), which is one unit in the
 * last place, and lets an implementation flush what is below the smallest normal f16 to zero (15.7.2).
 */
export const HALF_STORAGE: Tolerance = { relative: 2 ** -10, absolute: 2 ** -14 };

/** For an error that is not there. */
export const EXACT: Tolerance = { relative: 0, absolute: 0 };

/**
 * For attention's gradients by q and k where the output is stored as f16: its error is one of delta = dOut . out, which
 * is taken from every gradient of a probability before that is multiplied with a key or query and summed.
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
 * For sums over positions whose weights are rounded to f16, some of which are below its normal range.
 *
 * @param weights A bound on the sum of the weights' absolute values.
 * @param largest The largest absolute value of what they weigh.
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

/** The tolerance of two errors on top of each other. */
export function addTolerances(a: Tolerance, b: Tolerance): Tolerance {
  return { relative: a.relative + b.relative, absolute: a.absolute + b.absolute };
}

/**
 * For losses and gradients of the whole model: every matrix product, attention and norm on the longest path adds
 * its roundings, forward and backward.
 *
 * @param config The model's extents.
 * @param magnitude The largest absolute value of the tensor compared.
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
 * For losses and gradients of a model whose activations, their gradients and weights are f16: about twelve of them are
 * rounded in each block on the longest path, forward and backward, by half a unit in the last place of f16.
 *
 * @param config The model's extents.
 * @param magnitude The largest absolute value of the tensor compared.
 */
export function halfModelTolerance(
  { numLayers }: Pick<ModelConfig, "numLayers">,
  magnitude: number,
): Tolerance {
  return { relative: 0, absolute: 6 * Math.sqrt(2 * 12 * numLayers + 4) * 2 ** -11 * magnitude };
}

/**
 * For attention's outputs and gradients: the roundings of four dot products over a head and of one sum over the
 * positions; an absolute error of a score is a relative one of its probability, so scores amplify.
 *
 * @param shape The extents.
 * @param maxScore A bound on the scores' absolute values.
 * @param magnitude The largest absolute value of the tensor compared.
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
 * For the capped logits z = s tanh(logit / s) with tanh(x) = 1 - 2 / (e^(2 x) + 1): the derivative of tanh by the
 * relative error of the power is at most 1 / 2, and the largest |x| with a part in it is below 8.
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
 * For log-probabilities and losses: the error of two capped logits, of a sum of powers, and of differences of
 * scores up to `magnitude`.
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
 * For values of the whole model against a float32 implementation in another framework: an agreement of 1e-4; values near 0 may differ by a tenth of that of the largest.
 *
 * @param expected The tensor compared.
 */
export function parityTolerance(expected: ArrayLike<number>): Tolerance {
  let largest = 0;
  for (let i = 0; i < expected.length; i++) largest = Math.max(largest, Math.abs(expected[i]));
  return { relative: 1e-4, absolute: 1e-5 * largest };
}

/** For the losses of 20 optimizer steps against another framework. */
export const PARITY_LOSS: Tolerance = { relative: 1e-3, absolute: 0 };
