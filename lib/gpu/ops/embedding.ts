/**
 * Rows of a table by token, and the gradient of the table.
 *
 * @module
 */
import { gridOf, type Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** vec4 columns of the table that one lane of the backward kernel sums. */
const COLUMNS4_PER_LANE = 4;

/**
 * Adds x[r, :] = table[tokens[r], :] to a program.
 *
 * @param args `tokens`: (rows) u32, each within the table; `table`: (V, width) f32; `x`: (rows, width) f32;
 *   `width` is a multiple of 4.
 * @throws {KernelError} If a tensor is too small or `width` is not a multiple of 4.
 */
export function addEmbedding(
  program: Program,
  args: { tokens: Tensor; table: Tensor; x: Tensor; rows: number; width: number },
): void {
  const { tokens, table, x, rows, width } = args;
  const kernel = "embedding_forward";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, rows, { tokens });
  requireLength(kernel, rows * width, { x });
  program.add({ kernel, bindings: { tokens, table, x }, params: { rows, width }, grid: gridOf(rows) });
}

/**
 * Adds dTable[v, :] += sum of dx[r, :] over the rows with tokens[r] = v to a program; rows ascending, so that
 * the result is the same at every run.
 *
 * @param args `dTable`: (vocabSize, width) f32; the others as in {@link addEmbedding}.
 * @throws {KernelError} If a tensor is too small or `width` is not a multiple of 4.
 */
export function addEmbeddingBackward(
  program: Program,
  args: { tokens: Tensor; dx: Tensor; dTable: Tensor; rows: number; width: number; vocabSize: number },
): void {
  const { tokens, dx, dTable, rows, width, vocabSize } = args;
  const kernel = "embedding_backward";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, rows, { tokens });
  requireLength(kernel, rows * width, { dx });
  requireLength(kernel, vocabSize * width, { dTable });
  program.add({
    kernel,
    bindings: { tokens, dx, d_table: dTable },
    params: { rows, width },
    grid: [vocabSize, Math.ceil(width / (4 * COLUMNS4_PER_LANE * program.registry.lanes))],
  });
}
