/**
 * Where the two bytes of an RTT code are predicted (vocabulary v2).
 *
 * @module
 */
import { BYTE_BASE, RTT_START } from "../tokens/vocab_v2.ts";
import type { OrdinalTerm } from "../gpu/ops/cross_entropy.ts";
import type { ModelBatch } from "./batch_rows.ts";

/** The term of the loss for bytes of these weights, see `rttDistanceWeights` of `ModelExtent`. */
export function rttDistanceTerm(weights: readonly [number, number]): OrdinalTerm {
  return { firstByte: BYTE_BASE, weights };
}

/**
 * The loss mask with 2 and 3 where the target is the first and the second byte of an RTT code.
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
