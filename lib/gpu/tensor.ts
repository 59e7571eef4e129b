/** A named, shaped range of a GPU buffer. @module */

/** 4-byte elements in a GPU buffer, row-major. */
export interface Tensor {
  /** Its name in errors and profiles. */
  readonly label: string;
  /** Extents, outermost first. */
  readonly shape: readonly number[];
  /** Where its elements are; several tensors may share one. */
  readonly buffer: GPUBuffer;
  /** Where it starts in the buffer; a multiple of 256. */
  readonly offsetBytes: number;
}

/** The number of elements of a tensor. */
export function tensorLength(tensor: Pick<Tensor, "shape">): number {
  return tensor.shape.reduce((product, extent) => product * extent, 1);
}

/** The size of a tensor in bytes; all elements have 4. */
export function tensorSizeBytes(tensor: Pick<Tensor, "shape">): number {
  return tensorLength(tensor) * 4;
}

/** The bytes that a tensor of this shape takes in a buffer of its own. */
export function allocationSizeBytes(shape: readonly number[]): number {
  return Math.max(16, Math.ceil(tensorSizeBytes({ shape }) / 16) * 16);
}
