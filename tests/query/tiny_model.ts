/** A model for tests of queries: two small blocks, with weights that make predictions far from uniform. */
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { type ModelConfig, modelShapes, parseModelConfig } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import { PingModel } from "../../lib/query/ping_model.ts";
import { rowOf } from "../../lib/query/decoder_rows.ts";

export const TINY_CONFIG = parseModelConfig({
  numLayers: 2,
  width: 32,
  numHeads: 1,
  headDim: 32,
  mlpWidth: 64,
  sequenceLength: 128,
  vocabulary: "v2",
});

/**
 * Runs a test on the model, then closes it. @param scale Scales its weights. @param config Another model's.
 */
export async function withTinyModel(
  test: (model: PingModel) => Promise<void>,
  scale = 12,
  config: ModelConfig = TINY_CONFIG,
): Promise<void> {
  using gpu = await Gpu.open();
  const weights = initialParameters(config, 7);
  for (const values of weights.values()) values.forEach((value, i) => values[i] = value * scale);
  await test(PingModel.of(config, new KernelRegistry(gpu), { weights }));
}

/** log P(next token | sequence), nats, (V) for each sequence, each read as a separate prompt. */
export async function nextLogProbabilities(
  model: PingModel,
  sequences: readonly Uint16Array[],
): Promise<Float32Array[]> {
  const V = modelShapes(model.config).vocabSize;
  const results: Float32Array[] = [];
  await model.decoders.withPrompts(sequences, 1, function* (decoder, prompts) {
    const [rows] = yield Promise.all([decoder.prefill(prompts)]);
    prompts.forEach((_, i) => results.push(rowOf(rows, i, V)));
  });
  return results;
}
