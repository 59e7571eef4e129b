/** Decoder rows as paths down a tree of tokens; equal paths share a row. @module */
import { VOCAB_SIZE } from "../data/tokens/vocab_v2.ts";

/** A view of one row of a (rows, width) matrix. */
export function rowOf(rows: Float32Array, index: number, width: number = VOCAB_SIZE): Float32Array {
  return rows.subarray(index * width, (index + 1) * width);
}

/** Marks a path that has ended. */
export const NO_TOKEN = -1;

/** The rows of the next decoder step. */
interface RowBranches {
  /** The token of each new row. */
  readonly tokens: Uint16Array;
  /** The current row that each new row continues, ascending. */
  readonly parents: Uint32Array;
  /** The new row of each path; 0 if the path has ended. */
  readonly rows: Uint32Array;
}

/**
 * Gives a row to each distinct token after each row. @param tokens The next token of each path, or {@link
 * NO_TOKEN}.
 */
export function branchRows(rows: Uint32Array, tokens: ArrayLike<number>): RowBranches {
  // Combines row and token in one number, so that sorting makes parents ascending.
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
