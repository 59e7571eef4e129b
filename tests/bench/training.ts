/** A training step of one micro-batch on made-up data, for the benches that time it. @module */
import type { TensorArray } from "../../lib/base/safetensors_header.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { Optimizer } from "../../lib/train/optim/optimizer.ts";
import type { RunConfig } from "../../lib/train/run_config.ts";
import { claimedAddresses, denseBatch, timingWeights } from "../../lib/train/step_timing.ts";

export interface Training {
  readonly optimizer: Optimizer;
  readonly weights: Map<string, TensorArray>;
  readonly tokens: Uint16Array;
  /** Submits forward and backward pass, clipping and update. */
  submitStep(stepIndex: number): void;
  /** The mean loss of the last step before its update, nats. */
  loss(): Promise<number>;
}

export async function prepareTraining(
  registry: KernelRegistry,
  { model: modelConfig, optim, train }: RunConfig,
): Promise<Training> {
  const { microBatchSize: batchSize, dtype } = train;
  const model = await Transformer.create(registry, modelConfig, { batchSize, training: true, dtype });
  const optimizer = Optimizer.create(registry, model, optim, { totalSteps: train.steps });
  await registry.ready();
  const weights = timingWeights(modelConfig);
  const batch = denseBatch(batchSize, modelConfig.sequenceLength, claimedAddresses(modelConfig, weights));
  model.load(weights);
  const { tokens } = batch;
  return {
    optimizer,
    weights,
    tokens,
    submitStep(stepIndex) {
      model.zeroGradients();
      model.accumulate(batch, 1 / tokens.length);
      optimizer.step(stepIndex);
    },
    loss: async () => (await registry.gpu.read(model.lossSum))[0][0] / tokens.length,
  };
}
