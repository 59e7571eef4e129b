/** A named, shaped range of a GPU buffer. @module */

/** Storage format of elements: 4 bytes (f32, u32 or i32, as the kernel reads them), or f16. */
export type DType = "f32" | "f16";

/** Elements in a GPU buffer, row-major. */
export interface Tensor {
  /** Name in errors and profiles. */
  readonly label: string;
  /** Extents, outermost first. */
  readonly shape: readonly number[];
  /** f32 if absent. Kernels compute in f32 in both cases; see registry.ts. */
  readonly dtype?: DType | undefined;
  /** Several tensors may share a buffer. */
  readonly buffer: GPUBuffer;
  /** Start in the buffer; a multiple of 256. */
  readonly offsetBytes: number;
}

export function tensorLength(tensor: Pick<Tensor, "shape">): number {
  return tensor.shape.reduce((product, extent) => product * extent, 1);
}

export function tensorSizeBytes(tensor: Pick<Tensor, "shape" | "dtype">): number {
  return tensorLength(tensor) * elementBytes(tensor);
}

/** Size of a buffer for a tensor of this shape. */
export function allocationSizeBytes(shape: readonly number[], dtype: DType = "f32"): number {
  return Math.max(16, Math.ceil(tensorSizeBytes({ shape, dtype }) / 16) * 16);
}

/** Tensors that share a buffer start at multiples of this many elements: 256 bytes of f16. */
const ALIGNMENT = 128;

/**
 * Makes tensors that are consecutive in one buffer, so that one dispatch can process all of them.
 *
 * @param parts Label -> shape, in the order of the buffer.
 * @param make Makes the tensor of the whole buffer.
 */
export function joinedTensors(
  parts: ReadonlyMap<string, readonly number[]>,
  make: (shape: readonly number[]) => Tensor,
): Map<string, Tensor> {
  let end = 0;
  const starts = [...parts.values()].map((shape) => {
    const start = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    end = start + tensorLength({ shape });
    return start;
  });
  const whole = make([end]);
  return new Map([...parts].map(([label, shape], i) => [label, partOf(whole, starts[i], shape, label)]));
}

/** A part of a tensor. @param start Its first element. */
export function partOf(whole: Tensor, start: number, shape: readonly number[], label = whole.label): Tensor {
  return { ...whole, label, shape, offsetBytes: whole.offsetBytes + start * elementBytes(whole) };
}

/**
 * The range from the first to the last of several tensors in one buffer, as one tensor.
 *
 * @param tensors In the order of the buffer.
 */
export function spanOf(tensors: readonly Tensor[]): Tensor {
  const [first, last] = [tensors[0], tensors[tensors.length - 1]];
  return { ...first, shape: [firstElement(last, first) + tensorLength(last)] };
}

/** {@link spanOf} two tensors if the second begins where the first ends. */
export function adjacent([first, second]: readonly Tensor[]): Tensor | undefined {
  const isNext = second.buffer === first.buffer && firstElement(second, first) === tensorLength(first);
  return isNext ? spanOf([first, second]) : undefined;
}

/** Groups items by buffer, in the order of the buffer. */
export function byBuffer<T>(items: Iterable<T>, tensorOf: (item: T) => Tensor): T[][] {
  const groups = Map.groupBy(items, (item) => tensorOf(item).buffer);
  return [...groups.values()].map((group) =>
    group.sort((a, b) => tensorOf(a).offsetBytes - tensorOf(b).offsetBytes)
  );
}

/** The index of a tensor's first element, relative to the start of another tensor in the same buffer. */
export function firstElement(tensor: Tensor, from: Tensor): number {
  return (tensor.offsetBytes - from.offsetBytes) / elementBytes(tensor);
}

function elementBytes({ dtype }: Pick<Tensor, "dtype">): number {
  return dtype === "f16" ? 2 : 4;
}
