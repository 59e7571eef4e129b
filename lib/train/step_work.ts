/**
 * How a step is worked on: by this process alone, or by ranks that sum their gradients.
 *
 * @module
 */
import type { InterruptedError, UserError } from "../errors.ts";
import type { Batch } from "../loader/batches.ts";
import type { Transformer } from "../model/transformer.ts";
import type { Communicator } from "../mpi/communicator.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { GradientExchange } from "./gradient_exchange.ts";
import { agreeOn, ALONE, checkSameWeights, type RankSums, type StepWishes } from "./ranks.ts";

/** Works on the steps of a run. All ranks call the same, in the same order. */
export interface StepWork extends RankSums {
  /**
   * Starts the passes of a micro-batch, forward and backward; returns before they are done.
   *
   * @param batch That of all ranks. @param step Of which it is a part.
   */
  add(batch: Batch, step: { numTargets: number; isLastBatch: boolean }): void;
  /** Updates the weights with the gradients of all ranks. @param stepIndex From 0. */
  finish(stepIndex: number): Promise<void>;
  /** What any rank wishes. */
  agree(own: StepWishes<InterruptedError>): Promise<StepWishes<UserError>>;
  /**
   * How many steps there are from the last time that all ranks had the same weights to this one; 0 if they have not.
   *
   * @param step Steps done.
   */
  numShared(step: number): number;
  /** What it keeps between steps, for checkpoints: the name of a parameter, a dot, what it is. */
  readonly state: ReadonlyMap<string, Float32Array>;
  /** Makes sure that the ranks have the same weights. @throws {UserError} If not. */
  checkWeights(weights: ReadonlyMap<string, Float32Array>, step: number): Promise<void>;
}

/** What a step is worked on with. */
interface StepParts {
  model: Transformer;
  optimizer: Optimizer;
}

/** Works alone. */
export function workAlone({ model, optimizer }: StepParts): StepWork {
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

/** Works with other ranks. @param exchange Sums gradients. */
export function workTogether(
  ranks: Communicator,
  { optimizer, exchange }: StepParts & { exchange: GradientExchange },
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
