/**
 * rmsNorm over each head and rotation by position, and their gradient, in float64, as the formulas say.
 *
 * @module
 */
import { rmsNorm, rmsNormBackward } from "./rms_norm.ts";

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

/** d(sum(dy * y)) by x. */
export function qkNormRopeBackward(problem: HeadsProblem, x: Float64Array, dy: Float64Array): Float64Array {
  const dz = rotate(problem, dy, -1);
  return problem.norm ? rmsNormBackward(x, dz, problem.headDim) : dz;
}

/** Turns (x[i], x[i + D/2]) of each head by direction * t * theta^(-i / (D/2)). */
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
