/**
 * Log-probabilities from logits, in float64 on the host: what queries sum over many tokens must not lose
 * precision, and only a few rows are ever asked for.
 *
 * @module
 */

/** How a row of logits is laid out and capped. */
export interface LogitLayout {
  /** Elements from one row to the next. */
  readonly stride: number;
  /** Columns that count, V; the others are padding. */
  readonly vocabSize: number;
  /** s of s * tanh(z / s), or null for none. */
  readonly softcap: number | null;
}

/**
 * log softmax of the capped logits.
 *
 * @param logits (n, stride).
 * @param layout See {@link LogitLayout}.
 * @returns (n, V), nats, each at most 0.
 */
export function logSoftmaxRows(logits: Float32Array, layout: LogitLayout): Float32Array {
  const { stride, vocabSize, softcap } = layout;
  const numRows = logits.length / stride;
  const capped = new Float64Array(vocabSize);
  const out = new Float32Array(numRows * vocabSize);
  for (let row = 0; row < numRows; row++) {
    let most = -Infinity;
    for (let c = 0; c < vocabSize; c++) {
      const logit = logits[row * stride + c];
      capped[c] = softcap === null ? logit : softcap * Math.tanh(logit / softcap);
      most = Math.max(most, capped[c]);
    }
    let sum = 0;
    for (let c = 0; c < vocabSize; c++) sum += Math.exp(capped[c] - most);
    const logSum = most + Math.log(sum);
    for (let c = 0; c < vocabSize; c++) out[row * vocabSize + c] = capped[c] - logSum;
  }
  return out;
}
