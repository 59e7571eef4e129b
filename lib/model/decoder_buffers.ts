/**
 * The tensors of a decoder, and the programs of its prefill and steps. These are the model's passes
 * ({@link addHiddenStates}) with other positions and attention.
 *
 * There are two caches of keys and values for each block: (P, H, D) for the prompts' tokens, each prompt
 * once, whatever the number of rows that continue it; and (S, N, H, D) for the tokens that rows appended.
 *
 * @module
 */
import type { Tensor } from "../tensor/tensor.ts";
import { labelled, largestTensorBytes, type MakeTensor, plannedSizeBytes } from "./allocation.ts";
import { blockTensors, type LayerTensors, parameterTensors } from "./buffers.ts";
import { type ModelConfig, type ModelShapes, modelShapes } from "./model_config.ts";
import {
  addHiddenStates,
  type ChosenRowTensors,
  type HiddenPass,
  type HiddenTensors,
  type WantedRows,
} from "./forward.ts";
import { ensure } from "../base/errors.ts";
import { addAttentionDecode } from "../tensor/ops/attention.ts";
import { addEmbedding } from "../tensor/ops/embedding.ts";
import { rotationTable } from "../tensor/ops/qk_norm_rope.ts";
import type { Program } from "../tensor/program.ts";

/** Row counts are multiples of this, the tile of matrix products, which also aligns parts of caches. */
const ROW_STEP = 32;

/** The limits of one prefill and the steps after it; tokens and rows are rounded up to multiples of 32. */
export interface DecoderExtent {
  /** P: tokens of all prompts of one prefill. */
  readonly maxPromptTokens: number;
  /** N: rows of one step over all prompts. */
  readonly maxRows: number;
  /** S: steps after a fork. */
  readonly maxSteps: number;
}

export interface DecoderTensors {
  parameters: Map<string, Tensor>;
  inputs: HiddenTensors["inputs"];
  /** (rows) u32: the position of each row in its sequence. */
  positions: Tensor;
  /** (rows, D): the rotation of each row. */
  rotation: Tensor;
  /** (rows, D): the rotation of each chosen row. */
  chosenRotation: Tensor;
  /** (N, 4) u32: see `addAttentionDecode`. */
  tiles: Tensor;
  /** (1 + S, N) u32: see `addAttentionDecode`. */
  rowKeys: Tensor;
  /** For each block: the tensors that all blocks share, and the block's cache of the prompts, (P, H, D). */
  promptLayers: LayerTensors[];
  /** For each block: the caches of appended tokens, (S, N, H, D). */
  suffixes: { k: Tensor; kUnshifted: Tensor | undefined; v: Tensor }[];
  head: HiddenTensors["head"];
  chosen: ChosenRowTensors;
}

/** Rounds rows up to a multiple of 32, or by at most an eighth, so that there are few programs. */
export function programRows(numRows: number): number {
  const step = Math.max(ROW_STEP, 2 ** (Math.floor(Math.log2(Math.max(1, numRows))) - 3));
  return Math.ceil(numRows / step) * step;
}

/** Computes the GPU memory that decoding takes in addition to the weights, without allocating any. */
export function decoderSizeBytes(config: ModelConfig, extent: DecoderExtent): number {
  const shapes = modelShapes(config);
  return plannedSizeBytes((make) => buildDecoder(shapes, extent, make)) -
    plannedSizeBytes((make) => parameterTensors(shapes, make));
}

export interface DecoderMemory {
  /** Limit for all tensors together, in addition to the weights. */
  readonly limitBytes: number;
  /** Limit for a single tensor. */
  readonly bufferBytes: number;
}

export function decoderFits(config: ModelConfig, extent: DecoderExtent, memory: DecoderMemory): boolean {
  return decoderSizeBytes(config, extent) <= memory.limitBytes &&
    largestTensorBytes((make) => buildDecoder(modelShapes(config), extent, make)) <= memory.bufferBytes;
}

export function buildDecoder(shapes: ModelShapes, extent: DecoderExtent, make: MakeTensor): DecoderTensors {
  const { config, vocabSize, paddedVocabSize, numAddressEmbeddings, rowsPerToken } = shapes;
  const { width, numHeads, headDim } = config;
  const maxRows = programRows(extent.maxRows);
  const maxPromptTokens = programRows(extent.maxPromptTokens);
  const rows = Math.max(maxRows, maxPromptTokens);
  const shared = blockTensors(shapes, { rows, training: false }, make);
  const layers = Array.from({ length: config.numLayers }, (_, layer) => labelled(make, `layer ${layer} `));
  return {
    parameters: parameterTensors(shapes, make),
    inputs: {
      tokens: make("tokens", [rows]),
      segmentStart: make("segmentStart", [maxPromptTokens]),
      previous: config.keyShift ? make("previous", [rows]) : undefined,
      embeddingRows: numAddressEmbeddings > 0 ? make("rows of tokens", [rows, rowsPerToken]) : undefined,
    },
    positions: make("positions", [rows]),
    rotation: make("rotation", [rows, headDim]),
    chosenRotation: make("chosen rotation", [rows, headDim]),
    tiles: make("tiles", [maxRows, 4]),
    rowKeys: make("keys of rows", [1 + extent.maxSteps, maxRows]),
    promptLayers: layers.map((makeLayer) => ({
      ...shared,
      kUnshifted: config.keyShift
        ? makeLayer("prompt k unshifted", [maxPromptTokens, numHeads, headDim])
        : undefined,
      kRotated: makeLayer("prompt k", [maxPromptTokens, numHeads, headDim]),
      v: makeLayer("prompt v", [maxPromptTokens, numHeads, headDim]),
    })),
    suffixes: layers.map((makeLayer) => ({
      k: makeLayer("suffix k", [extent.maxSteps, maxRows, numHeads, headDim]),
      kUnshifted: config.keyShift
        ? makeLayer("suffix k unshifted", [extent.maxSteps, maxRows, numHeads, headDim])
        : undefined,
      v: makeLayer("suffix v", [extent.maxSteps, maxRows, numHeads, headDim]),
    })),
    head: {
      xLast: shared.x,
      xLastNorm: make("xLastNorm", [rows, width]),
      xLastScale: make("xLastScale", [rows]),
    },
    chosen: {
      positions: make("chosen positions", [rows]),
      picked: make("chosen hidden states", [rows, width]),
      logits: make("chosen logits", [rows, paddedVocabSize]),
      rowIndex: make("rows", [rows]),
      logProbabilities: make("log-probabilities", [rows, vocabSize]),
    },
  };
}

interface DecoderPass {
  readonly shapes: ModelShapes;
  readonly tensors: DecoderTensors;
  /** Rows of the program, including padding. */
  readonly rows: number;
}

/**
 * Adds the pass over prompts.
 *
 * @param args `numWanted`: compute the hidden states of only this many rows, those of `chosen.positions`,
 *   each in a separate tile; undefined for all rows.
 */
export function addPrefill(program: Program, args: DecoderPass & { numWanted: number | undefined }): void {
  const { tensors, numWanted } = args;
  const pass = passOf(program, args, tensors.promptLayers);
  const some = numWanted === undefined ? {} : { wanted: wantedRows(args, numWanted) };
  addHiddenStates(program, { ...pass, ...some });
}

/** Adds the pass over the newest token of each row. */
export function addStep(program: Program, args: DecoderPass & { step: number; numTiles: number }): void {
  const { shapes, tensors, rows, step, numTiles } = args;
  const { promptLayers, suffixes, rowKeys } = tensors;
  const { numHeads, headDim } = shapes.config;
  const offsetBytes = step * rowKeys.shape[1] * numHeads * headDim * 4;
  const part = (cache: Tensor): Tensor => ({ ...cache, shape: [rows, numHeads, headDim], offsetBytes });
  const layers = promptLayers.map((layer, i) => ({
    ...layer,
    kRotated: part(suffixes[i].k),
    kUnshifted: suffixes[i].kUnshifted && part(suffixes[i].kUnshifted),
    v: part(suffixes[i].v),
  }));
  addHiddenStates(program, {
    ...passOf(program, args, layers),
    earlierKeys: (layer) => {
      const earlier = (step === 0 ? promptLayers : suffixes)[layer].kUnshifted;
      ensure(earlier, "a model without keyShift has no unshifted keys");
      return earlier;
    },
    addAttention: (program, layer) =>
      addCachedAttention(program, args, { layer, numRows: rows, numTiles, numSteps: step + 1 }),
  });
}

/** Adds the rotations of the rows' positions. @returns The arguments of {@link addHiddenStates}. */
function passOf(
  program: Program,
  { shapes, tensors, rows }: DecoderPass,
  layers: DecoderTensors["promptLayers"],
): HiddenPass {
  const { parameters, inputs, head, positions, rotation } = tensors;
  const table = rotationTable(program, shapes.config);
  addEmbedding(program, { tokens: positions, table, x: rotation, rows, width: shapes.config.headDim });
  const extent = { batchSize: 1, sequenceLength: rows, training: false };
  return { shapes, extent, tensors: { operands: parameters, inputs, head, layers }, rotation };
}

function wantedRows(args: DecoderPass, rows: number): WantedRows {
  const { promptLayers, chosen, chosenRotation } = args.tensors;
  const layer = promptLayers.length - 1;
  return {
    rows,
    index: chosen.positions,
    // Both are unused between the choice of rows and its last reader.
    x: chosen.picked,
    xNorm: promptLayers[layer].xMiddleNorm,
    rotation: chosenRotation,
    addAttention: (program) =>
      addCachedAttention(program, args, { layer, numRows: rows, numTiles: rows, numSteps: 0 }),
  };
}

/** Adds a block's attention to the prompts' keys and to those that rows appended. */
function addCachedAttention(
  program: Program,
  { shapes: { config: { numHeads, headDim } }, tensors }: DecoderPass,
  { layer, ...sizes }: { layer: number; numRows: number; numTiles: number; numSteps: number },
): void {
  const { promptLayers, suffixes, rowKeys, tiles } = tensors;
  const { qRotated, kRotated, v, attention } = promptLayers[layer];
  addAttentionDecode(program, {
    q: qRotated,
    promptK: kRotated,
    promptV: v,
    out: attention,
    suffixK: suffixes[layer].k,
    suffixV: suffixes[layer].v,
    rowKeys,
    tiles,
    numHeads,
    headDim,
    ...sizes,
  });
}
