/**
 * Address embeddings: a large table of which a step uses few rows. Only these are added to the vectors of tokens and
 * updated.
 *
 * @module
 */
import { gridOf, type Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { NUM_ADAMW_HYPER } from "./adamw.ts";
import { requireLength, requireMultiple } from "./require.ts";

/**
 * Adds x[r, :] += the sum of `rowsPerToken` rows of a table to a program. `addEmbeddingBackward` computes the gradient of
 * the rows, gathered in slots.
 *
 * @param args `indexes`: (rows, rowsPerToken) u32; an index of `tableRows` or more stands for no row; `table`: (tableRows, width)
 *   f32; `x`: (rows, width) f32; `width` is a multiple of 4.
 * @throws {KernelError} If a tensor is too small or `width` is not a multiple of 4.
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
    params: { rows, width, table_rows: tableRows },
    grid: gridOf(rows),
  });
}

/**
 * Adds one step of AdamW to a program, for the rows of a table that have a slot. Each row counts its own updates.
 *
 * @param args `slotRows`: (1 + slots) u32, the number of used slots, then the row of each slot, all different;
 *   `gradient`: (slots, width) f32; `parameter`, `expAvg`, `expAvgSq` (updated): (R, width) f32; `numUpdates`
 *   (updated): (R) f32;
 *   `hyper`, `clip`: as in `addAdamW`; `width` is a multiple of 4.
 * @throws {KernelError} If a tensor is too small or `width` is not a multiple of 4.
 */
export function addAdamWRows(
  program: Program,
  args: {
    slotRows: Tensor;
    gradient: Tensor;
    parameter: Tensor;
    expAvg: Tensor;
    expAvgSq: Tensor;
    numUpdates: Tensor;
    hyper: Tensor;
    clip: Tensor;
    slots: number;
    width: number;
  },
): void {
  const { slotRows, gradient, parameter, expAvg, expAvgSq, numUpdates, hyper, clip, slots, width } = args;
  const kernel = "adamw_rows";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, 1 + slots, { slotRows });
  requireLength(kernel, slots * width, { gradient });
  requireLength(kernel, numUpdates.shape[0] * width, { parameter, expAvg, expAvgSq });
  requireLength(kernel, NUM_ADAMW_HYPER, { hyper });
  requireLength(kernel, 1, { clip });
  program.add({
    kernel,
    bindings: {
      slot_rows: slotRows,
      gradient,
      hyper,
      clip,
      parameter,
      exp_avg: expAvg,
      exp_avg_sq: expAvgSq,
      num_updates: numUpdates,
    },
    params: { width, slots },
    grid: gridOf(slots),
  });
}

/**
 * Adds a limit to a program: rows of a table stay within a distance of their anchors.
 *
 * @param args `table` (updated) and `anchors`: (rows or more, width) f32; `limits`: (rows) f32, the largest Euclidean
 *   distance of each row; `width` is a multiple of 4.
 * @throws {KernelError} If a tensor is too small or `width` is not a multiple of 4.
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
