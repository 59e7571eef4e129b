/**
 * `bench gpu`: how fast queries are answered by the number of rows that are decoded together.
 *
 * @module
 */
import { Gpu } from "../gpu/device.ts";
import { KernelRegistry } from "../gpu/registry.ts";
import type { ModelConfig } from "../model/config.ts";
import { Decoder } from "../model/decoder.ts";
import { claimedAddresses, denseBatch } from "../train/calibration.ts";
import { medianOf } from "./throughput.ts";

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
  /** Rows that the decoder holds, and the prompts that fill it. */
  rows: number;
  prompts: number;
  /** Of all prompts and steps, the result read back; the median of `repetitions`. */
  seconds: number;
  repetitions: number;
  promptsPerS: number;
  tokensPerS: number;
}

/** The median is of at least so many repetitions, and of more until this time is over. */
const [MIN_REPETITIONS, TIMED_S] = [3, 1];

/**
 * Decodes on a device of its own, whose memory is free again afterwards.
 *
 * @param rows Decoded together.
 * @throws {UserError} If the decoder does not fit the adapter.
 */
export async function timeDecoding(
  model: { config: ModelConfig; weights: Map<string, Float32Array> },
  query: DecodedQuery,
  rows: number,
): Promise<DecodingRow> {
  const { promptTokens, rowsPerPrompt, steps } = query;
  const prompts = Math.max(1, Math.floor(rows / rowsPerPrompt));
  const children = Array.from({ length: prompts }, () => Math.min(rows, rowsPerPrompt));
  const numRows = prompts * children[0];
  const maxPromptTokens = prompts * promptTokens;
  const { tokens } = denseBatch(prompts, promptTokens, claimedAddresses(model.config, model.weights));
  const texts = children.map((_, i) => tokens.slice(i * promptTokens, (i + 1) * promptTokens));
  using gpu = await Gpu.open();
  const decoder = await Decoder.create(new KernelRegistry(gpu), model, {
    ...{ maxPromptTokens, maxRows: rows, maxSteps: steps, memoryLimitBytes: Infinity },
  });
  const decode = async () => {
    const startMs = performance.now();
    // All is submitted before the first result is awaited, as queries do.
    const results = [decoder.prefill(texts)];
    decoder.fork(children);
    for (let step = 0; step < steps; step++) {
      results.push(
        decoder.step(Uint16Array.from({ length: numRows }, (_, row) => tokens[row % tokens.length])),
      );
    }
    await Promise.all(results);
    return (performance.now() - startMs) / 1000;
  };
  await decode();
  const times: number[] = [];
  while (times.length < MIN_REPETITIONS || times.reduce((sum, each) => sum + each) < TIMED_S) {
    times.push(await decode());
  }
  const seconds = medianOf(times);
  return {
    ...query,
    ...{ rows, prompts, seconds, repetitions: times.length },
    promptsPerS: prompts / seconds,
    tokensPerS: numRows * steps / seconds,
  };
}
