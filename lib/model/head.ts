/**
 * What follows the last block: logits, losses with their gradient, log-probabilities.
 *
 * @module
 */
import { addCrossEntropy, addLogProbabilities } from "../gpu/ops/cross_entropy.ts";
import { addEmbedding } from "../gpu/ops/embedding.ts";
import type { Program } from "../gpu/program.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { paddedVocabSize } from "./buffers.ts";
import { type ModelConfig, vocabSize } from "./model_config.ts";
import { BYTE_BASE } from "../tokens/vocab_v2.ts";
import { addLinear, type Pass } from "./forward.ts";

/** Adds the logits and losses of all positions, and with `training` the gradient of the logits. */
export function addLosses(program: Program, { config, extent, tensors }: Pass): void {
  const { head, inputs, backward } = tensors;
  const { rttDistanceWeights, rttByteWeight } = extent;
  const rows = extent.batchSize * extent.sequenceLength;
  const stride = paddedVocabSize(config);
  addLinear(program, { extent, tensors }, { ...LM_HEAD, x: head.xLastNorm, y: head.logits });
  addCrossEntropy(program, {
    logits: head.logits,
    targets: inputs.targets,
    lossMask: inputs.lossMask,
    losses: head.losses,
    weight: inputs.weight,
    lossScale: inputs.lossScale,
    softcap: config.softcap,
    markedWeight: rttByteWeight,
    rows,
    vocabSize: vocabSize(config),
    stride,
    ...(backward ? { dLogits: backward.dLogits } : {}),
    ...(rttDistanceWeights ? { ordinal: { firstByte: BYTE_BASE, weights: rttDistanceWeights } } : {}),
  });
}

const LM_HEAD = { name: "lm_head.weight", label: "lm_head" };

/** What {@link addChosenLogProbabilities} reads and writes besides the hidden states; tensors may be larger. */
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
    config: ModelConfig;
    hiddenStates: Tensor;
    operands: Map<string, Tensor>;
    tensors: ChosenRowTensors;
    rows: number;
  },
): void {
  const { config, hiddenStates, operands, tensors, rows } = args;
  const { positions, picked, logits, rowIndex, logProbabilities } = tensors;
  // An embedding picks rows of a matrix.
  addEmbedding(program, { tokens: positions, table: hiddenStates, x: picked, rows, width: config.width });
  const extent = { batchSize: 1, sequenceLength: rows, training: false };
  addLinear(program, { extent, tensors: { operands } }, { ...LM_HEAD, x: picked, y: logits });
  const layout = { vocabSize: vocabSize(config), stride: paddedVocabSize(config), softcap: config.softcap };
  addLogProbabilities(program, { logits, rowIndex, out: logProbabilities, numRows: rows, ...layout });
}
