/**
 * rmsNorm over each head and rotary position embedding in one pass, for queries and keys, and the gradient.
 *
 * Sources: Henry et al., Query-Key Normalization, 2020; Su et al., RoFormer, 2021 (halves, not pairs).
 *
 * @module
 */
import { gridOf, type Program } from "../program.ts";
import type { KernelRegistry } from "../registry.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength, requireMultiple } from "./require.ts";

const THETA = 10_000;

/** The extents of queries or keys (rows, H, D), rows = B * T. */
export interface QkShape {
  rows: number;
  numHeads: number;
  headDim: number;
  /** T: the position of a row is row % T. */
  sequenceLength: number;
  /** Whether rmsNorm is applied before the rotation. */
  norm: boolean;
}

/**
 * Adds y = rope(rmsNorm(x)) to a program.
 *
 * @param args `x` and `y`: (rows, H, D) f32, different buffers; `scale`: (rows, H), written for
 *   {@link addQkNormRopeBackward}.
 * @throws {KernelError} If a tensor is too small or the head's D is not a multiple of 8.
 */
export function addQkNormRope(
  program: Program,
  args: { x: Tensor; y: Tensor; scale: Tensor } & QkShape,
): void {
  const { x, y, scale } = args;
  const kernel = "qk_norm_rope_forward";
  check(kernel, args, { x, y }, scale);
  const rope = ropeTable(program.registry, args);
  program.add({ kernel, bindings: { x, rope, y, scale }, params: paramsOf(args), grid: gridOf(args.rows) });
}

/**
 * Adds dx of y = rope(rmsNorm(x)), given dy, to a program.
 *
 * @param args `scale` as {@link addQkNormRope} wrote it; `dx` shares no buffer with `x` and `dy`.
 * @throws {KernelError} As {@link addQkNormRope}.
 */
export function addQkNormRopeBackward(
  program: Program,
  args: { x: Tensor; scale: Tensor; dy: Tensor; dx: Tensor } & QkShape,
): void {
  const { x, scale, dy, dx } = args;
  const kernel = "qk_norm_rope_backward";
  check(kernel, args, { x, dy, dx }, scale);
  const rope = ropeTable(program.registry, args);
  program.add({
    kernel,
    bindings: { x, rope, scale, dy, dx },
    params: paramsOf(args),
    grid: gridOf(args.rows),
  });
}

/** Cosines and sines of every position, (T, 2, D/2), computed in float64 and rounded once. */
export function ropeValues(sequenceLength: number, headDim: number): Float32Array {
  const half = headDim / 2;
  const values = new Float32Array(sequenceLength * headDim);
  for (let t = 0; t < sequenceLength; t++) {
    for (let i = 0; i < half; i++) {
      const angle = t * Math.pow(THETA, -i / half);
      values[t * headDim + i] = Math.cos(angle);
      values[t * headDim + half + i] = Math.sin(angle);
    }
  }
  return values;
}

const TABLES = new WeakMap<KernelRegistry, Map<string, Tensor>>();

/** The table of a device, made once for each T and D. */
function ropeTable(registry: KernelRegistry, { sequenceLength, headDim }: QkShape): Tensor {
  const tables = TABLES.get(registry) ?? new Map<string, Tensor>();
  TABLES.set(registry, tables);
  const key = `${sequenceLength} ${headDim}`;
  let table = tables.get(key);
  if (!table) {
    table = registry.gpu.tensorFrom("rope", [sequenceLength, headDim], ropeValues(sequenceLength, headDim));
    tables.set(key, table);
  }
  return table;
}

function paramsOf({ rows, numHeads, headDim, sequenceLength, norm }: QkShape): Record<string, number> {
  return {
    rows,
    num_heads: numHeads,
    head_dim: headDim,
    sequence_length: sequenceLength,
    norm: Number(norm),
  };
}

function check(kernel: string, shape: QkShape, tensors: Record<string, Tensor>, scale: Tensor): void {
  const { rows, numHeads, headDim, sequenceLength } = shape;
  requireMultiple(kernel, { headDim }, 8);
  requireMultiple(kernel, { rows }, sequenceLength);
  requireLength(kernel, rows * numHeads * headDim, tensors);
  requireLength(kernel, rows * numHeads, { scale });
}
