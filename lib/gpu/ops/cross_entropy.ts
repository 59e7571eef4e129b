/**
 * Softcap and cross-entropy in one pass, with the gradient, without storing probabilities.
 *
 * @module
 */
import { KernelError } from "../../errors.ts";
import { gridOf, type Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** What {@link addCrossEntropy} reads and writes. */
export interface CrossEntropyArgs {
  /** (rows, stride) f32; columns from `vocabSize` on are ignored. */
  logits: Tensor;
  /** (rows) u32, below `vocabSize`. */
  targets: Tensor;
  /** (rows) u32, 0 where a row does not count. */
  lossMask: Tensor;
  /** (rows) f32, written: nats, 0 where a row does not count. */
  losses: Tensor;
  /** (rows, stride) f32, written if given: weight * d loss / d logits. */
  dLogits?: Tensor;
  /** (1) f32: what every row's gradient is multiplied by. */
  weight: Tensor;
  /** s of z = s tanh(logit / s), or null for none. */
  softcap: number | null;
  rows: number;
  vocabSize: number;
  /** Elements from one row to the next, a multiple of 4. */
  stride: number;
}

/**
 * Adds the loss of every row, and perhaps its gradient, to a program.
 *
 * @throws {KernelError} If a tensor is too small or the stride is wrong.
 */
export function addCrossEntropy(program: Program, args: CrossEntropyArgs): void {
  const { logits, targets, lossMask, losses, weight, softcap, rows, vocabSize, stride } = args;
  const kernel = "cross_entropy";
  requireMultiple(kernel, { stride }, 4);
  if (vocabSize > stride) {
    throw new KernelError(kernel, `vocabSize is ${vocabSize}, at most ${stride} was wanted`);
  }
  // Without a gradient the binding still needs a buffer of its own, which is not touched.
  const dLogits = args.dLogits ?? program.registry.gpu.tensor("no dLogits", [4]);
  requireLength(kernel, rows * stride, args.dLogits ? { logits, dLogits } : { logits });
  requireLength(kernel, rows, { targets, lossMask, losses });
  requireLength(kernel, 1, { weight });
  program.add({
    kernel,
    overrides: { GRADIENT: Number(args.dLogits !== undefined) },
    bindings: { logits, targets, loss_mask: lossMask, weight, losses, d_logits: dLogits },
    params: { rows, stride, vocab_size: vocabSize, softcap: softcap ?? 0 },
    grid: gridOf(rows),
  });
}
