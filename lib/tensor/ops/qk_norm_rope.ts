/**
 * Normalisation and rotation of the heads of queries and keys: y = rope(norm(x)), and its gradient.
 *
 * The rotation turns (x[i], x[i + D/2]) of the token at position t by t * 10000^(-i / (D/2)). Its cosines and
 * sines are a table computed here in float64: WGSL guarantees sin and cos only within [-pi, pi], and angles
 * reach 1,023.
 *
 * Sources: Su et al., RoFormer, 2021; Henry et al., Query-Key Normalization for Transformers, 2020.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { gridOf, type Program } from "../program.ts";
import type { KernelRegistry } from "../registry.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid, requireLength, requireMultiple } from "./common.ts";

export interface HeadsShape {
  /** B * T; a row's position in its sequence is `row % sequenceLength`. */
  readonly rows: number;
  readonly numHeads: number;
  /** D, a multiple of 8. */
  readonly headDim: number;
  readonly sequenceLength: number;
  /** Whether each head is divided by its root mean square before the rotation. */
  readonly norm: boolean;
}

/** Keys whose 2nd and 4th quarter come from another row; the head width is then a multiple of 16. */
interface KeyShift {
  /** (n) u32: for each of the last n rows, the row of its shifted quarters: itself or the one before. */
  readonly previous: Tensor;
  readonly rows: number;
}

const THETA = 10000;
const tables = new WeakMap<KernelRegistry, Map<string, Tensor>>();

/**
 * Adds y = rope(norm(x)) to a program.
 *
 * @param args `x`, `y`: (rows, H, D) f32, different buffers; `scale`: (rows, H) f32, written for
 *   {@link addQkNormRopeBackward} if `norm`; `rotation`: (T, D) f32 that replaces {@link rotationTable}, read
 *   at row % T; `shift`: shifts the last rows after the rotation.
 */
export function addQkNormRope(
  program: Program,
  args: HeadsShape & {
    x: Tensor;
    y: Tensor;
    scale: Tensor;
    rotation?: Tensor;
    shift?: KeyShift | undefined;
  },
): void {
  const { x, y, scale, rotation = rotationTable(program, args) } = args;
  const kernel = "qk_norm_rope_forward";
  requireShape(kernel, args, { x, y }, scale);
  requireLength(kernel, args.sequenceLength * args.headDim, { rotation });
  const { overrides, bindings, params, grid } = launch(program, kernel, args);
  program.add({ kernel, overrides, bindings: { x, rotation, y, scale, ...bindings }, params, grid });
}

/**
 * Adds dx = d(loss)/dx of y = rope(norm(x)), given dy, to a program.
 *
 * @param args `scale` as {@link addQkNormRope} wrote it; `shift` as there; `dx` shares no buffer with `x` and
 *   `dy`.
 */
export function addQkNormRopeBackward(
  program: Program,
  args: HeadsShape & { x: Tensor; scale: Tensor; dy: Tensor; dx: Tensor; shift?: KeyShift | undefined },
): void {
  const { x, scale, dy, dx } = args;
  const kernel = "qk_norm_rope_backward";
  requireShape(kernel, args, { x, dy, dx }, scale);
  const rotation = rotationTable(program, args);
  const { overrides, bindings, params, grid } = launch(program, kernel, args);
  program.add({
    kernel,
    overrides,
    bindings: { x, scale, rotation, dy, dx, ...bindings },
    params: { ...params, numRows: args.shift?.rows ?? 0 },
    grid,
  });
}

function requireShape(
  kernel: string,
  { rows, numHeads, headDim, sequenceLength }: HeadsShape,
  perElement: Record<string, Tensor>,
  scale: Tensor,
): void {
  requireMultiple(kernel, { headDim }, 8);
  requireMultiple(kernel, { sequenceLength }, 1);
  requireLength(kernel, rows * numHeads, { scale });
  requireLength(kernel, rows * numHeads * headDim, perElement);
}

function launch(program: Program, kernel: string, args: HeadsShape & { shift?: KeyShift | undefined }) {
  const { rows, numHeads, headDim, sequenceLength, norm, shift } = args;
  if (shift) {
    requireMultiple(kernel, { headDim }, 16);
    requireLength(kernel, shift.rows, { previous: shift.previous });
  }
  const { groupSize, rows: { lanesPerHead, maxKept } } = program.registry;
  const numPairs = headDim / 8;
  const headLanes = Math.min(lanesPerHead, 2 ** Math.ceil(Math.log2(numPairs)));
  return {
    overrides: {
      NORM: Number(norm),
      SHIFT: Number(shift !== undefined),
      HEAD_LANES: headLanes,
      // A pair is two vec4.
      NUM_KEPT: Math.min(Math.ceil(maxKept / 2), Math.ceil(numPairs / headLanes)),
    },
    // Not read without a shift.
    bindings: { previous: shift?.previous ?? rotationTable(program, args) },
    params: {
      numHeadsTotal: rows * numHeads,
      numHeads,
      headDim,
      sequenceLength,
      firstShifted: (rows - (shift?.rows ?? 0)) * numHeads,
    },
    grid: gridOf(Math.ceil(rows * numHeads * headLanes / groupSize)),
  };
}

/** Rotations of all positions, (T, D / 8, 2, 4) f32: for 4 pairs each the cosines, then the sines. */
export function rotationTable(
  program: Program,
  { headDim, sequenceLength }: Pick<HeadsShape, "headDim" | "sequenceLength">,
): Tensor {
  const { registry } = program;
  const key = `${sequenceLength} x ${headDim}`;
  return getOrMake(getOrMake(tables, registry, () => new Map<string, Tensor>()), key, () => {
    const data = rotations(sequenceLength, headDim);
    return registry.gpu.tensorFrom(`rotations ${key}`, [sequenceLength, headDim / 8, 2, 4], data);
  });
}

function rotations(sequenceLength: number, headDim: number): Float32Array {
  const table = new Float32Array(sequenceLength * headDim);
  for (let t = 0; t < sequenceLength; t++) {
    for (let i = 0; i < headDim / 2; i++) {
      const angle = t * THETA ** (-i / (headDim / 2));
      const at = t * headDim + Math.floor(i / 4) * 8 + i % 4;
      table[at] = Math.cos(angle);
      table[at + 4] = Math.sin(angle);
    }
  }
  return table;
}

// Shifted keys: part of each key is taken from the previous token. This lets a single attention head find the
// successor of an earlier token that equals the current one, which otherwise takes two blocks (Olsson et al.,
// In-context Learning and Induction Heads, 2022). The part is the 2nd and the 4th quarter of each head, the
// slower half of its rotations. In training addQkNormRope() shifts them; in decoding a separate kernel does.

/**
 * Adds y = x with the shifted quarters of `earlier` to a program.
 *
 * @param args `x`, `y`: (rows, H, D), in different buffers; `earlier`: (any, H, D), may be `x`; `previous`:
 *   (rows) u32, the row of `earlier` from which each row takes them.
 */
export function addShiftKeys(
  program: Program,
  args: Pick<HeadsShape, "rows" | "numHeads" | "headDim"> & {
    x: Tensor;
    earlier: Tensor;
    previous: Tensor;
    y: Tensor;
  },
): void {
  const { x, earlier, previous, y, rows, numHeads, headDim } = args;
  const kernel = "shift_keys";
  requireMultiple(kernel, { headDim }, 16);
  requireLength(kernel, rows, { previous });
  requireLength(kernel, rows * numHeads * headDim, { x, y });
  const rowVec4 = numHeads * headDim / 4;
  program.add({
    kernel,
    bindings: { x, earlier, previous, y },
    params: { numVec4: rows * rowVec4, rowVec4, quarterVec4: headDim / 16 },
    grid: elementwiseGrid(rows * rowVec4 * 4),
  });
}

/**
 * The row before each row within its segment, or the row itself if it is the segment's first.
 *
 * @param segmentStart (B, T): the first position of each position's segment.
 * @param sequenceLength T.
 */
export function previousRows(segmentStart: ArrayLike<number>, sequenceLength: number): Uint32Array {
  return Uint32Array.from(segmentStart, (start, row) => row % sequenceLength > start ? row - 1 : row);
}
