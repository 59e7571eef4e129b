/**
 * The grid of the elementwise kernels, and the copy, which is the simplest of them.
 *
 * @module
 */
import { gridOf, type Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** Elements that one workgroup of an elementwise kernel handles: 64 threads, BATCH = 8 vec4 each. */
const ELEMENTS_PER_WORKGROUP = 64 * 8 * 4;

/** The grid for a number of elements. */
export function elementwiseGrid(length: number): [number, number] {
  return gridOf(Math.ceil(length / ELEMENTS_PER_WORKGROUP));
}

/**
 * Adds y = x to a program; their dtypes may differ; an f16 y has NaN where x is beyond its range.
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
