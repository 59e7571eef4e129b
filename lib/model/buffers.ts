/**
 * The GPU memory of a model, planned before anything is allocated: which tensors a forward or backward pass
 * needs, how many bytes they take, and whether the adapter can have them.
 *
 * All tensors are f32 (u32 for tokens, targets, mask and segment starts), row-major; rows = B * T.
 *
 * @module
 */
import type { Gpu } from "../gpu/device.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { allocateTensors, labelled, type MakeTensor, plannedSizeBytes } from "./allocation.ts";
import { type ModelConfig, parameterShapes, vocabSize } from "./config.ts";

/** How a model is to run. */
export interface ModelExtent {
  /** Sequences of a batch, B. */
  readonly batchSize: number;
  /** Tokens of a sequence, T; at most the configuration's. */
  readonly sequenceLength: number;
  /** Whether gradients and everything that the backward pass needs are kept. */
  readonly training: boolean;
  /**
   * Whether a training pass keeps only each block's input and computes the rest again on the way back: about a
   * third more work, and activations of one block instead of all (Chen et al., arXiv 1604.06174, section 3.1).
   */
  readonly checkpointActivations?: boolean;
}

/** What a batch is uploaded to. */
export interface InputTensors {
  /** (B, T) u32. */
  tokens: Tensor;
  /** (B, T) u32. */
  targets: Tensor;
  /** (B, T) u32, 0 or 1. */
  lossMask: Tensor;
  /** (B, T) u32: the first position that a position may attend to. */
  segmentStart: Tensor;
  /** (1): the weight of the loss in the gradient. */
  weight: Tensor;
}

/** Activations of one block. */
export interface LayerTensors {
  /** (rows, C): the block's input; the residual stream. */
  x: Tensor;
  /** (rows, C): rmsNorm(x). */
  xNorm: Tensor;
  /** (rows). */
  xScale: Tensor;
  /** (rows, H * D), as are k, v, qRotated, kRotated, attention. */
  q: Tensor;
  k: Tensor;
  v: Tensor;
  /** (rows, H): the scale of qkNorm. */
  qScale: Tensor;
  kScale: Tensor;
  qRotated: Tensor;
  kRotated: Tensor;
  attention: Tensor;
  /** (rows, H). */
  logSumExp: Tensor;
  /** (rows, C): x plus the attention's part. */
  xMiddle: Tensor;
  /** (rows, C). */
  xMiddleNorm: Tensor;
  /** (rows). */
  xMiddleScale: Tensor;
  /** (rows, M): before the activation; only for training. */
  hidden: Tensor | undefined;
  /** (rows, M). */
  activated: Tensor;
}

/** Activations after the last block. */
export interface HeadTensors {
  /** (rows, C). */
  xLast: Tensor;
  /** (rows, C). */
  xLastNorm: Tensor;
  /** (rows). */
  xLastScale: Tensor;
  /** (rows, padded V), before the soft cap. */
  logits: Tensor;
  /** (rows), nats. */
  losses: Tensor;
}

/** What the backward pass writes besides the parameters' gradients; one set serves all blocks. */
export interface BackwardTensors {
  /** (rows, padded V). */
  dLogits: Tensor;
  /** (rows, C): gradient of the residual stream. */
  dx: Tensor;
  /** (rows, C): gradient of a normalised x. */
  dNorm: Tensor;
  /** (rows, M): gradient of the activation's argument. */
  dHidden: Tensor;
  /** (rows, H * D), as are all below but delta. */
  dAttention: Tensor;
  dqRotated: Tensor;
  dkRotated: Tensor;
  dq: Tensor;
  dk: Tensor;
  dv: Tensor;
  /** (rows, H). */
  delta: Tensor;
}

/** Every tensor of a model. */
export interface ModelTensors {
  /** Parameter name -> weights; the head's rows are padded, see {@link paddedVocabSize}. */
  parameters: Map<string, Tensor>;
  /** Parameter name -> gradient, of the parameter's shape; empty unless training. */
  gradients: Map<string, Tensor>;
  inputs: InputTensors;
  /** One entry per block, which may share tensors. */
  layers: LayerTensors[];
  head: HeadTensors;
  backward: BackwardTensors | undefined;
  /** (1): sum of the losses since gradients were zeroed. */
  lossSum: Tensor;
  /** All of the above, each once. */
  all: Tensor[];
}

/** Rows of the head's weight on the GPU: V rounded up, since matrix kernels work on 4 columns at a time. */
export function paddedVocabSize(config: ModelConfig): number {
  return Math.ceil(vocabSize(config) / 4) * 4;
}

/**
 * The GPU memory that a model takes, without allocating any.
 *
 * @returns Bytes of all its tensors.
 */
export function planSizeBytes(config: ModelConfig, extent: ModelExtent): number {
  return plannedSizeBytes((make) => build(config, extent, make));
}

/**
 * Allocates all tensors of a model, zero-filled.
 *
 * @throws {UserError} If one of them is larger than the adapter's buffers can be, or memory runs out.
 */
export async function allocate(gpu: Gpu, config: ModelConfig, extent: ModelExtent): Promise<ModelTensors> {
  return await allocateTensors(gpu, (make) => build(config, extent, make), {
    what: "the model",
    remedy: "lower train.microBatchSize or the model's extents",
  });
}

function build(config: ModelConfig, extent: ModelExtent, makeOne: MakeTensor): ModelTensors {
  const all: Tensor[] = [];
  const make: MakeTensor = (label, shape) => {
    const tensor = makeOne(label, shape);
    all.push(tensor);
    return tensor;
  };
  const rows = extent.batchSize * extent.sequenceLength;
  const inputShape = [extent.batchSize, extent.sequenceLength];
  const layers = allLayerTensors(config, extent, make);
  return {
    parameters: parameterTensors(config, make),
    gradients: extent.training ? parameterTensors(config, labelled(make, "d ")) : new Map(),
    inputs: {
      tokens: make("tokens", inputShape),
      targets: make("targets", inputShape),
      lossMask: make("lossMask", inputShape),
      segmentStart: make("segmentStart", inputShape),
      weight: make("weight", [1]),
    },
    layers,
    head: {
      // Without training, the last block writes into the one residual stream.
      xLast: extent.training ? make("xLast", [rows, config.width]) : layers[0].x,
      xLastNorm: make("xLastNorm", [rows, config.width]),
      xLastScale: make("xLastScale", [rows]),
      logits: make("logits", [rows, paddedVocabSize(config)]),
      losses: make("losses", [rows]),
    },
    backward: extent.training ? backwardTensors(config, rows, make) : undefined,
    lossSum: make("lossSum", [1]),
    all,
  };
}

/** One tensor per parameter, in the order of the forward pass. */
export function parameterTensors(config: ModelConfig, make: MakeTensor): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [name, [rows, columns]] of parameterShapes(config)) {
    const paddedRows = name === "lm_head.weight" ? paddedVocabSize(config) : rows;
    tensors.set(name, make(name, [paddedRows, columns]));
  }
  return tensors;
}

/** The blocks' activations: one set each for a backward pass, else one for all, but for inputs to start again from. */
function allLayerTensors(config: ModelConfig, extent: ModelExtent, make: MakeTensor): LayerTensors[] {
  const rows = extent.batchSize * extent.sequenceLength;
  const first = layerTensors(config, { rows, training: extent.training }, labelled(make, "layer 0 "));
  return Array.from({ length: config.numLayers }, (_, layer) => {
    if (layer === 0 || !extent.training) return first;
    const makeLayer = labelled(make, `layer ${layer} `);
    return extent.checkpointActivations
      ? { ...first, x: makeLayer("x", [rows, config.width]) }
      : layerTensors(config, { rows, training: true }, makeLayer);
  });
}

function layerTensors(
  config: ModelConfig,
  shape: { rows: number; training: boolean },
  make: MakeTensor,
): LayerTensors {
  const keyShape = [shape.rows, config.numHeads * config.headDim];
  return {
    ...blockTensors(config, shape, make),
    kRotated: make("kRotated", keyShape),
    v: make("v", keyShape),
  };
}

/** A block's activations but for what its keys' readers need, which decoding keeps elsewhere. */
export function blockTensors(
  config: ModelConfig,
  { rows, training }: { rows: number; training: boolean },
  make: MakeTensor,
): Omit<LayerTensors, "kRotated" | "v"> {
  const { width: C, mlpWidth: M, numHeads: H } = config;
  const HD = H * config.headDim;
  return {
    x: make("x", [rows, C]),
    xNorm: make("xNorm", [rows, C]),
    xScale: make("xScale", [rows]),
    q: make("q", [rows, HD]),
    k: make("k", [rows, HD]),
    qScale: make("qScale", [rows, H]),
    kScale: make("kScale", [rows, H]),
    qRotated: make("qRotated", [rows, HD]),
    attention: make("attention", [rows, HD]),
    logSumExp: make("logSumExp", [rows, H]),
    xMiddle: make("xMiddle", [rows, C]),
    xMiddleNorm: make("xMiddleNorm", [rows, C]),
    xMiddleScale: make("xMiddleScale", [rows]),
    hidden: training ? make("hidden", [rows, M]) : undefined,
    activated: make("activated", [rows, M]),
  };
}

function backwardTensors(config: ModelConfig, rows: number, make: MakeTensor): BackwardTensors {
  const { width: C, mlpWidth: M, numHeads: H } = config;
  const HD = H * config.headDim;
  return {
    dLogits: make("dLogits", [rows, paddedVocabSize(config)]),
    dx: make("dx", [rows, C]),
    dNorm: make("dNorm", [rows, C]),
    dHidden: make("dHidden", [rows, M]),
    dAttention: make("dAttention", [rows, HD]),
    dqRotated: make("dqRotated", [rows, HD]),
    dkRotated: make("dkRotated", [rows, HD]),
    dq: make("dq", [rows, HD]),
    dk: make("dk", [rows, HD]),
    dv: make("dv", [rows, HD]),
    delta: make("delta", [rows, H]),
  };
}
