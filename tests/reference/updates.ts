/** One step of AdamW in float64, following torch.optim.AdamW. @module */
import type { AdamWStep } from "../../lib/tensor/ops/adamw.ts";
import type { MuonStep } from "../../lib/tensor/ops/muon.ts";
import { gemm } from "./gemm.ts";

export interface AdamWState {
  parameter: Float64Array;
  expAvg: Float64Array;
  expAvgSq: Float64Array;
}

/** The state after a step with this gradient, already clipped. */
export function adamW(state: AdamWState, gradient: Float64Array, at: AdamWStep): AdamWState {
  const { learningRate, beta1, beta2, epsilon, weightDecay, step } = at;
  const expAvg = state.expAvg.map((m, i) => beta1 * m + (1 - beta1) * gradient[i]);
  const expAvgSq = state.expAvgSq.map((v, i) => beta2 * v + (1 - beta2) * gradient[i] ** 2);
  const parameter = state.parameter.map((value, i) => {
    const denominator = Math.sqrt(expAvgSq[i] / (1 - beta2 ** step)) + epsilon;
    return value * (1 - learningRate * weightDecay) -
      learningRate * (expAvg[i] / (1 - beta1 ** step)) / denominator;
  });
  return { parameter, expAvg, expAvgSq };
}

// Muon in float64, written like torch.optim.Muon: with a transpose, and two polynomial terms.

const [A, B, C] = [3.4445, -4.7750, 2.0315];
const EPSILON = 1e-7;
const NUM_STEPS = 5;

export interface MuonState {
  parameter: Float64Array;
  momentum: Float64Array;
}

function transpose(x: Float64Array, rows: number, columns: number): Float64Array {
  return x.map((_, i) => x[(i % rows) * columns + Math.floor(i / rows)]);
}

/** A matrix with x's singular vectors and singular values near 1, by five Newton-Schulz steps. */
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

// Clipping to the global norm in float64.

/** Scales gradients in place so that their global norm is at most `maxNorm`; returns the norm before. */
export function clipGradients(gradients: Iterable<Float64Array>, maxNorm: number): number {
  const all = [...gradients];
  const norm = Math.sqrt(all.reduce((sum, g) => g.reduce((part, value) => part + value * value, sum), 0));
  const factor = Math.min(1, maxNorm / norm);
  for (const gradient of all) gradient.forEach((value, i) => gradient[i] = value * factor);
  return norm;
}
