/**
 * Rows of a table by token, and the table's gradient. Address embeddings are a large table of which a step
 * uses few rows: only these are added to the vectors of tokens and updated.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";
import { gridOf, type Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength, requireMultiple } from "./common.ts";

/**
 * Adds x[r, :] = table[tokens[r], :] to a program.
 *
 * @param args `tokens`: (rows) u32, each within the table; `table`: (V, width) f32; `x`: (rows, width) f32;
 *   `width` is a multiple of 4.
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

export function numTokenRows(rows: number, vocabSize: number): number {
  return vocabSize + 1 + rows;
}

/**
 * Sorts the rows by token, for {@link addEmbeddingBackward}.
 *
 * @param tokens (rows, perRow); values of `vocabSize` or more are skipped.
 * @param options `perRow`: tokens per row (default: 1). `numUses`: the space for tokens (default: all).
 * @returns (vocabSize + 1 + numUses): the rows of token v are the elements from element v to before element v
 *   + 1, ascending.
 */
export function tokenRows(
  tokens: ArrayLike<number>,
  vocabSize: number,
  { perRow = 1, numUses = tokens.length } = {},
): Uint32Array<ArrayBuffer> {
  const places = new Uint32Array(numTokenRows(numUses, vocabSize));
  // Counting sort: element v + 1 is first the count of token v's rows, then the index of the next one,
  // finally the index after the last.
  for (let i = 0; i < tokens.length; i++) if (tokens[i] < vocabSize) places[tokens[i] + 1]++;
  let start = places[0] = vocabSize + 1;
  for (let token = 0; token < vocabSize; token++) {
    const count = places[token + 1];
    places[token + 1] = start;
    start += count;
  }
  ensure(start <= places.length, `${start - vocabSize - 1} tokens have rows, expected at most ${numUses}`);
  for (let i = 0; i < tokens.length; i++) {
    if (tokens[i] < vocabSize) places[places[tokens[i] + 1]++] = Math.floor(i / perRow);
  }
  return places;
}

/**
 * Adds dTable[v, :] += sum of dx[r, :] over the rows with tokens[r] = v to a program. Rows are added in
 * ascending order, so that the result is the same in every run.
 *
 * @param args `tokenRows`: (vocabSize + 1 + rows) u32 from {@link tokenRows}, or other lists of rows with
 *   `numUses` entries in total; `dTable`: (vocabSize, width) f32; the others as in {@link addEmbedding}.
 */
export function addEmbeddingBackward(
  program: Program,
  args: {
    tokenRows: Tensor;
    dx: Tensor;
    dTable: Tensor;
    rows: number;
    width: number;
    vocabSize: number;
    numUses?: number;
  },
): void {
  const { tokenRows, dx, dTable, rows, width, vocabSize, numUses = rows } = args;
  const kernel = "embedding_backward";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, numTokenRows(numUses, vocabSize), { tokenRows });
  requireLength(kernel, rows * width, { dx });
  requireLength(kernel, vocabSize * width, { dTable });
  const { lanes, rows: { loads } } = program.registry;
  // Several loads at once are from different rows, because a frequent token has thousands.
  const columns = loads === 1 ? 4 : 1;
  program.add({
    kernel,
    overrides: { COLUMNS: columns, LOADS: loads * columns },
    bindings: { tokenRows, dx, dTable },
    params: { width },
    grid: [vocabSize, Math.ceil(width / (4 * columns * lanes))],
  });
}

/**
 * Adds x[r, :] += the sum of `rowsPerToken` rows of a table to a program. `addEmbeddingBackward` computes the
 * gradient of the rows, gathered in slots.
 *
 * @param args `indexes`: (rows, rowsPerToken) u32; an index of `tableRows` or more means no row; `table`:
 *   (tableRows, width) f32; `x`: (rows, width) f32; `width` is a multiple of 4.
 */
export function addRows(
  program: Program,
  args: {
    indexes: Tensor;
    table: Tensor;
    x: Tensor;
    rows: number;
    rowsPerToken: number;
    tableRows: number;
    width: number;
  },
): void {
  const { indexes, table, x, rows, rowsPerToken, tableRows, width } = args;
  const kernel = "add_rows";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, rows * rowsPerToken, { indexes });
  requireLength(kernel, tableRows * width, { table });
  requireLength(kernel, rows * width, { x });
  program.add({
    kernel,
    overrides: { ROWS_PER_TOKEN: rowsPerToken },
    bindings: { indexes, table, x },
    params: { rows, width, tableRows },
    grid: gridOf(rows),
  });
}

/**
 * Adds an operation to a program that keeps rows of a table within a distance of their anchors.
 *
 * @param args `table` (updated) and `anchors`: (rows or more, width) f32; `limits`: (rows) f32, the largest
 *   Euclidean distance of each row; `width` is a multiple of 4.
 */
export function addLimitRows(
  program: Program,
  args: { table: Tensor; anchors: Tensor; limits: Tensor; rows: number; width: number },
): void {
  const { table, anchors, limits, rows, width } = args;
  const kernel = "limit_rows";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, rows * width, { table, anchors });
  requireLength(kernel, rows, { limits });
  program.add({ kernel, bindings: { anchors, limits, table }, params: { rows, width }, grid: gridOf(rows) });
}
