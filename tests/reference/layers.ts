/** The activations of the MLP and their slopes in float64. @module */
import type { ActivationKind } from "../../lib/tensor/ops/gemm.ts";

const sigmoid = (u: number) => 1 / (1 + Math.exp(-u));
const ROOT = Math.sqrt(2 / Math.PI);
const inner = (u: number) => ROOT * (u + 0.044715 * u ** 3);

/** f(u). */
export const ACTIVATION: Record<ActivationKind, (u: number) => number> = {
  relu2: (u) => Math.max(u, 0) ** 2,
  gelu: (u) => 0.5 * u * (1 + Math.tanh(inner(u))),
  silu: (u) => u * sigmoid(u),
};

/** f'(u). */
export const ACTIVATION_SLOPE: Record<ActivationKind, (u: number) => number> = {
  relu2: (u) => 2 * Math.max(u, 0),
  gelu: (u) => {
    const t = Math.tanh(inner(u));
    return 0.5 * (1 + t) + 0.5 * u * (1 - t * t) * ROOT * (1 + 3 * 0.044715 * u * u);
  },
  silu: (u) => sigmoid(u) * (1 + u * (1 - sigmoid(u))),
};

// Rows of a table by token, and the table's gradient, in float64.

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

// rmsNorm and its gradient in float64.

const EPSILON = 2 ** -23;

/** y = x / sqrt(mean(x^2) + eps) for each row, and the factor of each row. */
export function rmsNorm(x: Float64Array, width: number): { y: Float64Array; scale: Float64Array } {
  const scale = new Float64Array(x.length / width).map((_, row) => {
    const values = x.subarray(row * width, (row + 1) * width);
    return 1 / Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / width + EPSILON);
  });
  return { y: x.map((value, i) => value * scale[Math.floor(i / width)]), scale };
}

/** dx = s (dy - x s^2 mean(x dy)) for each row. */
export function rmsNormBackward(x: Float64Array, dy: Float64Array, width: number): Float64Array {
  const { scale } = rmsNorm(x, width);
  const means = scale.map((_, row) => {
    let sum = 0;
    for (let i = row * width; i < (row + 1) * width; i++) sum += x[i] * dy[i];
    return sum / width;
  });
  return x.map((value, i) => {
    const row = Math.floor(i / width);
    return scale[row] * (dy[i] - value * scale[row] ** 2 * means[row]);
  });
}

// Keys whose 2nd and 4th quarter of each head come from another row, and their gradient, in float64.

/** The sizes of a tensor (rows, H, D). */
export interface KeysProblem {
  readonly numHeads: number;
  readonly headDim: number;
  /** The row from which each row takes the shifted quarters. */
  readonly previous: ArrayLike<number>;
}

const isShifted = (d: number, headDim: number) => Math.floor(d % headDim / (headDim / 4)) % 2 === 1;

/** y = x, except for the shifted quarters, which come from `earlier`. */
export function shiftKeys(problem: KeysProblem, x: Float64Array, earlier = x): Float64Array {
  const width = problem.numHeads * problem.headDim;
  return x.map((value, i) => {
    const [row, d] = [Math.floor(i / width), i % width];
    return isShifted(d, problem.headDim) ? earlier[problem.previous[row] * width + d] : value;
  });
}

/** Gradient of sum(dy * y) with respect to x, which is also `earlier`. */
export function shiftKeysBackward(problem: KeysProblem, dy: Float64Array): Float64Array {
  const width = problem.numHeads * problem.headDim;
  const dx = new Float64Array(dy.length);
  dy.forEach((d, i) => {
    const [row, column] = [Math.floor(i / width), i % width];
    const source = isShifted(column, problem.headDim) ? problem.previous[row] : row;
    dx[source * width + column] += d;
  });
  return dx;
}

// rmsNorm over each head and rotation by position, and their gradient, in float64, from the formulas.

const THETA = 10000;

/** The sizes of a tensor (rows, H, D) of heads; the position of a row is `row % sequenceLength`. */
export interface HeadsProblem {
  readonly numHeads: number;
  readonly headDim: number;
  readonly sequenceLength: number;
  readonly norm: boolean;
}

/** y = rope(rmsNorm(x)), or rope(x), and the norm's factor of each head. */
export function qkNormRope(
  problem: HeadsProblem,
  x: Float64Array,
): { y: Float64Array; scale: Float64Array } {
  if (!problem.norm) {
    return { y: rotate(problem, x, 1), scale: new Float64Array(x.length / problem.headDim).fill(1) };
  }
  const { y, scale } = rmsNorm(x, problem.headDim);
  return { y: rotate(problem, y, 1), scale };
}

/** Gradient of sum(dy * y) with respect to x. */
export function qkNormRopeBackward(problem: HeadsProblem, x: Float64Array, dy: Float64Array): Float64Array {
  const dz = rotate(problem, dy, -1);
  return problem.norm ? rmsNormBackward(x, dz, problem.headDim) : dz;
}

/** Rotates (x[i], x[i + D/2]) of each head by direction * t * theta^(-i / (D/2)). */
function rotate(problem: HeadsProblem, x: Float64Array, direction: 1 | -1): Float64Array {
  const { numHeads, headDim, sequenceLength } = problem;
  const half = headDim / 2;
  const y = new Float64Array(x.length);
  for (let head = 0; head < x.length / headDim; head++) {
    const t = Math.floor(head / numHeads) % sequenceLength;
    for (let i = 0; i < half; i++) {
      const angle = direction * t * THETA ** (-i / half);
      const [first, second] = [head * headDim + i, head * headDim + half + i];
      y[first] = x[first] * Math.cos(angle) - x[second] * Math.sin(angle);
      y[second] = x[first] * Math.sin(angle) + x[second] * Math.cos(angle);
    }
  }
  return y;
}
