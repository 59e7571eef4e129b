/**
 * Causal attention within segments, and its gradient, without storing anything of size T x T.
 *
 * Query t of a sequence attends to the keys from segmentStart[t] to t. Tiles of keys outside this range are
 * skipped. There are three sets of kernels: for f16 tensors on matrix units, for subgroups of 8 lanes (Mesa's
 * lavapipe), and for all other adapters.
 *
 * Measured on 2 cores of lavapipe (Mesa 25.0.7, LLVM 15, 2026-11), B = 8, T = 256, H = 4, D = 32, useful
 * FLOPs of visible pairs (4 D forward, 10 D backward), in segments of 60 to 256 tokens: forward 32, backward
 * 27 GFLOP/s (best of 12 runs); one segment per sequence: 45 and 38 (both per 2 s of processor time). The
 * first use compiles for 0.5 + 1.6 s. On an H100, B = 16, T = 1024, H = 10, D = 64, one segment per sequence
 * (2026-11-26): forward 22.0, backward 13.2 TFLOP/s; with one row per thread and slices in indexed arrays 3.1
 * and 2.9. Rejected: tiles of 8 rows (as fast, but compile for 2.0 + 10.5 s); loading a thread's rows without
 * a loop (1.7 s forward, because the time of LLVM's coroutine pass grows with the square of the number of
 * loads).
 *
 * Source: Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness, NeurIPS
 * 2022.
 *
 * @module
 */
import { KernelError } from "../../base/errors.ts";
import type { GpuInfo } from "../device.ts";
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { productLoops, requireLength } from "./common.ts";

/** `headDim` is 32, 64 or 128. */
export interface AttentionShape {
  readonly batchSize: number;
  readonly sequenceLength: number;
  readonly numHeads: number;
  readonly headDim: number;
}

interface AttentionTensors {
  q: Tensor;
  k: Tensor;
  v: Tensor;
  segmentStart: Tensor;
  out: Tensor;
  logSumExp: Tensor;
}

const HEAD_DIMS = [32, 64, 128];
/** Head widths that matrix units support, in matrices. */
const HEAD_MATRICES = [4, 8];
/** Subgroups per workgroup on matrix units; each owns a matrix's rows. */
const SUBGROUPS = 4;
/** Elements, of one or more rows, that a workgroup of each kind owns: 8 lanes of 128, or 64 threads of 64. */
const DIMS_PER_GROUP = { subgroup8: 1024, tiled: 4096 };
/** The same for decoding: 8 lanes of 128, or 64 threads of 32. */
const DECODE_DIMS_PER_GROUP = { subgroup8: 1024, tiled: 2048 };

/**
 * Adds out = attention(q, k, v) to a program.
 *
 * @param args `q`, `k`, `v`, `out`: (B, T, H, D); `logSumExp`: (B, T, H) f32, written for
 *   {@link addAttentionBackward}; `segmentStart`: (B, T) u32, the position in the sequence at which each
 *   token's segment begins, at most the token's position, never decreasing along the sequence. `variant`: by
 *   default {@link attentionVariant}.
 */
export function addAttention(
  program: Program,
  args: AttentionShape & AttentionTensors & { variant?: AttentionVariant | undefined },
): void {
  const { q, k, v, segmentStart, out, logSumExp } = args;
  const variant = args.variant ?? attentionVariant(program.registry.gpu.info, args.headDim, [q, k, v]);
  requireShape(`attention_forward_${variant}`, args, { q, k, v, out }, { logSumExp }, segmentStart);
  program.add({
    kernel: `attention_forward_${variant}`,
    bindings: { q, k, v, segmentStart, out, logSumExp },
    ...launch(program.registry.gpu.info, variant, args),
  });
}

/**
 * Adds dq, dk, dv = d(loss)/d(q, k, v) of out = attention(q, k, v), given dOut, to a program.
 *
 * @param args The arguments of {@link addAttention}, which wrote `out` and `logSumExp`; `dOut`, `dq`, `dk`,
 *   `dv`: (B, T, H, D); `delta`: (B, T, H) f32, written between the two dispatches: sum(dOut * out) per head.
 *   Written tensors share no buffer with tensors that are read. `variant`: by default
 *   {@link attentionVariant}.
 */
export function addAttentionBackward(
  program: Program,
  args: AttentionShape & AttentionTensors & {
    dOut: Tensor;
    dq: Tensor;
    dk: Tensor;
    dv: Tensor;
    delta: Tensor;
    variant?: AttentionVariant | undefined;
  },
): void {
  const { q, k, v, out, dOut, logSumExp, segmentStart, dq, dk, dv, delta } = args;
  const { info } = program.registry.gpu;
  const variant = args.variant ?? attentionVariant(info, args.headDim, [q, k, v, out, dOut]);
  requireShape(
    `attention_backward_query_${variant}`,
    args,
    { q, k, v, out, dOut, dq, dk, dv },
    { logSumExp, delta },
    segmentStart,
  );
  const inputs = { q, k, v, dOut, logSumExp, segmentStart, delta };
  program.add({
    kernel: `attention_backward_query_${variant}`,
    bindings: { ...inputs, out, dq },
    ...launch(info, variant, args),
  });
  program.add({
    kernel: `attention_backward_key_${variant}`,
    bindings: { ...inputs, dk, dv },
    ...launch(info, variant, args),
  });
}

export type AttentionVariant = "matrix" | VectorVariant;

type VectorVariant = keyof typeof DIMS_PER_GROUP;

/** Chooses the kernels for an adapter, a head width, and the tensors that are read. */
export function attentionVariant(
  info: Pick<GpuInfo, "subgroupSize" | "matrix">,
  headDim: number,
  inputs: readonly Pick<Tensor, "dtype">[],
): AttentionVariant {
  const suits = info.matrix && HEAD_MATRICES.includes(headDim / info.matrix.side) &&
    inputs.every(({ dtype }) => dtype === "f16");
  return suits ? "matrix" : vectorVariant(info);
}

function vectorVariant(info: Pick<GpuInfo, "subgroupSize">): VectorVariant {
  return info.subgroupSize === 8 ? "subgroup8" : "tiled";
}

/** @throws {KernelError} If the kernels do not support the head width. */
function requireHeadDim(kernel: string, headDim: number): void {
  if (!HEAD_DIMS.includes(headDim)) {
    throw new KernelError(kernel, `headDim is ${headDim}, expected one of ${HEAD_DIMS.join(", ")}`);
  }
}

function launch(
  info: GpuInfo,
  variant: AttentionVariant,
  { batchSize, sequenceLength, numHeads, headDim }: AttentionShape,
): { overrides: Record<string, number>; params: Record<string, number>; grid: [number, number, number] } {
  const { overrides, params } = {
    matrix: { overrides: { SUBGROUPS }, params: {} },
    subgroup8: { overrides: {}, params: { slotParts: 32 } },
    tiled: productLoops(info),
  }[variant];
  const ownRows = variant === "matrix"
    ? SUBGROUPS * (info.matrix?.side ?? 0)
    : DIMS_PER_GROUP[variant] / headDim;
  return {
    overrides: { HEAD_DIM: headDim, ...overrides },
    params: { sequenceLength, numHeads, ...params },
    grid: [Math.ceil(sequenceLength / ownRows), numHeads, batchSize],
  };
}

function requireShape(
  kernel: string,
  { batchSize, sequenceLength, numHeads, headDim }: AttentionShape,
  perElement: Record<string, Tensor>,
  perHead: Record<string, Tensor>,
  segmentStart: Tensor,
): void {
  requireHeadDim(kernel, headDim);
  const rows = batchSize * sequenceLength;
  requireLength(kernel, rows, { segmentStart });
  requireLength(kernel, rows * numHeads, perHead);
  requireLength(kernel, rows * numHeads * headDim, perElement);
}

// Attention of rows that continue prompts, for decoding. Each row attends to the keys of its prompt, which
// are stored once for all rows of the prompt, and to the keys of its suffix, including the newest. Rows that
// branched off the same row share its suffix up to that point. Rows that continue different parts of a prompt
// share its tiles; each row has its own end.
//
// Measured on 2 cores of lavapipe (Mesa 25.0, 2026-11-21), one step of 62 prompts of 20 tokens with 132 rows
// each, 4 heads of 32: 7.6 ms on both cores per block with subgroups of 8, 11 % of the step; the matrix
// products take 81 %.
//
// Source: Juravsky et al., Hydragen: High-Throughput LLM Inference with Shared Prefixes, 2024.

/** `headDim` is 32, 64 or 128. */
export interface DecodeShape {
  /** N, the rows of this program. */
  readonly numRows: number;
  /** S, the keys of each row's suffix, 0 or more. */
  readonly numSteps: number;
  readonly numHeads: number;
  readonly headDim: number;
}

/** Rows that continue one prompt. */
export interface DecodeTile {
  readonly firstKey: number;
  /** One past the last key visible to any of the rows. */
  readonly endKey: number;
  readonly firstRow: number;
  /** One past the last row; at most {@link decodeTileRows} rows after the first. */
  readonly endRow: number;
}

/** Maximum number of rows of a tile on an adapter. */
export function decodeTileRows(info: Pick<GpuInfo, "subgroupSize">, headDim: number): number {
  return DECODE_DIMS_PER_GROUP[vectorVariant(info)] / headDim;
}

/**
 * Splits the rows of prompts into tiles. Consecutive prompts that begin at the same key share tiles.
 *
 * @param prompts Each prompt's keys and rows, as one tile of any number of rows.
 * @param tileRows The result of {@link decodeTileRows}.
 */
export function decodeTiles(prompts: readonly DecodeTile[], tileRows: number): DecodeTile[] {
  const tiles: DecodeTile[] = [];
  for (const prompt of prompts) {
    for (let firstRow = prompt.firstRow; firstRow < prompt.endRow;) {
      const open = tiles.at(-1);
      const goesOn = open?.firstKey === prompt.firstKey && open.endRow - open.firstRow < tileRows;
      const tile = goesOn ? open : { ...prompt, firstRow };
      if (goesOn) tiles.pop();
      const endRow = Math.min(tile.firstRow + tileRows, prompt.endRow);
      tiles.push({ ...tile, endKey: Math.max(tile.endKey, prompt.endKey), endRow });
      firstRow = endRow;
    }
  }
  return tiles;
}

/**
 * Adds out = attention(q, keys of the row's prompt and suffix) to a program.
 *
 * @param args `q`, `out`: (N, H, D) f32; `promptK`, `promptV`: (P, H, D) f32, the keys of all prompts one
 *   after the other; `suffixK`, `suffixV`: (M, H, D) f32, keys that rows appended; `rowKeys`: (1 + S, N) u32,
 *   for each row the end of the prompt's keys visible to it, at least one, then the index of its key at each
 *   step, below M; `tiles`: (numTiles, 4) u32, the fields of {@link DecodeTile} in order, at most P and N;
 *   tiles without rows (zeros) are skipped. `out` shares no buffer with the others; rows in no tile are
 *   unchanged.
 */
export function addAttentionDecode(
  program: Program,
  args: DecodeShape & {
    q: Tensor;
    promptK: Tensor;
    promptV: Tensor;
    suffixK: Tensor;
    suffixV: Tensor;
    rowKeys: Tensor;
    tiles: Tensor;
    numTiles: number;
    out: Tensor;
  },
): void {
  const { q, promptK, promptV, suffixK, suffixV, rowKeys, tiles, out } = args;
  const { numRows, numSteps, numHeads, headDim, numTiles } = args;
  const variant = vectorVariant(program.registry.gpu.info);
  const kernel = `attention_decode_${variant}` as const;
  requireHeadDim(kernel, headDim);
  const rowLength = numHeads * headDim;
  requireLength(kernel, rowLength, { promptK, promptV, suffixK, suffixV });
  requireLength(kernel, numRows * rowLength, { q, out });
  requireLength(kernel, (1 + numSteps) * numRows, { rowKeys });
  requireLength(kernel, numTiles * 4, { tiles });
  const sizes = { numRows, numHeads, numSteps };
  program.add({
    kernel,
    overrides: { HEAD_DIM: headDim },
    bindings: { q, k: promptK, v: promptV, suffixK, suffixV, rowKeys, tiles, out },
    params: variant === "subgroup8" ? { ...sizes, slotParts: 32 } : { ...sizes, tileRows: 512 / headDim },
    grid: [numTiles, numHeads],
  });
}
