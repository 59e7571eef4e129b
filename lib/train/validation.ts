/** The loss on the fixed validation batches. @module */
import type { Batch } from "../loader/batches.ts";
import type { Transformer } from "../model/transformer.ts";

/**
 * Evaluates a model.
 *
 * @param model The model; its batch size is that of the batches.
 * @param batches Fixed batches, at least one unmasked target among them.
 * @returns Mean loss over the unmasked targets in nats per token, summed in float64.
 */
export async function validationLoss(model: Transformer, batches: readonly Batch[]): Promise<number> {
  let sum = 0;
  let numTargets = 0;
  for (const batch of batches) {
    for (const loss of await model.evaluateLosses(batch)) sum += loss;
    numTargets += batch.numTargets;
  }
  return sum / numTargets;
}
