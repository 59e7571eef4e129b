/**
 * The cross-entropy of logits with its gradient, and log-probabilities of selected rows. Logits may first be
 * soft-capped, z = s tanh(logit / s): Gemma Team, Gemma 2, 2024, section 2. Probabilities are never stored:
 * the same dispatch writes the loss and the gradient.
 *
 * @module
 */
import { KernelError } from "../../base/errors.ts";
import { gridOf, type Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength, requireMultiple } from "./common.ts";

export interface LogitsShape {
  /** V, the columns in use; the others are padding. */
  readonly vocabSize: number;
  /** Elements from one row to the next, a multiple of 4, at least V. */
  readonly stride: number;
  /** s of z = s tanh(logit / s), above 0; null for z = logit. */
  readonly softcap: number | null;
}

/** An extra gradient term for ordered targets, such as the bytes of a number. */
interface OrdinalTerm {
  /** The column of byte 0; the 255 others follow. */
  readonly firstByte: number;
  /** Weights of the term in rows whose `lossMask` is 2 and 3. */
  readonly weights: readonly [number, number];
}

/** Distributions that are learned in addition to the targets, in rows whose `lossMask` is 2 and 3. */
export interface SoftTargets {
  /** (rows, stride) f32: logits of another model at the same positions and with the same columns. */
  readonly logits: Tensor;
  /** Cap of these logits, as in {@link LogitsShape}. */
  readonly softcap: number | null;
  /** Weight in the gradient, 0 to 1; the targets, with their ordinal term, have the rest. */
  readonly weight: number;
}

/**
 * Adds losses[r] = -log softmax(z[r, :])[targets[r]] to a program, and the gradient of the logits.
 *
 * @param args `logits`: (rows, stride) f32; `targets`: (rows) u32 below V; `lossMask`: (rows) u32, 0 for rows
 *   whose loss and gradient are 0, 2 and 3 for rows with `markedWeight` and `ordinal`; `losses`: (rows) f32,
 *   nats; `dLogits`: (rows, stride) f32, the gradient of the row's loss, 0 in the padding, in another buffer
 *   than `logits`; if absent, no gradient is written; `weight`: (1) f32, a factor of the gradient;
 *   `lossScale`: (1) f32, another factor; `markedWeight`: a third factor, if `lossMask` is 2 or 3 (default:
 *   1); `ordinal`: adds the gradient of the Wasserstein-1 distance, in units of 255 bytes, between the
 *   distribution over bytes and the target byte; `teacher`: mixes in the gradient of the cross-entropy to
 *   another model's distributions; the loss contains neither.
 */
export function addCrossEntropy(
  program: Program,
  args: LogitsShape & {
    logits: Tensor;
    targets: Tensor;
    lossMask: Tensor;
    losses: Tensor;
    dLogits?: Tensor;
    weight: Tensor;
    rows: number;
    ordinal?: OrdinalTerm;
    teacher?: SoftTargets | undefined;
    markedWeight?: number | undefined;
    lossScale?: Tensor | undefined;
  },
): void {
  const { logits, targets, lossMask, losses, weight, dLogits, lossScale, ordinal, teacher } = args;
  const { markedWeight = 1, rows, vocabSize, stride, softcap } = args;
  const kernel = "cross_entropy";
  requireLayout(kernel, args);
  requireLength(kernel, rows, { targets, lossMask, losses });
  requireLength(kernel, rows * stride, {
    logits,
    ...(dLogits ? { dLogits } : {}),
    ...(teacher ? { teacherLogits: teacher.logits } : {}),
  });
  requireLength(kernel, 1, { weight, ...(lossScale ? { lossScale } : {}) });
  program.add({
    kernel,
    overrides: {
      SOFTCAP: Number(softcap !== null),
      GRADIENT: Number(dLogits !== undefined),
      SCALED: Number(lossScale !== undefined),
      TAUGHT: Number(teacher !== undefined),
    },
    bindings: {
      logits,
      targets,
      lossMask,
      weight,
      losses,
      dLogits: dLogits ?? program.registry.unusedOutput,
      lossScale: lossScale ?? weight,
      teacherLogits: teacher?.logits ?? logits,
    },
    params: {
      rows,
      vocabSize,
      stride,
      softcap: softcap ?? 0,
      firstByte: ordinal?.firstByte ?? 0,
      ordinal_2: ordinal?.weights[0] ?? 0,
      ordinal_3: ordinal?.weights[1] ?? 0,
      markedWeight,
      teacherWeight: teacher?.weight ?? 0,
      teacherSoftcap: teacher?.softcap ?? 0,
    },
    grid: gridOf(rows),
  });
}

/**
 * Adds out[i, :] = log softmax(z[rowIndex[i], :]) to a program.
 *
 * @param args `logits`: (rows, stride) f32; `rowIndex`: (numRows) u32 below rows; `out`: (numRows, V) f32,
 *   nats.
 */
export function addLogProbabilities(
  program: Program,
  args: LogitsShape & { logits: Tensor; rowIndex: Tensor; out: Tensor; numRows: number },
): void {
  const { logits, rowIndex, out, numRows, vocabSize, stride, softcap } = args;
  const kernel = "log_probabilities";
  requireLayout(kernel, args);
  requireLength(kernel, stride, { logits });
  requireLength(kernel, numRows, { rowIndex });
  requireLength(kernel, numRows * vocabSize, { out });
  program.add({
    kernel,
    overrides: { SOFTCAP: Number(softcap !== null) },
    bindings: { logits, rowIndex, out },
    params: { numRows, vocabSize, stride, softcap: softcap ?? 0 },
    grid: gridOf(numRows),
  });
}

function requireLayout(kernel: string, { vocabSize, stride, softcap }: LogitsShape): void {
  requireMultiple(kernel, { stride }, 4);
  requireMultiple(kernel, { vocabSize }, 1);
  if (vocabSize > stride) {
    throw new KernelError(kernel, `vocabSize is ${vocabSize}, expected at most the stride ${stride}`);
  }
  if (softcap !== null && !(softcap > 0)) {
    throw new KernelError(kernel, `softcap is ${softcap}, expected a positive number or null`);
  }
}
