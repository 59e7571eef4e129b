/**
 * The training loop's section of the run configuration.
 *
 * Design 04-model ("The loop", "Optimizers"). What is here decides the losses of a run (with the sections
 * `model`, `data` and `optim`) or when it is looked at; where it reads and writes is on the command line.
 *
 * @module
 */
import { z } from "zod";

const count = z.int().min(1);

/** Schema of the section `train`. */
export const trainConfigSchema = z.strictObject({
  /** Optimizer steps of the whole run; the learning rate's schedule spans them. */
  steps: count,
  /** Sequences that one optimizer step averages over (the effective batch). */
  batchSize: count.default(256),
  /** Sequences that pass through the model at a time; divides `batchSize`. */
  microBatchSize: count.default(8),
  /** Steps between two logged lines of metrics.jsonl. */
  logEverySteps: count.default(1),
  /** Steps between two evaluations on the validation batches. */
  evalEverySteps: count.default(200),
  /** Sequences of the fixed validation set; a multiple of `microBatchSize`. */
  evalSequences: count.default(64),
  /** Steps between two checkpoints. */
  checkpointEverySteps: count.default(200),
  /** How many of the last checkpoints are kept, beside the best one by validation loss. */
  keepCheckpoints: count.default(3),
  /** Steps in a row with a non-finite loss or gradient after which the run stops. */
  maxSkippedSteps: count.default(10),
});

/** The section `train` of the run configuration. */
export type TrainConfig = z.infer<typeof trainConfigSchema>;
