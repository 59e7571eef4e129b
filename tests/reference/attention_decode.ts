/**
 * Attention of rows over the keys of a shared prompt and of their own suffix, in float64, as the formula says.
 *
 * @module
 */
import type { DecodeShape, DecodeTile } from "../../lib/tensor/ops/attention.ts";

/** q (N, H, D); promptK, promptV (P, H, D); suffixK, suffixV (M, H, D). */
export interface DecodeInputs {
  q: Float64Array;
  promptK: Float64Array;
  promptV: Float64Array;
  suffixK: Float64Array;
  suffixV: Float64Array;
  /** (S, N): which of the M keys is each row's at each step. */
  suffixRows: Uint32Array;
}

/** out (N, H, D), NaN for rows of no tile. */
export function attentionDecode(
  shape: DecodeShape,
  inputs: DecodeInputs,
  tiles: readonly DecodeTile[],
): Float64Array {
  const { numRows, numSteps, numHeads, headDim: D } = shape;
  const out = new Float64Array(inputs.q.length).fill(NaN);
  const headOf = (x: Float64Array, row: number, head: number) =>
    x.subarray((row * numHeads + head) * D, (row * numHeads + head + 1) * D);
  for (const { firstKey, endKey, firstRow, endRow } of tiles) {
    for (let row = firstRow; row < endRow; row++) {
      for (let head = 0; head < numHeads; head++) {
        const keys: [Float64Array, Float64Array][] = [];
        for (let key = firstKey; key < endKey; key++) {
          keys.push([headOf(inputs.promptK, key, head), headOf(inputs.promptV, key, head)]);
        }
        for (let step = 0; step < numSteps; step++) {
          const at = inputs.suffixRows[step * numRows + row];
          keys.push([headOf(inputs.suffixK, at, head), headOf(inputs.suffixV, at, head)]);
        }
        headOf(out, row, head).set(weightedValues(headOf(inputs.q, row, head), keys));
      }
    }
  }
  return out;
}

/** sum_j softmax(q . k_j / sqrt(D)) v_j. */
function weightedValues(q: Float64Array, keys: readonly [Float64Array, Float64Array][]): Float64Array {
  const scores = keys.map(([k]) => q.reduce((sum, x, i) => sum + x * k[i], 0) / Math.sqrt(q.length));
  const largest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - largest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return q.map((_, i) => keys.reduce((sum, [, v], j) => sum + weights[j] / total * v[i], 0));
}
