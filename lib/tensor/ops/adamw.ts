/**
 * AdamW's update of one tensor, or of some rows of a table: Loshchilov and Hutter, Decoupled Weight Decay
 * Regularization, ICLR 2019, algorithm 2, with the arithmetic of torch.optim.AdamW.
 *
 * @module
 */
import { gridOf, type Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid, requireLength, requireMultiple } from "./common.ts";

export interface AdamWStep {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** Counted from 1. */
  step: number;
}

/** Number of f32 in the tensor of hyperparameters. */
export const NUM_ADAMW_HYPER = 8;

/** Values of {@link addAdamW}'s tensor `hyper`, which the host uploads before each step. */
export function adamWHyper(at: AdamWStep): Float32Array<ArrayBuffer> {
  const { learningRate, beta1, beta2, epsilon, weightDecay, step } = at;
  return Float32Array.of(
    learningRate,
    beta1,
    beta2,
    epsilon,
    weightDecay,
    1 - beta1 ** step,
    1 - beta2 ** step,
    0,
  );
}

/** The tensors that a step reads and updates. */
interface AdamWTensors {
  parameter: Tensor;
  gradient: Tensor;
  expAvg: Tensor;
  expAvgSq: Tensor;
  hyper: Tensor;
  clip: Tensor;
}

/**
 * Adds one step of AdamW for one tensor to a program.
 *
 * @param args `parameter`, `expAvg`, `expAvgSq` (updated) and `gradient`: `length` f32, a multiple of 4, each
 *   in a separate buffer; `hyper`: (8) f32 of {@link adamWHyper}; `clip`: (2) f32 of addClipFactor, whose
 *   factor scales the gradient; if it is 0, nothing is changed.
 */
export function addAdamW(
  program: Program,
  { parameter, gradient, expAvg, expAvgSq, hyper, clip, length }: AdamWTensors & { length: number },
): void {
  const kernel = "adamw";
  requireMultiple(kernel, { length }, 4);
  requireLength(kernel, length, { parameter, gradient, expAvg, expAvgSq });
  requireLength(kernel, NUM_ADAMW_HYPER, { hyper });
  requireLength(kernel, 1, { clip });
  program.add({
    kernel,
    bindings: { gradient, hyper, clip, parameter, expAvg, expAvgSq },
    params: { length },
    grid: elementwiseGrid(length),
  });
}

/**
 * Adds one step of AdamW to a program, for the rows of a table that have a slot. Each row counts its updates.
 *
 * @param args `slotRows`: (1 + slots) u32, the number of used slots, then the row of each slot, all
 *   different; `gradient`: (slots, width) f32; `parameter`, `expAvg`, `expAvgSq` (updated): (R, width) f32;
 *   `numUpdates` (updated): (R) f32; `hyper`, `clip`: as in `addAdamW`; `width` is a multiple of 4.
 */
export function addAdamWRows(
  program: Program,
  args: AdamWTensors & { slotRows: Tensor; numUpdates: Tensor; slots: number; width: number },
): void {
  const { slotRows, gradient, parameter, expAvg, expAvgSq, numUpdates, hyper, clip, slots, width } = args;
  const kernel = "adamw_rows";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, 1 + slots, { slotRows });
  requireLength(kernel, slots * width, { gradient });
  requireLength(kernel, numUpdates.shape[0] * width, { parameter, expAvg, expAvgSq });
  requireLength(kernel, NUM_ADAMW_HYPER, { hyper });
  requireLength(kernel, 1, { clip });
  program.add({
    kernel,
    bindings: { slotRows, gradient, hyper, clip, parameter, expAvg, expAvgSq, numUpdates },
    params: { width, slots },
    grid: gridOf(slots),
  });
}
