/**
 * `bench gpu`: the start-up, the speed and the memory of training a configuration on made-up batches.
 *
 * @module
 */
import { Autotuner } from "../gpu/autotune.ts";
import { Gpu } from "../gpu/device.ts";
import { mergeProfiles } from "../gpu/profile.ts";
import type { ProfileRow } from "../gpu/program.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { DType } from "../gpu/tensor.ts";
import { Transformer } from "../model/transformer.ts";
import { Optimizer } from "../optim/optimizer.ts";
import { claimedAddresses, denseBatch } from "../train/calibration.ts";
import { deriveConfig, type RunConfig, trainingExtent } from "../train/config.ts";
import { planMemory } from "../train/memory_plan.ts";
import { medianOf } from "./throughput.ts";

/** How training went. */
export interface TrainingRow {
  dtype: DType;
  /** Steps of one micro-batch each. */
  numSteps: number;
  microBatchTokens: number;
  /** Until the device was open, its kernels were compiled and memory allocated, the fastest chosen, weights uploaded. */
  openS: number;
  compileS: number;
  tuneS: number;
  uploadS: number;
  firstStepS: number;
  /** Medians: forward and backward of a micro-batch, and an update. */
  microBatchS: number;
  updateS: number;
  /** Of the configuration as it is, which updates once in `microBatchesPerStep`. */
  microBatchesPerStep: number;
  tokensPerS: number;
  /** Useful operations of such a step by its time. */
  gigaflopsPerS: number;
  /** Of the GPU: as planned, and what was allocated. */
  plannedBytes: number;
  allocatedBytes: number;
  /** One micro-batch and an update, each dispatch by itself, the slowest first. */
  profile: ProfileRow[];
}

/**
 * Trains on a device of its own.
 *
 * @param weights Of the configuration's model; rows of addresses are claimed in them.
 * @param options `numSteps`: at least one is timed; `isOver`: whether to end before that.
 * @throws {UserError} If the model does not fit the adapter.
 */
export async function timeTraining(
  config: RunConfig,
  weights: Map<string, Float32Array>,
  options: { numSteps: number; isOver: () => boolean; onStep: (step: number) => void },
): Promise<TrainingRow> {
  const lapS = stopwatch();
  using gpu = await Gpu.open();
  const openS = lapS();
  const registry = new KernelRegistry(gpu);
  const extent = trainingExtent(config);
  const model = await Transformer.create(registry, config.model, extent);
  const optimizer = Optimizer.create(registry, model, config.optim, { totalSteps: config.train.steps });
  await registry.ready();
  const compileS = lapS();
  const tuner = new Autotuner(registry);
  await model.tune(tuner);
  await optimizer.tune(tuner);
  const tuneS = lapS();
  const addresses = claimedAddresses(config.model, weights);
  const batch = denseBatch(extent.batchSize, extent.sequenceLength, addresses);
  lapS();
  model.load(weights);
  await gpu.finish();
  const uploadS = lapS();
  const weight = 1 / batch.tokens.length;
  const step = async () => {
    model.zeroGradients();
    model.accumulate(batch, weight);
    await gpu.finish();
    const microBatchS = lapS();
    optimizer.step(0);
    await gpu.finish();
    return { microBatchS, updateS: lapS() };
  };
  const first = await step();
  const steps: (typeof first)[] = [];
  do {
    steps.push(await step());
    options.onStep(steps.length);
  } while (steps.length < options.numSteps && !options.isOver());
  const ofModel = await model.profile(batch, weight);
  const ofUpdate = await optimizer.profile(0);
  const flopsOf = (rows: readonly ProfileRow[]) => rows.reduce((sum, { flops }) => sum + flops, 0);
  const { microBatchesPerStep, tokensPerStep } = deriveConfig(config);
  const microBatchS = medianOf(steps.map((step) => step.microBatchS));
  const updateS = medianOf(steps.map((step) => step.updateS));
  const stepS = microBatchesPerStep * microBatchS + updateS;
  return {
    dtype: config.train.dtype,
    numSteps: steps.length,
    microBatchTokens: batch.tokens.length,
    ...{ openS, compileS, tuneS, uploadS, firstStepS: first.microBatchS + first.updateS },
    ...{ microBatchS, updateS, microBatchesPerStep, tokensPerS: tokensPerStep / stepS },
    gigaflopsPerS: (microBatchesPerStep * flopsOf(ofModel) + flopsOf(ofUpdate)) / stepS / 1e9,
    plannedBytes: planMemory(config).totalBytes,
    allocatedBytes: gpu.allocatedBytes,
    profile: mergeProfiles([ofModel, ofUpdate]),
  };
}

/** Tells the seconds since it was last asked. */
function stopwatch(): () => number {
  let lastMs = performance.now();
  return () => {
    const seconds = (performance.now() - lastMs) / 1000;
    lastMs += 1000 * seconds;
    return seconds;
  };
}
