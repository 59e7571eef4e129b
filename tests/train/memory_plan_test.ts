import { assert, assertAlmostEquals, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { UserError } from "../../lib/errors.ts";
import { Gpu } from "../../lib/gpu/device.ts";
import { KernelRegistry } from "../../lib/gpu/registry.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { Optimizer } from "../../lib/optim/optimizer.ts";
import { loadConfig } from "../../lib/train/config.ts";
import { checkMemory, describeMemoryPlan, planMemory } from "../../lib/train/memory_plan.ts";

const SMALL = ["batchSize", "microBatchSize", "evalSequences"].map((key) => `train.${key}=2`).concat(
  "model.numLayers=3",
);
const ADAMW_MATRICES = 'optim.groups.matrices={"kind":"adamw","learningRate":0.001}';

Deno.test("planMemory() counts every byte that model and optimizer allocate", async () => {
  for (
    const change of [
      "train.checkpointActivations=false",
      "train.checkpointActivations=true",
      "train.dtype=f16",
      ADAMW_MATRICES,
    ]
  ) {
    const config = loadConfig("demo", [...SMALL, change]);
    const { microBatchSize: batchSize, checkpointActivations, dtype } = config.train;
    using gpu = await Gpu.open();
    const registry = new KernelRegistry(gpu);
    const options = { batchSize, training: true, checkpointActivations, dtype };
    const model = await Transformer.create(registry, config.model, options);
    Optimizer.create(registry, model, config.optim, { totalSteps: 10 });
    assertEquals(gpu.allocatedBytes, planMemory(config).totalBytes, change);
  }
});

Deno.test("planMemory() of full-680m has its 680 M parameters, gradients and states", () => {
  const config = loadConfig("full-680m");
  const plan = planMemory(config);
  assert(Math.abs(plan.parametersBytes / 4 - 680e6) < 1e6, `${plan.parametersBytes} bytes`);
  assertEquals(plan.gradientsBytes, plan.parametersBytes);
  assert(plan.optimizerBytes > plan.parametersBytes, "one momentum for each parameter, and more");
  const less = planMemory({ ...config, train: { ...config.train, checkpointActivations: true } });
  assert(
    less.activationsBytes < plan.activationsBytes / 4,
    `${less.activationsBytes} of ${plan.activationsBytes}`,
  );
  assertStringIncludes(describeMemoryPlan(plan), plan.totalBytes.toLocaleString("en"));
});

Deno.test("planMemory() in f16 has about half the activations, and half the parameters again as copies", () => {
  for (const preset of ["small-95m", "full-680m"]) {
    const [full, half] = ["f32", "f16"].map((dtype) =>
      planMemory(loadConfig(preset, [`train.dtype=${dtype}`]))
    );
    assert(half.activationsBytes < 0.6 * full.activationsBytes, `${half.activationsBytes} bytes`);
    assertAlmostEquals(half.parametersBytes / full.parametersBytes, 1.5, 0.01);
    assertEquals([half.gradientsBytes, half.optimizerBytes], [full.gradientsBytes, full.optimizerBytes]);
  }
});

Deno.test("checkMemory() refuses what a software adapter has no memory for, and says what fits", () => {
  const config = loadConfig(
    "demo",
    ["batchSize", "microBatchSize", "evalSequences"].map((key) => `train.${key}=65536`),
  );
  checkMemory(config, { isSoftware: false });
  const { message } = assertThrows(() => checkMemory(config, { isSoftware: true }), UserError);
  const fitting = Number(/set train.microBatchSize to (\d+) or less/.exec(message)?.[1]);
  assert(fitting > 0 && fitting < 65536, message);
  checkMemory(loadConfig("demo"), { isSoftware: true });
});
