/** The share of a batch that one of several ranks works on. @module */
import type { ModelBatch } from "./batch_rows.ts";

/** One of the ranks that train together. */
export interface Share {
  /** From 0. */
  readonly rank: number;
  /** How many ranks there are; divides the sequences of a batch. */
  readonly size: number;
}

/** The sequences r, r + R, … of a batch, for rank r of R. @param numSequences Sequences of the whole batch. */
export function shareOf(batch: ModelBatch, numSequences: number, share: Share): ModelBatch {
  return {
    tokens: shareOfRows(batch.tokens, numSequences, share),
    targets: shareOfRows(batch.targets, numSequences, share),
    lossMask: shareOfRows(batch.lossMask, numSequences, share),
    segmentStart: shareOfRows(batch.segmentStart, numSequences, share),
    ...(batch.recalls ? { recalls: shareOfRows(batch.recalls, numSequences, share) } : {}),
  };
}

/** The rows r, r + R, … of an array, for rank r of R. @param numRows Rows of the whole array. */
export function shareOfRows<T extends Uint8Array | Uint16Array | Uint32Array>(
  array: T,
  numRows: number,
  { rank, size }: Share,
): T {
  const length = array.length / numRows;
  const own = array.slice(0, array.length / size) as T;
  for (let row = rank, at = 0; row < numRows; row += size, at += length) {
    own.set(array.subarray(row * length, (row + 1) * length), at);
  }
  return own;
}
