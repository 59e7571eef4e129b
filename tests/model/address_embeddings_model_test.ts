/**
 * A model with rows of prefixes and pairs: forward and backward pass, training and decoding.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { type ModelBatch, rowsOfBatch } from "../../lib/model/batch_rows.ts";
import { type ModelConfig, modelShapes, ROWS_PER_TOKEN } from "../../lib/model/model_config.ts";
import { Decoder } from "../../lib/model/decoder.ts";
import { NO_ROW } from "../../lib/model/embedding_table.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { optimConfigSchema } from "../../lib/train/optim/optim_config.ts";
import { Optimizer } from "../../lib/train/optim/optimizer.ts";
import { assertClose, assertSameBits, testOnEachDevice } from "../tensor/support.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import {
  referenceBackward,
  type ReferenceBatch,
  referenceForward,
  type Weights,
} from "../reference/model.ts";
import { ReferenceOptimizer } from "../reference/optimizer.ts";
import { modelTolerance } from "../tolerances.ts";
import {
  batchOf,
  knownRows,
  largest,
  readGradients,
  tinyConfig,
  tinyWeights,
  toFloat32,
} from "./tiny_model.ts";

const T = 48;
const BATCH_SIZE = 2;

/** Nothing is dropped, so that a reference batch has the same rows as inference. */
const CONFIG = tinyConfig({
  sequenceLength: T,
  prefixVectors: { rows: 32, seed: 3, dropShare: 0 },
  pairVectors: { rows: 32, seed: 3, dropShare: 0, history: true },
  coordinates: { nodes: 16, rank: 2, folds: 4, dropShare: 0 },
});

function withRows(config: ModelConfig, batch: ModelBatch, isTraining = false): ReferenceBatch {
  const embeddingRows = rowsOfBatch(batch, knownRows(config), { sequenceLength: T, isTraining });
  return { ...batch, embeddingRows };
}

function weightsOf(config: ModelConfig): Map<string, Float32Array> {
  const weights = toFloat32(tinyWeights(config));
  knownRows(config).save(weights);
  return weights;
}

async function modelOf(
  registry: KernelRegistry,
  config = CONFIG,
  batchSize = BATCH_SIZE,
  sequencesPerStep = batchSize,
) {
  const model = await Transformer.create(registry, config, { batchSize, sequencesPerStep, training: true });
  model.load(weightsOf(config));
  return model;
}

Deno.test("referenceBackward() is the derivative with address embeddings", () => {
  const small = { width: 8, headDim: 4, mlpWidth: 12 } as unknown as ModelConfig;
  const config = { ...CONFIG, ...small };
  const batch = withRows(config, batchOf(1, 1));
  const toMap = (inputs: Record<string, Float64Array>): Weights => new Map(Object.entries(inputs));
  const total = (values: Float64Array) => values.reduce((a, b) => a + b, 0);
  checkGradient({
    inputs: Object.fromEntries(tinyWeights(config)),
    forward: (inputs) => Float64Array.of(total(referenceForward(config, toMap(inputs), batch).losses)),
    backward: (inputs, dOutput) => {
      const forward = referenceForward(config, toMap(inputs), batch);
      return Object.fromEntries(
        referenceBackward(config, toMap(inputs), batch, { forward, weight: dOutput[0] }),
      );
    },
    maxElements: 8,
  });
});

testOnEachDevice(
  "Transformer with address embeddings matches the float64 model's losses and gradients",
  async ({ registry }) => {
    const batch = batchOf(2);
    const reference = withRows(CONFIG, batch);
    const numUsed = Array.from(reference.embeddingRows ?? []).filter((row) => row !== NO_ROW).length;
    assert(numUsed > 2 * BATCH_SIZE * 8, `${numUsed} rows used`);
    const forward = referenceForward(CONFIG, tinyWeights(CONFIG), reference);
    const expected = referenceBackward(CONFIG, tinyWeights(CONFIG), reference, { forward, weight: 0.25 });
    const model = await modelOf(registry);
    const losses = await model.evaluateLosses(batch);
    assertClose(losses, forward.losses, modelTolerance(CONFIG, largest(forward.losses)), "losses");
    model.accumulate(batch, 0.25);
    for (const [name, gradient] of await readGradients(model)) {
      const wanted = expected.get(name) ?? [];
      assertClose(gradient, wanted, modelTolerance(CONFIG, largest(wanted)), `gradient of ${name}`);
    }
  },
);

testOnEachDevice("Transformer sums gradients and losses over micro-batches", async ({ registry }) => {
  const batches = [batchOf(3, 1), batchOf(4, 1)];
  const whole = await modelOf(registry, CONFIG, 2);
  const join = (name: keyof ModelBatch) => batches.flatMap((batch) => [...batch[name] ?? []]);
  whole.accumulate({
    tokens: Uint16Array.from(join("tokens")),
    targets: Uint16Array.from(join("targets")),
    lossMask: Uint8Array.from(join("lossMask")),
    segmentStart: Uint16Array.from(join("segmentStart")),
    histories: Uint32Array.from(join("histories")),
  }, 0.25);
  const parts = await modelOf(registry, CONFIG, 1, 2);
  for (const batch of batches) parts.accumulate(batch, 0.25);
  const wanted = await readGradients(whole);
  for (const [name, gradient] of await readGradients(parts)) {
    const expected = wanted.get(name) ?? [];
    assertClose(gradient, expected, modelTolerance(CONFIG, largest(expected)), `gradient of ${name}`);
  }
  const [sum, ofParts] = await registry.gpu.read(whole.lossSum, parts.lossSum);
  assertClose(ofParts, sum, modelTolerance(CONFIG, sum[0]), "lossSum");
});

testOnEachDevice(
  "Optimizer matches the float64 reference with address embeddings, counting each row's updates",
  async ({ registry }) => {
    const totalSteps = 12;
    const rule = (learningRate: number) => ({ kind: "adamw", learningRate });
    const optim = optimConfigSchema.parse({
      groups: { embedding: rule(0.003), rows: rule(0.01), head: rule(0.001), matrices: rule(0.0005) },
    });
    const model = await modelOf(registry);
    const optimizer = Optimizer.create(registry, model, optim, { totalSteps });
    const weights = tinyWeights(CONFIG);
    const reference = new ReferenceOptimizer(optim, weights, { model: CONFIG, totalSteps });
    const numTouched: number[] = [];
    for (let step = 0; step < totalSteps; step++) {
      const batch = batchOf(10 + step);
      const ofRows = withRows(CONFIG, batch, true);
      model.zeroGradients();
      model.accumulate(batch, 0.02);
      optimizer.step(step);
      const forward = referenceForward(CONFIG, reference.weights, ofRows);
      const [lossSum] = await registry.gpu.read(model.lossSum);
      const sum = forward.losses.reduce((a, b) => a + b, 0);
      assertClose(lossSum, [sum], { relative: 1e-3, absolute: 0 }, `loss ${step}`);
      const gradients = referenceBackward(CONFIG, reference.weights, ofRows, { forward, weight: 0.02 });
      const touched = new Set(Array.from(ofRows.embeddingRows ?? []).filter((row) => row !== NO_ROW));
      numTouched.push(touched.size);
      reference.step(step, gradients, [...touched]);
    }
    const updates = (await optimizer.readState()).get("address_embed.weight.num_updates");
    assertEquals(updates, Float32Array.from(reference.state.get("address_embed.weight.num_updates") ?? []));
    assert(new Set(updates).size > 2, "rows differ in how often they were updated");
    assertEquals(numTouched.reduce((a, b) => a + b, 0), updates?.reduce((a, b) => a + b, 0));
  },
);

testOnEachDevice(
  "training with address embeddings continues from loaded weights and state, bit for bit",
  async ({ registry }) => {
    const optim = optimConfigSchema.parse({
      groups: Object.fromEntries(
        ["embedding", "head", "matrices"].map((group) => [group, { kind: "adamw", learningRate: 0.003 }]),
      ),
    });
    const config = { ...CONFIG, prefixVectors: { rows: 32, seed: 3, dropShare: 0.3 } };
    const step = (model: Transformer, optimizer: Optimizer, index: number) => {
      model.zeroGradients();
      model.accumulate(batchOf(index), 0.02);
      optimizer.step(index);
    };
    const model = await modelOf(registry, config);
    const optimizer = Optimizer.create(registry, model, optim, { totalSteps: 6 });
    for (let index = 0; index < 3; index++) step(model, optimizer, index);
    const other = await modelOf(registry, config);
    const otherOptimizer = Optimizer.create(registry, other, optim, { totalSteps: 6 });
    other.load(await model.weights());
    otherOptimizer.loadState(await optimizer.readState());
    for (let index = 3; index < 6; index++) {
      step(model, optimizer, index);
      step(other, otherOptimizer, index);
    }
    const wanted = await model.weights();
    for (const [name, values] of await other.weights()) {
      assertSameBits(values, wanted.get(name) ?? values.slice(1), name);
    }
  },
);

testOnEachDevice(
  "Decoder with address embeddings matches the full pass in prefills, steps and branches",
  async ({ registry }) => {
    const { tokens } = batchOf(5, 1);
    const context = tokens.slice(0, 20);
    const V = modelShapes(CONFIG).vocabSize;
    const model = await Transformer.create(registry, CONFIG, {
      batchSize: 1,
      training: false,
      sequenceLength: 20,
    });
    model.load(weightsOf(CONFIG));
    const zeros = new Uint16Array(20);
    const full = await model.logProbabilities(
      { tokens: context, targets: zeros, lossMask: new Uint8Array(20), segmentStart: zeros },
      Uint32Array.from(context, (_, t) => t),
    );
    const decoder = await Decoder.create(registry, { config: CONFIG, weights: weightsOf(CONFIG) }, {
      maxPromptTokens: 64,
      maxRows: 32,
      maxSteps: 20,
      memoryLimitBytes: 2 ** 26,
    });
    const same = { relative: 0, absolute: 1e-5 };
    for (const split of [1, 4, 13]) {
      const prefix = await decoder.prefill([context.slice(0, split)], { numLast: Infinity });
      assertClose(prefix, full.subarray(0, split * V), same, `prefill of ${split}`);
      decoder.fork([1]);
      for (let t = split; t < context.length; t++) {
        // Halfway, the row branches into two, and the second one continues.
        const branches = t === split + 3;
        const row = branches
          ? await decoder.step([context[t], context[t]], Uint32Array.of(0, 0))
          : t > split + 3
          ? await decoder.step([0, context[t]])
          : await decoder.step([context[t]]);
        assertClose(row.subarray(row.length - V), full.subarray(t * V, (t + 1) * V), same, `step at ${t}`);
      }
    }
    await decoder.prefill([context.slice(0, 13)]);
    decoder.fork([1], { numDropped: 5 });
    const again = await decoder.step([context[8]]);
    assertClose(again, full.subarray(8 * V, 9 * V), same, "step after dropped tokens");
  },
);

Deno.test("rowsOfBatch() resets its state in every context", () => {
  const rows = knownRows(CONFIG);
  const batch = batchOf(6, 1);
  const whole = rowsOfBatch(batch, rows, { sequenceLength: T, isTraining: false });
  const second = {
    ...batch,
    tokens: batch.tokens.map((token, i) => i < 20 ? 8 : token),
  };
  const changed = rowsOfBatch(second, rows, { sequenceLength: T, isTraining: false });
  assertEquals(changed.subarray(20 * ROWS_PER_TOKEN), whole.subarray(20 * ROWS_PER_TOKEN));
});

testOnEachDevice(
  "freeRows limits gradients to the first address embeddings, without changing them",
  async ({ registry }) => {
    const batch = batchOf(7);
    const all = await modelOf(registry);
    all.zeroGradients();
    all.accumulate(batch, 0.02);
    const wanted = (await readGradients(all)).get("address_embed.weight") ?? new Float32Array();
    const freeRows = 20;
    const some = await Transformer.create(registry, CONFIG, {
      batchSize: BATCH_SIZE,
      training: true,
      freeRows,
    });
    some.load(weightsOf(CONFIG));
    some.zeroGradients();
    const rows = rowsOfBatch(batch, knownRows(CONFIG), { sequenceLength: T, isTraining: false });
    some.accumulate(batch, 0.02, rows);
    assertEquals([...some.gradients.keys()], ["address_embed.weight"]);
    const [gradients] = await registry.gpu.read(...some.gradients.values());
    assert(largest(gradients) > 0);
    const expected = wanted.subarray(0, freeRows * CONFIG.width);
    assertClose(gradients, expected, { relative: 0, absolute: 1e-5 * largest(expected) }, "free rows");
    const without = rows.map((row) => row < freeRows ? NO_ROW : row);
    some.zeroGradients();
    some.accumulate(batch, 0.02, without);
    assertEquals(largest((await registry.gpu.read(...some.gradients.values()))[0]), 0);
  },
);
