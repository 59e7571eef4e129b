/**
 * The GPU memory of a training run: planned, told and checked before anything is allocated.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { GpuInfo } from "../gpu/device.ts";
import { gpuParameterShapes } from "../model/buffers.ts";
import {
  largestBatchSize,
  type ModelMemory,
  planModelMemory,
  smallerBatchAdvice,
} from "../model/memory_plan.ts";
import { optimizerSizeBytes } from "../optim/memory_plan.ts";
import { type RunConfig, trainingExtent } from "./config.ts";

/** Bytes of GPU memory by what they are for; all is allocated at the start and kept, so the sum is the peak. */
export interface MemoryPlan extends ModelMemory {
  /** State, scratch memory and numbers. */
  optimizerBytes: number;
  totalBytes: number;
}

/** Plans the memory of a run. */
export function planMemory(config: RunConfig): MemoryPlan {
  const { model, optim } = config;
  const memory = planModelMemory(model, trainingExtent(config));
  const optimizerBytes = optimizerSizeBytes(gpuParameterShapes(model), optim);
  const { parametersBytes, gradientsBytes, activationsBytes } = memory;
  const totalBytes = parametersBytes + gradientsBytes + activationsBytes + optimizerBytes;
  return { ...memory, optimizerBytes, totalBytes };
}

/** A line for the user. */
export function describeMemoryPlan(plan: MemoryPlan): string {
  // Not by toLocaleString(), which takes the start of a run 20 ms to load its tables.
  const totalBytes = String(plan.totalBytes).replace(/\B(?=(\d{3})+$)/g, ",");
  return `memory: ${totalBytes} bytes (${gib(plan.totalBytes)}) on the GPU: parameters ` +
    `${gib(plan.parametersBytes)}, gradients ${gib(plan.gradientsBytes)}, optimizer ${
      gib(plan.optimizerBytes)
    }, ` +
    `activations ${gib(plan.activationsBytes)}`;
}

/**
 * Checks that a software adapter has the memory, which is the processor's: it would be killed for lack of it. A
 * GPU tells its free memory only by refusing an allocation.
 *
 * @throws {UserError} With the batch that would fit.
 */
export function checkMemory(config: RunConfig, { isSoftware }: Pick<GpuInfo, "isSoftware">): void {
  const availableBytes = isSoftware ? availableMemoryBytes() : undefined;
  const { totalBytes } = planMemory(config);
  if (availableBytes === undefined || totalBytes <= availableBytes) return;
  const { train } = config;
  const fitting = largestBatchSize(
    train.microBatchSize,
    (microBatchSize) =>
      planMemory({ ...config, train: { ...train, microBatchSize } }).totalBytes <= availableBytes,
  );
  throw new UserError(
    `Cannot train: the run takes ${gib(totalBytes)}, ${gib(availableBytes)} are free on this machine; ` +
      smallerBatchAdvice(fitting) +
      (train.checkpointActivations ? "" : ", or set train.checkpointActivations"),
  );
}

/** Free memory of the machine, where it may be asked for (--allow-sys=systemMemoryInfo). */
function availableMemoryBytes(): number | undefined {
  const isAllowed = Deno.permissions.querySync({ name: "sys", kind: "systemMemoryInfo" }).state === "granted";
  return isAllowed ? Deno.systemMemoryInfo().available : undefined;
}

function gib(sizeBytes: number): string {
  return `${(sizeBytes / 2 ** 30).toFixed(2)} GiB`;
}
