/**
 * Causal attention within segments and its gradient in float64, straight from the formulas.
 *
 * @module
 */
import type { DecodeShape, DecodeTile } from "../../lib/tensor/ops/attention.ts";

/** The sizes of an attention, and where each token's segment starts, (B, T). */
export interface AttentionProblem {
  readonly batchSize: number;
  readonly sequenceLength: number;
  readonly numHeads: number;
  readonly headDim: number;
  readonly segmentStart: Uint32Array;
}

/** (B, T, H, D) each. */
export interface AttentionInputs {
  q: Float64Array;
  k: Float64Array;
  v: Float64Array;
}

/** Probabilities of one query for the keys from `start` on. */
interface Row {
  /** Index of the query's row, (b T + t) H + h. */
  query: number;
  /** Index of each visible key's row. */
  keys: number[];
  probabilities: number[];
  logSumExp: number;
}

/** out (B, T, H, D) and logSumExp (B, T, H). */
export function attention(
  problem: AttentionProblem,
  inputs: AttentionInputs,
): { out: Float64Array; logSumExp: Float64Array } {
  const D = problem.headDim;
  const out = new Float64Array(inputs.q.length);
  const logSumExps = new Float64Array(inputs.q.length / D);
  for (const { query, keys, probabilities, logSumExp } of rowsOf(problem, inputs)) {
    logSumExps[query] = logSumExp;
    keys.forEach((key, j) => addScaled(out, query * D, inputs.v, key * D, D, probabilities[j]));
  }
  return { out, logSumExp: logSumExps };
}

/** Gradients of sum(dOut * out) with respect to q, k and v. */
export function attentionBackward(
  problem: AttentionProblem,
  inputs: AttentionInputs,
  dOut: Float64Array,
): { q: Float64Array; k: Float64Array; v: Float64Array } {
  const D = problem.headDim;
  const [dq, dk, dv] = [0, 1, 2].map(() => new Float64Array(inputs.q.length));
  for (const { query, keys, probabilities } of rowsOf(problem, inputs)) {
    const dProbabilities = keys.map((key) => dot(dOut, query * D, inputs.v, key * D, D));
    const mean = dProbabilities.reduce((sum, dp, j) => sum + dp * probabilities[j], 0);
    keys.forEach((key, j) => {
      const dScore = probabilities[j] * (dProbabilities[j] - mean) / Math.sqrt(D);
      addScaled(dv, key * D, dOut, query * D, D, probabilities[j]);
      addScaled(dq, query * D, inputs.k, key * D, D, dScore);
      addScaled(dk, key * D, inputs.q, query * D, D, dScore);
    });
  }
  return { q: dq, k: dk, v: dv };
}

function* rowsOf(problem: AttentionProblem, { q, k }: AttentionInputs): Generator<Row> {
  const { batchSize, sequenceLength, numHeads, headDim, segmentStart } = problem;
  for (let b = 0; b < batchSize; b++) {
    for (let t = 0; t < sequenceLength; t++) {
      const start = segmentStart[b * sequenceLength + t];
      for (let h = 0; h < numHeads; h++) {
        const rowAt = (position: number) => (b * sequenceLength + position) * numHeads + h;
        const query = rowAt(t);
        const keys = Array.from({ length: t - start + 1 }, (_, j) => rowAt(start + j));
        const scores = keys.map((key) =>
          dot(q, query * headDim, k, key * headDim, headDim) / Math.sqrt(headDim)
        );
        const largest = Math.max(...scores);
        const logSumExp = largest + Math.log(scores.reduce((sum, s) => sum + Math.exp(s - largest), 0));
        yield { query, keys, probabilities: scores.map((s) => Math.exp(s - logSumExp)), logSumExp };
      }
    }
  }
}

function dot(a: Float64Array, aAt: number, b: Float64Array, bAt: number, length: number): number {
  let sum = 0;
  for (let i = 0; i < length; i++) sum += a[aAt + i] * b[bAt + i];
  return sum;
}

function addScaled(
  to: Float64Array,
  toAt: number,
  from: Float64Array,
  fromAt: number,
  length: number,
  factor: number,
): void {
  for (let i = 0; i < length; i++) to[toAt + i] += factor * from[fromAt + i];
}

// Attention over the keys of a shared prompt and of each row's suffix, in float64, from the formula.

/** q (N, H, D); promptK, promptV (P, H, D); suffixK, suffixV (M, H, D). */
export interface DecodeInputs {
  q: Float64Array;
  promptK: Float64Array;
  promptV: Float64Array;
  suffixK: Float64Array;
  suffixV: Float64Array;
  /** (S, N): which of the M keys belongs to each row at each step. */
  suffixRows: Uint32Array;
}

/** out (N, H, D), NaN for rows in no tile. */
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
