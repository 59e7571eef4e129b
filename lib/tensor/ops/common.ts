/**
 * Code that operations share: checks of arguments, the loops of products, and the grid of elementwise
 * kernels, including the simplest of them, the copy. Each `add…` function checks its arguments before it adds
 * a dispatch, and throws a `KernelError` with the tensor that is too small or the size that does not fit.
 *
 * @module
 */
import { KernelError } from "../../base/errors.ts";
import type { GpuInfo } from "../device.ts";
import { type Tensor, tensorLength } from "../tensor.ts";
import { gridOf, type Program } from "../program.ts";

/** @throws {KernelError} If a size is not a positive multiple of `factor`. */
export function requireMultiple(kernel: string, sizes: Record<string, number>, factor: number): void {
  for (const [name, size] of Object.entries(sizes)) {
    if (!(size > 0 && size % factor === 0)) {
      throw new KernelError(kernel, `${name} is ${size}, expected a positive multiple of ${factor}`);
    }
  }
}

/**
 * Checks that every tensor has at least `length` elements; scratch memory may be larger.
 *
 * @throws {KernelError} With the name of the tensor that is too small.
 */
export function requireLength(kernel: string, length: number, tensors: Record<string, Tensor>): void {
  if (!(length > 0 && Number.isInteger(length))) {
    throw new KernelError(kernel, `the length is ${length}, expected at least 1`);
  }
  for (const [name, tensor] of Object.entries(tensors)) {
    if (tensorLength(tensor) < length) {
      throw new KernelError(
        kernel,
        `${name} (tensor ${tensor.label}) has the shape [${tensor.shape}], expected ${length} elements`,
      );
    }
  }
}

/** The override and parameter that unroll the loops of kernels with `products_tiled.wgsl` on a GPU. */
export function productLoops(
  info: Pick<GpuInfo, "isSoftware">,
): { overrides: Record<string, number>; params: Record<string, number> } {
  return { overrides: { UNROLLED: Number(!info.isSoftware) }, params: { one: 1 } };
}

/** The grid of a row kernel with the registry's number of rows per workgroup. */
export function rowGrid({ registry }: Program, rows: number): [number, number] {
  return gridOf(Math.ceil(rows / registry.rows.rowsPerGroup));
}

/** Number of vec4 per thread of an elementwise kernel; `BATCH` in WGSL. */
const BATCH = 8;
const ELEMENTS_PER_WORKGROUP = 64 * BATCH * 4;

/** The override of elementwise kernels that load several vec4 at once. */
export function elementwiseLoads({ registry }: Program): { LOADS: number } {
  return { LOADS: Math.min(BATCH, registry.rows.loads) };
}

export function elementwiseGrid(length: number): [number, number] {
  return gridOf(Math.ceil(length / ELEMENTS_PER_WORKGROUP));
}

/**
 * Adds y = x to a program. The dtypes may differ; an f16 y has NaN where x is out of range.
 *
 * @param args `x`, `y`: `length` elements, a multiple of 4, in different buffers.
 */
export function addCopy(program: Program, args: { x: Tensor; y: Tensor; length: number }): void {
  const { x, y, length } = args;
  const kernel = "copy";
  requireMultiple(kernel, { length }, 4);
  requireLength(kernel, length, { x, y });
  program.add({
    kernel,
    overrides: elementwiseLoads(program),
    bindings: { x, y },
    params: { length },
    grid: elementwiseGrid(length),
  });
}
