/**
 * The training loop's section of the run configuration.
 *
 * Design 04-model ("The loop", "Optimizers"). What is here decides the losses of a run (with the sections
 * `model`, `data` and `optim`) or when it is looked at; where it reads and writes is on the command line.
 *
 * @module
 */
import { z } from "zod";

/** The section `train` of the run configuration. */
export interface TrainConfig {
  /** Optimizer steps of the whole run; the learning rate's schedule spans them. */
  steps: number;
  /** Sequences that one optimizer step averages over (the effective batch). */
  batchSize: number;
  /** Sequences that pass through the model at a time; divides `batchSize`. */
  microBatchSize: number;
  /** Keep one block's activations and compute the others again on the way back: less memory, a third more work. */
  checkpointActivations: boolean;
  /**
   * How activations, their gradients and the copies of weights that matrices are multiplied with are stored; sums are
   * f32 with either, so are the weights themselves and the optimizer's state.
   */
  dtype: "f32" | "f16";
  /**
   * Weights of the distance (Wasserstein-1, in units of 255 bytes) between predicted and true RTT at the first and the
   * second byte of its code, such as [0.5, 0.1]; null for none. Losses that are shown never contain it.
   */
  rttDistanceWeights: [number, number] | null;
  /** Weight of the two bytes of an RTT code in the gradient, where other tokens have 1; shown losses have no weights. */
  rttByteWeight: number;
  /** Steps between two logged lines of metrics.jsonl. */
  logEverySteps: number;
  /** Steps between two evaluations on the validation batches. */
  evalEverySteps: number;
  /** Sequences of the fixed validation set; a multiple of `microBatchSize`. */
  evalSequences: number;
  /** Steps between two checkpoints. */
  checkpointEverySteps: number;
  /** How many of the last checkpoints are kept, beside the best one by validation loss. */
  keepCheckpoints: number;
  /** Steps in a row with a non-finite loss or gradient after which the run stops. */
  maxSkippedSteps: number;
}

const count = z.int().min(1);

/** Schema of the section `train`, with its defaults. */
export const trainConfigSchema: z.ZodType<TrainConfig> = z.strictObject({
  steps: count,
  batchSize: count.default(256),
  microBatchSize: count.default(8),
  checkpointActivations: z.boolean().default(false),
  dtype: z.enum(["f32", "f16"]).default("f32"),
  rttDistanceWeights: z.tuple([z.number().min(0), z.number().min(0)]).nullable().default(null),
  rttByteWeight: z.number().positive().default(1),
  logEverySteps: count.default(1),
  evalEverySteps: count.default(200),
  evalSequences: count.default(64),
  checkpointEverySteps: count.default(200),
  keepCheckpoints: count.default(3),
  maxSkippedSteps: count.default(10),
});
