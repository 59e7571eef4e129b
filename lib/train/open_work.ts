/**
 * Who works on the steps of a run: this process alone, ranks that sum gradients, or ranks that follow their mean.
 *
 * @module
 */
import type { Gpu } from "../gpu/device.ts";
import type { Transformer } from "../model/transformer.ts";
import type { Communicator } from "../mpi/communicator.ts";
import type { Optimizer } from "../optim/optimizer.ts";
import type { ResumableCheckpoint } from "./checkpoint.ts";
import type { RunConfig } from "./config.ts";
import { GradientExchange } from "./gradient_exchange.ts";
import { LocalSteps } from "./local_steps.ts";
import { type StepWork, workAlone, workTogether } from "./step_work.ts";

/** Opens the work. @param run `ranks`: undefined if alone; `resumed`: what it goes on from. */
export async function openWork(
  gpu: Gpu,
  { model, optimizer }: { model: Transformer; optimizer: Optimizer },
  { config: { train }, ranks, resumed }: {
    config: RunConfig;
    ranks: Communicator | undefined;
    resumed: ResumableCheckpoint | undefined;
  },
): Promise<StepWork> {
  if (!ranks) return workAlone({ model, optimizer });
  if (train.syncEverySteps > 1) {
    const { optimizer: state, state: { step } = { step: 0 } } = resumed ?? {};
    return await LocalSteps.open(ranks, { model, optimizer, config: train, state, step });
  }
  const exchange = new GradientExchange(gpu, model, { ranks, format: train.exchangeDtype });
  return workTogether(ranks, { model, optimizer, exchange });
}
