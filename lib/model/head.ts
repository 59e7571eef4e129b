/**
 * What follows the last block: logits, losses with their gradient, log-probabilities.
 *
 * @module
 */
import { addCrossEntropy, addLogProbabilities } from "../gpu/ops/cross_entropy.ts";
import { addEmbedding } from "../gpu/ops/embedding.ts";
import { addGemm } from "../gpu/ops/gemm.ts";
import type { Program } from "../gpu/program.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { paddedVocabSize } from "./buffers.ts";
import { type ModelConfig, vocabSize } from "./model_config.ts";
import { named } from "../errors.ts";
import type { Pass } from "./forward.ts";
import { rttDistanceTerm } from "./rtt_rows.ts";

/** Adds the logits and losses of all positions, and with `training` the gradient of the logits. */
export function addLosses(program: Program, { config, extent, tensors }: Pass): void {
  const { head, inputs, operands, backward } = tensors;
  const { rttDistanceWeights, rttByteWeight } = extent;
  const rows = extent.batchSize * extent.sequenceLength;
  const stride = paddedVocabSize(config);
  addLogits(program, {
    config,
    x: head.xLastNorm,
    head: named(operands, "lm_head.weight"),
    logits: head.logits,
    rows,
  });
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
    ...(rttDistanceWeights ? { ordinal: rttDistanceTerm(rttDistanceWeights) } : {}),
  });
}

/** Adds logits = x head^T. @param args `x`: (rows, C); `head`: (padded V, C); `logits`: (rows, padded V). */
function addLogits(
  program: Program,
  args: { config: ModelConfig; x: Tensor; head: Tensor; logits: Tensor; rows: number },
): void {
  const { config, x, head, logits, rows } = args;
  addGemm(program, {
    kind: "NT",
    m: rows,
    n: paddedVocabSize(config),
    k: config.width,
    a: x,
    b: head,
    c: logits,
    label: "lm_head",
  });
}

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
 * @param args `hiddenStates`: (any, C), normalised; `head`: (padded V, C); `rows`: n.
 */
export function addChosenLogProbabilities(
  program: Program,
  args: { config: ModelConfig; hiddenStates: Tensor; head: Tensor; tensors: ChosenRowTensors; rows: number },
): void {
  const { config, hiddenStates, head, tensors, rows } = args;
  const { positions, picked, logits, rowIndex, logProbabilities } = tensors;
  // An embedding picks rows of a matrix.
  addEmbedding(program, { tokens: positions, table: hiddenStates, x: picked, rows, width: config.width });
  addLogits(program, { config, x: picked, head, logits, rows });
  const layout = { vocabSize: vocabSize(config), stride: paddedVocabSize(config), softcap: config.softcap };
  addLogProbabilities(program, { logits, rowIndex, out: logProbabilities, numRows: rows, ...layout });
}
