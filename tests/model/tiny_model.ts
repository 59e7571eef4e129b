/**
 * A model small enough for finite differences, and batches for it with several segments and padding.
 *
 * @module
 */
import { type ModelConfig, modelShapes, parseModelConfig } from "../../lib/model/model_config.ts";
import { readParameterLike } from "../../lib/model/parameters.ts";
import type { Transformer } from "../../lib/model/transformer.ts";
import { RandomStream } from "../../lib/base/random.ts";
import type { Weights } from "../reference/model.ts";

/** A configuration of two layers; `changes` replace its values. */
export function tinyConfig(changes: Partial<ModelConfig> = {}): ModelConfig {
  return parseModelConfig({
    numLayers: 2,
    width: 16,
    numHeads: 2,
    headDim: 32,
    mlpWidth: 24,
    sequenceLength: 12,
    vocabulary: "v2",
    ...changes,
  });
}

/**
 * Weights large enough that every part of the model has a say (the usual 0.02 leaves attention uniform).
 *
 * @returns Values that are exact in float32.
 */
export function tinyWeights(config: ModelConfig, seed = 1): Weights {
  const weights: Weights = new Map();
  for (const [name, [rows, columns]] of modelShapes(config).parameters) {
    const random = new RandomStream(seed, name);
    const scale = name.startsWith("wte") ? 1 : 1.5 / Math.sqrt(columns);
    weights.set(
      name,
      Float64Array.from({ length: rows * columns }, () => Math.fround(random.normal() * scale)),
    );
  }
  return weights;
}

/** A batch as the loader's: segments that start at random places, padding at the end of each sequence. */
export function tinyBatch(config: ModelConfig, batchSize: number, seed = 2) {
  const T = config.sequenceLength;
  const length = batchSize * T;
  const random = new RandomStream(seed, "tiny batch");
  const tokens = Uint16Array.from({ length }, () => random.below(modelShapes(config).vocabSize));
  const targets = Uint16Array.from({ length }, () => random.below(modelShapes(config).vocabSize));
  const lossMask = new Uint8Array(length);
  const segmentStart = new Uint16Array(length);
  for (let b = 0; b < batchSize; b++) {
    const numReal = T - random.below(Math.ceil(T / 4));
    for (let t = 1, start = 0; t < T; t++) {
      if (t === numReal || random.below(4) === 0) start = t;
      segmentStart[b * T + t] = start;
    }
    for (let t = 0; t < numReal; t++) {
      const opensNext = t + 1 < T && segmentStart[b * T + t + 1] === t + 1;
      lossMask[b * T + t] = opensNext ? 0 : 1;
    }
  }
  return { tokens, targets, lossMask, segmentStart };
}

/** float64 weights as the model loads them. */
export function toFloat32(weights: Weights): Map<string, Float32Array> {
  return new Map([...weights].map(([name, values]) => [name, Float32Array.from(values)]));
}

/** The gradients of a model as its parameters are in checkpoints. */
export async function readGradients(model: Transformer): Promise<Map<string, Float32Array>> {
  return await readParameterLike(model.registry.gpu, model.config, model.gradients);
}

/** The largest magnitude. */
export function largest(values: ArrayLike<number>): number {
  return Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}
