/**
 * Muon's update of one matrix: momentum, orthogonalisation by Newton-Schulz steps, update.
 *
 * Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024, in the form of
 * torch.optim.Muon. A matrix with more rows than columns is treated as its transpose, by exchanging the sides
 * of the products instead of moving data.
 *
 * @module
 */
import type { Program } from "../program.ts";
import { type Tensor, tensorLength } from "../tensor.ts";
import { elementwiseGrid } from "./elementwise.ts";
import { addGemm } from "./gemm.ts";
import { addSumOfSquares, numPartialSums } from "./reduce.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** Newton-Schulz steps of one update (as the source). */
export const NEWTON_SCHULZ_STEPS = 5;

/** The number of f32 in the tensor of hyperparameters. */
export const NUM_MUON_HYPER = 4;

/** What Muon needs to know of a step. */
export interface MuonStep {
  /** mu. */
  momentum: number;
  learningRate: number;
  weightDecay: number;
}

/** The values of the tensor `hyper` of {@link addMuon} for one step; the host uploads them before it. */
export function muonHyper({ momentum, learningRate, weightDecay }: MuonStep): Float32Array<ArrayBuffer> {
  return Float32Array.of(momentum, learningRate, weightDecay, 0);
}

/** Memory for one update; matrices of one shape share it. */
export interface MuonScratch {
  /** (rows, columns): x, and where the next x goes. */
  readonly x: readonly [Tensor, Tensor];
  /** (size, size), size the smaller extent: the Gram matrix, its square, the polynomial of both. */
  readonly gram: Tensor;
  readonly gramSquared: Tensor;
  readonly polynomial: Tensor;
  readonly partials: Tensor;
  readonly sumOfSquares: Tensor;
}

/** Allocates the scratch memory for matrices of one shape. */
export function makeMuonScratch(program: Program, shape: readonly number[]): MuonScratch {
  const size = Math.min(...shape);
  const make = (label: string, extents: readonly number[]) =>
    program.registry.gpu.tensor(`Muon ${label}`, extents);
  return {
    x: [make("x", shape), make("next x", shape)],
    gram: make("Gram matrix", [size, size]),
    gramSquared: make("squared Gram matrix", [size, size]),
    polynomial: make("polynomial", [size, size]),
    partials: make("partial sums", [numPartialSums(tensorLength({ shape }))]),
    sumOfSquares: make("sum of squares", [1]),
  };
}

/**
 * Adds one step of Muon for one matrix to a program.
 *
 * @param args `parameter`, `momentum` (updated) and `gradient`: (rows, columns) f32, extents multiples of 4,
 *   each in a buffer of its own; `hyper`: (4) f32 of {@link muonHyper}; `clip`: (4) f32 of addClipFactor, whose
 *   factor scales the gradient, and where 0 nothing is changed; `scratch`: for this shape.
 * @throws {KernelError} If a tensor is too small or an extent is not a multiple of 4.
 */
export function addMuon(
  program: Program,
  args: {
    parameter: Tensor;
    gradient: Tensor;
    momentum: Tensor;
    hyper: Tensor;
    clip: Tensor;
    scratch: MuonScratch;
  },
): void {
  const { parameter, gradient, momentum, hyper, clip, scratch } = args;
  const [rows, columns] = parameter.shape;
  const length = rows * columns;
  requireMultiple("muon_momentum", { rows, columns }, 4);
  requireLength("muon_momentum", length, { gradient, momentum });
  requireLength("muon_momentum", NUM_MUON_HYPER, { hyper });
  const grid = elementwiseGrid(length);
  const [x, next] = scratch.x;
  program.add({
    kernel: "muon_momentum",
    bindings: { gradient, hyper, clip, momentum, x: next },
    params: { length },
    grid,
  });
  const { sumOfSquares, partials } = scratch;
  addSumOfSquares(program, { inputs: [next], partials, out: sumOfSquares });
  program.add({
    kernel: "muon_normalize",
    bindings: { x: next, sum_of_squares: sumOfSquares, y: x },
    params: { length },
    grid,
  });
  const orthogonal = addNewtonSchulz(program, scratch, { rows, columns });
  program.add({
    kernel: "muon_update",
    bindings: { x: orthogonal, hyper, clip, parameter },
    params: { length, shape_factor: Math.sqrt(Math.max(1, rows / columns)) },
    grid,
  });
}

/** X <- (a I + b G + c G^2) X with G = X X^T, several times; returns where the last X is. */
function addNewtonSchulz(
  program: Program,
  { x, gram, gramSquared, polynomial }: MuonScratch,
  { rows, columns }: { rows: number; columns: number },
): Tensor {
  const isTall = rows > columns;
  const size = Math.min(rows, columns);
  const long = Math.max(rows, columns);
  let [from, to] = x;
  const label = "Newton-Schulz";
  for (let step = 0; step < NEWTON_SCHULZ_STEPS; step++) {
    const kind = isTall ? "TN" : "NT";
    addGemm(program, { kind, m: size, n: size, k: long, a: from, b: from, c: gram, label });
    addGemm(program, { kind: "NN", m: size, n: size, k: size, a: gram, b: gram, c: gramSquared, label });
    program.add({
      kernel: "muon_polynomial",
      bindings: { gram, gram_squared: gramSquared, polynomial },
      params: { size },
      grid: elementwiseGrid(size * size),
    });
    // The polynomial is symmetric, so the transpose's product is X times it.
    const [a, b] = isTall ? [from, polynomial] : [polynomial, from];
    addGemm(program, { kind: "NN", m: rows, n: columns, k: size, a, b, c: to, label });
    [from, to] = [to, from];
  }
  return from;
}
