/**
 * Clipping by the global gradient norm, decided on the GPU: nothing is read back before the update.
 *
 * Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1.
 *
 * @module
 */
import { KernelError } from "../../errors.ts";
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength } from "./require.ts";

/** Where the values lie in the (4) f32 tensor that {@link addClipFactor} writes; it starts as zeros. */
export const CLIP = {
  /** min(1, maxNorm / norm), or 0 where the step is skipped because the norm is not finite. */
  factor: 0,
  norm: 1,
  /** Steps skipped since the tensor was made. */
  numSkipped: 2,
  /** Steps skipped in a row up to this one. */
  numSkippedInARow: 3,
} as const;

/**
 * Adds the clip factor of a step to a program.
 *
 * @param args `sumOfSquares`: 1 f32 (addSumOfSquares); `out`: (4) f32, see {@link CLIP}; `maxNorm` > 0.
 * @throws {KernelError} If `maxNorm` is not positive and finite.
 */
export function addClipFactor(
  program: Program,
  args: { sumOfSquares: Tensor; out: Tensor; maxNorm: number },
): void {
  const { sumOfSquares, out, maxNorm } = args;
  const kernel = "clip_factor";
  if (!(maxNorm > 0 && maxNorm < Infinity)) {
    throw new KernelError(kernel, `maxNorm is ${maxNorm}, a positive finite number was wanted`);
  }
  requireLength(kernel, 1, { sumOfSquares });
  requireLength(kernel, 4, { out });
  program.add({
    kernel,
    bindings: { sum_of_squares: sumOfSquares, out },
    params: { max_norm: maxNorm },
    grid: [1],
  });
}
