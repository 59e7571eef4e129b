/** Table rows added to tokens, and AdamW for some rows of a table, in float64. @module */
import type { AdamWStep } from "../../lib/tensor/ops/adamw.ts";
import { adamW, type AdamWState } from "./updates.ts";

/** x[r, :] + the sum of the rows whose indexes `indexes` has for r and that exist in the table. */
export function addRows(
  x: Float64Array,
  { indexes, table, rowsPerToken, width }: {
    indexes: ArrayLike<number>;
    table: Float64Array;
    rowsPerToken: number;
    width: number;
  },
): Float64Array {
  return x.map((value, i) => {
    const row = Math.floor(i / width);
    for (let k = 0; k < rowsPerToken; k++) {
      const at = indexes[row * rowsPerToken + k] * width + i % width;
      if (at < table.length) value += table[at];
    }
    return value;
  });
}

/** dTable[v, :] = the sum of dx[r, :] over all occurrences of v in `indexes`. */
export function addRowsBackward(
  dx: Float64Array,
  { indexes, tableRows, rowsPerToken, width }: {
    indexes: ArrayLike<number>;
    tableRows: number;
    rowsPerToken: number;
    width: number;
  },
): Float64Array {
  const dTable = new Float64Array(tableRows * width);
  for (let i = 0; i < indexes.length; i++) {
    if (indexes[i] >= tableRows) continue;
    const first = Math.floor(i / rowsPerToken) * width;
    for (let c = 0; c < width; c++) dTable[indexes[i] * width + c] += dx[first + c];
  }
  return dTable;
}

export interface AdamWRowsState extends AdamWState {
  numUpdates: Float64Array;
}

/** The state after a step in which `rows` have these gradients, (rows, width), already clipped. */
export function adamWRows(
  state: AdamWRowsState,
  { rows, gradient, at }: { rows: readonly number[]; gradient: Float64Array; at: Omit<AdamWStep, "step"> },
): AdamWRowsState {
  const after = {
    parameter: state.parameter.slice(),
    expAvg: state.expAvg.slice(),
    expAvgSq: state.expAvgSq.slice(),
    numUpdates: state.numUpdates.slice(),
  };
  const width = state.parameter.length / state.numUpdates.length;
  rows.forEach((row, slot) => {
    const [first, end] = [row * width, (row + 1) * width];
    const before = {
      parameter: state.parameter.slice(first, end),
      expAvg: state.expAvg.slice(first, end),
      expAvgSq: state.expAvgSq.slice(first, end),
    };
    const step = ++after.numUpdates[row];
    const changed = adamW(before, gradient.slice(slot * width, (slot + 1) * width), { ...at, step });
    after.parameter.set(changed.parameter, first);
    after.expAvg.set(changed.expAvg, first);
    after.expAvgSq.set(changed.expAvgSq, first);
  });
  return after;
}
