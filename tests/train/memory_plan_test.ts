import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { partitionPoint } from "../../lib/base/collections.ts";
import { ConfigError } from "../../lib/base/errors.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { paddingBatch } from "../../lib/data/loader/batch.ts";
import { Transformer } from "../../lib/model/transformer.ts";
import { Optimizer } from "../../lib/train/optim/optimizer.ts";
import { modelShapes } from "../../lib/model/model_config.ts";
import { loadConfig, planRun, type RunPlan } from "../../lib/train/run_config.ts";
import { checkHostMemory, checkMemory, describeMemoryPlan, planMemory } from "../../lib/train/memory_plan.ts";
import { SMALL_RUN } from "./small_run.ts";

const SMALL = ["batchSize", "microBatchSize", "evalSequences"].map((key) => `train.${key}=2`).concat(
  "model.numLayers=3",
);
const ADAMW_MATRICES = 'optim.groups.matrices={"kind":"adamw","learningRate":0.001}';

/** The least free memory that `checkHostMemory()` accepts. */
function hostBytes(plan: RunPlan): number {
  return partitionPoint(2 ** 32, (availableBytes) => {
    try {
      checkHostMemory(plan, availableBytes);
      return true;
    } catch {
      return false;
    }
  });
}

Deno.test("planMemory() counts every byte that model and optimizer allocate", async () => {
  for (
    const change of [
      "train.checkpointActivations=false",
      "train.checkpointActivations=true",
      "train.dtype=f16",
      ADAMW_MATRICES,
    ]
  ) {
    const config = loadConfig(SMALL_RUN, [...SMALL, change]);
    const { microBatchSize: batchSize, checkpointActivations, dtype } = config.train;
    using gpu = await Gpu.open();
    const registry = new KernelRegistry(gpu);
    const options = { batchSize, training: true, checkpointActivations, dtype };
    const model = await Transformer.create(registry, config.model, options);
    Optimizer.create(registry, model, config.optim, { totalSteps: 10 });
    assertEquals(gpu.allocatedBytes, planMemory(planRun(config)).totalBytes, change);
  }
});

Deno.test("planMemory() counts every byte of a teacher and its forward pass", async () => {
  const config = loadConfig(SMALL_RUN, [...SMALL, "model.sequenceLength=64"]);
  const run = planRun(config);
  const ofTeacher = modelShapes({ ...config.model, width: 192, headDim: 64 as const, sequenceLength: 128 });
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const teacher = await Transformer.create(registry, ofTeacher.config, run.teacherExtent);
  const alone = gpu.allocatedBytes;
  const plan = planMemory(run, ofTeacher);
  assertEquals(alone, plan.teacherBytes);
  await Transformer.create(registry, config.model, run.extent, teacher.asTeacher(0.5));
  // All models on a GPU share one vec4 that nobody reads.
  assertEquals(gpu.allocatedBytes, plan.totalBytes - plan.optimizerBytes - 16);
  assertEquals(plan.totalBytes - plan.teacherBytes, planMemory(run).totalBytes);
  const message = describeMemoryPlan(plan);
  assertStringIncludes(message, `teacher ${(plan.teacherBytes / 2 ** 30).toFixed(2)} GiB`);
  const availableBytes = planMemory(run).totalBytes + hostBytes(run);
  const software = { isSoftware: true, bufferLimitBytes: Infinity };
  checkMemory(run, software, { availableBytes });
  assertThrows(() => checkMemory(run, software, { availableBytes, teacher: ofTeacher }), ConfigError);
});

Deno.test("planMemory() for 680m counts 680 M parameters, gradients and optimizer states", () => {
  const config = loadConfig("680m");
  const plan = planMemory(planRun(config));
  assert(Math.abs(plan.parametersBytes / 4 - 680e6) < 1e6, `${plan.parametersBytes} bytes`);
  assertEquals(plan.gradientsBytes, plan.parametersBytes);
  assert(plan.optimizerBytes > plan.parametersBytes, "one momentum for each parameter, and more");
  const less = planMemory(planRun({ ...config, train: { ...config.train, checkpointActivations: true } }));
  assert(
    less.activationsBytes < plan.activationsBytes / 4,
    `${less.activationsBytes} of ${plan.activationsBytes}`,
  );
  assertStringIncludes(describeMemoryPlan(plan), plan.totalBytes.toLocaleString("en"));
});

Deno.test("checkMemory() rejects what exceeds a software adapter's memory, and suggests what fits", () => {
  const config = loadConfig(
    "demo",
    ["batchSize", "microBatchSize", "evalSequences"].map((key) => `train.${key}=65536`),
  );
  const eightGib = 8 * 2 ** 30;
  checkMemory(planRun(config), { isSoftware: false, bufferLimitBytes: Infinity }, {
    availableBytes: eightGib,
  });
  const software = { isSoftware: true, bufferLimitBytes: Infinity };
  const { message, keyPath } = assertThrows(
    () => checkMemory(planRun(config), software, { availableBytes: eightGib }),
    ConfigError,
  );
  const fitting = Number(/set train.microBatchSize to (\d+) or less/.exec(message)?.[1]);
  assert(fitting > 0 && fitting < 65536, message);
  assertEquals(keyPath, "train.microBatchSize");
  checkMemory(planRun({ ...config, train: { ...config.train, microBatchSize: fitting } }), software, {
    availableBytes: eightGib,
  });
  assertThrows(() => checkMemory(planRun(config), software), ConfigError, "are free on this machine");
  checkMemory(planRun(loadConfig(SMALL_RUN)), software);
});

Deno.test("checkMemory() rejects model and optimizer tensors that an adapter cannot bind", () => {
  const refused = (settings: string[], bufferLimitBytes: number) =>
    assertThrows(
      () =>
        checkMemory(planRun(loadConfig(SMALL_RUN, [...SMALL, ...settings])), {
          isSoftware: false,
          bufferLimitBytes,
        }),
      ConfigError,
      "the largest tensor takes",
    );
  // The MLP's hidden layers, 512 wide, for two sequences of 512 tokens; a block's weights take half of that.
  const hiddenBytes = 2 * 512 * 512 * 4;
  const oneBlock = [ADAMW_MATRICES, "model.numLayers=1", "model.sequenceLength=512"];
  const config = loadConfig(SMALL_RUN, [...SMALL, ...oneBlock]);
  checkMemory(planRun(config), { isSoftware: false, bufferLimitBytes: hiddenBytes });
  assertStringIncludes(refused(oneBlock, hiddenBytes - 1).message, "set train.microBatchSize to 1 or less");
  // The twelve matrices of 128 x 128 of three layers share a buffer with the six of 512 x 128 and 128 x 512,
  // the embedding and the head.
  const short = "model.sequenceLength=16";
  const sharedBytes = (12 * 128 * 128 + 6 * 512 * 128 + (267 + 272) * 128) * 4;
  assertEquals(refused([short], sharedBytes - 1).keyPath, "model");
  checkMemory(planRun(loadConfig(SMALL_RUN, [...SMALL, short])), {
    isSoftware: false,
    bufferLimitBytes: sharedBytes,
  });
});

Deno.test("checkHostMemory() rejects batches and models that exceed host memory", () => {
  const config = loadConfig(SMALL_RUN, ["batchSize", "evalSequences"].map((key) => `train.${key}=65536`));
  const plan = planRun(config);
  const checkpointBytes = hostBytes(plan) - 3 * 65_536 * config.model.sequenceLength * 7;
  const ofBatches = assertThrows(() => checkHostMemory(plan, checkpointBytes), ConfigError);
  assertEquals(ofBatches.keyPath, "train.batchSize");
  const ofModel = assertThrows(() => checkHostMemory(plan, checkpointBytes - 1), ConfigError);
  assertEquals(ofModel.keyPath, "model");
});

Deno.test("checkHostMemory() counts the bytes of batches and checkpoint tensors", async () => {
  const config = loadConfig(SMALL_RUN, [...SMALL, ADAMW_MATRICES]);
  const { microBatchSize: batchSize } = config.train;
  using gpu = await Gpu.open();
  const model = await Transformer.create(new KernelRegistry(gpu), config.model, {
    batchSize,
    training: true,
  });
  const optimizer = Optimizer.create(model.registry, model, config.optim, { totalSteps: 10 });
  const saved = [...(await model.weights()).values(), ...(await optimizer.readState()).values()];
  const { tokens, targets, lossMask, segmentStart } = paddingBatch(2, config.model.sequenceLength);
  const batch = [tokens, targets, lossMask, segmentStart];
  const sizeOf = (arrays: { byteLength: number }[]) =>
    arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  assertEquals(hostBytes(planRun(config)), sizeOf(saved) + 3 * sizeOf(batch));
});
