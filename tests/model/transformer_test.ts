import { assert, assertEquals, assertGreater, assertRejects, assertThrows } from "@std/assert";
import type { Tensors } from "../../lib/base/safetensors_header.ts";
import { named, UserError } from "../../lib/base/errors.ts";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { planModelMemory } from "../../lib/model/buffers.ts";
import { type ModelConfig, type ModelExtent, modelShapes } from "../../lib/model/model_config.ts";
import { initialParameters, readParameterLike } from "../../lib/model/parameters.ts";
import { markRttBytes } from "../../lib/model/batch_rows.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { assertClose, assertSameBits, DTYPES, testOnDevice, testOnEachDevice } from "../tensor/support.ts";
import { logProbabilities } from "../reference/cross_entropy.ts";
import { logitsProblem, referenceBackward, referenceForward } from "../reference/model.ts";
import { halfModelTolerance, modelTolerance } from "../tolerances.ts";
import { largest, readGradients, tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "./tiny_model.ts";
import { RTT_START } from "../../lib/data/tokens/vocab_v2.ts";

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

testOnEachDevice("Transformer matches the float64 model's losses and gradients", async ({ registry }) => {
  await compareWithReference(registry, tinyConfig());
});

testOnEachDevice(
  "Transformer matches the float64 model without softcap and qkNorm, with v1 and odd sizes",
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

testOnEachDevice("Transformer matches the float64 model with shifted keys", async ({ registry }) => {
  await compareWithReference(registry, tinyConfig({ keyShift: true }));
});

testOnEachDevice(
  "Transformer is reproducible, also when recomputing activations, in f32 and f16",
  async ({ registry }) => {
    const config = tinyConfig({ numLayers: 3 });
    const batch = tinyBatch(config, BATCH_SIZE);
    for (const dtype of DTYPES) {
      const runs: Map<string, Float32Array>[] = [];
      const sizesBytes: number[] = [];
      for (const checkpointActivations of [false, true]) {
        const options = { batchSize: BATCH_SIZE, training: true, checkpointActivations, dtype };
        const before = registry.gpu.allocatedBytes;
        const model = await Transformer.create(registry, config, options);
        sizesBytes.push(registry.gpu.allocatedBytes - before);
        model.load(toFloat32(tinyWeights(config)));
        for (let time = 0; time < 2; time++) {
          model.zeroGradients();
          model.accumulate(batch, WEIGHT);
          runs.push((await readGradients(model)).set("lossSum", (await registry.gpu.read(model.lossSum))[0]));
        }
      }
      for (const run of runs) {
        for (const [name, values] of run) assertSameBits(values, named(runs[0], name), `${name} in ${dtype}`);
      }
      const bytesPerElement = dtype === "f16" ? 2 : 4;
      const hiddenBytes = 2 * bytesPerElement * BATCH_SIZE * config.sequenceLength * config.mlpWidth * 2;
      assertGreater(sizesBytes[0] - sizesBytes[1], hiddenBytes, `${sizesBytes} bytes`);
    }
  },
);

testOnEachDevice(
  "logProbabilities() returns the log softmax of the requested rows, in order",
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
  "a model without training computes the same losses with less memory and no gradients",
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
      const { parametersBytes, gradientsBytes, activationsBytes } = planModelMemory(
        model.shapes,
        model.extent,
      );
      return parametersBytes + gradientsBytes + activationsBytes;
    });
    assert(less < full / 2, `${less} of ${full} bytes`);
    assertThrows(() => inference.accumulate(batch, 1), Error, "without training");
  },
);

testOnDevice("weights() returns the loaded weights, bit for bit", async ({ registry }) => {
  const config = tinyConfig({ vocabulary: "v1" });
  const model = await tinyModel(registry, config);
  const weights = initialParameters(config, 5);
  model.load(weights);
  const back = await model.weights();
  assertEquals([...back.keys()], [...modelShapes(config).parameters.keys()]);
  for (const [name, values] of weights) assertSameBits(back.get(name) ?? values.slice(1), values, name);
});

testOnDevice("load() rejects another model's weights", async ({ registry }) => {
  const config = tinyConfig();
  const model = await tinyModel(registry, config);
  const assertRefused = (weights: Tensors, message: string) =>
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

testOnDevice("a batch with an out-of-range index is rejected", async ({ registry }) => {
  const config = tinyConfig();
  const model = await tinyModel(registry, config);
  const batch = tinyBatch(config, BATCH_SIZE);
  const { vocabSize } = modelShapes(config);
  const cases = [
    ["tokens", vocabSize, "a token that is not below"],
    ["targets", vocabSize, "a token that is not below"],
    ["segmentStart", config.sequenceLength, "a position after its token"],
  ] as const;
  for (const [name, value, fault] of cases) {
    const values = batch[name].with(5, value);
    await assertRejects(() => model.evaluateLosses({ ...batch, [name]: values }), Error, fault);
  }
});

testOnDevice("create() rejects a model too large for the adapter's buffers", async ({ registry }) => {
  const config = tinyConfig({ sequenceLength: 65535, mlpWidth: 65536 });
  const options = { batchSize: 4096, training: false };
  const error = await assertRejects(() => Transformer.create(registry, config, options), UserError);
  assert(/Cannot allocate the model: .* takes .* MiB/.test(error.message), error.message);
});

const TINY = tinyConfig();

async function halfModel(registry: KernelRegistry): Promise<Transformer> {
  const model = await Transformer.create(registry, TINY, {
    batchSize: BATCH_SIZE,
    training: true,
    dtype: "f16",
  });
  model.load(toFloat32(tinyWeights(TINY)));
  return model;
}

testOnEachDevice("Transformer in f16 stays close to the float64 model", async ({ registry, gpu }) => {
  const weights = tinyWeights(TINY);
  const batch = tinyBatch(TINY, BATCH_SIZE);
  // As in training: matrix units round the gradient of the residual stream, times the loss scale, to f16.
  const weight = 1 / batch.tokens.length;
  const forward = referenceForward(TINY, weights, batch);
  const expected = referenceBackward(TINY, weights, batch, { forward, weight });
  const model = await halfModel(registry);
  const losses = await model.evaluateLosses(batch);
  assertClose(losses, forward.losses, halfModelTolerance(TINY, largest(forward.losses)), "losses");
  model.accumulate(batch, weight);
  assert(model.lossScale);
  const [lossSum, [scale]] = await gpu.read(model.lossSum, model.lossScale);
  const sum = forward.losses.reduce((a, b) => a + b, 0);
  assertClose(lossSum, [sum], halfModelTolerance(TINY, sum), "lossSum");
  assertEquals(scale, 2 ** 15);
  const gradients = await readGradients(model);
  assertEquals([...gradients.keys()].sort(), [...expected.keys()].sort());
  for (const [name, gradient] of gradients) {
    const wanted = expected.get(name) ?? [];
    const unscaled = gradient.map((value) => value / scale);
    assertClose(unscaled, wanted, halfModelTolerance(TINY, largest(wanted)), `gradient of ${name}`);
  }
});

Deno.test("planModelMemory() for f16 counts smaller activations and copies of the weights", () => {
  for (const checkpointActivations of [false, true]) {
    const extent = { batchSize: 8, sequenceLength: 12, training: true, checkpointActivations };
    const full = planModelMemory(modelShapes(TINY), extent);
    const half = planModelMemory(modelShapes(TINY), { ...extent, dtype: "f16" });
    assert(half.activationsBytes < 0.75 * full.activationsBytes, `${half.activationsBytes} bytes`);
    assertEquals(half.gradientsBytes, full.gradientsBytes);
    assert(half.parametersBytes > full.parametersBytes && half.parametersBytes < 1.5 * full.parametersBytes);
  }
});

Deno.test("markRttBytes() marks the bytes of RTT codes, but not across segment or sequence starts", () => {
  const batch = {
    tokens: Uint16Array.of(20, RTT_START, 30, RTT_START, 40, RTT_START),
    targets: new Uint16Array(6),
    lossMask: Uint8Array.of(1, 1, 1, 0, 1, 1),
    segmentStart: Uint16Array.of(0, 0, 2, 0, 0, 0),
  };
  assertEquals([...markRttBytes(batch, 3)], [1, 2, 1, 0, 3, 2]);
  assertEquals([...markRttBytes({ ...batch, segmentStart: Uint16Array.of(0, 0, 2, 0, 1, 1) }, 3)], [
    1,
    2,
    1,
    0,
    1,
    2,
  ]);
});

async function gradientsOf(
  registry: KernelRegistry,
  weights: Pick<ModelExtent, "rttDistanceWeights" | "rttByteWeight"> = {},
  isRttOnly = false,
) {
  const config = tinyConfig();
  const batch = tinyBatch(config, 2);
  batch.tokens.fill(RTT_START, 4, 6);
  // If a token attended only to itself, its gradients of q and k would be rounding errors.
  batch.segmentStart.fill(3, 3, 7);
  if (isRttOnly) batch.lossMask = markRttBytes(batch, config.sequenceLength).map((kind) => Number(kind > 1));
  const model = await Transformer.create(registry, config, { batchSize: 2, training: true, ...weights });
  model.load(toFloat32(tinyWeights(config)));
  model.accumulate(batch, 0.25);
  const gradients = await readParameterLike(registry.gpu, model.shapes, model.gradients);
  return gradients.set("lossSum", (await registry.gpu.read(model.lossSum))[0]);
}

testOnEachDevice("rttDistanceWeights change the gradient, not the loss", async ({ registry }) => {
  const [plain, zero, weighted] = [
    await gradientsOf(registry),
    await gradientsOf(registry, { rttDistanceWeights: [0, 0] }),
    await gradientsOf(registry, { rttDistanceWeights: [0.5, 0.1] }),
  ];
  const values = (gradients: Map<string, Float32Array>, name: string) =>
    gradients.get(name) ?? new Float32Array();
  const name = "lm_head.weight";
  assertSameBits(values(plain, name), values(zero, name), name);
  assertSameBits(values(plain, "lossSum"), values(weighted, "lossSum"), "lossSum");
  const changed = values(weighted, name);
  assert(values(plain, name).some((value, i) => value !== changed[i]), "nothing changed");
});

testOnEachDevice(
  "rttByteWeight scales the gradient of RTT bytes, not their loss",
  async ({ registry }) => {
    const [plain, rttOnly, weighted] = [
      await gradientsOf(registry),
      await gradientsOf(registry, {}, true),
      await gradientsOf(registry, { rttByteWeight: 3 }),
    ];
    for (const [name, values] of weighted) {
      const [ofAll, ofRtt] = [plain, rttOnly].map((gradients) => gradients.get(name) ?? new Float32Array());
      if (name === "lossSum") assertSameBits(values, ofAll, name);
      else {
        const expected = Float64Array.from(ofAll, (g, i) => g + 2 * ofRtt[i]);
        const largest = expected.reduce((most, g) => Math.max(most, Math.abs(g)), 0);
        assertClose(values, expected, modelTolerance(tinyConfig(), largest), name);
        assert(ofRtt.some((g) => g !== 0), `no gradient of ${name}`);
      }
    }
  },
);
