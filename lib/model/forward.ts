/**
 * The forward pass as dispatches, from tokens to losses or log-probabilities; lib/model/README.md has the
 * formulas.
 *
 * @module
 */
import { named } from "../base/errors.ts";
import { addAttention } from "../tensor/ops/attention.ts";
import { addEmbedding, addRows } from "../tensor/ops/embedding.ts";
import {
  addCrossEntropy,
  addLogProbabilities,
  type LogitsShape,
  type SoftTargets,
} from "../tensor/ops/cross_entropy.ts";
import { addCopy } from "../tensor/ops/common.ts";
import { addGemm, type GemmEpilogue } from "../tensor/ops/gemm.ts";
import { addQkNormRope, addShiftKeys } from "../tensor/ops/qk_norm_rope.ts";
import { addRmsNorm } from "../tensor/ops/rms_norm.ts";
import { type ProfileRow, Program } from "../tensor/program.ts";
import { adjacent, byBuffer, firstElement, spanOf, type Tensor, tensorLength } from "../tensor/tensor.ts";
import type { HeadTensors, InputTensors, LayerTensors, ModelTensors } from "./buffers.ts";
import type { ModelBatch } from "./batch_rows.ts";
import type { ModelConfig, ModelExtent, ModelShapes } from "./model_config.ts";
import type { KernelRegistry } from "../tensor/registry.ts";
import { BYTE_BASE } from "../data/tokens/vocab_v2.ts";

export interface HiddenPass {
  readonly shapes: ModelShapes;
  readonly extent: ModelExtent;
  readonly tensors: HiddenTensors;
  /** (rows, D): the rotation of each row, if it does not follow from the row's position, as in decoding. */
  readonly rotation?: Tensor;
  /** Adds a block's attention, `attention` from `qRotated`, if it is not over the batch's own keys. */
  readonly addAttention?: (program: Program, layer: number) => void;
  /** With keyShift: a block's unshifted keys that `inputs.previous` refers to, if not the batch's own. */
  readonly earlierKeys?: (layer: number) => Tensor;
  /** Rows whose hidden states are needed (default: all). Others only get the last block's keys and values. */
  readonly wanted?: WantedRows;
}

/** The n rows that the last block continues with after keys and values. */
export interface WantedRows {
  readonly rows: number;
  /** (n) u32: indexes of the rows. */
  readonly index: Tensor;
  /** (n, C): receives these rows of the block's input. */
  readonly x: Tensor;
  /** (n, C): receives these rows of the normalised input. */
  readonly xNorm: Tensor;
  /** (n, D): receives these rows of the pass's rotation, which must be given. */
  readonly rotation: Tensor;
  /** Adds the last block's attention for these rows, `attention` from `qRotated`. */
  readonly addAttention: (program: Program) => void;
}

export interface HiddenTensors extends Pick<ModelTensors, "operands" | "layers"> {
  readonly inputs: Pick<InputTensors, "tokens" | "segmentStart" | "previous" | "embeddingRows">;
  readonly head: Pick<HeadTensors, "xLast" | "xLastNorm" | "xLastScale">;
}

/** Another model on the same device, whose distributions of RTT codes are also learned. */
export interface Teacher extends SoftTargets {
  /** Starts the teacher's forward pass; returns at once. */
  forward(batch: ModelBatch): void;
  profile(): Promise<ProfileRow[]>;
}

export interface Pass extends HiddenPass {
  readonly tensors: ModelTensors;
  readonly teacher?: Teacher | undefined;
}

/** Adds y = x W^T for all rows, through an epilogue. @param args `name`: the name of W. */
function addLinear(
  program: Program,
  { extent, tensors }: Pick<HiddenPass, "extent"> & { tensors: Pick<HiddenTensors, "operands"> },
  { name, label, ...args }: { name: string; label: string; x: Tensor; y: Tensor; epilogue?: GemmEpilogue },
): void {
  const { x: a, y: c, epilogue = "store" } = args;
  const b = named(tensors.operands, name);
  const [n, k] = b.shape;
  const m = extent.batchSize * extent.sequenceLength;
  addGemm(program, { kind: "NT", m, n, k, a, b, c, epilogue, label });
}

/** Adds the f16 copies of operands, which must follow every change of parameters. */
export function addOperandCopies(
  program: Program,
  { parameters, operands }: Pick<ModelTensors, "parameters" | "operands">,
): void {
  const copies = [...parameters].map(([name, x]) => ({ x, y: named(operands, name) }));
  for (const group of byBuffer(copies.filter(({ x, y }) => x !== y), ({ x }) => x)) {
    const [x, y] = [spanOf(group.map(({ x }) => x)), spanOf(group.map(({ y }) => y))];
    addCopy(program, { x, y, length: tensorLength(x) });
  }
}

/** Adds everything from the tokens to `head.xLastNorm`, the normalised output, for all rows or `wanted`. */
export function addHiddenStates(program: Program, pass: HiddenPass): void {
  const { shapes: { config, rowsPerToken, numAddressEmbeddings: tableRows }, extent, tensors, wanted } = pass;
  const { layers, head, inputs, operands } = tensors;
  const allRows = extent.batchSize * extent.sequenceLength;
  const width = config.width;
  const table = named(operands, "wte.weight");
  addEmbedding(program, { tokens: inputs.tokens, table, x: layers[0].x, rows: allRows, width });
  if (inputs.embeddingRows) {
    addRows(program, {
      indexes: inputs.embeddingRows,
      table: named(operands, "address_embed.weight"),
      x: layers[0].x,
      rows: allRows,
      rowsPerToken,
      tableRows,
      width,
    });
  }
  for (let layer = 0; layer < config.numLayers; layer++) {
    const isLast = layer === config.numLayers - 1;
    const ofWanted = isLast ? wanted : undefined;
    addProjections(program, pass, { layer, withQueries: !ofWanted });
    const rest = ofWanted ? addWantedRows(program, pass, ofWanted) : pass;
    addFromAttention(program, rest, layer);
    addMlpUp(program, rest, layer);
    addMlpDown(program, rest, { layer, out: isLast ? head.xLast : layers[layer + 1].x });
  }
  const rows = wanted?.rows ?? allRows;
  addRmsNorm(program, { x: head.xLast, y: head.xLastNorm, scale: head.xLastScale, rows, width });
}

/** Adds the selection of the wanted rows from the last block's input. @returns The pass over them. */
function addWantedRows(program: Program, pass: HiddenPass, wanted: WantedRows): HiddenPass {
  const { shapes, tensors, rotation } = pass;
  const { config } = shapes;
  const { rows, index } = wanted;
  const last = tensors.layers[config.numLayers - 1];
  if (!rotation) throw new Error("Internal error: wanted rows need a pass with a rotation");
  // An embedding selects rows of a matrix.
  const pick = (table: Tensor, x: Tensor, width: number) =>
    addEmbedding(program, { tokens: index, table, x, rows, width });
  pick(last.x, wanted.x, config.width);
  pick(last.xNorm, wanted.xNorm, config.width);
  pick(rotation, wanted.rotation, config.headDim);
  const layers = tensors.layers.with(-1, { ...last, x: wanted.x, xNorm: wanted.xNorm });
  const extent = { batchSize: 1, sequenceLength: rows, training: false };
  const rest = { shapes, extent, tensors: { ...tensors, layers }, addAttention: wanted.addAttention };
  const { q: x, qRotated: y, qScale: scale } = last;
  addProducts(program, rest, { layer: config.numLayers - 1, parts: ["q"] });
  addQkNormRope(program, { ...ropeShape(config, extent), rotation: wanted.rotation, x, y, scale });
  return rest;
}

export function attentionShape(config: ModelConfig, extent: ModelExtent) {
  const { numHeads, headDim } = config;
  return { batchSize: extent.batchSize, sequenceLength: extent.sequenceLength, numHeads, headDim };
}

export function ropeShape(config: ModelConfig, extent: ModelExtent) {
  const { numHeads, headDim, qkNorm: norm } = config;
  const rows = extent.batchSize * extent.sequenceLength;
  return { rows, numHeads, headDim, sequenceLength: extent.sequenceLength, norm };
}

/** Adds all activations of a block that its backward pass reads: up to the input of its last matrix. */
export function addBlockActivations(program: Program, pass: HiddenPass, layer: number): void {
  addProjections(program, pass, { layer, withQueries: true });
  addFromAttention(program, pass, layer);
  addMlpUp(program, pass, layer);
}

type Projection = "q" | "k" | "v";

/** xNorm = rmsNorm(x), kRotated = rope(qkNorm(k)), v, and with queries also qRotated = rope(qkNorm(q)). */
function addProjections(
  program: Program,
  pass: HiddenPass,
  { layer, withQueries }: { layer: number; withQueries: boolean },
): void {
  const { shapes: { config }, extent, tensors } = pass;
  const saved: LayerTensors = tensors.layers[layer];
  const rows = extent.batchSize * extent.sequenceLength;
  addRmsNorm(program, { x: saved.x, y: saved.xNorm, scale: saved.xScale, rows, width: config.width });
  addProducts(program, pass, { layer, parts: withQueries ? ["q", "k", "v"] : ["k", "v"] });
  const { previous } = tensors.inputs;
  const { q, k, qRotated, kRotated, qScale, kScale, kUnshifted } = saved;
  const shape = { ...ropeShape(config, extent), ...(pass.rotation ? { rotation: pass.rotation } : {}) };
  const shift = previous && !kUnshifted ? { previous, rows } : undefined;
  const [x, y, scale] = [[q, k], [qRotated, kRotated], [qScale, kScale]].map(adjacent);
  if (withQueries && x && y && scale) {
    addQkNormRope(program, { ...shape, x, y, scale, rows: 2 * rows, shift });
    return;
  }
  if (withQueries) addQkNormRope(program, { ...shape, x: q, y: qRotated, scale: qScale });
  addQkNormRope(program, { ...shape, x: k, y: kUnshifted ?? kRotated, scale: kScale, shift });
  if (!kUnshifted || !previous) return;
  const earlier = pass.earlierKeys?.(layer) ?? kUnshifted;
  const { numHeads, headDim } = config;
  addShiftKeys(program, { x: kUnshifted, earlier, previous, y: kRotated, rows, numHeads, headDim });
}

export function projectionName(layer: number, part: Projection): string {
  return `blocks.${layer}.attn.${part}_proj.weight`;
}

/** q, k or v = its matrix times xNorm. All matrices share a buffer; if all outputs do, in one dispatch. */
function addProducts(
  program: Program,
  pass: HiddenPass,
  { layer, parts }: { layer: number; parts: Projection[] },
): void {
  const { extent, tensors } = pass;
  const { xNorm: a, ...saved } = tensors.layers[layer];
  const outputs = parts.map((part) => saved[part]);
  const weights = parts.map((part) => named(tensors.operands, projectionName(layer, part)));
  const [n, k] = weights[0].shape;
  const product = {
    kind: "NT",
    m: extent.batchSize * extent.sequenceLength,
    n,
    k,
    a,
    label: "qkv_proj",
  } as const;
  if (parts.length > 1 && outputs.every(({ buffer }) => buffer === outputs[0].buffer)) {
    const [b, c] = [weights, outputs].map(([first, second]) => firstElement(second, first));
    const strides = { a: 0, b, c };
    addGemm(program, { ...product, b: spanOf(weights), c: spanOf(outputs), batch: parts.length, strides });
  } else {
    weights.forEach((b, i) => addGemm(program, { ...product, b, c: outputs[i] }));
  }
}

/** xMiddle = x + o_proj(attention(q, keys and values)). */
function addFromAttention(program: Program, pass: HiddenPass, layer: number): void {
  const { shapes: { config }, extent, tensors } = pass;
  const saved: LayerTensors = tensors.layers[layer];
  if (pass.addAttention) {
    pass.addAttention(program, layer);
  } else {
    addAttention(program, {
      q: saved.qRotated,
      k: saved.kRotated,
      v: saved.v,
      segmentStart: tensors.inputs.segmentStart,
      out: saved.attention,
      logSumExp: saved.logSumExp,
      ...attentionShape(config, extent),
    });
  }
  addLinear(program, pass, {
    name: `blocks.${layer}.attn.o_proj.weight`,
    x: saved.attention,
    y: saved.xMiddle,
    epilogue: { add: saved.x },
    label: "o_proj",
  });
}

/** activated = activation(up_proj(rmsNorm(xMiddle))); `hidden`, if kept, is the activation's argument. */
function addMlpUp(program: Program, pass: HiddenPass, layer: number): void {
  const { shapes: { config: { width, activation } }, extent, tensors } = pass;
  const { xMiddle, xMiddleNorm, xMiddleScale, hidden, activated } = tensors.layers[layer];
  const rows = extent.batchSize * extent.sequenceLength;
  addRmsNorm(program, { x: xMiddle, y: xMiddleNorm, scale: xMiddleScale, rows, width });
  addLinear(program, pass, {
    name: `blocks.${layer}.mlp.up_proj.weight`,
    x: xMiddleNorm,
    y: activated,
    epilogue: { activation, ...(hidden ? { before: hidden } : {}) },
    label: "up_proj",
  });
}

/** out = xMiddle + down_proj(activated). */
function addMlpDown(
  program: Program,
  pass: HiddenPass,
  { layer, out }: { layer: number; out: Tensor },
): void {
  const { xMiddle: add, activated } = pass.tensors.layers[layer];
  const name = `blocks.${layer}.mlp.down_proj.weight`;
  addLinear(program, pass, { name, x: activated, y: out, epilogue: { add }, label: "down_proj" });
}

/** Adds the logits and losses of all positions, and with `training` the gradient of the logits. */
export function addLosses(program: Program, { shapes, extent, tensors, teacher }: Pass): void {
  const { head, inputs, backward } = tensors;
  const { rttDistanceWeights, rttByteWeight } = extent;
  const rows = extent.batchSize * extent.sequenceLength;
  addLinear(program, { extent, tensors }, { ...LM_HEAD, x: head.xLastNorm, y: head.logits });
  addCrossEntropy(program, {
    logits: head.logits,
    targets: inputs.targets,
    lossMask: inputs.lossMask,
    losses: head.losses,
    weight: inputs.weight,
    lossScale: inputs.lossScale,
    markedWeight: rttByteWeight,
    rows,
    ...logitsShape(shapes),
    ...(backward ? { dLogits: backward.dLogits, teacher } : {}),
    ...(rttDistanceWeights ? { ordinal: { firstByte: BYTE_BASE, weights: rttDistanceWeights } } : {}),
  });
}

function logitsShape({ vocabSize, paddedVocabSize, config: { softcap } }: ModelShapes): LogitsShape {
  return { vocabSize, stride: paddedVocabSize, softcap };
}

const LM_HEAD = { name: "lm_head.weight", label: "lm_head" };

/** The tensors of {@link addChosenLogProbabilities} in addition to the hidden states; they may be larger. */
export interface ChosenRowTensors {
  /** (n) u32: indices of rows of the hidden states. */
  readonly positions: Tensor;
  /** (n, C). */
  readonly picked: Tensor;
  /** (n, padded V). */
  readonly logits: Tensor;
  /** (n) u32: 0, 1, …, n - 1. */
  readonly rowIndex: Tensor;
  /** (n, V), nats. */
  readonly logProbabilities: Tensor;
}

/**
 * Adds the log-probabilities of every next token at chosen rows.
 *
 * @param args `hiddenStates`: (any, C), normalised; `operands`: with the head's weight; `rows`: n.
 */
export function addChosenLogProbabilities(
  program: Program,
  args: {
    shapes: ModelShapes;
    hiddenStates: Tensor;
    operands: Map<string, Tensor>;
    tensors: ChosenRowTensors;
    rows: number;
  },
): void {
  const { shapes, hiddenStates, operands, tensors, rows } = args;
  const { positions, picked, logits, rowIndex, logProbabilities } = tensors;
  // An embedding selects rows of a matrix.
  addEmbedding(program, {
    tokens: positions,
    table: hiddenStates,
    x: picked,
    rows,
    width: shapes.config.width,
  });
  const extent = { batchSize: 1, sequenceLength: rows, training: false };
  addLinear(program, { extent, tensors: { operands } }, { ...LM_HEAD, x: picked, y: logits });
  addLogProbabilities(program, {
    logits,
    rowIndex,
    out: logProbabilities,
    numRows: rows,
    ...logitsShape(shapes),
  });
}

/**
 * Reads the log-probability of every next token at chosen rows.
 *
 * @param args `logits`: (any, padded V), before the soft cap; `positions`: indices of n of its rows.
 * @returns (n, V), nats.
 */
export async function readLogProbabilities(
  registry: KernelRegistry,
  { shapes, logits, positions }: { shapes: ModelShapes; logits: Tensor; positions: Uint32Array },
): Promise<Float32Array> {
  const { gpu } = registry;
  const numRows = positions.length;
  const rowIndex = gpu.tensorFrom("chosen rows", [numRows], positions);
  const out = gpu.tensor("log-probabilities", [numRows, shapes.vocabSize]);
  const program = new Program(registry, "log-probabilities");
  addLogProbabilities(program, { logits, rowIndex, out, numRows, ...logitsShape(shapes) });
  program.run();
  const [values] = await gpu.read(out);
  for (const { buffer } of [rowIndex, out]) buffer.destroy();
  return values;
}
