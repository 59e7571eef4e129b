/**
 * How a step is worked on: by this process alone, by ranks that sum their gradients, or by ranks that exchange weights.
 *
 * @module
 */
import type { Gpu } from "../gpu/device.ts";
import type { Transformer } from "../model/transformer.ts";
import type { Communicator } from "../mpi/communicator.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { ResumableCheckpoint } from "./checkpoint_files.ts";
import type { RunConfig } from "./run_config.ts";
import { GradientExchange } from "./gradient_exchange.ts";
import { LocalSteps } from "./local_steps.ts";
import { agreeOn, ALONE, checkSameWeights, type RankSums, type StepWork } from "./ranks.ts";

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
  { config: { train }, ranks, resumed, onLog }: {
    config: RunConfig;
    ranks: Communicator | undefined;
    resumed: ResumableCheckpoint | undefined;
    onLog: (line: string) => void;
  },
): Promise<StepWork> {
  if (!ranks) return workAlone({ model, optimizer });
  if (train.syncEverySteps > 1) {
    return await LocalSteps.open(ranks, { model, optimizer, config: train, resumed, onLog });
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
    saveOwn: () => Promise.resolve(),
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
    saveOwn: () => Promise.resolve(),
  };
}
