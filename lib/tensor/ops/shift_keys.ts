/**
 * Shifted keys for decoding, see `addQkNormRope` for training: a part of each key is taken from the token before. With them one attention head can
 * find the successor of an earlier token like the present one, which otherwise takes two blocks (Olsson et al.,
 * In-context Learning and Induction Heads, 2022). The part is the 2nd and the 4th quarter of each head, the slower
 * half of its rotations.
 *
 * @module
 */
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid } from "./elementwise.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** The sizes of a tensor of heads. */
export interface KeysShape {
  readonly rows: number;
  readonly numHeads: number;
  /** D, a multiple of 16. */
  readonly headDim: number;
}

/**
 * Adds y = x with the shifted quarters of `earlier` to a program.
 *
 * @param args `x`, `y`: (rows, H, D), in different buffers; `earlier`: (any, H, D), may be `x`; `previous`: (rows)
 *   u32, the row of `earlier` from which each row takes them.
 * @throws {KernelError} If a tensor is too small or `headDim` is not a multiple of 16.
 */
export function addShiftKeys(
  program: Program,
  args: KeysShape & { x: Tensor; earlier: Tensor; previous: Tensor; y: Tensor },
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
    params: { num_vec4: rows * rowVec4, row_vec4: rowVec4, quarter_vec4: headDim / 16 },
    grid: elementwiseGrid(rows * rowVec4 * 4),
  });
}

/**
 * The row before each row within its segment; the first row of a segment stands for itself.
 *
 * @param segmentStart (B, T): the first position of the segment of each position.
 * @param sequenceLength T.
 */
export function previousRows(segmentStart: ArrayLike<number>, sequenceLength: number): Uint32Array {
  return Uint32Array.from(segmentStart, (start, row) => row % sequenceLength > start ? row - 1 : row);
}
