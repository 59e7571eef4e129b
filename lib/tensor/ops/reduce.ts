/**
 * Sums of tensors, in two passes and a fixed order, so that results are bit-identical in every run.
 *
 * @module
 */
import { gridOf, type Program } from "../program.ts";
import { type Tensor, tensorLength } from "../tensor.ts";
import { requireLength } from "./common.ts";

/** Fewer elements are not worth a workgroup. */
const MIN_ELEMENTS_PER_PART = 4096;
/** Bounds the second pass, which is one workgroup. */
const MAX_PARTS = 256;

const KERNEL = "reduce_partials";

/** Number of partial sums of {@link addSum} and {@link addSumOfSquares} for this many elements. */
export function numPartialSums(length: number): number {
  return Math.min(MAX_PARTS, Math.ceil(length / MIN_ELEMENTS_PER_PART));
}

/**
 * Adds out[0] = sum of the squares of all elements of all inputs to a program.
 *
 * @param args `inputs`: f32 of any shapes; `out`: 1 f32; `partials`: scratch memory for the
 *   {@link numPartialSums} f32 of all inputs, made here if absent.
 */
export function addSumOfSquares(
  program: Program,
  args: { inputs: readonly Tensor[]; out: Tensor; partials?: Tensor },
): void {
  const { inputs, out } = args;
  const lengths = inputs.map(tensorLength);
  const total = lengths.reduce((sum, length) => sum + numPartialSums(length), 0);
  const partials = args.partials ?? program.registry.gpu.tensor("partial sums", [total]);
  requireLength(KERNEL, total, { partials });
  let first = 0;
  inputs.forEach((x, i) => {
    const numPartials = numPartialSums(lengths[i]);
    addPass(program, { label: "sum of squares", x, length: lengths[i], out: partials, first, numPartials });
    first += numPartials;
  });
  addTotal(program, { x: partials, length: total, out });
}

/**
 * Adds out[0] (+)= sum of the first `length` elements of x to a program.
 *
 * @param args `x`: f32; `out`: 1 f32; `accumulate`: whether to add to the value in `out` (default: no).
 */
export function addSum(
  program: Program,
  args: { x: Tensor; length: number; out: Tensor; accumulate?: boolean },
): void {
  const { x, length, out, accumulate = false } = args;
  requireLength(KERNEL, length, { x });
  const numPartials = numPartialSums(length);
  if (numPartials === 1) return addTotal(program, { x, length, out, accumulate });
  const partials = program.registry.gpu.tensor("partial sums", [numPartials]);
  addPass(program, { label: "sum", isSum: true, x, length, out: partials, numPartials });
  addTotal(program, { x: partials, length: numPartials, out, accumulate });
}

function addTotal(
  program: Program,
  args: { x: Tensor; length: number; out: Tensor; accumulate?: boolean },
): void {
  requireLength(KERNEL, 1, { out: args.out });
  addPass(program, { label: "sum", isSum: true, ...args });
}

/**
 * Adds a pass that writes `numPartials` sums.
 *
 * @param args `isSum`: sums the elements instead of their squares; `first`: the index of the first sum in
 *   `out`.
 */
function addPass(
  program: Program,
  args: {
    label: string;
    isSum?: boolean;
    x: Tensor;
    length: number;
    out: Tensor;
    first?: number;
    numPartials?: number;
    accumulate?: boolean;
  },
): void {
  const { label, isSum = false, x, length, out, first = 0, numPartials = 1, accumulate = false } = args;
  program.add({
    kernel: KERNEL,
    label,
    overrides: { SQUARE: Number(!isSum), LOADS: program.registry.rows.loads },
    bindings: { x, partials: out },
    params: { length, first, numPartials, accumulate: Number(accumulate) },
    grid: gridOf(numPartials),
  });
}
