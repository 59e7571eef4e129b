/**
 * The tensors that a model's forward or backward pass needs, their shapes, and their memory, which is planned
 * before anything is allocated.
 *
 * All are f32 (inputs u32), row-major; rows = B * T. With dtype f16, activations, their gradients and the
 * operands of matrix products are f16. Two kinds stay f32: the residual stream and its gradient, because each
 * block adds to them and a 16-bit sum loses small terms; and the logits, because their error is the loss's
 * error.
 *
 * @module
 */
import { partitionPoint } from "../base/collections.ts";
import { ensure, named } from "../base/errors.ts";
import { type DType, joinedTensors, type Tensor, tensorSizeBytes } from "../tensor/tensor.ts";
import {
  allocateTensors,
  bufferLimitBytes,
  labelled,
  largestTensorBytes,
  type MakeTensor,
  plannedSizeBytes,
} from "./allocation.ts";
import { type BatchRows, markRttBytes, type ModelBatch, numRowSlots, numRowUses } from "./batch_rows.ts";
import type { ModelConfig, ModelExtent, ModelShapes } from "./model_config.ts";
import type { Gpu } from "../tensor/device.ts";
import { numTokenRows, tokenRows } from "../tensor/ops/embedding.ts";
import { previousRows } from "../tensor/ops/qk_norm_rope.ts";
import { numPartialSums } from "../tensor/ops/reduce.ts";

/** Activations of one block. With dtype f16 all are f16 except x, xMiddle, the scales and logSumExp. */
export interface LayerTensors {
  /** (rows, C): the block's input; the residual stream. */
  x: Tensor;
  /** (rows, C): rmsNorm(x). */
  xNorm: Tensor;
  /** (rows). */
  xScale: Tensor;
  /** (rows, H * D), like k, v, qRotated, kRotated, attention. */
  q: Tensor;
  k: Tensor;
  v: Tensor;
  /** (rows, H): the scale of qkNorm. */
  qScale: Tensor;
  kScale: Tensor;
  qRotated: Tensor;
  kRotated: Tensor;
  /** k before its shift; only with keyShift and keys in caches. */
  kUnshifted: Tensor | undefined;
  attention: Tensor;
  /** (rows, H). */
  logSumExp: Tensor;
  /** (rows, C): x plus the output of the attention. */
  xMiddle: Tensor;
  /** (rows, C). */
  xMiddleNorm: Tensor;
  /** (rows). */
  xMiddleScale: Tensor;
  /** (rows, M): the activation's input; only for training, and not for relu2, whose slope follows from its value. */
  hidden: Tensor | undefined;
  /** (rows, M). */
  activated: Tensor;
}

export interface HeadTensors {
  /** (rows, C). */
  xLast: Tensor;
  /** (rows, C); f16 if dtype is f16. */
  xLastNorm: Tensor;
  /** (rows). */
  xLastScale: Tensor;
  /** (rows, padded V), before the soft cap. */
  logits: Tensor;
  /** (rows), nats. */
  losses: Tensor;
}

/**
 * Outputs of the backward pass in addition to the parameters' gradients. One set serves all blocks. With
 * dtype f16 all except dx and delta are f16.
 */
export interface BackwardTensors {
  /** (rows, padded V). */
  dLogits: Tensor;
  /** (rows, C): gradient of the residual stream. */
  dx: Tensor;
  /** (rows, C): gradient of a normalised x. */
  dNorm: Tensor;
  /** (rows, M): gradient of the activation's argument. */
  dHidden: Tensor;
  /** (rows, H * D), like all below except delta. */
  dAttention: Tensor;
  dqRotated: Tensor;
  dkRotated: Tensor;
  dq: Tensor;
  dk: Tensor;
  dv: Tensor;
  /** (rows, H). */
  delta: Tensor;
}

export interface ModelTensors {
  /** Parameter name -> weights; the head's rows are padded, see `ModelShapes.paddedVocabSize`. */
  parameters: Map<string, Tensor>;
  /** Parameter name -> tensor that operations read: the parameter or an f16 copy (see `addOperandCopies`). */
  operands: Map<string, Tensor>;
  /**
   * Parameter name -> gradient, with the parameter's shape, times the loss scale; empty without training. The
   * gradient of address embeddings is (slots, C), see `RowSlots`; with `freeRows` it is the only one.
   */
  gradients: Map<string, Tensor>;
  inputs: InputTensors;
  /** One entry for each block; entries may share tensors. */
  layers: LayerTensors[];
  head: HeadTensors;
  backward: BackwardTensors | undefined;
  /** (1): sum of the losses since gradients were zeroed. */
  lossSum: Tensor;
  all: Tensor[];
}

export function modelTensors(shapes: ModelShapes, extent: ModelExtent, makeOne: MakeTensor): ModelTensors {
  const all: Tensor[] = [];
  const make: MakeTensor = (label, shape, dtype) => {
    const tensor = makeOne(label, shape, dtype);
    all.push(tensor);
    return tensor;
  };
  const { paddedVocabSize, config: { width } } = shapes;
  const rows = extent.batchSize * extent.sequenceLength;
  const layers = allLayerTensors(shapes, extent, make);
  const parameters = parameterTensors(shapes, make);
  const { dtype } = extent;
  return {
    parameters,
    operands: operandTensors(shapes, { parameters, dtype }, make),
    gradients: extent.training ? gradientTensors(shapes, extent, labelled(make, "d ")) : new Map(),
    inputs: inputTensors(shapes, extent, make),
    layers,
    head: {
      // Without training, the last block writes into the single residual stream.
      xLast: extent.training ? make("xLast", [rows, width]) : layers[0].x,
      xLastNorm: make("xLastNorm", [rows, width], dtype),
      xLastScale: make("xLastScale", [rows]),
      logits: make("logits", [rows, paddedVocabSize]),
      losses: make("losses", [rows]),
    },
    backward: extent.training ? backwardTensors(shapes, { rows, dtype }, make) : undefined,
    lossSum: make("lossSum", [1]),
    all,
  };
}

/** Parameter name -> (rows, columns) on the GPU, where the head's rows are padded. */
function gpuParameterShapes({ parameters, paddedVocabSize }: ModelShapes): Map<string, number[]> {
  return new Map([...parameters].map(([name, [rows, columns]]) => {
    return [name, [name === "lm_head.weight" ? paddedVocabSize : rows, columns]];
  }));
}

/**
 * Maximum size of a buffer with several parameters: enough for one dispatch, half of WebGPU's default limit.
 */
const MAX_SHARED_BYTES = 64 * 2 ** 20;

/**
 * One tensor per parameter, in the order of the forward pass. They share buffers in which parameters of the
 * same shape are consecutive, and so are q, k, v of a block, so that one dispatch computes the products or
 * updates of all.
 */
export function parameterTensors(shapes: ModelShapes, make: MakeTensor): Map<string, Tensor> {
  return tensorsOf(gpuParameterShapes(shapes), make);
}

/** Makes a tensor for each parameter, in the buffers of {@link sharedBuffers}. */
function tensorsOf(
  shapes: ReadonlyMap<string, readonly number[]>,
  make: MakeTensor,
  dtype?: DType,
): Map<string, Tensor> {
  const shared = sharedBuffers(shapes).flatMap((names) => {
    const parts = new Map(names.map((name) => [name, named(shapes, name)]));
    return [
      ...joinedTensors(parts, (shape) => make(`${names[0]} and ${names.length - 1} more`, shape, dtype)),
    ];
  });
  const tensors = new Map(shared);
  return new Map([...shapes].map(([name, shape]) => [name, tensors.get(name) ?? make(name, shape, dtype)]));
}

/** Assigns the names of parameters to buffers, in order; address embeddings have a separate buffer. */
function sharedBuffers(shapes: ReadonlyMap<string, readonly number[]>): string[][] {
  const ofPart = (part: string) => [...shapes.keys()].filter((name) => name.endsWith(`.${part}_proj.weight`));
  const [ks, vs] = [ofPart("k"), ofPart("v")];
  const whole = (name: string) => shapes.has(name) ? [[name]] : [];
  const units = [
    ...whole("wte.weight"),
    ...ofPart("q").map((q, layer) => [q, ks[layer], vs[layer]]),
    ...["o", "up", "down"].flatMap(ofPart).map((name) => [name]),
    ...whole("lm_head.weight"),
  ];
  const buffers: string[][] = [];
  let freeBytes = 0;
  for (const names of units) {
    const sizeBytes = names.length * tensorSizeBytes({ shape: named(shapes, names[0]) });
    if (sizeBytes > freeBytes) {
      buffers.push([]);
      freeBytes = MAX_SHARED_BYTES;
    }
    buffers[buffers.length - 1].push(...names);
    freeBytes -= sizeBytes;
  }
  return buffers;
}

export function gradientTensors(
  shapes: ModelShapes,
  extent: ModelExtent,
  make: MakeTensor,
): Map<string, Tensor> {
  const rows = new Map([["address_embed.weight", [numRowSlots(shapes, extent), shapes.config.width]]]);
  if (extent.freeRows !== undefined) return tensorsOf(rows, make);
  const whole = gpuParameterShapes(shapes);
  return tensorsOf(whole.has("address_embed.weight") ? new Map([...whole, ...rows]) : whole, make);
}

/** Makes {@link ModelTensors.operands}. Embeddings are not operands of products, so they have no copy. */
function operandTensors(
  shapes: ModelShapes,
  { parameters, dtype }: { parameters: Map<string, Tensor>; dtype: DType | undefined },
  make: MakeTensor,
): Map<string, Tensor> {
  if (dtype !== "f16") return parameters;
  const copied = gpuParameterShapes(shapes);
  for (const name of ["wte.weight", "address_embed.weight"]) copied.delete(name);
  return new Map([
    ...parameters,
    ...tensorsOf(copied, (label, ...rest) => make(`${label} in f16`, ...rest), dtype),
  ]);
}

/**
 * The blocks' activations. In training each block has its own (with recomputation only x); else all share.
 */
function allLayerTensors(shapes: ModelShapes, extent: ModelExtent, make: MakeTensor): LayerTensors[] {
  const rows = extent.batchSize * extent.sequenceLength;
  const { training, dtype } = extent;
  const { numLayers, width } = shapes.config;
  const first = layerTensors(shapes, { rows, training, dtype }, labelled(make, "layer 0 "));
  return Array.from({ length: numLayers }, (_, layer) => {
    if (layer === 0 || !training) return first;
    const makeLayer = labelled(make, `layer ${layer} `);
    return extent.checkpointActivations
      ? { ...first, x: makeLayer("x", [rows, width]) }
      : layerTensors(shapes, { rows, training, dtype }, makeLayer);
  });
}

function layerTensors(
  shapes: ModelShapes,
  layout: BlockLayout,
  make: MakeTensor,
): LayerTensors {
  const { headsWidth, config: { numHeads } } = shapes;
  const { rows, dtype } = layout;
  return {
    ...commonTensors(shapes, layout, make),
    ...together(["q", "k", "v"], [rows, headsWidth], make, dtype),
    ...together(["qScale", "kScale"], [rows, numHeads], make),
    ...together(["qRotated", "kRotated"], [rows, headsWidth], make, dtype),
    kUnshifted: undefined,
  };
}

/** Makes tensors of one shape in one buffer, so that one operation can compute several of them. */
function together<Name extends string>(
  names: readonly Name[],
  shape: readonly number[],
  make: MakeTensor,
  dtype?: DType,
): Record<Name, Tensor> {
  const parts = new Map(names.map((name) => [name, shape]));
  const tensors = joinedTensors(parts, (whole) => make(names.join(", "), whole, dtype));
  return Object.fromEntries(tensors) as Record<Name, Tensor>;
}

interface BlockLayout {
  readonly rows: number;
  readonly training: boolean;
  readonly dtype?: DType | undefined;
}

/** Makes a block's activations without its keys and values, which decoding keeps in caches. */
export function blockTensors(
  shapes: ModelShapes,
  layout: BlockLayout,
  make: MakeTensor,
): Omit<LayerTensors, "kRotated" | "kUnshifted" | "v"> {
  const { headsWidth, config: { numHeads: H } } = shapes;
  const { rows, dtype } = layout;
  const ofHeads = (label: string) => make(label, [rows, headsWidth], dtype);
  return {
    ...commonTensors(shapes, layout, make),
    q: ofHeads("q"),
    k: ofHeads("k"),
    qScale: make("qScale", [rows, H]),
    kScale: make("kScale", [rows, H]),
    qRotated: ofHeads("qRotated"),
  };
}

function commonTensors(shapes: ModelShapes, { rows, training, dtype }: BlockLayout, make: MakeTensor) {
  const { headsWidth, config: { width: C, mlpWidth: M, numHeads: H, activation } } = shapes;
  return {
    x: make("x", [rows, C]),
    xNorm: make("xNorm", [rows, C], dtype),
    xScale: make("xScale", [rows]),
    attention: make("attention", [rows, headsWidth], dtype),
    logSumExp: make("logSumExp", [rows, H]),
    xMiddle: make("xMiddle", [rows, C]),
    xMiddleNorm: make("xMiddleNorm", [rows, C], dtype),
    xMiddleScale: make("xMiddleScale", [rows]),
    hidden: training && activation !== "relu2" ? make("hidden", [rows, M], dtype) : undefined,
    activated: make("activated", [rows, M], dtype),
  };
}

function backwardTensors(
  shapes: ModelShapes,
  { rows, dtype }: { rows: number; dtype: DType | undefined },
  make: MakeTensor,
): BackwardTensors {
  const { headsWidth: HD, paddedVocabSize, config: { width: C, mlpWidth: M, numHeads: H } } = shapes;
  return {
    dLogits: make("dLogits", [rows, paddedVocabSize], dtype),
    dx: make("dx", [rows, C]),
    dNorm: make("dNorm", [rows, C], dtype),
    dHidden: make("dHidden", [rows, M], dtype),
    dAttention: make("dAttention", [rows, HD], dtype),
    ...together(["dqRotated", "dkRotated"], [rows, HD], make, dtype),
    ...together(["dq", "dk", "dv"], [rows, HD], make, dtype),
    delta: make("delta", [rows, H]),
  };
}

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
  /** (B, T, `ModelShapes.rowsPerToken`) u32; only with address embeddings, like the next two. */
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

function inputTensors(shapes: ModelShapes, extent: ModelExtent, make: MakeTensor): InputTensors {
  const { batchSize, sequenceLength, training, dtype, freeRows } = extent;
  const shape = [batchSize, sequenceLength];
  const { vocabSize, numAddressEmbeddings, rowsPerToken } = shapes;
  const hasRows = numAddressEmbeddings > 0;
  const numSlots = numRowSlots(shapes, extent);
  const numRowPlaces = numTokenRows(numRowUses(shapes.config, extent), numSlots);
  const numPlaces = numTokenRows(batchSize * sequenceLength, vocabSize);
  return {
    tokens: make("tokens", shape),
    targets: make("targets", shape),
    lossMask: make("lossMask", shape),
    segmentStart: make("segmentStart", shape),
    previous: shapes.config.keyShift ? make("previous", shape) : undefined,
    tokenRows: training && freeRows === undefined ? make("token rows", [numPlaces]) : undefined,
    embeddingRows: hasRows ? make("rows of tokens", [batchSize, sequenceLength, rowsPerToken]) : undefined,
    rowPlaces: hasRows && training ? make("tokens of slots", [numRowPlaces]) : undefined,
    slotRows: hasRows && training ? make("rows of slots", [1 + numSlots]) : undefined,
    weight: make("weight", [1]),
    lossScale: training && dtype === "f16" ? make("loss scale", [2]) : undefined,
  };
}

/** Uploads a batch. @param args `weight` of the loss in the gradient; `rows` of the address embeddings. */
export function writeInputs(
  gpu: Gpu,
  inputs: InputTensors,
  args: {
    vocabSize: number;
    extent: ModelExtent;
    batch: ModelBatch;
    weight: number;
    rows: BatchRows | undefined;
  },
): void {
  const { extent, batch, weight, vocabSize: limit } = args;
  const { batchSize, sequenceLength } = extent;
  const marked = { ...batch, lossMask: markRttBytes(batch, sequenceLength) };
  for (const name of ["tokens", "targets", "lossMask", "segmentStart"] as const) {
    const values = new Uint32Array(marked[name]);
    ensure(values.length === batchSize * sequenceLength, `${name} has ${values.length} elements`);
    if (name === "tokens" || name === "targets") {
      ensure(values.every((token) => token < limit), `${name} has a token that is not below ${limit}`);
    }
    if (name === "segmentStart") {
      const isBegun = values.every((start, row) => start <= row % sequenceLength);
      ensure(isBegun, "segmentStart has a position after its token");
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

export interface ModelMemory {
  /** Parameters and their f16 copies. */
  parametersBytes: number;
  gradientsBytes: number;
  /** Tensors that grow with the batch: inputs, activations, their gradients. */
  activationsBytes: number;
}

/** Computes the GPU memory that a model takes, without allocating any. */
export function planModelMemory(shapes: ModelShapes, extent: ModelExtent): ModelMemory {
  const parametersBytes = plannedSizeBytes((make) => {
    operandTensors(shapes, { parameters: parameterTensors(shapes, make), dtype: extent.dtype }, make);
  });
  const gradientsBytes = extent.training
    ? plannedSizeBytes((make) => gradientTensors(shapes, extent, make))
    : 0;
  const totalBytes = plannedSizeBytes((make) => {
    modelTensors(shapes, extent, make);
    for (const shape of operationShapes(shapes.config, extent)) make("of an operation", shape);
  });
  return { parametersBytes, gradientsBytes, activationsBytes: totalBytes - parametersBytes - gradientsBytes };
}

/**
 * Finds the largest batch size that fits.
 *
 * @param batchSize One that does not fit.
 * @param fits Whether a batch of this size fits; if it does, so do all smaller ones.
 * @returns 0 if not even one sequence fits.
 */
export function largestBatchSize(batchSize: number, fits: (batchSize: number) => boolean): number {
  return partitionPoint(batchSize - 1, (i) => !fits(i + 1));
}

/** Advice for a batch that does not fit. @param fitting From {@link largestBatchSize}. */
export function smallerBatchAdvice(fitting: number): string {
  return fitting > 0 ? `set train.microBatchSize to ${fitting} or less` : "choose a smaller model";
}

/**
 * Allocates all tensors of a model, zero-filled.
 *
 * @throws {UserError} If a tensor is larger than the adapter's buffers can be, or memory runs out.
 */
export async function allocate(gpu: Gpu, shapes: ModelShapes, extent: ModelExtent): Promise<ModelTensors> {
  const limitBytes = bufferLimitBytes(gpu.device);
  const fits = (batchSize: number) =>
    largestTensorBytes((make) => modelTensors(shapes, { ...extent, batchSize }, make)) <= limitBytes;
  return await allocateTensors(gpu, (make) => modelTensors(shapes, extent, make), {
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
