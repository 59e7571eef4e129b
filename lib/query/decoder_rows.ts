/** Rows of a decoder that are paths down a tree of tokens; equal paths share a row. @module */
import { VOCAB_SIZE } from "../data/tokens/vocab_v2.ts";

/** One row of a (rows, width) matrix, a view. */
export function rowOf(rows: Float32Array, index: number, width: number = VOCAB_SIZE): Float32Array {
  return rows.subarray(index * width, (index + 1) * width);
}

/** The next token of a path that has ended. */
export const NO_TOKEN = -1;

/** The rows of the next step. */
export interface RowBranches {
  /** The token of each. */
  readonly tokens: Uint16Array;
  /** The row so far that each continues, ascending. */
  readonly parents: Uint32Array;
  /** The row of each path; 0 where the path has ended. */
  readonly rows: Uint32Array;
}

/**
 * Gives a row to each different token after each row. @param tokens The next one of each path, or
 * {@link NO_TOKEN}.
 */
export function branchRows(rows: Uint32Array, tokens: ArrayLike<number>): RowBranches {
  // Row and token as one number, so that rows in the order of numbers have ascending parents.
  const branches = Float64Array.from(
    tokens,
    (token, i) => token === NO_TOKEN ? NO_TOKEN : rows[i] * 2 ** 16 + token,
  );
  const different = Float64Array.from(new Set(branches.filter((branch) => branch >= 0))).sort();
  const places = new Map(Array.from(different, (branch, row) => [branch, row]));
  return {
    tokens: Uint16Array.from(different, (branch) => branch % 2 ** 16),
    parents: Uint32Array.from(different, (branch) => Math.floor(branch / 2 ** 16)),
    rows: Uint32Array.from(branches, (branch) => places.get(branch) ?? 0),
  };
}
