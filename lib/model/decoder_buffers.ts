/**
 * The tensors of a decoder: caches of keys and values, and what one prefill or step works on.
 *
 * There are two caches for each block: (P, H, D) of the prompts' tokens, each prompt once, however many rows continue it;
 * and (S, N, H, D) of the tokens that rows appended.
 *
 * @module
 */
import type { Tensor } from "../gpu/tensor.ts";
import { labelled, type MakeTensor, plannedSizeBytes } from "./allocation.ts";
import { blockTensors, type LayerTensors, paddedVocabSize, parameterTensors } from "./buffers.ts";
import { ROWS_PER_TOKEN } from "./address_rows.ts";
import { type ModelConfig, numAddressRows, vocabSize } from "./model_config.ts";
import type { HiddenTensors } from "./forward.ts";
import type { ChosenRowTensors } from "./head.ts";

/** Numbers of rows are multiples of it: the tile of matrix products, which also aligns parts of caches. */
const ROW_STEP = 32;

/** The limits of one prefill and the steps after it; tokens and rows are rounded up to multiples of 32. */
export interface DecoderExtent {
  /** P: tokens of all prompts of one prefill. */
  readonly maxPromptTokens: number;
  /** N: rows of one step, of all prompts. */
  readonly maxRows: number;
  /** S: steps after a fork. */
  readonly maxSteps: number;
}

/** Every tensor of a decoder. */
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
  /** (S, N) u32: see `addAttentionDecode`. */
  suffixRows: Tensor;
  /** For each block: the tensors that all blocks share, and the block's cache of the prompts, (P, H, D). */
  promptLayers: LayerTensors[];
  /** For each block: the caches of appended tokens, (S, N, H, D). */
  suffixes: { k: Tensor; kUnshifted: Tensor | undefined; v: Tensor }[];
  head: HiddenTensors["head"];
  chosen: ChosenRowTensors;
}

/**
 * The rows of the program that serves `numRows`: at most an eighth more, or a multiple of 32, so that there are few
 * programs.
 */
export function programRows(numRows: number): number {
  const step = Math.max(ROW_STEP, 2 ** (Math.floor(Math.log2(Math.max(1, numRows))) - 3));
  return Math.ceil(numRows / step) * step;
}

/** The GPU memory that decoding takes besides the weights, in bytes, without allocating any. */
export function decoderSizeBytes(config: ModelConfig, extent: DecoderExtent): number {
  return plannedSizeBytes((make) => buildDecoder(config, extent, make)) -
    plannedSizeBytes((make) => parameterTensors(config, make));
}

/** Makes all tensors of a decoder. */
export function buildDecoder(config: ModelConfig, extent: DecoderExtent, make: MakeTensor): DecoderTensors {
  const { width, numHeads, headDim } = config;
  const maxRows = programRows(extent.maxRows);
  const maxPromptTokens = programRows(extent.maxPromptTokens);
  const rows = Math.max(maxRows, maxPromptTokens);
  const shared = blockTensors(config, { rows, training: false }, make);
  const layers = Array.from({ length: config.numLayers }, (_, layer) => labelled(make, `layer ${layer} `));
  return {
    parameters: parameterTensors(config, make),
    inputs: {
      tokens: make("tokens", [rows]),
      segmentStart: make("segmentStart", [maxPromptTokens]),
      previous: config.keyShift ? make("previous", [rows]) : undefined,
      addressRows: numAddressRows(config) > 0 ? make("rows of tokens", [rows, ROWS_PER_TOKEN]) : undefined,
    },
    positions: make("positions", [rows]),
    rotation: make("rotation", [rows, headDim]),
    chosenRotation: make("chosen rotation", [rows, headDim]),
    tiles: make("tiles", [maxRows, 4]),
    suffixRows: make("suffixRows", [extent.maxSteps, maxRows]),
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
      logits: make("chosen logits", [rows, paddedVocabSize(config)]),
      rowIndex: make("rows", [rows]),
      logProbabilities: make("log-probabilities", [rows, vocabSize(config)]),
    },
  };
}
