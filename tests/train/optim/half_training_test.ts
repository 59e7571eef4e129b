import { assert, assertEquals } from "@std/assert";
import type { KernelRegistry } from "../../../lib/tensor/registry.ts";
import type { DType } from "../../../lib/tensor/tensor.ts";
import { Transformer } from "../../../lib/model/transformer.ts";
import { type OptimConfig, parseOptimConfig } from "../../../lib/train/optim/optim_config.ts";
import { LOSS_SCALE_STATE, Optimizer } from "../../../lib/train/optim/optimizer.ts";
import { assertSameBits, testOnEachDevice } from "../../tensor/support.ts";
import { tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "../../model/tiny_model.ts";

const CONFIG = tinyConfig();
const BATCH_SIZE = 2;
const adamW = (learningRate: number) => ({ kind: "adamw", learningRate });
const OPTIM: OptimConfig = parseOptimConfig({
  groups: {
    embedding: adamW(0.01),
    head: adamW(0.01),
    matrices: { kind: "muon", learningRate: 0.01, momentumWarmupSteps: 12 },
  },
  warmupShare: 0.2,
});

interface Run {
  model: Transformer;
  optimizer: Optimizer;
}

async function setUp(registry: KernelRegistry, dtype: DType, totalSteps = 60): Promise<Run> {
  const model = await Transformer.create(registry, CONFIG, { batchSize: BATCH_SIZE, training: true, dtype });
  model.load(toFloat32(tinyWeights(CONFIG)));
  return { model, optimizer: Optimizer.create(registry, model, OPTIM, { totalSteps }) };
}

/** One optimizer step; returns the mean loss before it. */
async function step({ model, optimizer }: Run, index: number, seed = index): Promise<number> {
  const batch = tinyBatch(CONFIG, BATCH_SIZE, seed);
  const numTargets = batch.lossMask.reduce((sum, mask) => sum + mask, 0);
  model.zeroGradients();
  model.accumulate(batch, 1 / numTargets);
  optimizer.step(index);
  return (await model.registry.gpu.read(model.lossSum))[0][0] / numTargets;
}

testOnEachDevice("training in f16 ends near the loss of f32", async ({ registry }) => {
  const losses: number[][] = [];
  for (const dtype of ["f32", "f16"] as const) {
    const run = await setUp(registry, dtype);
    const seen: number[] = [];
    for (let index = 0; index < 60; index++) seen.push(await step(run, index, index % 3));
    losses.push(seen);
  }
  const [full, half] = losses.map((seen) => (seen[57] + seen[58] + seen[59]) / 3);
  const start = losses[0][0];
  assert(full < 0.5 * start, `losses ${losses[0]}`);
  // Within a hundredth of what was learned.
  assert(Math.abs(half - full) < 0.01 * (start - full), `${half} in f16, ${full} in f32`);
});

testOnEachDevice("a scale that is too large is halved, step by step, and training goes on", async (bench) => {
  const run = await setUp(bench.registry, "f16");
  const { model, optimizer } = run;
  optimizer.loadState((await optimizer.readState()).set(LOSS_SCALE_STATE, Float32Array.of(2 ** 24, 7)));
  const weights = await model.weights();
  assert(optimizer.lossScale);
  for (let index = 0, numSkipped = 0; index < 20; index++) {
    await step(run, index, 0);
    const [[scale], [norm]] = await bench.gpu.read(optimizer.lossScale, optimizer.gradNorm);
    const skipped = 24 - Math.log2(scale);
    assertEquals(Number.isFinite(norm), skipped === numSkipped);
    if (skipped === index + 1) {
      for (const [name, values] of await model.weights()) {
        assertSameBits(values, weights.get(name) ?? values, name);
      }
    }
    numSkipped = skipped;
    if (index === 19) assert(skipped >= 3 && skipped < 15, `${skipped} steps were skipped`);
  }
  assert(await step(run, 20, 0) < 5);
});

testOnEachDevice(
  "a run in f16 goes on from saved weights and state with the same bits",
  async ({ registry }) => {
    const whole = await setUp(registry, "f16", 6);
    const before = await setUp(registry, "f16", 6);
    // A scale that overflows in the first steps, on both sides of the save.
    for (const { optimizer } of [whole, before]) {
      optimizer.loadState((await optimizer.readState()).set(LOSS_SCALE_STATE, Float32Array.of(2 ** 24, 0)));
    }
    for (let index = 0; index < 14; index++) await step(whole, index);
    for (let index = 0; index < 5; index++) await step(before, index);
    const after = await setUp(registry, "f16", 6);
    after.model.load(await before.model.weights());
    after.optimizer.loadState(await before.optimizer.readState());
    for (let index = 5; index < 14; index++) await step(after, index);
    const expected = new Map([...await whole.model.weights(), ...await whole.optimizer.readState()]);
    for (const [name, values] of [...await after.model.weights(), ...await after.optimizer.readState()]) {
      assertSameBits(values, expected.get(name) ?? values.slice(1), name);
    }
  },
);

testOnEachDevice("products read the weights of the last step", async ({ registry }) => {
  const run = await setUp(registry, "f16");
  await step(run, 0);
  const other = await setUp(registry, "f16");
  other.model.load(await run.model.weights());
  const batch = tinyBatch(CONFIG, BATCH_SIZE);
  assertSameBits(await run.model.evaluateLosses(batch), await other.model.evaluateLosses(batch), "losses");
});

testOnEachDevice("f32 and f16 take over each other's state", async ({ registry }) => {
  const [full, half] = [await setUp(registry, "f32"), await setUp(registry, "f16")];
  await step(half, 0);
  full.optimizer.loadState(await half.optimizer.readState());
  const state = await full.optimizer.readState();
  assert(!state.has(LOSS_SCALE_STATE));
  half.optimizer.loadState(state);
  assertEquals([...(await half.optimizer.readState()).get(LOSS_SCALE_STATE) ?? []], [2 ** 15, 1]);
});
