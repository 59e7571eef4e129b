/** The loss on the fixed validation batches. @module */
import type { Batch } from "../loader/batches.ts";
import { markRttBytes } from "../model/batch_rows.ts";
import type { Transformer } from "../model/transformer.ts";
import { ALONE, type RankSums } from "./ranks.ts";

/** How well a model predicts the validation batches. */
export interface ValidationResult {
  /** Mean over the unmasked targets, nats per token. */
  loss: number;
  /** Mean over the RTT codes, bits per code of two bytes; null in vocabulary v1 or without codes. */
  rttBits: number | null;
}

/**
 * Evaluates a model.
 *
 * @param model The model; its batch size is that of the batches.
 * @param batches Fixed batches, at least one unmasked target among them.
 * @param ranks The ranks that share the batches.
 * @returns Means, summed in float64.
 */
export async function validate(
  model: Transformer,
  batches: readonly Batch[],
  ranks: RankSums = ALONE,
): Promise<ValidationResult> {
  const { rank, size } = ranks.share;
  let ownSum = 0;
  let ownTargets = 0;
  let ownRttSum = 0;
  let ownCodes = 0;
  for (let i = rank; i < batches.length; i += size) {
    const batch = batches[i];
    const losses = await model.evaluateLosses(batch);
    const marks = markRttBytes(batch, model.extent.sequenceLength);
    losses.forEach((loss, row) => {
      ownSum += loss;
      if (marks[row] >= 2) ownRttSum += loss;
      if (marks[row] === 2) ownCodes++;
    });
    ownTargets += batch.numTargets;
  }
  const [sum, numTargets, rttSum, numCodes] = await ranks.sum([ownSum, ownTargets, ownRttSum, ownCodes]);
  const hasCodes = model.config.vocabulary === "v2" && numCodes > 0;
  return { loss: sum / numTargets, rttBits: hasCodes ? rttSum / numCodes / Math.LN2 : null };
}
