/**
 * The input tensors of batches.
 *
 * @module
 */
import { ensure } from "../base/errors.ts";
import type { Gpu } from "../tensor/device.ts";
import { numTokenRows, tokenRows } from "../tensor/ops/embedding.ts";
import { previousRows } from "../tensor/ops/shift_keys.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { MakeTensor } from "./allocation.ts";
import { type BatchRows, markRttBytes, type ModelBatch, numRowSlots, numRowUses } from "./batch_rows.ts";
import { type ModelConfig, type ModelExtent, modelShapes } from "./model_config.ts";

/** The tensors of a batch. */
export interface InputTensors {
  /** (B, T) u32. */
  tokens: Tensor;
  /** (B, T) u32. */
  targets: Tensor;
  /** (B, T) u32: the loss mask of `markRttBytes`. */
  lossMask: Tensor;
  /** (B, T) u32: the first position that a position may attend to. */
  segmentStart: Tensor;
  /** (B, T) u32: see `previousRows`; only with keyShift. */
  previous: Tensor | undefined;
  /** (V + 1 + rows) u32: see `tokenRows`; only for training, without `freeRows`. */
  tokenRows: Tensor | undefined;
  /** (B, T, `ModelShapes.rowsPerToken`) u32: the rows of each token's address embeddings; this and the next two only with such. */
  embeddingRows: Tensor | undefined;
  /** (slots + 1 + uses) u32: see `RowSlots.places`; only for training. */
  rowPlaces: Tensor | undefined;
  /** (1 + slots) u32: see `RowSlots.rows`; only for training. */
  slotRows: Tensor | undefined;
  /** (1): the weight of the loss in the gradient. */
  weight: Tensor;
  /** (2): the loss scale, see `addClipFactor`; only for training with dtype f16. */
  lossScale: Tensor | undefined;
}

/** Makes the tensors of a model's inputs. */
export function inputTensors(config: ModelConfig, extent: ModelExtent, make: MakeTensor): InputTensors {
  const { batchSize, sequenceLength, training, dtype, freeRows } = extent;
  const shape = [batchSize, sequenceLength];
  const { vocabSize, numAddressEmbeddings, rowsPerToken } = modelShapes(config);
  const hasRows = numAddressEmbeddings > 0;
  const numSlots = numRowSlots(config, extent);
  const numRowPlaces = numTokenRows(numRowUses(config, extent), numSlots);
  const numPlaces = numTokenRows(batchSize * sequenceLength, vocabSize);
  return {
    tokens: make("tokens", shape),
    targets: make("targets", shape),
    lossMask: make("lossMask", shape),
    segmentStart: make("segmentStart", shape),
    previous: config.keyShift ? make("previous", shape) : undefined,
    tokenRows: training && freeRows === undefined ? make("token rows", [numPlaces]) : undefined,
    embeddingRows: hasRows ? make("rows of tokens", [batchSize, sequenceLength, rowsPerToken]) : undefined,
    rowPlaces: hasRows && training ? make("tokens of slots", [numRowPlaces]) : undefined,
    slotRows: hasRows && training ? make("rows of slots", [1 + numSlots]) : undefined,
    weight: make("weight", [1]),
    lossScale: training && dtype === "f16" ? make("loss scale", [2]) : undefined,
  };
}

/**
 * Uploads a batch.
 *
 * @param args `weight`: the weight of the loss in the gradient; `rows`: only with address embeddings.
 */
export function writeInputs(
  gpu: Gpu,
  inputs: InputTensors,
  args: {
    config: ModelConfig;
    extent: ModelExtent;
    batch: ModelBatch;
    weight: number;
    rows: BatchRows | undefined;
  },
): void {
  const { extent, batch, weight } = args;
  const limit = modelShapes(args.config).vocabSize;
  const { batchSize, sequenceLength } = extent;
  const marked = { ...batch, lossMask: markRttBytes(batch, sequenceLength) };
  for (const name of ["tokens", "targets", "lossMask", "segmentStart"] as const) {
    const values = new Uint32Array(marked[name]);
    ensure(values.length === batchSize * sequenceLength, `${name} has ${values.length} elements`);
    if (name === "tokens" || name === "targets") {
      ensure(values.every((token) => token < limit), `${name} has a token that is not below ${limit}`);
    }
    gpu.write(inputs[name], values);
  }
  if (inputs.previous) gpu.write(inputs.previous, previousRows(batch.segmentStart, sequenceLength));
  if (inputs.tokenRows) gpu.write(inputs.tokenRows, tokenRows(batch.tokens, limit));
  if (inputs.embeddingRows && args.rows) {
    const { ofTokens, places, ofSlots } = args.rows;
    gpu.write(inputs.embeddingRows, ofTokens);
    if (inputs.rowPlaces && places) gpu.write(inputs.rowPlaces, places);
    if (inputs.slotRows && ofSlots) gpu.write(inputs.slotRows, ofSlots);
  }
  gpu.write(inputs.weight, Float32Array.of(weight));
}
