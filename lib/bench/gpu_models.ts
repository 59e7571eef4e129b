/**
 * `bench gpu`: the start-up and the speed of training on made-up batches, and how fast queries are answered by the
 * number of rows that are decoded together. Each measure has a device of its own, whose memory is free afterwards.
 *
 * @module
 */
import { Autotuner } from "../gpu/autotune.ts";
import { Gpu } from "../gpu/device.ts";
import type { ProfileRow } from "../gpu/program.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { DType } from "../gpu/tensor.ts";
import type { ModelConfig } from "../model/model_config.ts";
import { Decoder } from "../model/decoder.ts";
import { Transformer } from "../model/transformer.ts";
import { Optimizer } from "../optim/optimizer.ts";
import { claimedAddresses, denseBatch } from "../train/step_timing.ts";
import { deriveConfig, type RunConfig, trainingExtent } from "../train/run_config.ts";
import { planMemory } from "../train/memory_plan.ts";
import { medianOf } from "./throughput.ts";

/** The speed of training. */
export interface TrainingRow {
  dtype: DType;
  /** Timed steps, of one micro-batch each. */
  steps: number;
  /** Seconds to open the device, to compile and allocate, to choose the fastest kernels, and of the first step. */
  openS: number;
  compileS: number;
  tuneS: number;
  firstStepS: number;
  /** Medians: forward and backward of a micro-batch, and an update. */
  microBatchS: number;
  updateS: number;
  /** Tokens/s of a whole step: all micro-batches and one update. */
  tokensPerS: number;
  /** Useful operations of such a step per second. */
  gigaflopsPerS: number;
  plannedMemoryBytes: number;
}

/**
 * Trains a configuration.
 *
 * @param weights Weights of its model; learned rows are claimed in them.
 * @param options `steps`: how many steps to time after the first one, which counts only if there are no others; `isOver`:
 *   whether to stop early; `onStep`: called after each step.
 * @throws {UserError} If the model does not fit the adapter.
 */
export async function timeTraining(
  config: RunConfig,
  weights: Map<string, Float32Array>,
  options: { steps: number; isOver: () => boolean; onStep: (step: number) => void },
): Promise<TrainingRow> {
  const extent = trainingExtent(config);
  const addresses = claimedAddresses(config.model, weights);
  const batch = denseBatch(extent.batchSize, extent.sequenceLength, addresses);
  const weight = 1 / batch.tokens.length;
  const lapS = stopwatch();
  using gpu = await Gpu.open();
  const openS = lapS();
  const registry = new KernelRegistry(gpu);
  const model = await Transformer.create(registry, config.model, extent);
  const optimizer = Optimizer.create(registry, model, config.optim, { totalSteps: config.train.steps });
  await registry.ready();
  const compileS = lapS();
  const tuner = new Autotuner(registry);
  await model.tune(tuner);
  await optimizer.tune(tuner);
  const tuneS = lapS();
  model.load(weights);
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
  let steps: (typeof first)[] = [];
  while (steps.length < options.steps && !options.isOver()) {
    options.onStep(steps.push(await step()));
  }
  if (steps.length === 0) steps = [first];
  const microBatchS = medianOf(steps.map((each) => each.microBatchS));
  const updateS = medianOf(steps.map((each) => each.updateS));
  const { microBatchesPerStep, tokensPerStep } = deriveConfig(config);
  const stepS = microBatchesPerStep * microBatchS + updateS;
  const flops = microBatchesPerStep * flopsOf(await model.profile(batch, weight)) +
    flopsOf(await optimizer.profile(0));
  return {
    dtype: config.train.dtype,
    steps: steps.length,
    openS,
    compileS,
    tuneS,
    firstStepS: first.microBatchS + first.updateS,
    microBatchS,
    updateS,
    tokensPerS: tokensPerStep / stepS,
    gigaflopsPerS: flops / stepS / 1e9,
    plannedMemoryBytes: planMemory(config).totalBytes,
  };
}

const flopsOf = (rows: readonly ProfileRow[]) => rows.reduce((sum, { flops }) => sum + flops, 0);

/** Makes a function that gives the seconds since its last call. */
function stopwatch(): () => number {
  let lastMs = performance.now();
  return () => {
    const seconds = (performance.now() - lastMs) / 1000;
    lastMs += 1000 * seconds;
    return seconds;
  };
}

/** A kind of query as a decoder sees it. */
export interface DecodedQuery {
  /** `one step`: distributions of RTTs; `many steps`: whole measurements. */
  kind: "one step" | "many steps";
  promptTokens: number;
  /** Rows that continue each prompt. */
  rowsPerPrompt: number;
  steps: number;
}

/** How fast rows were decoded together. */
export interface DecodingRow extends DecodedQuery {
  rows: number;
  /** Median seconds of the prompts and all steps, results read back. */
  seconds: number;
  /** Tokens of steps. */
  tokensPerS: number;
}

/** The least repetitions, and the time for more. */
const [MIN_REPETITIONS, TIMED_S] = [3, 0.5];

/**
 * Decodes.
 *
 * @param rows Decoded together: a multiple of the query's `rowsPerPrompt` is used.
 * @throws {UserError} If the decoder does not fit the adapter, or the prompt the model.
 */
export async function timeDecoding(
  model: { config: ModelConfig; weights: Map<string, Float32Array> },
  query: DecodedQuery,
  rows: number,
): Promise<DecodingRow> {
  const { promptTokens, rowsPerPrompt, steps } = query;
  const prompts = Math.floor(rows / rowsPerPrompt);
  const { tokens } = denseBatch(prompts, promptTokens, claimedAddresses(model.config, model.weights));
  const texts = Array.from(
    { length: prompts },
    (_, i) => tokens.slice(i * promptTokens, (i + 1) * promptTokens),
  );
  const next = Uint16Array.from({ length: prompts * rowsPerPrompt }, (_, i) => tokens[i % tokens.length]);
  using gpu = await Gpu.open();
  const extent = {
    maxPromptTokens: tokens.length,
    maxRows: rows,
    maxSteps: steps,
    memoryLimitBytes: Infinity,
  };
  const decoder = await Decoder.create(new KernelRegistry(gpu), model, extent);
  const times: number[] = [];
  // The first one, which compiles, does not count.
  while (times.length <= MIN_REPETITIONS || times.slice(1).reduce((sum, each) => sum + each) < TIMED_S) {
    const lapS = stopwatch();
    // All is submitted before the first result is awaited, as queries do.
    const results = [decoder.prefill(texts)];
    decoder.fork(texts.map(() => rowsPerPrompt));
    for (let step = 0; step < steps; step++) results.push(decoder.step(next));
    await Promise.all(results);
    times.push(lapS());
  }
  const seconds = medianOf(times.slice(1));
  return { ...query, rows, seconds, tokensPerS: next.length * steps / seconds };
}
