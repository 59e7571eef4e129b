/**
 * AdamW's update of one tensor.
 *
 * Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, with the
 * arithmetic of torch.optim.AdamW.
 *
 * @module
 */
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid } from "./elementwise.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** The hyperparameters of AdamW for a step. */
export interface AdamWStep {
  learningRate: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number;
  /** The step's number, from 1. */
  step: number;
}

/** The number of f32 in the tensor of hyperparameters. */
export const NUM_ADAMW_HYPER = 8;

/** The values of the tensor `hyper` of {@link addAdamW} for one step; the host uploads them before it. */
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

/**
 * Adds one step of AdamW for one tensor to a program.
 *
 * @param args `parameter`, `expAvg`, `expAvgSq` (updated) and `gradient`: `length` f32, a multiple of 4, each
 *   in a buffer of its own; `hyper`: (8) f32 of {@link adamWHyper}; `clip`: (4) f32 of addClipFactor, whose
 *   factor scales the gradient, and if 0 nothing is changed.
 * @throws {KernelError} If a tensor is too small or `length` is not a multiple of 4.
 */
export function addAdamW(
  program: Program,
  args: {
    parameter: Tensor;
    gradient: Tensor;
    expAvg: Tensor;
    expAvgSq: Tensor;
    hyper: Tensor;
    clip: Tensor;
    length: number;
  },
): void {
  const { parameter, gradient, expAvg, expAvgSq, hyper, clip, length } = args;
  const kernel = "adamw";
  requireMultiple(kernel, { length }, 4);
  requireLength(kernel, length, { parameter, gradient, expAvg, expAvgSq });
  requireLength(kernel, NUM_ADAMW_HYPER, { hyper });
  requireLength(kernel, 1, { clip });
  program.add({
    kernel,
    bindings: { gradient, hyper, clip, parameter, exp_avg: expAvg, exp_avg_sq: expAvgSq },
    params: { length },
    grid: elementwiseGrid(length),
  });
}
