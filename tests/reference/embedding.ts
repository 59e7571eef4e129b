/** Rows of a table by token, and the gradient of the table, in float64. @module */

/** x[r, :] = table[tokens[r], :]. */
export function embedding(tokens: ArrayLike<number>, table: Float64Array, width: number): Float64Array {
  const x = new Float64Array(tokens.length * width);
  for (let i = 0; i < x.length; i++) x[i] = table[tokens[Math.floor(i / width)] * width + i % width];
  return x;
}

/** dTable[v, :] = sum of dx[r, :] over the rows with token v. */
export function embeddingBackward(
  tokens: ArrayLike<number>,
  dx: Float64Array,
  sizes: { width: number; vocabSize: number },
): Float64Array {
  const { width, vocabSize } = sizes;
  const dTable = new Float64Array(vocabSize * width);
  dx.forEach((value, i) => dTable[tokens[Math.floor(i / width)] * width + i % width] += value);
  return dTable;
}
