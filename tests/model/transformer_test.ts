import { assert, assertEquals, assertGreater, assertRejects, assertThrows } from "@std/assert";
import { UserError } from "../../lib/base/errors.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { planModelMemory } from "../../lib/model/buffers.ts";
import { type ModelConfig, modelShapes } from "../../lib/model/model_config.ts";
import { initialParameters } from "../../lib/model/parameters.ts";
import type { ModelBatch } from "../../lib/model/batch_rows.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { assertClose, assertSameBits, testOnEachDevice } from "../tensor/support.ts";
import { logProbabilities } from "../reference/cross_entropy.ts";
import { logitsProblem, referenceBackward, referenceForward } from "../reference/model.ts";
import { modelTolerance } from "../tolerances.ts";
import { largest, readGradients, tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "./tiny_model.ts";

const BATCH_SIZE = 3;
const WEIGHT = 0.25;

async function tinyModel(
  registry: KernelRegistry,
  config: ModelConfig,
  training = true,
): Promise<Transformer> {
  const model = await Transformer.create(registry, config, { batchSize: BATCH_SIZE, training });
  model.load(toFloat32(tinyWeights(config)));
  return model;
}

/** Compares losses, their sum and every gradient with the float64 model. */
async function compareWithReference(registry: KernelRegistry, config: ModelConfig) {
  const weights = tinyWeights(config);
  const batch = tinyBatch(config, BATCH_SIZE);
  const forward = referenceForward(config, weights, batch);
  const expected = referenceBackward(config, weights, batch, { forward, weight: WEIGHT });
  const model = await tinyModel(registry, config);
  const losses = await model.evaluateLosses(batch);
  assertClose(losses, forward.losses, modelTolerance(config, largest(forward.losses)), "losses");
  model.accumulate(batch, WEIGHT);
  const [lossSum] = await registry.gpu.read(model.lossSum);
  const sum = forward.losses.reduce((a, b) => a + b, 0);
  assertClose(lossSum, [sum], modelTolerance(config, sum), "lossSum");
  const gradients = await readGradients(model);
  assertEquals([...gradients.keys()].sort(), [...expected.keys()].sort());
  for (const [name, gradient] of gradients) {
    const wanted = expected.get(name) ?? [];
    assertClose(gradient, wanted, modelTolerance(config, largest(wanted)), `gradient of ${name}`);
  }
}

testOnEachDevice("Transformer gives the losses and gradients of the float64 model", async ({ registry }) => {
  await compareWithReference(registry, tinyConfig());
});

testOnEachDevice(
  "Transformer gives them without softcap and qkNorm, of v1, with odd sizes",
  async ({ registry }) => {
    const odd = {
      numLayers: 1,
      width: 20,
      numHeads: 3,
      headDim: 32 as const,
      mlpWidth: 44,
      sequenceLength: 37,
    };
    await compareWithReference(
      registry,
      tinyConfig({ ...odd, softcap: null, qkNorm: false, activation: "silu", vocabulary: "v1" }),
    );
    await compareWithReference(registry, tinyConfig({ activation: "gelu", numHeads: 1, headDim: 64 }));
  },
);

testOnEachDevice("Transformer gives them with shifted keys", async ({ registry }) => {
  await compareWithReference(registry, tinyConfig({ keyShift: true }));
});

testOnEachDevice("Transformer gives the same bits in two runs", async ({ registry }) => {
  const config = tinyConfig();
  const batch = tinyBatch(config, BATCH_SIZE);
  const model = await tinyModel(registry, config);
  const runs: Map<string, Float32Array>[] = [];
  for (let run = 0; run < 2; run++) {
    model.zeroGradients();
    model.accumulate(batch, WEIGHT);
    runs.push((await readGradients(model)).set("lossSum", (await registry.gpu.read(model.lossSum))[0]));
  }
  for (const [name, values] of runs[0]) assertSameBits(values, runs[1].get(name) ?? values.slice(1), name);
});

testOnEachDevice("Transformer that computes activations twice gives the same bits", async ({ registry }) => {
  const config = tinyConfig({ numLayers: 3 });
  const batch = tinyBatch(config, BATCH_SIZE);
  const gradients: Map<string, Float32Array>[] = [];
  const sizesBytes: number[] = [];
  for (const checkpointActivations of [false, true]) {
    const options = { batchSize: BATCH_SIZE, training: true, checkpointActivations };
    const before = registry.gpu.allocatedBytes;
    const model = await Transformer.create(registry, config, options);
    sizesBytes.push(registry.gpu.allocatedBytes - before);
    model.load(toFloat32(tinyWeights(config)));
    model.accumulate(batch, WEIGHT);
    gradients.push(await readGradients(model));
  }
  for (const [name, values] of gradients[0]) {
    assertSameBits(values, gradients[1].get(name) ?? values.slice(1), name);
  }
  const rows = BATCH_SIZE * config.sequenceLength;
  assertGreater(sizesBytes[0] - sizesBytes[1], 2 * 4 * rows * config.mlpWidth * 2, `${sizesBytes} bytes`);
});

function halves(batch: ModelBatch): ModelBatch[] {
  const half = batch.tokens.length / 2;
  return [0, half].map((start) => ({
    tokens: batch.tokens.slice(start, start + half),
    targets: batch.targets.slice(start, start + half),
    lossMask: batch.lossMask.slice(start, start + half),
    segmentStart: batch.segmentStart.slice(start, start + half),
  }));
}

testOnEachDevice("accumulate() of two micro-batches equals one batch of both", async ({ registry }) => {
  const config = tinyConfig();
  const whole = tinyBatch(config, 2 * BATCH_SIZE);
  const model = await tinyModel(registry, config);
  for (const batch of halves(whole)) model.accumulate(batch, WEIGHT);
  const parts = await readGradients(model);
  const both = await Transformer.create(registry, config, { batchSize: 2 * BATCH_SIZE, training: true });
  both.load(await model.weights());
  both.accumulate(whole, WEIGHT);
  for (const [name, expected] of await readGradients(both)) {
    assertClose(
      parts.get(name) ?? new Float32Array(),
      expected,
      modelTolerance(config, largest(expected)),
      name,
    );
  }
  const [sums, sum] = await registry.gpu.read(model.lossSum, both.lossSum);
  assertClose(sums, sum, modelTolerance(config, sum[0]), "lossSum");
});

testOnEachDevice(
  "logProbabilities() gives log softmax of the wanted rows, in their order",
  async ({ registry }) => {
    for (const softcap of [15, null]) {
      const config = tinyConfig({ softcap });
      const batch = tinyBatch(config, BATCH_SIZE);
      const model = await tinyModel(registry, config, false);
      const { logits } = referenceForward(config, tinyWeights(config), batch);
      const wanted = logProbabilities(logitsProblem(config), logits);
      const V = modelShapes(config).vocabSize;
      for (const positions of [[7], [35, 0, 7, 7, 12]]) {
        const expected = positions.flatMap((row) => [...wanted.subarray(row * V, (row + 1) * V)]);
        const actual = await model.logProbabilities(batch, Uint32Array.from(positions));
        assertClose(actual, expected, modelTolerance(config, largest(expected)), "log-probabilities");
      }
      assertEquals(await model.logProbabilities(batch, new Uint32Array()), new Float32Array());
    }
  },
);

testOnEachDevice(
  "a model without training has the same losses, less memory, no gradients",
  async ({ registry }) => {
    const config = tinyConfig();
    const batch = tinyBatch(config, BATCH_SIZE);
    const [training, inference] = [
      await tinyModel(registry, config),
      await tinyModel(registry, config, false),
    ];
    assertSameBits(await training.evaluateLosses(batch), await inference.evaluateLosses(batch), "losses");
    assertEquals(inference.gradients.size, 0);
    const [full, less] = [training, inference].map((model) => {
      const { parametersBytes, gradientsBytes, activationsBytes } = planModelMemory(config, model.extent);
      return parametersBytes + gradientsBytes + activationsBytes;
    });
    assert(less < full / 2, `${less} of ${full} bytes`);
    assertThrows(() => inference.accumulate(batch, 1), Error, "without training");
  },
);

testOnEachDevice(
  "a model of shorter sequences gives the first losses of longer ones",
  async ({ registry }) => {
    const config = tinyConfig();
    const T = config.sequenceLength;
    const batch = tinyBatch(config, 1);
    const short = await Transformer.create(registry, config, {
      batchSize: 1,
      training: false,
      sequenceLength: 5,
    });
    short.load(toFloat32(tinyWeights(config)));
    const cut = {
      tokens: batch.tokens.slice(0, 5),
      targets: batch.targets.slice(0, 5),
      lossMask: batch.lossMask.slice(0, 5),
      segmentStart: batch.segmentStart.slice(0, 5),
    };
    const { losses } = referenceForward(config, tinyWeights(config), batch);
    assertEquals(losses.length, T);
    const actual = await short.evaluateLosses(cut);
    assertClose(actual, losses.slice(0, 5), modelTolerance(config, largest(losses)), "losses");
  },
);

testOnEachDevice("weights() gives back what load() took, to the last bit", async ({ registry }) => {
  const config = tinyConfig({ vocabulary: "v1" });
  const model = await tinyModel(registry, config);
  const weights = initialParameters(config, 5);
  model.load(weights);
  const back = await model.weights();
  assertEquals([...back.keys()], [...modelShapes(config).parameters.keys()]);
  for (const [name, values] of weights) assertSameBits(back.get(name) ?? values.slice(1), values, name);
});

testOnEachDevice("load() refuses weights of another model", async ({ registry }) => {
  const config = tinyConfig();
  const model = await tinyModel(registry, config);
  const assertRefused = (weights: Map<string, Float32Array>, message: string) =>
    assertThrows(() => model.load(weights), UserError, message);
  assertRefused(
    initialParameters(tinyConfig({ numLayers: 1 }), 1),
    "found no weight blocks.1.attn.q_proj.weight",
  );
  assertRefused(
    initialParameters(tinyConfig({ numLayers: 3 }), 1),
    "found a weight blocks.2.attn.q_proj.weight",
  );
  assertRefused(
    initialParameters(tinyConfig({ mlpWidth: 32 }), 1),
    "512 values of blocks.0.mlp.up_proj.weight",
  );
});

testOnEachDevice("create() refuses a model that the adapter's buffers cannot hold", async ({ registry }) => {
  const config = tinyConfig({ sequenceLength: 65535, mlpWidth: 65536 });
  const options = { batchSize: 4096, training: false };
  const error = await assertRejects(() => Transformer.create(registry, config, options), UserError);
  assert(/Cannot allocate the model: .* takes .* MiB/.test(error.message), error.message);
});
