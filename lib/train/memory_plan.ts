/**
 * The memory of a training run on the GPU and the host: planned, logged and checked before anything is
 * allocated.
 *
 * @module
 */
import { numPartialSums } from "../tensor/ops/reduce.ts";
import { type Tensor, tensorLength } from "../tensor/tensor.ts";
import { largestTensorBytes, type MakeTensor, plannedSizeBytes, plannedTensor } from "../model/allocation.ts";
import { type GroupName, groupOf, type OptimConfig } from "./optim/optim_config.ts";
import { ruleOf } from "./optim/rules.ts";
import { wholeBuffers } from "./optim/optimizer.ts";
import { ConfigError } from "../base/errors.ts";
import type { GpuInfo } from "../tensor/device.ts";
import {
  gradientTensors,
  largestBatchSize,
  type ModelMemory,
  type ModelTensors,
  modelTensors,
  parameterTensors,
  planModelMemory,
  smallerBatchAdvice,
} from "../model/buffers.ts";
import type { ModelShapes } from "../model/model_config.ts";
import type { RunPlan } from "./run_config.ts";

/** Bytes of GPU memory by purpose. Everything is allocated at the start and kept, so the sum is the peak. */
interface MemoryPlan extends ModelMemory {
  /** State, scratch memory and scalars. */
  optimizerBytes: number;
  /** A teacher with its forward pass; 0 without a teacher. */
  teacherBytes: number;
  totalBytes: number;
}

/** Bytes of host memory used at once, in addition to the program and the rows of data. */
interface HostMemoryPlan {
  /** Batches of this step, the next step and the validation set. */
  batchesBytes: number;
  /** Weights and optimizer state during a save. */
  checkpointBytes: number;
  totalBytes: number;
}

/** Each position has token, target and segment start (u16), and mask (u8). */
const BATCH_BYTES_PER_TOKEN = 7;

/** @param teacher The teacher's model, if there is one. */
export function planMemory(run: RunPlan, teacher?: ModelShapes): MemoryPlan {
  const memory = planModelMemory(run.shapes, run.extent);
  const ofTeacher = teacher && planModelMemory(teacher, run.teacherExtent);
  const teacherBytes = ofTeacher ? ofTeacher.parametersBytes + ofTeacher.activationsBytes : 0;
  const optimizerBytes = plannedSizeBytes((make) => makeOptimizer(run, make));
  const { parametersBytes, gradientsBytes, activationsBytes } = memory;
  const totalBytes = parametersBytes + gradientsBytes + activationsBytes + optimizerBytes + teacherBytes;
  return { ...memory, optimizerBytes, teacherBytes, totalBytes };
}

function planHostMemory(run: RunPlan): HostMemoryPlan {
  const { config: { model, train }, tokensPerStep } = run;
  const numTokens = 2 * tokensPerStep + train.evalSequences * model.sequenceLength;
  const batchesBytes = BATCH_BYTES_PER_TOKEN * numTokens;
  const checkpointBytes = 4 * numSavedValues(run);
  return { batchesBytes, checkpointBytes, totalBytes: batchesBytes + checkpointBytes };
}

export function describeMemoryPlan(plan: MemoryPlan): string {
  // toLocaleString() would load its tables, which adds 20 ms to the start of a run.
  const totalBytes = String(plan.totalBytes).replace(/\B(?=(\d{3})+$)/g, ",");
  return `memory: ${totalBytes} bytes (${gib(plan.totalBytes)}) on the GPU: parameters ` +
    `${gib(plan.parametersBytes)}, gradients ${gib(plan.gradientsBytes)}, optimizer ${
      gib(plan.optimizerBytes)
    }, ` +
    `activations ${gib(plan.activationsBytes)}` +
    (plan.teacherBytes ? `, teacher ${gib(plan.teacherBytes)}` : "");
}

/**
 * Checks that the machine has enough free memory. Without --allow-sys=systemMemoryInfo nothing is checked.
 *
 * @param availableBytes Free memory (default: what the machine reports).
 * @throws {ConfigError} If there is too little.
 */
export function checkHostMemory(run: RunPlan, availableBytes = freeMemoryBytes()): void {
  const { batchesBytes, checkpointBytes, totalBytes } = planHostMemory(run);
  if (availableBytes === undefined || totalBytes <= availableBytes) return;
  const free = `${gib(availableBytes)} are free on this machine`;
  if (checkpointBytes > availableBytes) {
    const found = `saving its weights and optimizer state takes ${gib(checkpointBytes)}`;
    throw new ConfigError("model", `${found}, but ${free}; choose a smaller model`);
  }
  const found = `the batches of two steps and of the validation set take ${gib(batchesBytes)}`;
  throw new ConfigError("train.batchSize", `${found}, but ${free}; lower it, or train.evalSequences`);
}

interface Adapter extends Pick<GpuInfo, "isSoftware"> {
  /** Size of the largest buffer that the adapter can bind. */
  bufferLimitBytes: number;
}

/**
 * Checks that an adapter can bind the largest tensor. A software adapter uses host memory, so that is checked
 * too: otherwise the process would be killed when memory runs out. A GPU reveals its free memory only when an
 * allocation fails.
 *
 * @param options `availableBytes`: as for {@link checkHostMemory}; `teacher`: as for {@link planMemory}.
 * @throws {ConfigError} With the batch size that would fit.
 */
export function checkMemory(
  run: RunPlan,
  { isSoftware, bufferLimitBytes }: Adapter,
  { availableBytes = freeMemoryBytes(), teacher }: {
    availableBytes?: number;
    teacher?: ModelShapes | undefined;
  } = {},
): void {
  const largestBytes = (run: RunPlan) =>
    largestTensorBytes((make) => {
      modelTensors(run.shapes, run.extent, make);
      if (teacher) modelTensors(teacher, run.teacherExtent, make);
      makeOptimizer(run, make);
    });
  refuse(run, largestBytes, {
    limitBytes: bufferLimitBytes,
    found: "the largest tensor takes",
    wanted: "is the size limit of this adapter's buffers",
  });
  if (!isSoftware || availableBytes === undefined) return;
  const allBytes = (run: RunPlan) => planMemory(run, teacher).totalBytes + planHostMemory(run).totalBytes;
  refuse(run, allBytes, {
    limitBytes: availableBytes,
    found: "the run takes",
    wanted: "are free on this machine",
  });
}

function refuse(
  run: RunPlan,
  sizeBytes: (run: RunPlan) => number,
  { limitBytes, found, wanted }: { limitBytes: number; found: string; wanted: string },
): void {
  const takenBytes = sizeBytes(run);
  if (takenBytes <= limitBytes) return;
  const { extent, teacherExtent } = run;
  const fitting = largestBatchSize(
    extent.batchSize,
    (batchSize) =>
      sizeBytes({
        ...run,
        extent: { ...extent, batchSize },
        teacherExtent: { ...teacherExtent, batchSize },
      }) <= limitBytes,
  );
  throw new ConfigError(
    fitting > 0 ? "train.microBatchSize" : "model",
    `${found} ${gib(takenBytes)}, but ${gib(limitBytes)} ${wanted}; ${smallerBatchAdvice(fitting)}` +
      (extent.checkpointActivations ? "" : ", or set train.checkpointActivations"),
  );
}

function makeOptimizer({ config, shapes, extent }: RunPlan, make: MakeTensor): void {
  const parameters = parameterTensors(shapes, plannedTensor);
  const gradients = gradientTensors(shapes, extent, plannedTensor);
  optimizerTensors({ parameters, gradients }, config.optim, make);
}

/** Makes a tensor of each size that `Optimizer.create` allocates: states, scratch memory and scalars. */
function optimizerTensors(
  { parameters, gradients }: Pick<ModelTensors, "parameters" | "gradients">,
  config: OptimConfig,
  make: MakeTensor,
): void {
  const numPartials = wholeBuffers(gradients).map((whole) => numPartialSums(tensorLength(whole)));
  // For the gradient norm: clip factor, sum of squares, partial sums.
  for (const length of [2, 1, numPartials.reduce((sum, count) => sum + count, 0)]) {
    make("of the norm", [length]);
  }
  makeStates(parameters, config, make);
}

/** Makes what the rules of all groups allocate; returns their state tensors. */
function makeStates(
  parameters: ReadonlyMap<string, Tensor>,
  config: OptimConfig,
  make: MakeTensor,
): Tensor[] {
  const members = [...parameters].map(([name, parameter]) => ({ name, parameter }));
  return (Object.keys(config.groups) as GroupName[]).flatMap((group) => {
    const ofGroup = members.filter(({ name }) => groupOf(name) === group);
    return [...ruleOf(group, config).tensors(ofGroup, make).state.values()];
  });
}

/** Number of 4-byte values of the parameters and the optimizer's state in a checkpoint. */
function numSavedValues({ config: { optim }, shapes: { numParameters, parameters } }: RunPlan): number {
  const planned = new Map([...parameters].map(([name, shape]) => [name, plannedTensor(name, shape)]));
  return makeStates(planned, optim, plannedTensor).reduce(
    (sum, state) => sum + tensorLength(state),
    numParameters,
  );
}

/** Undefined without permission to read it. */
function freeMemoryBytes(): number | undefined {
  const isAllowed = Deno.permissions.querySync({ name: "sys", kind: "systemMemoryInfo" }).state === "granted";
  return isAllowed ? Deno.systemMemoryInfo().available : undefined;
}

function gib(sizeBytes: number): string {
  return `${(sizeBytes / 2 ** 30).toFixed(2)} GiB`;
}
