/**
 * The part after the last block: logits, losses with their gradient, log-probabilities.
 *
 * @module
 */
import { addCrossEntropy, addLogProbabilities, type LogitsShape } from "../tensor/ops/cross_entropy.ts";
import { addEmbedding } from "../tensor/ops/embedding.ts";
import { Program } from "../tensor/program.ts";
import type { KernelRegistry } from "../tensor/registry.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type ModelConfig, modelShapes } from "./model_config.ts";
import { BYTE_BASE } from "../data/tokens/vocab_v2.ts";
import { addLinear, type Pass } from "./forward.ts";

/** Adds the logits and losses of all positions, and with `training` the gradient of the logits. */
export function addLosses(program: Program, { config, extent, tensors, teacher }: Pass): void {
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
    ...logitsShape(config),
    ...(backward ? { dLogits: backward.dLogits, teacher } : {}),
    ...(rttDistanceWeights ? { ordinal: { firstByte: BYTE_BASE, weights: rttDistanceWeights } } : {}),
  });
}

function logitsShape(config: ModelConfig): LogitsShape {
  const { vocabSize, paddedVocabSize: stride } = modelShapes(config);
  return { vocabSize, stride, softcap: config.softcap };
}

const LM_HEAD = { name: "lm_head.weight", label: "lm_head" };

/** The tensors of {@link addChosenLogProbabilities} besides the hidden states; they may be larger. */
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
  addLogProbabilities(program, {
    logits,
    rowIndex,
    out: logProbabilities,
    numRows: rows,
    ...logitsShape(config),
  });
}

/**
 * Reads the log-probabilities of every token as the next one, at chosen rows.
 *
 * @param args `logits`: (any, padded V), before the soft cap; `positions`: indices of its rows, n of them.
 * @returns (n, V), nats.
 */
export async function readLogProbabilities(
  registry: KernelRegistry,
  { config, logits, positions }: { config: ModelConfig; logits: Tensor; positions: Uint32Array },
): Promise<Float32Array> {
  const { gpu } = registry;
  const numRows = positions.length;
  const rowIndex = gpu.tensorFrom("chosen rows", [numRows], positions);
  const out = gpu.tensor("log-probabilities", [numRows, modelShapes(config).vocabSize]);
  const program = new Program(registry, "log-probabilities");
  addLogProbabilities(program, { logits, rowIndex, out, numRows, ...logitsShape(config) });
  program.run();
  const [values] = await gpu.read(out);
  for (const { buffer } of [rowIndex, out]) buffer.destroy();
  return values;
}
