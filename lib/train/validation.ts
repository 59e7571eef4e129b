/** The loss on the fixed validation batches. @module */
import type { Batch } from "../loader/batches.ts";
import { markRttBytes } from "../model/rtt_rows.ts";
import type { Transformer } from "../model/transformer.ts";

/** How well a model predicts the validation batches. */
export interface ValidationResult {
  /** Mean over the unmasked targets, nats per token. */
  loss: number;
  /** Mean over the RTT codes, bits per code of two bytes; null in v1, or where there is none. */
  rttBits: number | null;
}

/**
 * Evaluates a model.
 *
 * @param model The model; its batch size is that of the batches.
 * @param batches Fixed batches, at least one unmasked target among them.
 * @returns Means, summed in float64.
 */
export async function validate(model: Transformer, batches: readonly Batch[]): Promise<ValidationResult> {
  let [sum, numTargets] = [0, 0];
  let [rttSum, numCodes] = [0, 0];
  for (const batch of batches) {
    const losses = await model.evaluateLosses(batch);
    const marks = markRttBytes(batch, model.extent.sequenceLength);
    losses.forEach((loss, row) => {
      sum += loss;
      if (marks[row] >= 2) rttSum += loss;
      if (marks[row] === 2) numCodes++;
    });
    numTargets += batch.numTargets;
  }
  const hasCodes = model.config.vocabulary === "v2" && numCodes > 0;
  return { loss: sum / numTargets, rttBits: hasCodes ? rttSum / numCodes / Math.LN2 : null };
}
