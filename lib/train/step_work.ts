/**
 * How a step is worked on: by this process alone, by ranks that sum their gradients, or by ranks that exchange weights.
 *
 * @module
 */
import type { InterruptedError, UserError } from "../errors.ts";
import type { Gpu } from "../gpu/device.ts";
import type { Batch } from "../loader/batches.ts";
import type { Transformer } from "../model/transformer.ts";
import type { Communicator } from "../mpi/communicator.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { ResumableCheckpoint } from "./checkpoint_files.ts";
import type { RunConfig } from "./config.ts";
import { GradientExchange } from "./gradient_exchange.ts";
import { LocalSteps } from "./local_steps.ts";
import { agreeOn, ALONE, checkSameWeights, type RankSums, type StepWishes } from "./ranks.ts";

/** Works on the steps of a run. All ranks make the same calls in the same order. */
export interface StepWork extends RankSums {
  /**
   * Starts the passes of a micro-batch, forward and backward; returns before they are done.
   *
   * @param batch The micro-batch of all ranks together.
   * @param step The step that it is a part of.
   */
  add(batch: Batch, step: { numTargets: number; isLastBatch: boolean }): void;
  /** Updates the weights with the gradients of all ranks. @param stepIndex From 0. */
  finish(stepIndex: number): Promise<void>;
  /** Joins the wishes of all ranks. */
  agree(own: StepWishes<InterruptedError>): Promise<StepWishes<UserError>>;
  /**
   * Steps since the ranks had the same weights before, if they have the same now; else 0.
   *
   * @param step Steps done.
   */
  numShared(step: number): number;
  /** What it keeps between steps, by its name in checkpoints (lib/train/README.md). */
  readonly state: ReadonlyMap<string, Float32Array>;
  /** Checks that the ranks have the same weights. @throws {UserError} If not. */
  checkWeights(weights: ReadonlyMap<string, Float32Array>, step: number): Promise<void>;
}

interface StepParts {
  model: Transformer;
  optimizer: Optimizer;
}

/**
 * Chooses how steps are worked on.
 *
 * @param run `ranks`: undefined for one process; `resumed`: the checkpoint that the run continues from.
 */
export async function openWork(
  gpu: Gpu,
  { model, optimizer }: StepParts,
  { config: { train }, ranks, resumed }: {
    config: RunConfig;
    ranks: Communicator | undefined;
    resumed: ResumableCheckpoint | undefined;
  },
): Promise<StepWork> {
  if (!ranks) return workAlone({ model, optimizer });
  if (train.syncEverySteps > 1) {
    const step = resumed?.state.step ?? 0;
    return await LocalSteps.open(ranks, { model, optimizer, config: train, state: resumed?.optimizer, step });
  }
  const exchange = new GradientExchange(gpu, model, { ranks, format: train.exchangeDtype });
  return workTogether(ranks, { optimizer, exchange });
}

function workAlone({ model, optimizer }: StepParts): StepWork {
  return {
    ...ALONE,
    add: (batch, { numTargets }) => model.accumulate(batch, 1 / numTargets),
    finish: (stepIndex) => Promise.resolve(optimizer.step(stepIndex)),
    agree: (own) => Promise.resolve(own),
    numShared: () => 1,
    state: new Map(),
    checkWeights: () => Promise.resolve(),
  };
}

function workTogether(
  ranks: Communicator,
  { optimizer, exchange }: { optimizer: Optimizer; exchange: GradientExchange },
): StepWork {
  const sums: RankSums = { share: ranks, sum: (values) => ranks.sumOf(...values) };
  return {
    ...sums,
    add: (batch, { numTargets, isLastBatch }) => exchange.add(batch, 1 / numTargets, { isLastBatch }),
    async finish(stepIndex) {
      await exchange.finish();
      optimizer.step(stepIndex);
    },
    agree: (own) => agreeOn(sums, own),
    numShared: () => 1,
    state: new Map(),
    checkWeights: (weights, step) => checkSameWeights(ranks, weights, step),
  };
}
