/**
 * Muon's update of many matrices: momentum, orthogonalisation by Newton-Schulz steps, update. One dispatch
 * computes the momenta of all matrices in a buffer; another computes a product of all matrices with the same
 * smaller side.
 *
 * Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024, in the form of
 * torch.optim.Muon. A matrix with more rows than columns counts as its transpose: the sides of the products
 * are exchanged and no data are moved. Only the Gram matrix goes through the steps; its trace is the squared
 * norm. The product of the steps' polynomials is applied once at the end, by the product that updates the
 * parameter. All factors are symmetric and commute, so about half of each product is computed. At 128 x 512
 * this takes 0.38 of the operations of the plain steps, at 128 x 128 0.82.
 *
 * @module
 */
import { gridOf, type Program } from "../program.ts";
import { byBuffer, firstElement, partOf, spanOf, type Tensor, tensorLength } from "../tensor.ts";
import { elementwiseGrid, requireLength, requireMultiple } from "./common.ts";
import { addGemm, type GemmEpilogue } from "./gemm.ts";

/** Newton-Schulz steps of one update, as in the source. */
const NEWTON_SCHULZ_STEPS = 5;

// Powers of two that bring operands into the range of f16 for matrix units, which multiply sums of two f16.
// Entries are at most the largest eigenvalue.

/** For Gram matrices, at most 1.5, and polynomials, at most 3.4445. */
const POLYNOMIAL_EXPONENT = 13;
/** The products of all polynomials are at most 3.4445^5 = 485. */
const PRODUCT_EXPONENT = 6;
/** The largest magnitude of scaled momenta, with a margin for momenta made under a larger bound. */
const LARGEST_MOMENTUM = 2 ** 14;

export interface MuonStep {
  /** mu. */
  momentum: number;
  learningRate: number;
  weightDecay: number;
}

/** A matrix to update: (rows, columns) f32, multiples of 4. In a buffer, all three are equally spaced. */
interface MuonMatrix {
  readonly parameter: Tensor;
  readonly gradient: Tensor;
  /** Updated. */
  readonly momentum: Tensor;
}

/** Matrices of one shape, `stride` elements apart, the first starting `first` elements into their buffer. */
interface Stack {
  readonly first: number;
  readonly stride: number;
  readonly count: number;
  readonly rows: number;
  readonly columns: number;
}

/** The matrices of one buffer with the same smaller side. */
interface SizeGroup {
  readonly size: number;
  readonly count: number;
  readonly stacks: readonly Stack[];
}

/** The parameters of each buffer, the stacks that they form, and the elements from the first to the last. */
function packsOf(parameters: readonly Tensor[]): { groups: SizeGroup[]; length: number }[] {
  return byBuffer(parameters, (tensor) => tensor).map((tensors) => {
    const bySize = Map.groupBy(stacksOf(tensors), ({ rows, columns }) => Math.min(rows, columns));
    const groups = [...bySize].map(([size, stacks]) => {
      return { size, stacks, count: stacks.reduce((sum, { count }) => sum + count, 0) };
    });
    return { groups, length: tensorLength(spanOf(tensors)) };
  });
}

function stacksOf(tensors: readonly Tensor[]): Stack[] {
  const stacks: Stack[] = [];
  for (const tensor of tensors) {
    const [rows, columns] = tensor.shape;
    const at = firstElement(tensor, tensors[0]);
    const last = stacks.at(-1);
    const stride = last && (last.count === 1 ? at - last.first : last.stride);
    if (last?.rows === rows && last.columns === columns && at === last.first + last.count * (stride ?? 0)) {
      stacks[stacks.length - 1] = { ...last, stride: stride ?? 0, count: last.count + 1 };
    } else {
      stacks.push({ first: at, stride: rows * columns, count: 1, rows, columns });
    }
  }
  return stacks;
}

/** Elements from one square matrix of a stack to the next: whole 256 bytes, so that each can be bound. */
function squareStride(size: number): number {
  return Math.ceil(size * size / 64) * 64;
}

/** Values of {@link addMuon}'s tensor `hyper`, which the host uploads before each step. */
export function muonHyper(
  { momentum, learningRate, weightDecay }: MuonStep,
  parameters: readonly Tensor[],
): Float32Array<ArrayBuffer> {
  const stacks = packsOf(parameters).flatMap(({ groups }) => groups.flatMap(({ stacks }) => stacks));
  const shapeFactors = stacks.flatMap(({ count, rows, columns }) =>
    new Array<number>(count).fill(Math.sqrt(Math.max(1, rows / columns)))
  );
  return Float32Array.of(momentum, learningRate, weightDecay, 0, ...shapeFactors);
}

export function numMuonHyper(numMatrices: number): number {
  return 4 + numMatrices;
}

/** Label -> shape of the memory that an update of these parameters needs; buffers and stacks share it. */
function muonScratchShapes(parameters: readonly Tensor[]) {
  const packs = packsOf(parameters);
  const squares = packs.flatMap(({ groups }) => groups.map(({ size, count }) => count * squareStride(size)));
  const square = [Math.max(...squares)];
  return {
    x: [Math.max(...packs.map(({ length }) => length))],
    factors: [parameters.length, 4],
    gram: square,
    polynomial: square,
    polynomialTimesGram: square,
    product: square,
    nextProduct: square,
  };
}

export type MuonScratch = Readonly<Record<keyof ReturnType<typeof muonScratchShapes>, Tensor>>;

export function makeMuonScratch(
  parameters: readonly Tensor[],
  make: (label: string, shape: readonly number[]) => Tensor,
): MuonScratch {
  const shapes = Object.entries(muonScratchShapes(parameters));
  return Object.fromEntries(
    shapes.map(([name, shape]) => [name, make(`Muon ${name}`, shape)]),
  ) as MuonScratch;
}

/**
 * Adds one step of Muon for some matrices to a program.
 *
 * @param args `matrices`: at least one; `hyper`: f32 of {@link muonHyper}; `clip`: (2) f32 of addClipFactor,
 *   whose factor scales the gradient; if it is 0, nothing is changed; `maxNorm`: the largest norm of the
 *   scaled gradient, and so the largest entry of a momentum; `scratch`: from {@link makeMuonScratch} for
 *   these parameters.
 */
export function addMuon(
  program: Program,
  args: {
    matrices: readonly MuonMatrix[];
    hyper: Tensor;
    clip: Tensor;
    maxNorm: number;
    scratch: MuonScratch;
  },
): void {
  const { matrices, hyper, clip, maxNorm, scratch } = args;
  const exponent = Math.floor(Math.log2(LARGEST_MOMENTUM / maxNorm));
  for (const { parameter } of matrices) {
    const [rows, columns] = parameter.shape;
    requireMultiple("muon_momentum", { rows, columns }, 4);
  }
  requireLength("muon_factors", numMuonHyper(matrices.length), { hyper });
  const ofBuffers = byBuffer(matrices, ({ parameter }) => parameter);
  const packs = packsOf(matrices.map(({ parameter }) => parameter));
  let first = 0;
  packs.forEach(({ groups, length }, i) => {
    const span = (part: keyof MuonMatrix) => spanOf(ofBuffers[i].map((matrix) => matrix[part]));
    const [gradient, momentum, parameter] = [span("gradient"), span("momentum"), span("parameter")];
    requireLength("muon_momentum", length, { gradient, momentum, x: scratch.x });
    program.add({
      kernel: "muon_momentum",
      bindings: { gradient, hyper, clip, momentum, x: scratch.x },
      params: { length },
      grid: elementwiseGrid(length),
    });
    for (const group of groups) {
      addUpdate(program, group, { parameter, hyper, clip, exponent, scratch, first });
      first += group.count;
    }
  });
}

/**
 * Adds the update of matrices from their momenta in `x`.
 *
 * @param args `exponent`: the power of two that brings momenta into the range of f16; `first`: the number of
 *   matrices before them.
 */
function addUpdate(
  program: Program,
  { size, count, stacks }: SizeGroup,
  args: {
    parameter: Tensor;
    hyper: Tensor;
    clip: Tensor;
    exponent: number;
    scratch: MuonScratch;
    first: number;
  },
): void {
  const { parameter, hyper, clip, exponent, scratch: { x, factors, gram, ...squares }, first } = args;
  const stride = squareStride(size);
  const label = "Newton-Schulz";
  /** Calls `add` for each stack, with its part of `x` and the number of matrices before it in the group. */
  const forEachStack = (add: (stack: Stack, ofStack: { x: Tensor; before: number }) => void) => {
    let before = 0;
    for (const stack of stacks) {
      add(stack, { x: rangeOf(x, stack), before });
      before += stack.count;
    }
  };
  forEachStack(({ rows, columns, count, ...at }, { x, before }) =>
    addGemm(program, {
      kind: rows > columns ? "TN" : "NT",
      m: size,
      n: size,
      k: Math.max(rows, columns),
      batch: count,
      strides: { a: at.stride, b: at.stride, c: stride },
      a: x,
      b: x,
      c: partOf(gram, before * stride, [count * stride]),
      symmetric: true,
      exponents: { a: exponent, b: exponent },
      label,
    })
  );
  program.add({
    kernel: "muon_factors",
    bindings: { gram, hyper, clip, factors },
    params: { size, stride, count, first },
    grid: gridOf(count),
  });
  program.add({
    kernel: "muon_scale",
    bindings: { factors, gram },
    params: { stride, first },
    grid: [...elementwiseGrid(stride), count],
  });
  const product = addPolynomials(program, { size, count }, { gram, ...squares });
  forEachStack(({ rows, columns, count, ...at }, { x, before }) => {
    const ofStack = partOf(product, before * stride, [count * stride]);
    // The product of all polynomials is symmetric, so for the transpose it is on the right.
    const isTall = rows > columns;
    const [a, b] = isTall ? [x, ofStack] : [ofStack, x];
    const [ofA, ofB] = isTall ? [exponent, PRODUCT_EXPONENT] : [PRODUCT_EXPONENT, exponent];
    addGemm(program, {
      kind: "NN",
      m: rows,
      n: columns,
      k: size,
      batch: count,
      strides: { a: isTall ? at.stride : stride, b: isTall ? stride : at.stride, c: at.stride },
      a,
      b,
      c: rangeOf(parameter, { rows, columns, count, ...at }),
      epilogue: { factors, first: first + before },
      exponents: { a: ofA, b: ofB },
      label,
    });
  });
}

/** A stack's elements, from its first matrix to its last. @param whole Begins where its buffer does. */
function rangeOf(whole: Tensor, { first, stride, count, rows, columns }: Stack): Tensor {
  return partOf(whole, first, [(count - 1) * stride + rows * columns]);
}

/**
 * Adds the product of all polynomials P = a I + b G + c G^2 to a program: a Newton-Schulz step is X <- P X
 * with G = X X^T, and the next G is P G P.
 *
 * @returns The tensor of the product.
 */
function addPolynomials(
  program: Program,
  { size, count }: { size: number; count: number },
  scratch: Omit<MuonScratch, "x" | "factors">,
): Tensor {
  const { gram, polynomial, polynomialTimesGram: half } = scratch;
  let { product, nextProduct: next } = scratch;
  const stride = squareStride(size);
  const add = (
    a: Tensor,
    b: Tensor,
    c: Tensor,
    { epilogue = "store", ofB = POLYNOMIAL_EXPONENT }: { epilogue?: GemmEpilogue; ofB?: number } = {},
  ) =>
    addGemm(program, {
      kind: "NN",
      m: size,
      n: size,
      k: size,
      batch: count,
      strides: { a: stride, b: stride, c: stride },
      a,
      b,
      c,
      epilogue,
      symmetric: true,
      exponents: { a: POLYNOMIAL_EXPONENT, b: ofB },
      label: "Newton-Schulz",
    });
  for (let step = 0; step < NEWTON_SCHULZ_STEPS; step++) {
    const p = step === 0 ? product : polynomial;
    add(gram, gram, p, { epilogue: { gram } });
    if (step > 0) {
      add(p, product, next, { ofB: PRODUCT_EXPONENT });
      [product, next] = [next, product];
    }
    if (step === NEWTON_SCHULZ_STEPS - 1) break;
    add(p, gram, half);
    add(half, p, gram);
  }
  return product;
}
