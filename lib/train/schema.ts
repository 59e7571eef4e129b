/**
 * The training loop's section of the run configuration.
 *
 * With the sections `model`, `data` and `optim` it decides the losses of a run, and when the run is logged, evaluated
 * and saved. What the run reads and writes is on the command line.
 *
 * @module
 */
import { z } from "zod";

/** The section `train` of the run configuration. Counts are at least 1, and at most 1,000,000,000 unless they say less. */
export interface TrainConfig {
  /** Optimizer steps of the whole run; the learning rate's schedule spans them. */
  steps: number;
  /** Sequences that one optimizer step averages over (the effective batch); at most {@link MAX_TOKENS} tokens together. */
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
   * second byte of its code, such as [0.5, 0.1], 0 to 1,000,000 each; null for none. Losses that are shown never
   * contain it.
   */
  rttDistanceWeights: [number, number] | null;
  /**
   * Weight of the two bytes of an RTT code in the gradient, 1e-6 to 1e6, where other tokens have 1; shown losses have no
   * weights.
   */
  rttByteWeight: number;
  /** How numbers travel between ranks; i8 for differences of weights (`syncEverySteps` above 1) only. */
  exchangeDtype: "f32" | "f16" | "i8";
  /** Steps between two exchanges of ranks: 1 sums gradients, more lets each rank train by itself in between. */
  syncEverySteps: number;
  /** How far the weights of all follow the mean of the ranks, where they train by themselves, 0 to 10. */
  outerLearningRate: number;
  /** Nesterov momentum of that, 0 to 0.999999. */
  outerMomentum: number;
  /** Steps between two logged lines of metrics.jsonl. */
  logEverySteps: number;
  /** Steps between two evaluations on the validation batches. */
  evalEverySteps: number;
  /** Sequences of the fixed validation set; a multiple of `microBatchSize`, at most {@link MAX_TOKENS} tokens together. */
  evalSequences: number;
  /** Steps between two checkpoints. */
  checkpointEverySteps: number;
  /** How many of the last checkpoints are kept, beside the best one by validation loss. */
  keepCheckpoints: number;
  /** Steps in a row with a non-finite loss or gradient after which the run stops. */
  maxSkippedSteps: number;
}

/**
 * Tokens of a step, and again of the validation set, at most: 0.5 GB each. Larger batches than any model is trained with
 * (Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1: 3.2 million).
 */
export const MAX_TOKENS = 2 ** 26;

const count = z.int().min(1).max(1e9);
const weight = z.number().min(0).max(1e6);

/** Schema of the section `train`, with its defaults. */
export const trainConfigSchema: z.ZodType<TrainConfig> = z.strictObject({
  steps: count,
  batchSize: count.default(256),
  microBatchSize: count.default(8),
  checkpointActivations: z.boolean().default(false),
  dtype: z.enum(["f32", "f16"]).default("f32"),
  rttDistanceWeights: z.tuple([weight, weight]).nullable().default(null),
  rttByteWeight: z.number().min(1e-6).max(1e6).default(1),
  exchangeDtype: z.enum(["f32", "f16", "i8"]).default("f32"),
  syncEverySteps: count.default(1),
  outerLearningRate: z.number().min(0).max(10).default(0.7),
  outerMomentum: z.number().min(0).max(0.999999).default(0.6),
  logEverySteps: count.default(1),
  evalEverySteps: count.default(200),
  evalSequences: count.default(64),
  checkpointEverySteps: count.default(200),
  keepCheckpoints: count.default(3),
  maxSkippedSteps: count.default(10),
});

/** The section `fit`: one configuration for data of any size, whose own numbers of steps and rows are the most. */
export interface FitConfig {
  /**
   * Passes over the measurements of the training that are enough, 0.01 to 10,000: fewer steps than `train.steps`, and
   * smaller shares of contexts to which a pair is unknown than `model.pairVectors.dropShare`.
   */
  passes: number;
  /** Rows for each prefix and for each pair of the data, 1 to 8: fewer than the tables of the section `model` have. */
  rowsPerKey: number;
}

/** Schema of the section `fit`. */
export const fitConfigSchema: z.ZodType<FitConfig> = z.strictObject({
  passes: z.number().min(0.01).max(10_000),
  rowsPerKey: z.number().min(1).max(8).default(1.25),
});
