/**
 * Plans GPU memory before allocating it. A function makes a set of tensors by calling {@link MakeTensor}; it
 * is run to count the bytes, to check the adapter's limits, and to allocate.
 *
 * @module
 */
import { UserError } from "../base/errors.ts";
import type { Gpu } from "../tensor/device.ts";
import { allocationSizeBytes, type DType, type Tensor } from "../tensor/tensor.ts";

/** Makes one tensor of a set; f32 by default. */
export type MakeTensor = (label: string, shape: readonly number[], dtype?: DType) => Tensor;

/** Makes a tensor in a buffer that is never allocated, for its layout alone. */
export const plannedTensor: MakeTensor = (label, shape, dtype) => {
  return { label, shape, dtype, offsetBytes: 0, buffer: {} as GPUBuffer };
};

export function labelled(make: MakeTensor, prefix: string): MakeTensor {
  return (label, shape, dtype) => make(prefix + label, shape, dtype);
}

/** Total size of all tensors that `build` makes, without allocating them. */
export function plannedSizeBytes(build: (make: MakeTensor) => unknown): number {
  return sizesOf(build).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

/** Size of the largest tensor that `build` makes, without allocating it. */
export function largestTensorBytes(build: (make: MakeTensor) => unknown): number {
  return sizesOf(build).reduce((largest, { sizeBytes }) => Math.max(largest, sizeBytes), 0);
}

function sizesOf(build: (make: MakeTensor) => unknown): { label: string; sizeBytes: number }[] {
  const sizes: { label: string; sizeBytes: number }[] = [];
  build((label, shape, dtype) => {
    sizes.push({ label, sizeBytes: allocationSizeBytes(shape, dtype) });
    return plannedTensor(label, shape, dtype);
  });
  return sizes;
}

/** The largest tensor that an adapter or device can bind. */
export function bufferLimitBytes({ limits }: Pick<GPUDevice, "limits">): number {
  return Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
}

/**
 * Allocates the tensors that `build` makes, zero-filled.
 *
 * @param options For the error: `what` is allocated, and the `remedy` if it does not fit.
 * @throws {UserError} If a tensor is larger than the adapter's buffers can be, or memory runs out.
 */
export async function allocateTensors<T>(
  gpu: Gpu,
  build: (make: MakeTensor) => T,
  options: { what: string; remedy: string },
): Promise<T> {
  const limitBytes = bufferLimitBytes(gpu.device);
  const large = sizesOf(build).find(({ sizeBytes }) => sizeBytes > limitBytes);
  if (large) {
    throw tooLarge(`${large.label} takes ${mib(large.sizeBytes)}`, `${mib(limitBytes)} per buffer`, options);
  }
  gpu.device.pushErrorScope("out-of-memory");
  const tensors = build((label, shape, dtype) => gpu.tensor(label, shape, dtype));
  if (await gpu.device.popErrorScope()) {
    const found = `${options.what} takes ${mib(plannedSizeBytes(build))}`;
    throw tooLarge(found, "the GPU's free memory", options);
  }
  return tensors;
}

/** Formats a size as `1,234 MiB`, rounded up. */
export function mib(sizeBytes: number): string {
  return `${Math.ceil(sizeBytes / 2 ** 20).toLocaleString("en")} MiB`;
}

function tooLarge(
  found: string,
  wanted: string,
  { what, remedy }: { what: string; remedy: string },
): UserError {
  return new UserError(`Cannot allocate ${what}: ${found}, expected at most ${wanted}; ${remedy}`);
}
