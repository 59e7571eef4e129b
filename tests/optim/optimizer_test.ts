import { assert, assertEquals, assertThrows } from "@std/assert";
import { UserError } from "../../lib/errors.ts";
import type { KernelRegistry } from "../../lib/gpu/registry.ts";
import { tensorLength } from "../../lib/gpu/tensor.ts";
import { type ModelConfig, vocabSize } from "../../lib/model/config.ts";
import { type ModelBatch, Transformer } from "../../lib/model/transformer.ts";
import { groupOf, type OptimConfig, parseOptimConfig } from "../../lib/optim/config.ts";
import { Optimizer } from "../../lib/optim/optimizer.ts";
import { learningRateFactor, weightDecayFactor, widthFactor } from "../../lib/optim/schedule.ts";
import { assertClose, assertSameBits, randomNormal, testOnEachDevice } from "../gpu/support.ts";
import { tinyBatch, tinyConfig, tinyWeights, toFloat32 } from "../model/tiny_model.ts";
import { adamW, type AdamWState } from "../reference/adamw.ts";
import { clipGradients } from "../reference/clip.ts";
import { referenceBackward, referenceForward, type Weights } from "../reference/model.ts";
import { expressionTolerance } from "../tolerances.ts";

const BATCH_SIZE = 2;

/** Rates at width 768 that are moderate at the tiny model's width of 16. */
function tinyOptim(changes: Record<string, unknown> = {}): OptimConfig {
  const group = (learningRate: number) => ({ kind: "adamw", learningRate });
  const groups = { embedding: group(0.003), head: group(0.001), matrices: group(0.0005) };
  return parseOptimConfig({ groups, warmupShare: 0.2, ...changes });
}

async function setUp(registry: KernelRegistry, options: { config?: ModelConfig; totalSteps: number }) {
  const { config = tinyConfig(), totalSteps } = options;
  const model = await Transformer.create(registry, config, { batchSize: BATCH_SIZE, training: true });
  model.load(toFloat32(tinyWeights(config)));
  return { model, optimizer: Optimizer.create(registry, model, tinyOptim(), { totalSteps }) };
}

/** Steps of the float64 optimizer with the schedule's numbers. */
class ReferenceOptimizer {
  readonly #states: Map<string, AdamWState>;

  constructor(weights: Weights, readonly width: number, readonly totalSteps: number) {
    this.#states = new Map([...weights].map(([name, parameter]) => {
      const [expAvg, expAvgSq] = [0, 1].map(() => new Float64Array(parameter.length));
      return [name, { parameter, expAvg, expAvgSq }];
    }));
  }

  get weights(): Weights {
    return new Map([...this.#states].map(([name, { parameter }]) => [name, parameter]));
  }

  step(stepIndex: number, gradients: Weights) {
    const optim = tinyOptim();
    clipGradients(gradients.values(), optim.maxGradientNorm);
    for (const [name, state] of this.#states) {
      const { learningRate, weightDecay, ...betas } = optim.groups[groupOf(name)];
      const numbers = {
        ...betas,
        learningRate: learningRate * widthFactor(this.width) *
          learningRateFactor(stepIndex, this.totalSteps, optim),
        weightDecay: weightDecay * weightDecayFactor(stepIndex, this.totalSteps),
        step: stepIndex + 1,
      };
      this.#states.set(name, adamW(state, gradients.get(name) ?? new Float64Array(), numbers));
    }
  }

  /** An entry of the state by its name in checkpoints. */
  entry(name: string): Float64Array {
    const dot = name.lastIndexOf(".");
    const state = this.#states.get(name.slice(0, dot));
    assert(state, name);
    return name.slice(dot) === ".exp_avg" ? state.expAvg : state.expAvgSq;
  }
}

function numTargets(batch: ModelBatch): number {
  return batch.lossMask.reduce((sum, mask) => sum + mask, 0);
}

testOnEachDevice(
  "step() follows the float64 AdamW over 20 steps of given gradients",
  async ({ registry, gpu }) => {
    const config = tinyConfig();
    const totalSteps = 20;
    const { model, optimizer } = await setUp(registry, { config, totalSteps });
    const reference = new ReferenceOptimizer(tinyWeights(config), config.width, totalSteps);
    for (let step = 0; step < totalSteps; step++) {
      const gradients: Weights = new Map();
      for (const [name, { length }] of reference.weights) {
        // Some steps are clipped, some are not: about 12,000 gradients.
        const gradient = randomNormal(`${name} ${step}`, length, step % 2 ? 0.1 : 0.001);
        gradients.set(name, gradient);
        const tensor = model.gradients.get(name);
        assert(tensor);
        const padded = new Float32Array(tensorLength(tensor));
        padded.set(gradient);
        gpu.write(tensor, padded);
      }
      const norm = clipGradients([...gradients.values()].map((gradient) => gradient.slice()), 1);
      reference.step(step, gradients);
      optimizer.step(step);
      const [gradNorm] = await gpu.read(optimizer.gradNorm);
      assertClose(gradNorm, [norm], expressionTolerance(100), "gradNorm");
    }
    // A step rounds a dozen times, relative to the sizes of the parameter and of the update.
    const tolerance = expressionTolerance(12 * totalSteps, 0.1);
    for (const [name, values] of await model.weights()) {
      assertClose(values, reference.weights.get(name) ?? [], tolerance, name);
    }
    const state = await optimizer.readState();
    assertEquals([...state.keys()].sort(), [...optimizer.stateShapes.keys()].sort());
    for (const [name, values] of state) assertClose(values, reference.entry(name), tolerance, name);
  },
);

testOnEachDevice(
  "20 training steps stay within 1e-3 of the float64 model's losses",
  async ({ registry, gpu }) => {
    const config = tinyConfig();
    const totalSteps = 20;
    const { model, optimizer } = await setUp(registry, { config, totalSteps });
    const reference = new ReferenceOptimizer(tinyWeights(config), config.width, totalSteps);
    let [first, last] = [0, 0];
    for (let step = 0; step < totalSteps; step++) {
      const batch = tinyBatch(config, BATCH_SIZE, step % 3);
      const weight = 1 / numTargets(batch);
      model.zeroGradients();
      model.accumulate(batch, weight);
      optimizer.step(step);
      const [lossSum] = await gpu.read(model.lossSum);
      const forward = referenceForward(config, reference.weights, batch);
      reference.step(step, referenceBackward(config, reference.weights, batch, { forward, weight }));
      const expected = forward.losses.reduce((a, b) => a + b, 0) * weight;
      // Design 04-model, "Parity with PyTorch": 20 steps stay within 1e-3 of the losses.
      assertClose(
        lossSum.map((sum) => sum * weight),
        [expected],
        { relative: 1e-3, absolute: 0 },
        `loss ${step}`,
      );
      [first, last] = [first || expected, expected];
    }
    assert(last < 0.8 * first, `the loss went from ${first} to ${last} only`);
  },
);

testOnEachDevice("overfitting one tiny batch brings the loss near zero", async ({ registry, gpu }) => {
  const config = tinyConfig();
  const totalSteps = 60;
  const { model } = await setUp(registry, { config, totalSteps });
  const group = (learningRate: number) => ({ kind: "adamw", learningRate });
  const groups = { embedding: group(0.01), head: group(0.01), matrices: group(0.003) };
  const optimizer = Optimizer.create(registry, model, tinyOptim({ groups }), { totalSteps });
  const batch = tinyBatch(config, BATCH_SIZE);
  const losses: number[] = [];
  for (let step = 0; step < totalSteps; step++) {
    model.zeroGradients();
    model.accumulate(batch, 1 / numTargets(batch));
    optimizer.step(step);
    if (step % 20 === 0 || step === totalSteps - 1) {
      losses.push((await gpu.read(model.lossSum))[0][0] / numTargets(batch));
    }
  }
  assert(losses[0] > 4 && losses[losses.length - 1] < 0.2, `losses ${losses}`);
});

testOnEachDevice("step() skips and counts a gradient that is not finite", async ({ registry, gpu }) => {
  const { model, optimizer } = await setUp(registry, { totalSteps: 10 });
  const batch = tinyBatch(model.config, BATCH_SIZE);
  model.accumulate(batch, 1);
  optimizer.step(0);
  const weights = await model.weights();
  const state = await optimizer.readState();
  for (const [numSkipped, weight] of [[1, NaN], [2, Infinity], [3, 3e38]] as const) {
    model.zeroGradients();
    model.accumulate(batch, weight);
    optimizer.step(numSkipped);
    const [norm, skipped, inARow] = await gpu.read(
      optimizer.gradNorm,
      optimizer.numSkipped,
      optimizer.numSkippedInARow,
    );
    assert(!Number.isFinite(norm[0]), `norm ${norm[0]}`);
    assertEquals([skipped[0], inARow[0]], [numSkipped, numSkipped]);
  }
  for (const [name, values] of await model.weights()) {
    assertSameBits(values, weights.get(name) ?? values, name);
  }
  for (const [name, values] of await optimizer.readState()) {
    assertSameBits(values, state.get(name) ?? values, name);
  }
  model.zeroGradients();
  model.accumulate(batch, 1);
  optimizer.step(4);
  const [skipped, inARow] = await gpu.read(optimizer.numSkipped, optimizer.numSkippedInARow);
  assertEquals([skipped[0], inARow[0]], [3, 0]);
});

testOnEachDevice("a run goes on from saved weights and state with the same bits", async ({ registry }) => {
  const totalSteps = 6;
  const train = (model: Transformer, optimizer: Optimizer, steps: number[]) => {
    for (const step of steps) {
      model.zeroGradients();
      model.accumulate(tinyBatch(model.config, BATCH_SIZE, step), 1);
      optimizer.step(step);
    }
  };
  const whole = await setUp(registry, { totalSteps });
  train(whole.model, whole.optimizer, [0, 1, 2, 3, 4, 5]);
  const before = await setUp(registry, { totalSteps });
  train(before.model, before.optimizer, [0, 1, 2]);
  const after = await setUp(registry, { totalSteps });
  after.model.load(await before.model.weights());
  after.optimizer.loadState(await before.optimizer.readState());
  train(after.model, after.optimizer, [3, 4, 5]);
  const expected = await whole.model.weights();
  for (const [name, values] of await after.model.weights()) {
    assertSameBits(values, expected.get(name) ?? values.slice(1), name);
  }
});

testOnEachDevice("the head's added rows stay zero, and are in no checkpoint", async ({ registry, gpu }) => {
  const { model, optimizer } = await setUp(registry, { totalSteps: 3 });
  for (const step of [0, 1, 2]) {
    model.accumulate(tinyBatch(model.config, BATCH_SIZE, step), 1);
    optimizer.step(step);
  }
  const head = model.parameters.get("lm_head.weight");
  assert(head);
  const size = vocabSize(model.config) * model.config.width;
  const added = (await gpu.read(head))[0].slice(size);
  assertEquals(added, new Float32Array(model.config.width));
  assertEquals((await model.weights()).get("lm_head.weight")?.length, size);
  assertEquals((await optimizer.readState()).get("lm_head.weight.exp_avg")?.length, size);
  assertEquals(optimizer.stateShapes.get("lm_head.weight.exp_avg"), [267, 16]);
});

testOnEachDevice("loadState() refuses the state of another model", async ({ registry }) => {
  const { optimizer } = await setUp(registry, { totalSteps: 1 });
  const state = await optimizer.readState();
  const without = new Map(state);
  without.delete("wte.weight.exp_avg");
  assertThrows(() => optimizer.loadState(without), UserError, "0 values of wte.weight.exp_avg");
  const more = new Map(state).set("wte.weight.momentum", new Float32Array(4));
  assertThrows(() => optimizer.loadState(more), UserError, "an entry wte.weight.momentum");
});
