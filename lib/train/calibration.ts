/**
 * How long a training step takes on this machine, so that a run of a given time can be given its number of
 * steps before it starts: the learning rate's schedule spans the steps, and a schedule that followed the clock
 * would not be the same twice.
 *
 * @module
 */
import { Autotuner } from "../gpu/autotune.ts";
import { Gpu } from "../gpu/device.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import { initialParameters } from "../model/parameters.ts";
import { mergeProfiles } from "../gpu/profile.ts";
import type { ProfileRow } from "../gpu/program.ts";
import type { ModelBatch } from "../model/inputs.ts";
import { Transformer } from "../model/transformer.ts";
import { Optimizer } from "../optim/optimizer.ts";
import { deriveConfig, type RunConfig, trainingExtent } from "./config.ts";

/** How long steps took, and where the time of one goes. */
export interface StepTimes {
  /** Seconds of each timed step, without evaluations and checkpoints. */
  stepsS: number[];
  /** Time per kind of kernel in one step whose dispatches ran one by one, slowest first; empty unless asked for. */
  profile: ProfileRow[];
}

/**
 * Times optimizer steps on made-up batches, after one to warm up.
 *
 * @param config The run that is to be timed.
 * @param options `seconds`: how long to measure; at least one step is measured. `profile`: whether to profile.
 * @throws {UserError} If there is no WebGPU adapter or the model does not fit it.
 */
export async function timeSteps(
  config: RunConfig,
  options: { seconds: number; profile?: boolean },
): Promise<StepTimes> {
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const extent = trainingExtent(config);
  const model = await Transformer.create(registry, config.model, extent);
  const optimizer = Optimizer.create(registry, model, config.optim, { totalSteps: config.train.steps });
  await registry.ready();
  const tuner = new Autotuner(registry);
  await model.tune(tuner);
  await optimizer.tune(tuner);
  model.load(initialParameters(config.model, 0));
  const { microBatchesPerStep, tokensPerStep } = deriveConfig(config);
  const batch = denseBatch(extent.batchSize, extent.sequenceLength);
  const step = async () => {
    const startMs = performance.now();
    model.zeroGradients();
    for (let i = 0; i < microBatchesPerStep; i++) model.accumulate(batch, 1 / tokensPerStep);
    optimizer.step(0);
    await gpu.finish();
    return (performance.now() - startMs) / 1000;
  };
  await step();
  const stepsS: number[] = [];
  const startMs = performance.now();
  do stepsS.push(await step()); while (performance.now() - startMs < 1000 * options.seconds);
  if (!options.profile) return { stepsS, profile: [] };
  const ofModel = await model.profile(batch, 1 / tokensPerStep);
  const repeated = Array<ProfileRow[]>(microBatchesPerStep).fill(ofModel);
  return { stepsS, profile: mergeProfiles([...repeated, await optimizer.profile(0)]) };
}

/** One context per sequence and no padding: attention at its most expensive. */
export function denseBatch(batchSize: number, sequenceLength: number): ModelBatch {
  const length = batchSize * sequenceLength;
  const tokens = Uint16Array.from({ length }, (_, i) => (i * 31) % 256);
  return {
    tokens,
    targets: tokens,
    lossMask: new Uint8Array(length).fill(1),
    segmentStart: new Uint16Array(length),
  };
}
