/** The entropy of tokens taken one by one, which any model of sequences must beat. @module */
import type { Batch } from "../loader/batches.ts";

/**
 * The unigram entropy of the unmasked targets of batches: the loss, in bits per token, of the best predictor
 * that knows how often each token occurs in them and nothing else.
 */
export function unigramEntropyBits(batches: readonly Pick<Batch, "targets" | "lossMask">[]): number {
  const counts = new Map<number, number>();
  let total = 0;
  for (const { targets, lossMask } of batches) {
    for (let i = 0; i < targets.length; i++) {
      if (lossMask[i] === 0) continue;
      counts.set(targets[i], (counts.get(targets[i]) ?? 0) + 1);
      total++;
    }
  }
  let bits = 0;
  for (const count of counts.values()) bits -= count / total * Math.log2(count / total);
  return bits;
}
