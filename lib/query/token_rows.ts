/** Rows of a matrix that the GPU gave back. @module */

/** One row of a (rows, width) matrix, a view. */
export function rowOf(rows: Float32Array, index: number, width: number): Float32Array {
  return rows.subarray(index * width, (index + 1) * width);
}
