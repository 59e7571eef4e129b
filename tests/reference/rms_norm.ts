/** rmsNorm and its gradient in float64. @module */

const EPSILON = 2 ** -23;

/** y = x / sqrt(mean(x^2) + eps) for each row, and the factors of the rows. */
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
