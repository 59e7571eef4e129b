/** A named, shaped range of a GPU buffer. @module */

/** The storage format of elements: 4 bytes (f32, u32 or i32, as the kernel reads them), or f16. */
export type DType = "f32" | "f16";

/** Elements in a GPU buffer, row-major. */
export interface Tensor {
  /** Its name in errors and profiles. */
  readonly label: string;
  /** Extents, outermost first. */
  readonly shape: readonly number[];
  /** f32 if absent. Kernels compute in f32 with either; see half_storage.ts. */
  readonly dtype?: DType | undefined;
  /** The buffer of its elements; several tensors may share it. */
  readonly buffer: GPUBuffer;
  /** Its start in the buffer; a multiple of 256. */
  readonly offsetBytes: number;
}

/** The number of elements of a tensor. */
export function tensorLength(tensor: Pick<Tensor, "shape">): number {
  return tensor.shape.reduce((product, extent) => product * extent, 1);
}

/** The size of a tensor in bytes. */
export function tensorSizeBytes(tensor: Pick<Tensor, "shape" | "dtype">): number {
  return tensorLength(tensor) * (tensor.dtype === "f16" ? 2 : 4);
}

/** The bytes of a buffer for a tensor of this shape. */
export function allocationSizeBytes(shape: readonly number[], dtype: DType = "f32"): number {
  return Math.max(16, Math.ceil(tensorSizeBytes({ shape, dtype }) / 16) * 16);
}
