/**
 * Where the two bytes of an RTT code are predicted (vocabulary v2).
 *
 * @module
 */
import { BYTE_BASE, RTT_START } from "../tokens/vocab_v2.ts";
import type { OrdinalTerm } from "../gpu/ops/cross_entropy.ts";
import type { ModelBatch } from "./batch_rows.ts";

/** The extra term of the gradient for these weights, see `rttDistanceWeights` of `ModelExtent`. */
export function rttDistanceTerm(weights: readonly [number, number]): OrdinalTerm {
  return { firstByte: BYTE_BASE, weights };
}

/**
 * The loss mask with 2 where the target is the first byte of an RTT code, and 3 where it is the second.
 *
 * @param sequenceLength T of the batch's (B, T).
 */
export function markRttBytes(
  { tokens, lossMask, segmentStart }: ModelBatch,
  sequenceLength: number,
): Uint8Array {
  return lossMask.map((counts, row) => {
    if (!counts) return 0;
    if (tokens[row] === RTT_START) return 2;
    const isFirst = row % sequenceLength === segmentStart[row];
    return !isFirst && tokens[row - 1] === RTT_START ? 3 : 1;
  });
}
