/**
 * Argument checks that every operation makes before it adds a dispatch.
 *
 * @module
 */
import { KernelError } from "../../base/errors.ts";
import { type Tensor, tensorLength } from "../tensor.ts";

/**
 * Checks that every given size is a multiple.
 *
 * @throws {KernelError} Naming the size that is not.
 */
export function requireMultiple(kernel: string, sizes: Record<string, number>, factor: number): void {
  for (const [name, size] of Object.entries(sizes)) {
    if (!(size > 0 && size % factor === 0)) {
      throw new KernelError(kernel, `${name} is ${size}, expected a positive multiple of ${factor}`);
    }
  }
}

/**
 * Checks that every given tensor has at least `length` elements; scratch memory may be larger.
 *
 * @throws {KernelError} Naming the tensor that is too small.
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
