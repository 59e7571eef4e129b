/**
 * Muon's update of matrices of one shape: momentum, orthogonalisation by Newton-Schulz steps, update. The matrices are
 * stacked for the Newton-Schulz steps, so that one dispatch computes a product of all of them.
 *
 * Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024, in the form of
 * torch.optim.Muon. A matrix with more rows than columns counts as its transpose: the sides of the products are exchanged
 * and no data are moved. Only the Gram matrix goes through the steps. The product of their polynomials is applied
 * once at the end. All factors are symmetric and commute, so about half of each product is computed. At 128 x 512
 * that is 0.38 of the operations of the plain steps, at 128 x 128 0.82.
 *
 * @module
 */
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid } from "./elementwise.ts";
import { addGemm } from "./gemm.ts";
import { addSumOfSquaresOfRows, numRowPartialSums } from "./reduce.ts";
import { requireLength, requireMultiple } from "./require.ts";

/** Newton-Schulz steps of one update, as in the source. */
export const NEWTON_SCHULZ_STEPS = 5;

/** The number of f32 in the tensor of hyperparameters. */
export const NUM_MUON_HYPER = 4;

/** The hyperparameters of Muon for a step. */
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

/** A matrix that Muon updates; all are (rows, columns) f32, each in a buffer of its own. */
export interface MuonMatrix {
  readonly parameter: Tensor;
  readonly gradient: Tensor;
  /** Updated. */
  readonly momentum: Tensor;
}

/** The number of matrices, and their extents. */
export interface StackShape {
  count: number;
  rows: number;
  columns: number;
}

/** Label -> shape of the memory that a stack of matrices needs during an update; stacks of one shape share it. */
export function muonScratchShapes({ count, rows, columns }: StackShape) {
  const size = Math.min(rows, columns);
  const square = [count, size, size];
  return {
    x: [count, rows, columns],
    nextX: [count, rows, columns],
    gram: square,
    polynomial: square,
    polynomialTimesGram: square,
    product: square,
    nextProduct: square,
    partials: [count * numRowPartialSums(rows * columns)],
    sumOfSquares: [count],
  };
}

/** The tensors of {@link muonScratchShapes}. */
export type MuonScratch = Readonly<Record<keyof ReturnType<typeof muonScratchShapes>, Tensor>>;

/** Allocates the scratch memory for stacks of at most `count` matrices of one shape. */
export function makeMuonScratch(program: Program, stack: StackShape): MuonScratch {
  const shapes = Object.entries(muonScratchShapes(stack));
  const { gpu } = program.registry;
  return Object.fromEntries(
    shapes.map(([name, shape]) => [name, gpu.tensor(`Muon ${name}`, shape)]),
  ) as MuonScratch;
}

/**
 * Adds one step of Muon for matrices of one shape to a program.
 *
 * @param args `matrices`: at least one, extents multiples of 4; `hyper`: (4) f32 of {@link muonHyper}; `clip`:
 *   (4) f32 of addClipFactor, whose factor scales the gradient, and if 0 nothing is changed; `scratch`: for at
 *   least that many matrices of this shape.
 * @throws {KernelError} If a tensor is too small or an extent is not a multiple of 4.
 */
export function addMuon(
  program: Program,
  args: { matrices: readonly MuonMatrix[]; hyper: Tensor; clip: Tensor; scratch: MuonScratch },
): void {
  const { matrices, hyper, clip, scratch } = args;
  const [rows, columns] = matrices[0].parameter.shape;
  const shape = { count: matrices.length, rows, columns };
  const length = rows * columns;
  requireMultiple("muon_momentum", { rows, columns }, 4);
  requireLength("muon_momentum", NUM_MUON_HYPER, { hyper });
  const grid = elementwiseGrid(length);
  const { x, nextX, sumOfSquares, partials } = scratch;
  // A dispatch for one matrix binds the whole stack and reads or writes one matrix of it.
  const oneOf = (stack: Tensor): Tensor => ({ ...stack, shape: [rows, columns] });
  matrices.forEach(({ parameter, gradient, momentum }, i) => {
    requireLength("muon_momentum", length, { parameter, gradient, momentum });
    program.add({
      kernel: "muon_momentum",
      bindings: { gradient, hyper, clip, momentum, x: oneOf(nextX) },
      params: { length, first4: i * length / 4 },
      grid,
    });
  });
  addSumOfSquaresOfRows(program, { x: nextX, count: shape.count, length, partials, out: sumOfSquares });
  program.add({
    kernel: "muon_normalize",
    bindings: { x: nextX, sum_of_squares: sumOfSquares, y: x },
    params: { length },
    grid: [...grid, shape.count],
  });
  const orthogonal = addNewtonSchulz(program, scratch, shape);
  matrices.forEach(({ parameter }, i) =>
    program.add({
      kernel: "muon_update",
      bindings: { x: oneOf(orthogonal), hyper, clip, parameter },
      params: { length, first4: i * length / 4, shape_factor: Math.sqrt(Math.max(1, rows / columns)) },
      grid,
    })
  );
}

/**
 * Adds X <- P X with P = a I + b G + c G^2 and G = X X^T, several times. As G <- P G P, the last X is the product of all P
 * times the first X.
 *
 * @returns The tensor of the last X.
 */
function addNewtonSchulz(
  program: Program,
  scratch: MuonScratch,
  { count, rows, columns }: StackShape,
): Tensor {
  const { x: first, nextX: last, gram, polynomial, polynomialTimesGram: half } = scratch;
  let { product, nextProduct: next } = scratch;
  const isTall = rows > columns;
  const size = Math.min(rows, columns);
  const shared = { label: "Newton-Schulz", batch: count };
  const square = { ...shared, kind: "NN", m: size, n: size, k: size, symmetric: true } as const;
  const long = Math.max(rows, columns);
  const gramKind = isTall ? "TN" : "NT";
  addGemm(program, { ...square, kind: gramKind, k: long, a: first, b: first, c: gram });
  for (let step = 0; step < NEWTON_SCHULZ_STEPS; step++) {
    const p = step === 0 ? product : polynomial;
    addGemm(program, { ...square, a: gram, b: gram, c: p, epilogue: { gram } });
    if (step > 0) {
      addGemm(program, { ...square, a: p, b: product, c: next });
      [product, next] = [next, product];
    }
    if (step === NEWTON_SCHULZ_STEPS - 1) break;
    addGemm(program, { ...square, a: p, b: gram, c: half });
    addGemm(program, { ...square, a: half, b: p, c: gram });
  }
  // The product of all P is symmetric, so for the transpose it is on the right.
  const [a, b] = isTall ? [first, product] : [product, first];
  addGemm(program, { ...shared, kind: "NN", m: rows, n: columns, k: size, a, b, c: last });
  return last;
}
