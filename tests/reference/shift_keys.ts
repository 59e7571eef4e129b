/** Keys whose 2nd and 4th quarter of each head are those of another row, and their gradient, in float64. @module */

/** The sizes of a tensor (rows, H, D). */
export interface KeysProblem {
  readonly numHeads: number;
  readonly headDim: number;
  /** The row that each row takes the shifted quarters of. */
  readonly previous: ArrayLike<number>;
}

const isShifted = (d: number, headDim: number) => Math.floor(d % headDim / (headDim / 4)) % 2 === 1;

/** y = x, but for the shifted quarters, which are those of `earlier`. */
export function shiftKeys(problem: KeysProblem, x: Float64Array, earlier = x): Float64Array {
  const width = problem.numHeads * problem.headDim;
  return x.map((value, i) => {
    const [row, d] = [Math.floor(i / width), i % width];
    return isShifted(d, problem.headDim) ? earlier[problem.previous[row] * width + d] : value;
  });
}

/** d(sum(dy * y)) by x, which is `earlier` too. */
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
