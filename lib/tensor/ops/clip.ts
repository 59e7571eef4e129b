/**
 * Clipping to the global gradient norm, and the loss scale. The GPU computes both, so nothing is read back
 * before the update.
 *
 * If gradients are stored as f16, the loss is multiplied by a scale so that small gradients are not lost; the
 * clip factor divides by it. A non-finite gradient halves the scale, and its step is skipped. Many
 * consecutive finite gradients double it.
 *
 * Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1;
 * Micikevicius et al., Mixed Precision Training, ICLR 2018, section 3.2.
 *
 * @module
 */
import { KernelError } from "../../base/errors.ts";
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength } from "./common.ts";

/** Indexes of the values in the (2) f32 tensor that {@link addClipFactor} writes. */
export const CLIP = {
  /** min(1, maxNorm / norm) / loss scale; 0 if the norm is not finite, so that the step is skipped. */
  factor: 0,
  /** Norm of the gradient without the loss scale. */
  norm: 1,
} as const;

/** How the loss scale changes. Scales are powers of 2, so scaling is exact. */
interface LossScaleRange {
  readonly initial: number;
  /** The smallest scale. If a gradient is not finite even with this scale, there is another cause. */
  readonly min: number;
  readonly max: number;
  /** Consecutive steps with a finite gradient after which the scale is doubled. */
  readonly growthSteps: number;
}

export const LOSS_SCALE: LossScaleRange = { initial: 2 ** 15, min: 1, max: 2 ** 24, growthSteps: 500 };

/** Values of a new loss scale, (2) f32: the scale, and the number of finite steps since it changed. */
export function initialLossScale(): Float32Array<ArrayBuffer> {
  return Float32Array.of(LOSS_SCALE.initial, 0);
}

/**
 * Adds the clip factor of a step to a program.
 *
 * @param args `sumOfSquares`: 1 f32 (addSumOfSquares); `out`: (2) f32, see {@link CLIP}; `maxNorm` > 0;
 *   `lossScale`: (2) f32 of {@link initialLossScale}, by which the gradients are multiplied, updated for the
 *   next step within `lossScaleRange`.
 * @throws {KernelError} If `maxNorm` is not positive and finite.
 */
export function addClipFactor(
  program: Program,
  args: {
    sumOfSquares: Tensor;
    out: Tensor;
    maxNorm: number;
    lossScale?: Tensor | undefined;
    lossScaleRange?: LossScaleRange;
  },
): void {
  const { sumOfSquares, out, maxNorm, lossScale, lossScaleRange: range = LOSS_SCALE } = args;
  const kernel = "clip_factor";
  if (!(maxNorm > 0 && maxNorm < Infinity)) {
    throw new KernelError(kernel, `maxNorm is ${maxNorm}, expected a positive finite number`);
  }
  requireLength(kernel, 1, { sumOfSquares });
  requireLength(kernel, 2, { out });
  if (lossScale) requireLength(kernel, 2, { lossScale });
  program.add({
    kernel,
    overrides: { SCALED: Number(lossScale !== undefined) },
    bindings: { sumOfSquares, out, lossScale: lossScale ?? program.registry.unusedOutput },
    params: { maxNorm, minScale: range.min, maxScale: range.max, growthSteps: range.growthSteps },
    grid: [1],
  });
}
