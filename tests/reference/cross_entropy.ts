/**
 * Softcap, log-softmax and cross-entropy with its gradient in float64, straight from the formulas.
 *
 * @module
 */

/** The layout of logits (rows, stride) and their cap. */
export interface LogitsProblem {
  readonly vocabSize: number;
  readonly stride: number;
  readonly softcap: number | null;
}

/** log softmax(z[r, :]), (rows, V). */
export function logProbabilities(problem: LogitsProblem, logits: Float64Array): Float64Array {
  const { vocabSize, stride } = problem;
  const rows = logits.length / stride;
  const out = new Float64Array(rows * vocabSize);
  for (let row = 0; row < rows; row++) {
    const z = capped(problem, logits, row);
    const largest = Math.max(...z);
    const logSum = largest + Math.log(z.reduce((sum, value) => sum + Math.exp(value - largest), 0));
    out.set(z.map((value) => value - logSum), row * vocabSize);
  }
  return out;
}

/** -log softmax(z[r, :])[targets[r]], 0 where the mask is 0. */
export function crossEntropy(
  problem: LogitsProblem,
  logits: Float64Array,
  targets: Uint32Array,
  lossMask: Uint32Array,
): Float64Array {
  const logP = logProbabilities(problem, logits);
  return Float64Array.from(
    targets,
    (target, row) => lossMask[row] ? -logP[row * problem.vocabSize + target] : 0,
  );
}

/** Gradient of sum(dLosses * losses) with respect to the logits; 0 in the padding. */
export function crossEntropyBackward(
  problem: LogitsProblem,
  logits: Float64Array,
  targets: Uint32Array,
  lossMask: Uint32Array,
  dLosses: Float64Array,
): Float64Array {
  const { vocabSize, stride, softcap } = problem;
  const logP = logProbabilities(problem, logits);
  const dLogits = new Float64Array(logits.length);
  for (let row = 0; row < targets.length; row++) {
    if (!lossMask[row]) continue;
    for (let column = 0; column < vocabSize; column++) {
      const at = row * stride + column;
      const dz = Math.exp(logP[row * vocabSize + column]) - (column === targets[row] ? 1 : 0);
      const slope = softcap === null ? 1 : 1 - Math.tanh(logits[at] / softcap) ** 2;
      dLogits[at] = dLosses[row] * dz * slope;
    }
  }
  return dLogits;
}

/** Arguments of {@link softCrossEntropy}. `wanted`: (rows, V), probabilities; a weight for each row. */
export interface SoftProblem {
  logits: Float64Array;
  wanted: Float64Array;
  weights: Float64Array;
}

/** -sum_j wanted_j log softmax(z[r, :])_j of each row, times the row's weight. */
export function softCrossEntropy(
  problem: LogitsProblem,
  { logits, wanted, weights }: SoftProblem,
): Float64Array {
  const logP = logProbabilities(problem, logits);
  const { vocabSize } = problem;
  return weights.map((weight, row) => {
    const [own, other] = [logP, wanted].map((all) => all.subarray(row * vocabSize, (row + 1) * vocabSize));
    return weight && -weight * own.reduce((sum, value, column) => sum + other[column] * value, 0);
  });
}

/** Gradient of sum(softCrossEntropy) with respect to the logits; each row of `wanted` adds up to 1. */
export function softCrossEntropyBackward(
  problem: LogitsProblem,
  { logits, wanted, weights }: SoftProblem,
): Float64Array {
  const { vocabSize, stride, softcap } = problem;
  const logP = logProbabilities(problem, logits);
  const dLogits = new Float64Array(logits.length);
  weights.forEach((weight, row) => {
    for (let column = 0; weight && column < vocabSize; column++) {
      const [at, from] = [row * stride + column, row * vocabSize + column];
      const slope = softcap === null ? 1 : 1 - Math.tanh(logits[at] / softcap) ** 2;
      dLogits[at] = weight * (Math.exp(logP[from]) - wanted[from]) * slope;
    }
  });
  return dLogits;
}

/** sum_j q_j |j - target| / 255 of each row, q the softmax over the bytes, times the row's weight. */
export function ordinalTerm(
  problem: LogitsProblem,
  { logits, targets, weights, firstByte }: OrdinalProblem,
): Float64Array {
  return weights.map((weight, row) =>
    weight && weight * byteDistances(problem, logits, row, firstByte, targets).mean
  );
}

/** Gradient of sum(ordinalTerm) with respect to the logits. */
export function ordinalTermBackward(
  problem: LogitsProblem,
  { logits, targets, weights, firstByte }: OrdinalProblem,
): Float64Array {
  const dLogits = new Float64Array(logits.length);
  weights.forEach((weight, row) => {
    if (!weight) return;
    const { q, distances, mean } = byteDistances(problem, logits, row, firstByte, targets);
    q.forEach((probability, byte) => {
      const at = row * problem.stride + firstByte + byte;
      const slope = problem.softcap === null ? 1 : 1 - Math.tanh(logits[at] / problem.softcap) ** 2;
      dLogits[at] = weight * probability * (distances[byte] - mean) * slope;
    });
  });
  return dLogits;
}

/** Arguments of {@link ordinalTerm}; a weight for each row. */
export interface OrdinalProblem {
  logits: Float64Array;
  targets: Uint32Array;
  weights: Float64Array;
  firstByte: number;
}

function byteDistances(
  problem: LogitsProblem,
  logits: Float64Array,
  row: number,
  firstByte: number,
  targets: Uint32Array,
) {
  const z = capped(problem, logits, row).slice(firstByte, firstByte + 256);
  const largest = Math.max(...z);
  const powers = z.map((value) => Math.exp(value - largest));
  const sum = powers.reduce((a, b) => a + b);
  const q = powers.map((power) => power / sum);
  const distances = q.map((_, byte) => Math.abs(byte + firstByte - targets[row]) / 255);
  return { q, distances, mean: q.reduce((total, p, byte) => total + p * distances[byte], 0) };
}

function capped(
  { vocabSize, stride, softcap }: LogitsProblem,
  logits: Float64Array,
  row: number,
): Float64Array {
  const values = logits.slice(row * stride, row * stride + vocabSize);
  return softcap === null ? values : values.map((logit) => softcap * Math.tanh(logit / softcap));
}
