/**
 * The whole model in float64: forward pass, loss and gradients (design 04-model), written for clarity and
 * checked by finite differences in tests/model/reference_test.ts.
 *
 * Activations are row-major, rows = B * T; a head's part of a row is `[head * D, (head + 1) * D)`.
 *
 * @module
 */
import { type ModelConfig, vocabSize } from "../../lib/model/config.ts";
import { ACTIVATION, ACTIVATION_SLOPE } from "./activation.ts";
import { attention, attentionBackward, type AttentionProblem } from "./attention.ts";
import { embedding, embeddingBackward } from "./embedding.ts";
import { gemm } from "./gemm.ts";
import { rmsNorm, rmsNormBackward } from "./rms_norm.ts";

const ROPE_THETA = 10000;

/** name -> float64 values, row-major; names of 02-formats 2.7. */
export type Weights = Map<string, Float64Array>;

/** The arrays of a batch, (B, T) each. */
export interface ReferenceBatch {
  readonly tokens: ArrayLike<number>;
  readonly targets: ArrayLike<number>;
  readonly lossMask: ArrayLike<number>;
  readonly segmentStart: ArrayLike<number>;
}

interface LayerActivations {
  x: Float64Array;
  xNorm: Float64Array;
  q: Float64Array;
  k: Float64Array;
  v: Float64Array;
  qRotated: Float64Array;
  kRotated: Float64Array;
  attention: Float64Array;
  xMiddle: Float64Array;
  xMiddleNorm: Float64Array;
  hidden: Float64Array;
  activated: Float64Array;
}

/** What the forward pass leaves. */
export interface Forward {
  layers: LayerActivations[];
  xLast: Float64Array;
  xLastNorm: Float64Array;
  /** (B * T, V), before the soft cap. */
  logits: Float64Array;
  /** (B * T, V), after softmax of the capped logits. */
  probabilities: Float64Array;
  /** (B * T), nats; 0 where masked. */
  losses: Float64Array;
}

function parameter(weights: Weights, name: string): Float64Array {
  const found = weights.get(name);
  if (!found) throw new Error(`no weight ${name}`);
  return found;
}

/** a += b. */
function addInto(a: Float64Array, b: Float64Array): void {
  for (let i = 0; i < a.length; i++) a[i] += b[i];
}

/** Rotates the halves of every head by position * theta^(-i / (D / 2)); `sign` -1 undoes it. */
function rotate(config: ModelConfig, x: Float64Array, sign: number): Float64Array {
  const { headDim, sequenceLength } = config;
  const rowWidth = config.numHeads * headDim;
  const half = headDim / 2;
  const y = new Float64Array(x.length);
  for (let start = 0; start < x.length; start += headDim) {
    const position = Math.floor(start / rowWidth) % sequenceLength;
    for (let i = 0; i < half; i++) {
      const angle = sign * position * ROPE_THETA ** (-i / half);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      const [first, second] = [x[start + i], x[start + half + i]];
      y[start + i] = first * cos - second * sin;
      y[start + half + i] = first * sin + second * cos;
    }
  }
  return y;
}

function attentionProblem(config: ModelConfig, batch: ReferenceBatch): AttentionProblem {
  const { sequenceLength, numHeads, headDim } = config;
  const batchSize = batch.tokens.length / sequenceLength;
  return { batchSize, sequenceLength, numHeads, headDim, segmentStart: Uint32Array.from(batch.segmentStart) };
}

/** The forward pass of a batch. */
export function referenceForward(config: ModelConfig, weights: Weights, batch: ReferenceBatch): Forward {
  const { width: C, mlpWidth: M, headDim: D } = config;
  const HD = config.numHeads * D;
  const rows = batch.tokens.length;
  let x = embedding(batch.tokens, parameter(weights, "wte.weight"), C);
  const layers: LayerActivations[] = [];
  for (let layer = 0; layer < config.numLayers; layer++) {
    const weight = (name: string) => parameter(weights, `blocks.${layer}.${name}_proj.weight`);
    const xNorm = rmsNorm(x, C).y;
    const [q, k, v] = ["q", "k", "v"].map((name) =>
      gemm({ kind: "NT", m: rows, n: HD, k: C }, xNorm, weight(`attn.${name}`))
    );
    const [qRotated, kRotated] = [q, k].map((y) => rotate(config, config.qkNorm ? rmsNorm(y, D).y : y, 1));
    const { out } = attention(attentionProblem(config, batch), { q: qRotated, k: kRotated, v });
    const xMiddle = gemm({ kind: "NT", m: rows, n: C, k: HD }, out, weight("attn.o"));
    addInto(xMiddle, x);
    const xMiddleNorm = rmsNorm(xMiddle, C).y;
    const hidden = gemm({ kind: "NT", m: rows, n: M, k: C }, xMiddleNorm, weight("mlp.up"));
    const activated = hidden.map(ACTIVATION[config.activation]);
    layers.push({
      ...{ x, xNorm, q, k, v, qRotated, kRotated, attention: out },
      ...{ xMiddle, xMiddleNorm, hidden, activated },
    });
    x = gemm({ kind: "NT", m: rows, n: C, k: M }, activated, weight("mlp.down"));
    addInto(x, xMiddle);
  }
  const xLastNorm = rmsNorm(x, C).y;
  const logits = gemm(
    { kind: "NT", m: rows, n: vocabSize(config), k: C },
    xLastNorm,
    parameter(weights, "lm_head.weight"),
  );
  return { layers, xLast: x, xLastNorm, logits, ...crossEntropy(config, logits, batch) };
}

function crossEntropy(
  config: ModelConfig,
  logits: Float64Array,
  batch: ReferenceBatch,
): { probabilities: Float64Array; losses: Float64Array } {
  const V = vocabSize(config);
  const s = config.softcap;
  const capped = s === null ? logits : logits.map((logit) => s * Math.tanh(logit / s));
  const probabilities = new Float64Array(logits.length);
  const losses = new Float64Array(logits.length / V);
  for (let r = 0; r < losses.length; r++) {
    const row = capped.subarray(r * V, (r + 1) * V);
    const most = row.reduce((a, b) => Math.max(a, b));
    const sum = row.reduce((total, z) => total + Math.exp(z - most), 0);
    for (let c = 0; c < V; c++) probabilities[r * V + c] = Math.exp(row[c] - most) / sum;
    if (batch.lossMask[r]) losses[r] = Math.log(sum) + most - row[batch.targets[r]];
  }
  return { probabilities, losses };
}

/**
 * The gradient of `weight * sum(losses)` by every parameter.
 *
 * @param forward What {@link referenceForward} returned for the same arguments.
 */
export function referenceBackward(
  config: ModelConfig,
  weights: Weights,
  batch: ReferenceBatch,
  { forward, weight: lossWeight }: { forward: Forward; weight: number },
): Weights {
  const { width: C, mlpWidth: M, headDim: D } = config;
  const HD = config.numHeads * D;
  const rows = batch.tokens.length;
  const V = vocabSize(config);
  const gradients: Weights = new Map();
  const dLogits = logitGradient(config, batch, forward, lossWeight);
  const head = parameter(weights, "lm_head.weight");
  gradients.set("lm_head.weight", gemm({ kind: "TN", m: V, n: C, k: rows }, dLogits, forward.xLastNorm));
  const dx = rmsNormBackward(forward.xLast, gemm({ kind: "NN", m: rows, n: C, k: V }, dLogits, head), C);
  for (let layer = config.numLayers - 1; layer >= 0; layer--) {
    const saved = forward.layers[layer];
    const name = (part: string) => `blocks.${layer}.${part}_proj.weight`;
    const weight = (part: string) => parameter(weights, name(part));
    const dActivated = gemm({ kind: "NN", m: rows, n: M, k: C }, dx, weight("mlp.down"));
    gradients.set(name("mlp.down"), gemm({ kind: "TN", m: C, n: M, k: rows }, dx, saved.activated));
    const slope = ACTIVATION_SLOPE[config.activation];
    const dHidden = dActivated.map((d, i) => d * slope(saved.hidden[i]));
    gradients.set(name("mlp.up"), gemm({ kind: "TN", m: M, n: C, k: rows }, dHidden, saved.xMiddleNorm));
    addInto(
      dx,
      rmsNormBackward(saved.xMiddle, gemm({ kind: "NN", m: rows, n: C, k: M }, dHidden, weight("mlp.up")), C),
    );

    const dAttention = gemm({ kind: "NN", m: rows, n: HD, k: C }, dx, weight("attn.o"));
    gradients.set(name("attn.o"), gemm({ kind: "TN", m: C, n: HD, k: rows }, dx, saved.attention));
    const attended = { q: saved.qRotated, k: saved.kRotated, v: saved.v };
    const { q: dq, k: dk, v: dv } = attentionBackward(attentionProblem(config, batch), attended, dAttention);
    const unrotate = (d: Float64Array, input: Float64Array) =>
      config.qkNorm ? rmsNormBackward(input, rotate(config, d, -1), D) : rotate(config, d, -1);
    const dNorm = new Float64Array(rows * C);
    for (
      const [part, d] of [["q", unrotate(dq, saved.q)], ["k", unrotate(dk, saved.k)], ["v", dv]] as const
    ) {
      gradients.set(name(`attn.${part}`), gemm({ kind: "TN", m: HD, n: C, k: rows }, d, saved.xNorm));
      addInto(dNorm, gemm({ kind: "NN", m: rows, n: C, k: HD }, d, weight(`attn.${part}`)));
    }
    addInto(dx, rmsNormBackward(saved.x, dNorm, C));
  }
  return gradients.set("wte.weight", embeddingBackward(batch.tokens, dx, { width: C, vocabSize: V }));
}

function logitGradient(
  config: ModelConfig,
  batch: ReferenceBatch,
  { logits, probabilities }: Forward,
  lossWeight: number,
): Float64Array {
  const V = vocabSize(config);
  return logits.map((logit, i) => {
    const row = Math.floor(i / V);
    if (!batch.lossMask[row]) return 0;
    const d = lossWeight * (probabilities[i] - (i % V === batch.targets[row] ? 1 : 0));
    return config.softcap === null ? d : d * (1 - Math.tanh(logit / config.softcap) ** 2);
  });
}
