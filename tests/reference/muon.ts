/** Muon in float64, written as torch.optim.Muon is: with a transpose, and two polynomial terms. @module */
import type { MuonStep } from "../../lib/tensor/ops/muon.ts";
import { gemm } from "./gemm.ts";

const [A, B, C] = [3.4445, -4.7750, 2.0315];
const EPSILON = 1e-7;
const NUM_STEPS = 5;

/** The tensors that Muon changes. */
export interface MuonState {
  parameter: Float64Array;
  momentum: Float64Array;
}

function transpose(x: Float64Array, rows: number, columns: number): Float64Array {
  return x.map((_, i) => x[(i % rows) * columns + Math.floor(i / rows)]);
}

/** The matrix with singular values near 1 and the singular vectors of x, by five Newton-Schulz steps. */
export function orthogonalize(matrix: Float64Array, [rows, columns]: readonly number[]): Float64Array {
  if (rows > columns) {
    return transpose(orthogonalize(transpose(matrix, rows, columns), [columns, rows]), columns, rows);
  }
  const norm = Math.sqrt(matrix.reduce((sum, value) => sum + value * value, 0));
  let x = matrix.map((value) => value / Math.max(norm, EPSILON));
  for (let step = 0; step < NUM_STEPS; step++) {
    const gram = gemm({ kind: "NT", m: rows, n: rows, k: columns }, x, x);
    const squared = gemm({ kind: "NN", m: rows, n: rows, k: rows }, gram, gram);
    const update = gram.map((value, i) => B * value + C * squared[i]);
    const product = gemm({ kind: "NN", m: rows, n: columns, k: rows }, update, x);
    x = x.map((value, i) => A * value + product[i]);
  }
  return x;
}

/** The state after a step with this gradient, already clipped. */
export function muon(
  state: MuonState,
  gradient: Float64Array,
  { shape, at }: { shape: readonly number[]; at: MuonStep },
): MuonState {
  const { learningRate, weightDecay } = at;
  const mu = at.momentum;
  const momentum = state.momentum.map((m, i) => mu * m + (1 - mu) * gradient[i]);
  const update = orthogonalize(momentum.map((m, i) => (1 - mu) * gradient[i] + mu * m), shape);
  const rate = learningRate * Math.sqrt(Math.max(1, shape[0] / shape[1]));
  const parameter = state.parameter.map((value, i) =>
    value * (1 - learningRate * weightDecay) - rate * update[i]
  );
  return { parameter, momentum };
}
