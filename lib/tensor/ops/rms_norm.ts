/**
 * rmsNorm without parameters: y = x / sqrt(mean(x^2) + eps) over each row, and its gradient. Source: Zhang
 * and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
 *
 * @module
 */
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { requireLength, requireMultiple, rowGrid } from "./common.ts";

/** Number of vec4 of a row that a lane keeps in registers. */
function keptOf({ registry: { lanes, rows } }: Program, width: number): { NUM_KEPT: number } {
  return { NUM_KEPT: Math.min(rows.maxKept, Math.ceil(width / (4 * lanes))) };
}

/**
 * Adds y = rmsNorm(x) to a program.
 *
 * @param args `x` and `y`: (rows, width) f32, different buffers; `scale`: (rows) f32, written for
 *   {@link addRmsNormBackward}; `width` is a multiple of 4.
 */
export function addRmsNorm(
  program: Program,
  args: { x: Tensor; y: Tensor; scale: Tensor; rows: number; width: number },
): void {
  const { x, y, scale, rows, width } = args;
  const kernel = "rms_norm_forward";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, rows * width, { x, y });
  requireLength(kernel, rows, { scale });
  program.add({
    kernel,
    overrides: keptOf(program, width),
    bindings: { x, y, scale },
    params: { rows, width },
    grid: rowGrid(program, rows),
  });
}

/**
 * Adds dx = d(loss)/dx of y = rmsNorm(x), given dy, to a program.
 *
 * @param args `scale` as {@link addRmsNorm} wrote it; `accumulate`: whether to add to `dx`; `dx` shares no
 *   buffer with `x` and `dy`.
 */
export function addRmsNormBackward(
  program: Program,
  args: {
    x: Tensor;
    scale: Tensor;
    dy: Tensor;
    dx: Tensor;
    rows: number;
    width: number;
    accumulate: boolean;
  },
): void {
  const { x, scale, dy, dx, rows, width, accumulate } = args;
  const kernel = "rms_norm_backward";
  requireMultiple(kernel, { width }, 4);
  requireLength(kernel, rows * width, { x, dy, dx });
  requireLength(kernel, rows, { scale });
  program.add({
    kernel,
    overrides: keptOf(program, width),
    bindings: { x, scale, dy, dx },
    params: { rows, width, accumulate: Number(accumulate) },
    grid: rowGrid(program, rows),
  });
}
