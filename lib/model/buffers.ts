/**
 * The tensors of a model: those that a forward or backward pass needs, and their shapes.
 *
 * All are f32 (inputs u32), row-major; rows = B * T. With dtype f16 activations, their gradients and the operands of
 * matrix products are f16. Two things stay f32: the residual stream and its gradient, since each block adds to them and a
 * 16-bit sum loses small terms, and the logits, since their error is the loss's.
 *
 * @module
 */
import { named } from "../base/errors.ts";
import { type DType, joinedTensors, type Tensor, tensorSizeBytes } from "../tensor/tensor.ts";
import { labelled, type MakeTensor } from "./allocation.ts";
import { numRowSlots } from "./batch_rows.ts";
import { type ModelConfig, type ModelExtent, modelShapes } from "./model_config.ts";
import { type InputTensors, inputTensors } from "./inputs.ts";

/** Activations of one block. With dtype f16 all are f16 but x, xMiddle, the scales and logSumExp. */
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
  /** k before its shift; only with keyShift where keys are kept in caches. */
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
  /** (rows, M): before the activation; only for training, and not of relu2, whose slope follows from its value. */
  hidden: Tensor | undefined;
  /** (rows, M). */
  activated: Tensor;
}

/** Activations after the last block. */
export interface HeadTensors {
  /** (rows, C). */
  xLast: Tensor;
  /** (rows, C); f16 with that dtype. */
  xLastNorm: Tensor;
  /** (rows). */
  xLastScale: Tensor;
  /** (rows, padded V), before the soft cap. */
  logits: Tensor;
  /** (rows), nats. */
  losses: Tensor;
}

/**
 * The outputs of the backward pass besides the parameters' gradients. One set serves all blocks. With dtype f16 all
 * but dx and delta are f16.
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
  /** (rows, H * D), like all below but delta. */
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
  /**
   * Parameter name -> the tensor that operations read: the parameter itself, or a copy in f16, see
   * `addOperandCopies`.
   */
  operands: Map<string, Tensor>;
  /**
   * Parameter name -> gradient, of the parameter's shape, times the loss scale; empty without training. The gradient of
   * address embeddings is (slots, C), see `RowSlots`; with `freeRows` it is the only one.
   */
  gradients: Map<string, Tensor>;
  inputs: InputTensors;
  /** One entry for each block; entries may share tensors. */
  layers: LayerTensors[];
  head: HeadTensors;
  backward: BackwardTensors | undefined;
  /** (1): sum of the losses since gradients were zeroed. */
  lossSum: Tensor;
  /** All tensors, each once. */
  all: Tensor[];
}

export function modelTensors(config: ModelConfig, extent: ModelExtent, makeOne: MakeTensor): ModelTensors {
  const all: Tensor[] = [];
  const make: MakeTensor = (label, shape, dtype) => {
    const tensor = makeOne(label, shape, dtype);
    all.push(tensor);
    return tensor;
  };
  const rows = extent.batchSize * extent.sequenceLength;
  const layers = allLayerTensors(config, extent, make);
  const parameters = parameterTensors(config, make);
  const { dtype } = extent;
  return {
    parameters,
    operands: operandTensors(config, { parameters, dtype }, make),
    gradients: extent.training ? gradientTensors(config, extent, labelled(make, "d ")) : new Map(),
    inputs: inputTensors(config, extent, make),
    layers,
    head: {
      // Without training, the last block writes into the one residual stream.
      xLast: extent.training ? make("xLast", [rows, config.width]) : layers[0].x,
      xLastNorm: make("xLastNorm", [rows, config.width], dtype),
      xLastScale: make("xLastScale", [rows]),
      logits: make("logits", [rows, modelShapes(config).paddedVocabSize]),
      losses: make("losses", [rows]),
    },
    backward: extent.training ? backwardTensors(config, { rows, dtype }, make) : undefined,
    lossSum: make("lossSum", [1]),
    all,
  };
}

/** Parameter name -> (rows, columns) on the GPU, where the head's rows are padded. */
function gpuParameterShapes(config: ModelConfig): Map<string, number[]> {
  return new Map([...modelShapes(config).parameters].map(([name, [rows, columns]]) => {
    return [name, [name === "lm_head.weight" ? modelShapes(config).paddedVocabSize : rows, columns]];
  }));
}

/** The largest size of a buffer with several parameters: enough work for a dispatch, half of WebGPU's default limit. */
const MAX_SHARED_BYTES = 64 * 2 ** 20;

/**
 * One tensor per parameter, in the order of the forward pass. They share buffers, where those of one shape lie one after
 * the other, and q, k, v of a block too: one dispatch computes the products or updates of all.
 */
export function parameterTensors(config: ModelConfig, make: MakeTensor): Map<string, Tensor> {
  return tensorsOf(gpuParameterShapes(config), make);
}

/** A tensor for each parameter, in the buffers of {@link sharedBuffers}. */
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

/** The names of the parameters in each buffer, in the order of the buffer; address embeddings have one of their own. */
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

/** Makes {@link ModelTensors.gradients}. */
export function gradientTensors(
  config: ModelConfig,
  extent: ModelExtent,
  make: MakeTensor,
): Map<string, Tensor> {
  const rows = new Map([["address_embed.weight", [numRowSlots(config, extent), config.width]]]);
  if (extent.freeRows !== undefined) return tensorsOf(rows, make);
  const shapes = gpuParameterShapes(config);
  return tensorsOf(shapes.has("address_embed.weight") ? new Map([...shapes, ...rows]) : shapes, make);
}

/** Makes {@link ModelTensors.operands}. Embeddings are not operands of products, so they have no copy. */
export function operandTensors(
  config: ModelConfig,
  { parameters, dtype }: { parameters: Map<string, Tensor>; dtype: DType | undefined },
  make: MakeTensor,
): Map<string, Tensor> {
  if (dtype !== "f16") return parameters;
  const shapes = gpuParameterShapes(config);
  for (const name of ["wte.weight", "address_embed.weight"]) shapes.delete(name);
  return new Map([
    ...parameters,
    ...tensorsOf(shapes, (label, ...rest) => make(`${label} in f16`, ...rest), dtype),
  ]);
}

/** The blocks' activations. For training each block has a set, or its own x only with recomputation; otherwise all share one. */
function allLayerTensors(config: ModelConfig, extent: ModelExtent, make: MakeTensor): LayerTensors[] {
  const rows = extent.batchSize * extent.sequenceLength;
  const { training, dtype } = extent;
  const first = layerTensors(config, { rows, training, dtype }, labelled(make, "layer 0 "));
  return Array.from({ length: config.numLayers }, (_, layer) => {
    if (layer === 0 || !training) return first;
    const makeLayer = labelled(make, `layer ${layer} `);
    return extent.checkpointActivations
      ? { ...first, x: makeLayer("x", [rows, config.width]) }
      : layerTensors(config, { rows, training, dtype }, makeLayer);
  });
}

function layerTensors(
  config: ModelConfig,
  layout: BlockLayout,
  make: MakeTensor,
): LayerTensors {
  const { numHeads } = config;
  const { headsWidth } = modelShapes(config);
  const { rows, dtype } = layout;
  return {
    ...commonTensors(config, layout, make),
    ...together(["q", "k", "v"], [rows, headsWidth], make, dtype),
    ...together(["qScale", "kScale"], [rows, numHeads], make),
    ...together(["qRotated", "kRotated"], [rows, headsWidth], make, dtype),
    kUnshifted: undefined,
  };
}

/** Tensors of one shape in one buffer: what computes each can compute all if they follow without a gap. */
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

/** The layout of a block's activations. */
interface BlockLayout {
  readonly rows: number;
  readonly training: boolean;
  readonly dtype?: DType | undefined;
}

/** A block's activations without its keys and values, which decoding keeps in caches. */
export function blockTensors(
  config: ModelConfig,
  layout: BlockLayout,
  make: MakeTensor,
): Omit<LayerTensors, "kRotated" | "kUnshifted" | "v"> {
  const { numHeads: H } = config;
  const { rows, dtype } = layout;
  const ofHeads = (label: string) => make(label, [rows, modelShapes(config).headsWidth], dtype);
  return {
    ...commonTensors(config, layout, make),
    q: ofHeads("q"),
    k: ofHeads("k"),
    qScale: make("qScale", [rows, H]),
    kScale: make("kScale", [rows, H]),
    qRotated: ofHeads("qRotated"),
  };
}

function commonTensors(config: ModelConfig, { rows, training, dtype }: BlockLayout, make: MakeTensor) {
  const { width: C, mlpWidth: M, numHeads: H, activation } = config;
  return {
    x: make("x", [rows, C]),
    xNorm: make("xNorm", [rows, C], dtype),
    xScale: make("xScale", [rows]),
    attention: make("attention", [rows, modelShapes(config).headsWidth], dtype),
    logSumExp: make("logSumExp", [rows, H]),
    xMiddle: make("xMiddle", [rows, C]),
    xMiddleNorm: make("xMiddleNorm", [rows, C], dtype),
    xMiddleScale: make("xMiddleScale", [rows]),
    hidden: training && activation !== "relu2" ? make("hidden", [rows, M], dtype) : undefined,
    activated: make("activated", [rows, M], dtype),
  };
}

function backwardTensors(
  config: ModelConfig,
  { rows, dtype }: { rows: number; dtype: DType | undefined },
  make: MakeTensor,
): BackwardTensors {
  const { width: C, mlpWidth: M, numHeads: H } = config;
  const { headsWidth: HD, paddedVocabSize } = modelShapes(config);
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
