import { assert, assertEquals } from "@std/assert";
import type { KernelRegistry } from "../../lib/tensor/registry.ts";
import { type ModelExtent, modelShapes } from "../../lib/model/model_config.ts";
import { planModelMemory } from "../../lib/model/buffers.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { assertClose, assertSameBits, testOnEachDevice } from "../tensor/support.ts";
import { logProbabilities } from "../reference/cross_entropy.ts";
import { logitsProblem, referenceBackward, referenceForward } from "../reference/model.ts";
import { halfModelTolerance } from "../tolerances.ts";
import { largest, readGradients, tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "./tiny_model.ts";

const BATCH_SIZE = 3;
const WEIGHT = 0.25;
const CONFIG = tinyConfig();

async function halfModel(registry: KernelRegistry, options: Partial<ModelExtent> = {}): Promise<Transformer> {
  const extent = { batchSize: BATCH_SIZE, training: true, dtype: "f16", ...options } as const;
  const model = await Transformer.create(registry, CONFIG, extent);
  model.load(toFloat32(tinyWeights(CONFIG)));
  return model;
}

testOnEachDevice("Transformer of f16 is near the float64 model", async ({ registry, gpu }) => {
  const weights = tinyWeights(CONFIG);
  const batch = tinyBatch(CONFIG, BATCH_SIZE);
  const forward = referenceForward(CONFIG, weights, batch);
  const expected = referenceBackward(CONFIG, weights, batch, { forward, weight: WEIGHT });
  const model = await halfModel(registry);
  const losses = await model.evaluateLosses(batch);
  assertClose(losses, forward.losses, halfModelTolerance(CONFIG, largest(forward.losses)), "losses");
  model.accumulate(batch, WEIGHT);
  assert(model.lossScale);
  const [lossSum, [scale]] = await gpu.read(model.lossSum, model.lossScale);
  const sum = forward.losses.reduce((a, b) => a + b, 0);
  assertClose(lossSum, [sum], halfModelTolerance(CONFIG, sum), "lossSum");
  assertEquals(scale, 2 ** 15);
  const gradients = await readGradients(model);
  assertEquals([...gradients.keys()].sort(), [...expected.keys()].sort());
  for (const [name, gradient] of gradients) {
    const wanted = expected.get(name) ?? [];
    const unscaled = gradient.map((value) => value / scale);
    assertClose(unscaled, wanted, halfModelTolerance(CONFIG, largest(wanted)), `gradient of ${name}`);
  }
});

testOnEachDevice(
  "Transformer of f16 gives log-probabilities near the float64 model's",
  async ({ registry }) => {
    const batch = tinyBatch(CONFIG, BATCH_SIZE);
    const { logits } = referenceForward(CONFIG, tinyWeights(CONFIG), batch);
    const wanted = logProbabilities(logitsProblem(CONFIG), logits);
    const V = modelShapes(CONFIG).vocabSize;
    const positions = [35, 0, 7];
    const expected = positions.flatMap((row) => [...wanted.subarray(row * V, (row + 1) * V)]);
    const model = await halfModel(registry, { training: false });
    const actual = await model.logProbabilities(batch, Uint32Array.from(positions));
    assertClose(actual, expected, halfModelTolerance(CONFIG, largest(expected)), "log-probabilities");
  },
);

testOnEachDevice(
  "Transformer of f16 gives the same bits again, and computing activations twice",
  async (bench) => {
    const batch = tinyBatch(CONFIG, BATCH_SIZE);
    const model = await halfModel(bench.registry);
    const other = await halfModel(bench.registry, { checkpointActivations: true });
    const runs: Map<string, Float32Array>[] = [];
    for (const each of [model, model, other]) {
      each.zeroGradients();
      each.accumulate(batch, WEIGHT);
      runs.push((await readGradients(each)).set("lossSum", (await bench.gpu.read(each.lossSum))[0]));
    }
    for (const [name, values] of runs[0]) {
      for (const run of runs) assertSameBits(values, run.get(name) ?? values.slice(1), name);
    }
  },
);

Deno.test("planModelMemory() of f16 has smaller activations, and copies of the weights", () => {
  for (const checkpointActivations of [false, true]) {
    const extent = { batchSize: 8, sequenceLength: 12, training: true, checkpointActivations };
    const full = planModelMemory(CONFIG, extent);
    const half = planModelMemory(CONFIG, { ...extent, dtype: "f16" });
    assert(half.activationsBytes < 0.75 * full.activationsBytes, `${half.activationsBytes} bytes`);
    assertEquals(half.gradientsBytes, full.gradientsBytes);
    assert(half.parametersBytes > full.parametersBytes && half.parametersBytes < 1.5 * full.parametersBytes);
  }
});
