/**
 * The activation between the two matrices of the MLP, and its gradient.
 *
 * @module
 */
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid } from "./elementwise.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** relu(u)^2; GELU in its tanh form (torch: `approximate="tanh"`); u sigmoid(u). */
export type ActivationKind = "relu2" | "gelu" | "silu";

const KIND: Record<ActivationKind, number> = { relu2: 0, gelu: 1, silu: 2 };

/**
 * Adds h = f(u) to a program.
 *
 * @param args `u` and `h`: `length` f32, a multiple of 4, in different buffers.
 * @throws {KernelError} If a tensor is too small or `length` is not a multiple of 4.
 */
export function addActivation(
  program: Program,
  args: { kind: ActivationKind; u: Tensor; h: Tensor; length: number },
): void {
  const { kind, u, h, length } = args;
  const kernel = "activation_forward";
  requireMultiple(kernel, { length }, 4);
  requireLength(kernel, length, { u, h });
  program.add({
    kernel,
    label: kind,
    overrides: { KIND: KIND[kind] },
    bindings: { u, h },
    params: { length },
    grid: elementwiseGrid(length),
  });
}

/**
 * Adds du = dh f'(u) to a program.
 *
 * @param args `u`, `dh` and `du`: `length` f32, a multiple of 4; `du` is in a buffer of its own.
 * @throws {KernelError} If a tensor is too small or `length` is not a multiple of 4.
 */
export function addActivationBackward(
  program: Program,
  args: { kind: ActivationKind; u: Tensor; dh: Tensor; du: Tensor; length: number },
): void {
  const { kind, u, dh, du, length } = args;
  const kernel = "activation_backward";
  requireMultiple(kernel, { length }, 4);
  requireLength(kernel, length, { u, dh, du });
  program.add({
    kernel,
    label: `${kind} backward`,
    overrides: { KIND: KIND[kind] },
    bindings: { u, dh, du },
    params: { length },
    grid: elementwiseGrid(length),
  });
}
