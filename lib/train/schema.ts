/**
 * The training loop's section of the run configuration.
 *
 * With the sections `model`, `data` and `optim` it decides the losses of a run, and when the run is logged, evaluated
 * and saved. Its inputs and outputs are on the command line.
 *
 * @module
 */
import * as z from "zod";

/** The section `train` of the run configuration. Counts are at least 1, and at most 1,000,000,000 unless they say less. */
export interface TrainConfig {
  /** Optimizer steps of the whole run; the learning rate's schedule spans them. */
  steps: number;
  /**
   * The run may end after so many steps, and after 2, 4, 8, ... times as many: each time validation says whether it goes
   * on, see step_choice.ts. The schedule then spans the steps to the next end. Null: `steps` is the only end.
   */
  firstSteps: number | null;
  /** Sequences that one optimizer step averages over (the effective batch); at most {@link MAX_TOKENS} tokens together. */
  batchSize: number;
  /** Sequences that pass through the model at a time; divides `batchSize`. */
  microBatchSize: number;
  /** Keep the activations of one block only and recompute the others in the backward pass: less memory, a third more work. */
  checkpointActivations: boolean;
  /**
   * How activations, their gradients and the operands of matrix products are stored. Sums, weights and the optimizer's
   * state are always f32.
   */
  dtype: "f32" | "f16";
  /**
   * Weights of an extra term of the gradient: the Wasserstein-1 distance, in units of 255 bytes, between predicted and
   * true byte, at the first and the second byte of an RTT code. Such as [0.5, 0.1], 0 to 1,000,000 each; null for none.
   * Reported losses do not contain it.
   */
  rttDistanceWeights: [number, number] | null;
  /**
   * Weight of the two bytes of an RTT code in the gradient, 1e-6 to 1e6; other tokens have 1. Reported losses are not
   * weighted.
   */
  rttByteWeight: number;
  /**
   * With a teacher, the share of its distributions in the gradient at the two bytes of an RTT code, 0 to 1; the data has the
   * rest.
   */
  teacherWeight: number;
  /** Number format in which ranks exchange gradients or weights; i8 only for weights (`syncEverySteps` above 1). */
  exchangeDtype: "f32" | "f16" | "i8";
  /** Steps between exchanges of ranks: 1 sums gradients; with more, each rank trains by itself in between. */
  syncEverySteps: number;
  /** Learning rate of the step along the ranks' mean change, with `syncEverySteps` above 1; 0 to 10. */
  outerLearningRate: number;
  /** Nesterov momentum of that step, 0 to 0.999999. */
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
 * The most tokens of a step, and of the validation set: 0.5 GB each. Models are trained with smaller batches (Brown et
 * al., Language Models are Few-Shot Learners, 2020, table 2.1: 3.2 million).
 */
export const MAX_TOKENS = 2 ** 26;

const count = z.int().min(1).max(1e9);
const weight = z.number().min(0).max(1e6);

/** Schema of the section `train`, with its defaults. */
export const trainConfigSchema: z.ZodType<TrainConfig> = z.strictObject({
  steps: count,
  firstSteps: count.nullable().default(null),
  batchSize: count.default(256),
  microBatchSize: count.default(8),
  checkpointActivations: z.boolean().default(false),
  dtype: z.enum(["f32", "f16"]).default("f32"),
  rttDistanceWeights: z.tuple([weight, weight]).nullable().default(null),
  rttByteWeight: z.number().min(1e-6).max(1e6).default(1),
  teacherWeight: z.number().min(0).max(1).default(0.5),
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

/** The section `autosize`: makes one configuration serve data of any size. Its steps and rows are upper bounds. */
export interface AutosizeConfig {
  /**
   * How many passes over the training measurements are enough, 0.01 to 10,000. It lowers `train.steps` and
   * `model.pairVectors.dropShare`.
   */
  passes: number;
  /**
   * How many passes may follow as long as validation gets better, 0.01 to 10,000; null for none. It lowers `train.steps`,
   * and `passes` then sets `train.firstSteps`.
   */
  maxPasses: number | null;
  /** Table rows for each prefix and each pair of the data, 1 to 8. It lowers the numbers of rows of the section `model`. */
  rowsPerKey: number;
  /**
   * Further rows for addresses and pairs that the model is adapted to later, 0 to 64 times as many as the data need, as
   * far as the section `model` and a buffer of any adapter allow.
   */
  spareRows: number;
}

/** Schema of the section `autosize`. */
export const autosizeConfigSchema: z.ZodType<AutosizeConfig> = z.strictObject({
  passes: z.number().min(0.01).max(10_000),
  maxPasses: z.number().min(0.01).max(10_000).nullable().default(null),
  rowsPerKey: z.number().min(1).max(8).default(1.25),
  spareRows: z.number().min(0).max(64).default(1),
});
