/**
 * The GPU memory of a model, planned before anything is allocated: the bytes of its tensors, and whether the
 * adapter can hold them.
 *
 * @module
 */
import type { Gpu } from "../tensor/device.ts";
import { numPartialSums } from "../tensor/ops/reduce.ts";
import { allocateTensors, bufferLimitBytes, largestTensorBytes, plannedSizeBytes } from "./allocation.ts";
import {
  gradientTensors,
  type ModelTensors,
  modelTensors,
  operandTensors,
  parameterTensors,
} from "./buffers.ts";
import type { ModelConfig, ModelExtent } from "./model_config.ts";

/** Bytes of a model's GPU memory, by purpose. */
export interface ModelMemory {
  /** Parameters and their f16 copies. */
  parametersBytes: number;
  gradientsBytes: number;
  /** Tensors that grow with the batch: inputs, activations, their gradients. */
  activationsBytes: number;
}

/** The GPU memory that a model takes, without allocating any. */
export function planModelMemory(config: ModelConfig, extent: ModelExtent): ModelMemory {
  const parametersBytes = plannedSizeBytes((make) => {
    operandTensors(config, { parameters: parameterTensors(config, make), dtype: extent.dtype }, make);
  });
  const gradientsBytes = extent.training
    ? plannedSizeBytes((make) => gradientTensors(config, extent, make))
    : 0;
  const totalBytes = plannedSizeBytes((make) => {
    modelTensors(config, extent, make);
    for (const shape of operationShapes(config, extent)) make("of an operation", shape);
  });
  return { parametersBytes, gradientsBytes, activationsBytes: totalBytes - parametersBytes - gradientsBytes };
}

/**
 * Finds the largest batch that fits.
 *
 * @param batchSize A batch that does not fit.
 * @param fits Whether a batch of that many sequences fits; if one does, all smaller ones do.
 * @returns 0 if not even one sequence fits.
 */
export function largestBatchSize(batchSize: number, fits: (batchSize: number) => boolean): number {
  let fitting = 0;
  let tooLarge = batchSize;
  while (tooLarge - fitting > 1) {
    const middle = Math.floor((fitting + tooLarge) / 2);
    if (fits(middle)) fitting = middle;
    else tooLarge = middle;
  }
  return fitting;
}

/** Advice for a batch that does not fit. @param fitting From {@link largestBatchSize}. */
export function smallerBatchAdvice(fitting: number): string {
  return fitting > 0 ? `set train.microBatchSize to ${fitting} or less` : "choose a smaller model";
}

/**
 * Allocates all tensors of a model, zero-filled.
 *
 * @throws {UserError} If one of them is larger than the adapter's buffers can be, or memory runs out.
 */
export async function allocate(gpu: Gpu, config: ModelConfig, extent: ModelExtent): Promise<ModelTensors> {
  const limitBytes = bufferLimitBytes(gpu.device);
  const fits = (batchSize: number) =>
    largestTensorBytes((make) => modelTensors(config, { ...extent, batchSize }, make)) <= limitBytes;
  return await allocateTensors(gpu, (make) => modelTensors(config, extent, make), {
    what: "the model",
    remedy: fits(extent.batchSize)
      ? "lower train.microBatchSize or set train.checkpointActivations"
      : smallerBatchAdvice(largestBatchSize(extent.batchSize, fits)),
  });
}

/** Tensors that operations make internally: rotations, the partial sums of the loss, an unused output. */
function operationShapes({ headDim }: ModelConfig, extent: ModelExtent): (readonly number[])[] {
  const rotations = [extent.sequenceLength, headDim];
  const numPartials = numPartialSums(extent.batchSize * extent.sequenceLength);
  return [rotations, [4], ...(extent.training && numPartials > 1 ? [[numPartials]] : [])];
}
