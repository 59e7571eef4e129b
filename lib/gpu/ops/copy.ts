/** Copies between tensors that are stored differently. @module */
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid } from "./elementwise.ts";
import { requireLength, requireMultiple } from "./require.ts";

/**
 * Adds y = x to a program, each of its own dtype; an f16 y has NaN where x is beyond its range.
 *
 * @param args `x`, `y`: `length` elements, a multiple of 4, in different buffers.
 * @throws {KernelError} If a tensor is too small or `length` is not a multiple of 4.
 */
export function addCopy(program: Program, args: { x: Tensor; y: Tensor; length: number }): void {
  const { x, y, length } = args;
  const kernel = "copy";
  requireMultiple(kernel, { length }, 4);
  requireLength(kernel, length, { x, y });
  program.add({ kernel, bindings: { x, y }, params: { length }, grid: elementwiseGrid(length) });
}
