/**
 * Attention of rows that continue prompts. Each row attends to the keys of its prompt, which are stored once for all rows
 * of the prompt, and to the keys of its own suffix, including the newest. Rows that branched off one row share its
 * suffix up to that point. Rows that continue different parts of one prompt share its tiles; each row has its own end.
 *
 * Two kernels, as for {@link addAttention}: for subgroups of 8 lanes (Mesa's lavapipe), and for every other adapter.
 *
 * Measured on 2 cores of lavapipe (Mesa 25.0, 2026-11-21), one step of 62 prompts of 20 tokens with 132 rows each,
 * 4 heads of 32: 7.6 ms of both cores a block with subgroups of 8, 11 % of the step; the matrix products take 81 %.
 *
 * Source: Juravsky et al., Hydragen: High-Throughput LLM Inference with Shared Prefixes, 2024.
 *
 * @module
 */
import type { GpuInfo } from "../device.ts";
import type { Program } from "../program.ts";
import type { Tensor } from "../tensor.ts";
import { attentionVariant, DIMS_PER_GROUP, requireHeadDim } from "./attention.ts";
import { requireLength } from "./require.ts";

/** The sizes of a decoding step; `headDim` is 32, 64 or 128. */
export interface DecodeShape {
  /** N, the rows of this program. */
  readonly numRows: number;
  /** S, the keys of each row's suffix, 0 or more. */
  readonly numSteps: number;
  readonly numHeads: number;
  readonly headDim: number;
}

/** A tile: rows that continue one prompt. */
export interface DecodeTile {
  /** The prompt's first key. */
  readonly firstKey: number;
  /** One past the last key that one of the rows sees. */
  readonly endKey: number;
  readonly firstRow: number;
  /** One past the last row; at most {@link decodeTileRows} rows after the first. */
  readonly endRow: number;
}

/** The largest number of rows of a tile on an adapter. */
export function decodeTileRows(info: Pick<GpuInfo, "subgroupSize">, headDim: number): number {
  return DIMS_PER_GROUP[attentionVariant(info)] / headDim;
}

/**
 * Cuts the rows of prompts into tiles. Consecutive prompts that begin at the same key share tiles.
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
 * @param args `q`, `out`: (N, H, D) f32; `promptK`, `promptV`: (P, H, D) f32, every prompt's keys one after the
 *   other; `suffixK`, `suffixV`: (M, H, D) f32, keys that rows appended; `rowKeys`: (1 + S, N) u32, for each row the
 *   end of the prompt's keys that it sees, at least one, then the index of its own key at each step, below M; `tiles`:
 *   (numTiles, 4) u32, the fields of {@link DecodeTile} in order, at most P and N; tiles without rows (zeros) are
 *   skipped. `out` shares no buffer with the others; rows in no tile are unchanged.
 * @throws {KernelError} If a tensor is too small or `headDim` is not 32, 64 or 128.
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
  const variant = attentionVariant(program.registry.gpu.info);
  const kernel = `attention_decode_${variant}` as const;
  requireHeadDim(kernel, headDim);
  const rowLength = numHeads * headDim;
  requireLength(kernel, rowLength, { promptK, promptV, suffixK, suffixV });
  requireLength(kernel, numRows * rowLength, { q, out });
  requireLength(kernel, (1 + numSteps) * numRows, { rowKeys });
  requireLength(kernel, numTiles * 4, { tiles });
  const sizes = { num_rows: numRows, num_heads: numHeads, num_steps: numSteps };
  program.add({
    kernel,
    overrides: { HEAD_DIM: headDim },
    bindings: {
      q,
      k: promptK,
      v: promptV,
      suffix_k: suffixK,
      suffix_v: suffixV,
      row_keys: rowKeys,
      tiles,
      out,
    },
    params: variant === "subgroup8"
      ? { ...sizes, slot_parts: 32 }
      : { ...sizes, slice_parts: 8, tile_rows: 512 / headDim },
    grid: [numTiles, numHeads],
  });
}
