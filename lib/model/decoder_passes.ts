/**
 * The programs of a decoder's prefill and steps: the model's own passes ({@link addHiddenStates}) with other positions and
 * attention.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { addAttentionDecode } from "../gpu/ops/attention_decode.ts";
import { addEmbedding } from "../gpu/ops/embedding.ts";
import { rotationTable } from "../gpu/ops/qk_norm_rope.ts";
import type { Program } from "../gpu/program.ts";
import type { Tensor } from "../gpu/tensor.ts";
import type { ModelConfig } from "./model_config.ts";
import type { DecoderTensors } from "./decoder_buffers.ts";
import { addHiddenStates, type HiddenPass, type WantedRows } from "./forward.ts";

interface DecoderPass {
  readonly config: ModelConfig;
  readonly tensors: DecoderTensors;
  /** Rows of the program, padding included. */
  readonly rows: number;
}

/**
 * Adds the pass over prompts.
 *
 * @param args `numWanted`: compute the hidden states of only so many rows, those of `chosen.positions`, each in its own
 *   tile; undefined for all rows.
 */
export function addPrefill(program: Program, args: DecoderPass & { numWanted: number | undefined }): void {
  const { tensors, numWanted } = args;
  const pass = passOf(program, args, tensors.promptLayers);
  const some = numWanted === undefined ? {} : { wanted: wantedRows(args, numWanted) };
  addHiddenStates(program, { ...pass, ...some });
}

/** Adds the pass over the newest token of each row. */
export function addStep(program: Program, args: DecoderPass & { step: number; numTiles: number }): void {
  const { config, tensors, rows, step, numTiles } = args;
  const { promptLayers, suffixes, suffixRows } = tensors;
  const { numHeads, headDim } = config;
  const offsetBytes = step * suffixRows.shape[1] * numHeads * headDim * 4;
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
      ensure(earlier, "a model without keyShift has no keys before their shift");
      return earlier;
    },
    addAttention: (program, layer) =>
      addCachedAttention(program, args, { layer, numRows: rows, numTiles, numSteps: step + 1 }),
  });
}

/** Adds the rotations of the rows' positions. @returns What {@link addHiddenStates} needs. */
function passOf(
  program: Program,
  { config, tensors, rows }: DecoderPass,
  layers: DecoderTensors["promptLayers"],
): HiddenPass {
  const { parameters, inputs, head, positions, rotation } = tensors;
  const table = rotationTable(program, config);
  addEmbedding(program, { tokens: positions, table, x: rotation, rows, width: config.headDim });
  const extent = { batchSize: 1, sequenceLength: rows, training: false };
  return { config, extent, tensors: { operands: parameters, inputs, head, layers }, rotation };
}

function wantedRows(args: DecoderPass, rows: number): WantedRows {
  const { promptLayers, chosen, chosenRotation } = args.tensors;
  const layer = promptLayers.length - 1;
  return {
    rows,
    index: chosen.positions,
    // Both are unused from the choice of rows to its last reader.
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
  { config, tensors }: DecoderPass,
  { layer, ...sizes }: { layer: number; numRows: number; numTiles: number; numSteps: number },
): void {
  const { promptLayers, suffixes, suffixRows, tiles } = tensors;
  const { qRotated, kRotated, v, attention } = promptLayers[layer];
  addAttentionDecode(program, {
    q: qRotated,
    promptK: kRotated,
    promptV: v,
    out: attention,
    suffixK: suffixes[layer].k,
    suffixV: suffixes[layer].v,
    suffixRows,
    tiles,
    numHeads: config.numHeads,
    headDim: config.headDim,
    ...sizes,
  });
}
