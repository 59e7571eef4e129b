/**
 * Matrix products, which are most of a model's work.
 *
 * There are three kernels. gemm_matrix uses matrix units, for f16 operands on an adapter that has them.
 * gemm_subgroup8 broadcasts an operand within subgroups, for adapters with subgroups of 8 lanes (lavapipe).
 * gemm_tiled has tiles in workgroup memory, for all other adapters.
 *
 * @module
 */
import { KernelError } from "../../base/errors.ts";
import type { GpuInfo } from "../device.ts";
import type { KernelName } from "../kernels.ts";
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { elementwiseGrid, elementwiseLoads, productLoops, requireLength, requireMultiple } from "./common.ts";

/** Which operand is stored transposed: none, B, or A. */
export type GemmKind = "NN" | "NT" | "TN";

/** relu(x)^2; GELU in its tanh form (torch: `approximate="tanh"`); x sigmoid(x). */
export type ActivationKind = "relu2" | "gelu" | "silu";

/**
 * What the kernel computes from the product AB. In order:
 * - C = AB;
 * - C += AB;
 * - C = AB + `add`;
 * - C = a I + b `gram` + c AB: Muon's polynomial of a Gram matrix, whose square is AB;
 * - C = keep C - step AB: Muon's update. (unused, keep, step, unused) is row `first` of `factors`; a batch
 *   uses the rows from there on;
 * - C = f(AB); `before`, if given, receives AB;
 * - C = AB f'(`slopeAt`): the backward pass of f. For relu2, `slopeAt` is f's value instead of its argument.
 */
export type GemmEpilogue =
  | "store"
  | "accumulate"
  | { add: Tensor }
  | { gram: Tensor }
  | { factors: Tensor; first: number }
  | { activation: ActivationKind; before?: Tensor }
  | { activation: ActivationKind; slopeAt: Tensor };

const ACTIVATION: Record<ActivationKind, number> = { relu2: 0, gelu: 1, silu: 2 };

/** A kernel, its overrides except the transposes, its square tile's side, and the steps of k at a time. */
export interface GemmVariant {
  readonly kernel: Extract<KernelName, `gemm_${string}`>;
  readonly overrides: Record<string, number>;
  readonly tile: number;
  readonly tileK: number;
}

/** For matrix units whose matrices have `side` rows and columns. */
function matrixVariant(side: number, isSplit = false): GemmVariant {
  const overrides = { SPLIT: Number(isSplit) };
  return { kernel: "gemm_matrix", overrides, tile: 8 * side, tileK: (isSplit ? 2 : 4) * side };
}

const SUBGROUP8: GemmVariant = { kernel: "gemm_subgroup8", overrides: {}, tile: 32, tileK: 16 };
const TILED_64: GemmVariant = { kernel: "gemm_tiled", overrides: { TILE: 64 }, tile: 64, tileK: 16 };
const TILED_128: GemmVariant = { kernel: "gemm_tiled", overrides: { TILE: 128 }, tile: 128, tileK: 16 };

/** How many tiles of 128 x 128 fill a GPU. With fewer, an H100 is faster with 64 x 64. */
const ENOUGH_TILES = 256;

/** The number of the epilogue C = AB in the kernels. */
const STORE = 0;

interface GemmShape {
  readonly kind: GemmKind;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly terms?: number;
  /** Elements from one matrix of a batch, or term, to the next. */
  readonly strides?: { readonly a?: number; readonly b?: number };
}

/** Whether gemm_matrix can read the operands in words of 8 elements. */
function suitsMatrices({ kind, m, n, k, terms = 1, strides }: GemmShape, { tileK }: GemmVariant): boolean {
  const rows = [kind === "TN" ? m : k, kind === "NT" ? k : n, strides?.a ?? 0, strides?.b ?? 0];
  return rows.every((length) => length % 8 === 0) && (terms === 1 || k % tileK === 0);
}

/** All variants that run on an adapter and suit a shape, the fastest first, for tests and measurements. */
export function gemmVariants(
  info: Pick<GpuInfo, "subgroupSize" | "matrix">,
  shape: GemmShape,
): GemmVariant[] {
  const byMatrices = info.matrix && matrixVariant(info.matrix.side);
  return [
    ...(byMatrices && suitsMatrices(shape, byMatrices) ? [byMatrices] : []),
    ...(info.subgroupSize === 8 ? [SUBGROUP8] : []),
    TILED_64,
    TILED_128,
  ];
}

/**
 * Chooses the variant for an adapter and a shape.
 *
 * Measured at 2048 x 512 x 512 on 2 cores of an EPYC of family 26, lavapipe of Mesa 25.0, subgroups of 8, NN
 * / NT / TN in GFLOP/s by processor time (2026-11-21): gemm_subgroup8 76 / 78 / 76, gemm_tiled 15 / 15 / 15.
 * Rejected: two or four steps of k4 per iteration of gemm_subgroup8 (33-39, 22-38: the accumulators spill),
 * sums addressed by a running index (51). On an EPYC of family 25 (2026-11-25) 54 / 48 / 62. There, tiles of
 * 16, 24, 40, 48 and 64 rows have 0.90, 1.02, 0.96, 0.97 and 0.82 times the speed, 64 columns 0.73 to 0.82,
 * the epilogue as an override 0.9 to 1.1 by kind, subgroups of 16 lanes (LP_NATIVE_VECTOR_WIDTH=512) 0.27.
 * lib/tensor/RESULTS.md says what limits the speed.
 *
 * @param byMatrices How matrix units may multiply the operands, if at all: as f16 (f32 operands are rounded),
 *   or as sums of two f16.
 */
export function gemmVariant(
  info: Pick<GpuInfo, "subgroupSize" | "isSoftware" | "matrix">,
  shape: GemmShape,
  byMatrices: "half" | "split" | undefined,
): GemmVariant {
  const variant = byMatrices && info.matrix && matrixVariant(info.matrix.side, byMatrices === "split");
  if (variant && suitsMatrices(shape, variant)) return variant;
  if (info.subgroupSize === 8) return SUBGROUP8;
  return !info.isSoftware && shape.m * shape.n >= ENOUGH_TILES * 128 * 128 ? TILED_128 : TILED_64;
}

/**
 * How many workgroups fill a GPU, the smallest number of steps of k in a split, and the largest number of
 * splits, each of which writes and reads a separate C: the best on an H100 for the presets' gradients, with
 * 1.03 times the time of the best splits.
 */
const [ENOUGH_WORKGROUPS, MIN_SPLIT_K, MAX_SPLITS] = [2048, 64, 16];

/**
 * The number of splits of the steps of k, each summed by separate workgroups. Gradients of small weights need
 * splits: they have few tiles and a long k. The number depends only on the shape, never on a measurement,
 * because another number of splits rounds differently.
 *
 * @param shape Extents of the product, or of all products of a batch together.
 * @param tileK The steps of k that the kernel computes at a time.
 */
export function gemmSplits(
  { isSoftware }: Pick<GpuInfo, "isSoftware">,
  shape: GemmShape,
  tileK: number,
): number {
  const splits = isSoftware || shape.kind !== "TN" ? 1 : splitsOf(shape);
  return Math.ceil(shape.k / stepsOfSplit(shape.k, splits, tileK));
}

/** The steps of k in each split. The last split may have fewer. */
function stepsOfSplit(k: number, splits: number, tileK: number): number {
  return Math.ceil(k / splits / tileK) * tileK;
}

/** The splits of a product, for adapters and kinds that support splits. */
function splitsOf({ m, n, k }: GemmShape): number {
  // In units of the smaller tile in any case: products with larger tiles have enough tiles and steps.
  const numTiles = Math.ceil(m / TILED_64.tile) * Math.ceil(n / TILED_64.tile);
  return Math.max(
    1,
    Math.min(Math.floor(ENOUGH_WORKGROUPS / numTiles), Math.floor(k / MIN_SPLIT_K), MAX_SPLITS),
  );
}

/**
 * Adds C = op(A) op(B) to a program.
 *
 * @param args `kind` NN: A (m, k), B (k, n); NT: A (m, k), B (n, k); TN: A (k, m), B (k, n); all row-major. C
 *   (m, n) shares no buffer with A, B and the tensors of the epilogue. `n` is a multiple of 4, so is `k` for
 *   NN and NT, and `m` for TN. `batch`: the number of products of one shape (default: 1), whose matrices
 *   start `strides` elements apart, multiples of 4 (default: stacked). `terms`: the number of products
 *   (default: 1) that C is the sum of; their matrices a and b are laid out as in a batch, without a batch;
 *   then k is a multiple of the variant's `tileK`. `label`: the name in profiles. `variant`: by default
 *   {@link gemmVariant}. `splits`: by default {@link gemmSplits}, or 1 with a given variant; more than 1 is
 *   possible for "store" or "accumulate", if each split has a step of k. `symmetric`: whether C is known to
 *   be symmetric (default: no), which saves almost half of the work. `exponents`: matrix units may multiply
 *   f32 operands as sums of two f16 each, times these powers of two. Scaled magnitudes may be up to 65504;
 *   those above 2^8 have 20 bits of precision.
 * @throws {KernelError} If a size is not such a multiple, a tensor is too small or the splits are not
 *   possible.
 */
export function addGemm(
  program: Program,
  args: GemmShape & {
    batch?: number;
    strides?: { c?: number };
    a: Tensor;
    b: Tensor;
    c: Tensor;
    epilogue?: GemmEpilogue;
    label?: string;
    variant?: GemmVariant;
    splits?: number;
    symmetric?: boolean;
    exponents?: { a: number; b: number };
  },
): void {
  const { kind, m, n, k, batch = 1, terms = 1, a, b, c, epilogue = "store", symmetric = false } = args;
  const { exponents = { a: 0, b: 0 } } = args;
  const { info } = program.registry.gpu;
  const byMatrices = a.dtype === "f16" || b.dtype === "f16" ? "half" : args.exponents && "split";
  const { kernel, tile, tileK, overrides } = args.variant ?? gemmVariant(info, args, byMatrices);
  requireMultiple(kernel, kind === "TN" ? { m, n } : { n, k }, 4);
  if (symmetric && m !== n) throw new KernelError(kernel, `a product of ${m} x ${n} cannot be symmetric`);
  const strides = { a: m * k, b: k * n, c: m * n, ...args.strides };
  if (terms > 1) requireMultiple(kernel, { k }, tileK);
  requireLength(kernel, (batch * terms - 1) * strides.a + m * k, { a });
  requireLength(kernel, (batch * terms - 1) * strides.b + k * n, { b });
  requireLength(kernel, (batch - 1) * strides.c + m * n, { c });
  const { code, read, written, activation, firstFactors } = epilogueParts(epilogue);
  for (const tensor of [read, written]) {
    if (!tensor) continue;
    const needed = firstFactors === undefined ? (batch - 1) * strides.c + m * n : 4 * (firstFactors + batch);
    requireLength(kernel, needed, { [tensor.label]: tensor });
    if (tensor.buffer === c.buffer) {
      throw new KernelError(kernel, `${tensor.label} is in the buffer of c; to add to c use "accumulate"`);
    }
  }
  const canSplit = typeof epilogue === "string" && terms === 1 && kernel !== SUBGROUP8.kernel;
  const whole = { ...args, m: batch * m, k: terms * k };
  const splits = args.splits ?? (canSplit && !args.variant ? gemmSplits(info, whole, tileK) : 1);
  const splitK = stepsOfSplit(whole.k, splits, tileK);
  if (splits > 1 && !(canSplit && splitK * (splits - 1) < k)) {
    throw new KernelError(kernel, `cannot divide k into ${splits} splits here`);
  }
  const product = splits > 1 ? program.scratch(batch * splits * m * n) : c;
  const label = args.label ?? `gemm ${kind}`;
  const divided = { splits, splitK };
  const isF32 = ({ dtype }: Tensor) => Number(dtype !== "f16");
  const loops = productLoops(info);
  const own: { overrides: Record<string, number>; params: Record<string, number> } = {
    gemm_matrix: {
      overrides: { A_F32: isF32(a), B_F32: isF32(b) },
      params: { ...divided, scaleA: 2 ** exponents.a, scaleB: 2 ** exponents.b },
    },
    gemm_subgroup8: { overrides: {}, params: {} },
    gemm_tiled: { overrides: loops.overrides, params: { ...divided, ...loops.params } },
  }[kernel];
  program.add({
    kernel,
    label,
    overrides: {
      ...overrides,
      ...own.overrides,
      TRANSPOSE_A: Number(kind === "TN"),
      TRANSPOSE_B: Number(kind === "NT"),
      ACTIVATION: activation,
    },
    // Unused bindings get some other tensor, declared with the dtype of c so that few variants are compiled.
    bindings: {
      a,
      b,
      d: read ?? { ...a, shape: [4], dtype: c.dtype },
      c: product,
      e: written ?? { ...program.registry.unusedOutput, dtype: c.dtype },
    },
    params: {
      m,
      n,
      k,
      epilogue: splits > 1 ? STORE : code,
      strideA: strides.a / 4,
      strideB: strides.b / 4,
      strideC: (splits > 1 ? m * n : strides.c) / 4,
      firstFactors: firstFactors ?? 0,
      terms,
      symmetric: Number(symmetric),
      ...own.params,
    },
    grid: [Math.ceil(n / tile), Math.ceil(m / tile), batch * splits],
    flops: batch * terms * (symmetric ? m + 1 : 2 * m) * n * k,
  });
  if (splits === 1) return;
  program.add({
    kernel: "sum_splits",
    overrides: elementwiseLoads(program),
    label: `${label}, sum of splits`,
    bindings: { partials: product, c },
    params: { length: m * n, splits, strideC: strides.c / 4, accumulate: Number(epilogue === "accumulate") },
    grid: [...elementwiseGrid(m * n), batch],
  });
}

/**
 * An epilogue for the kernels: its number, the tensors that it reads (d) and writes (e) in addition to C, the
 * activation, and the first row of Muon's factors.
 */
function epilogueParts(
  epilogue: GemmEpilogue,
): { code: number; read?: Tensor; written?: Tensor; activation: number; firstFactors?: number } {
  if (epilogue === "store") return { code: STORE, activation: 0 };
  if (epilogue === "accumulate") return { code: 1, activation: 0 };
  if ("add" in epilogue) return { code: 2, read: epilogue.add, activation: 0 };
  if ("gram" in epilogue) return { code: 6, read: epilogue.gram, activation: 0 };
  if ("factors" in epilogue) {
    return { code: 7, read: epilogue.factors, firstFactors: epilogue.first, activation: 0 };
  }
  const activation = ACTIVATION[epilogue.activation];
  if ("slopeAt" in epilogue) return { code: 5, read: epilogue.slopeAt, activation };
  return epilogue.before ? { code: 4, written: epilogue.before, activation } : { code: 3, activation };
}
