/**
 * `bench gpu`: the start-up and speed of training on made-up batches, and the speed of queries by the number of rows
 * decoded together. Each measure opens a device of its own, whose memory is free afterwards.
 *
 * @module
 */
import { Gpu } from "../gpu/device.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { ModelConfig } from "../model/config.ts";
import { Decoder } from "../model/decoder.ts";
import { claimedAddresses, denseBatch, timeSteps } from "../train/calibration.ts";
import { deriveConfig, type RunConfig } from "../train/config.ts";
import { planMemory } from "../train/memory_plan.ts";
import type { DecodedQuery, DecodingRow, TrainingRow } from "./gpu_survey.ts";
import { medianOf } from "./throughput.ts";

/**
 * Trains a configuration for some seconds.
 *
 * @throws {UserError} If the model does not fit the adapter.
 */
export async function timeTraining(config: RunConfig, seconds: number): Promise<TrainingRow> {
  const { startS, stepsS, profile } = await timeSteps(config, { seconds, profile: true });
  const stepS = medianOf(stepsS);
  const flops = profile.reduce((sum, row) => sum + row.flops, 0);
  return {
    dtype: config.train.dtype,
    steps: stepsS.length,
    startS,
    stepS,
    tokensPerS: deriveConfig(config).tokensPerStep / stepS,
    gigaflopsPerS: flops / stepS / 1e9,
    plannedMemoryBytes: planMemory(config).totalBytes,
  };
}

/** The fewest repetitions, and the time for more. */
const MIN_REPETITIONS = 3;
const TIMED_S = 0.5;

/**
 * Decodes rows together.
 *
 * @param rows A multiple of the query's `rowsPerPrompt` is used.
 * @throws {UserError} If the decoder does not fit the adapter, or the prompt the model.
 */
export async function timeDecoding(
  model: { config: ModelConfig; weights: Map<string, Float32Array> },
  query: DecodedQuery,
  rows: number,
): Promise<DecodingRow> {
  const { promptTokens, rowsPerPrompt, steps } = query;
  const count = Math.floor(rows / rowsPerPrompt);
  const { tokens } = denseBatch(count, promptTokens, claimedAddresses(model.config, model.weights));
  const prompts = Array.from(
    { length: count },
    (_, i) => tokens.slice(i * promptTokens, (i + 1) * promptTokens),
  );
  const next = Uint16Array.from({ length: count * rowsPerPrompt }, (_, i) => tokens[i % tokens.length]);
  using gpu = await Gpu.open();
  const decoder = await Decoder.create(new KernelRegistry(gpu), model, {
    maxPromptTokens: tokens.length,
    maxRows: rows,
    maxSteps: steps,
    memoryLimitBytes: Infinity,
  });
  const times: number[] = [];
  // The first repetition compiles and does not count.
  while (times.length <= MIN_REPETITIONS || times.slice(1).reduce((sum, each) => sum + each) < TIMED_S) {
    const startMs = performance.now();
    // All is submitted before the first result is awaited, as queries do.
    const results = [decoder.prefill(prompts)];
    decoder.fork(prompts.map(() => rowsPerPrompt));
    for (let step = 0; step < steps; step++) results.push(decoder.step(next));
    await Promise.all(results);
    times.push((performance.now() - startMs) / 1000);
  }
  const seconds = medianOf(times.slice(1));
  return { ...query, rows, seconds, tokensPerS: next.length * steps / seconds };
}
