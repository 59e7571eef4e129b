/**
 * The whole model in float64: forward pass, loss and gradients, written for clarity.
 * tests/model/reference_test.ts checks them by finite differences.
 *
 * Activations are row-major, rows = B * T; a head's part of a row is `[head * D, (head + 1) * D)`.
 *
 * @module
 */
import { type ModelConfig, modelShapes, ROWS_PER_TOKEN } from "../../lib/model/model_config.ts";
import {
  ACTIVATION,
  ACTIVATION_SLOPE,
  embedding,
  embeddingBackward,
  type HeadsProblem,
  type KeysProblem,
  qkNormRope,
  qkNormRopeBackward,
  rmsNorm,
  rmsNormBackward,
  shiftKeys,
  shiftKeysBackward,
} from "./layers.ts";
import { addRows, addRowsBackward } from "./address_embeddings.ts";
import { attention, attentionBackward, type AttentionProblem } from "./attention.ts";
import { crossEntropy, crossEntropyBackward, type LogitsProblem } from "./cross_entropy.ts";
import { gemm } from "./gemm.ts";

/** name -> float64 values, row-major; names as in lib/model/EXACT.md. */
export type Weights = Map<string, Float64Array>;

/** (B, T) each. */
export interface ReferenceBatch {
  readonly tokens: ArrayLike<number>;
  readonly targets: ArrayLike<number>;
  readonly lossMask: ArrayLike<number>;
  readonly segmentStart: ArrayLike<number>;
  /** (B, T, ROWS_PER_TOKEN): the address embeddings of each token, for models that have them. */
  readonly embeddingRows?: ArrayLike<number>;
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

export interface Forward {
  layers: LayerActivations[];
  xLast: Float64Array;
  xLastNorm: Float64Array;
  /** (B * T, V), before the soft cap. */
  logits: Float64Array;
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

function headsProblem({ numHeads, headDim, sequenceLength, qkNorm }: ModelConfig): HeadsProblem {
  return { numHeads, headDim, sequenceLength, norm: qkNorm };
}

/** Keys take their shifted parts from the row before, if it is in the same segment. */
function keysProblem(config: ModelConfig, { segmentStart }: ReferenceBatch): KeysProblem {
  const { numHeads, headDim, sequenceLength } = config;
  const hasEarlier = (start: number, row: number) => config.keyShift && row % sequenceLength > start;
  const previous = Array.from(segmentStart, (start, row) => hasEarlier(start, row) ? row - 1 : row);
  return { numHeads, headDim, previous };
}

/** Logits without padding. */
export function logitsProblem(config: ModelConfig): LogitsProblem {
  return {
    vocabSize: modelShapes(config).vocabSize,
    stride: modelShapes(config).vocabSize,
    softcap: config.softcap,
  };
}

function attentionProblem(config: ModelConfig, batch: ReferenceBatch): AttentionProblem {
  const { sequenceLength, numHeads, headDim } = config;
  const batchSize = batch.tokens.length / sequenceLength;
  return { batchSize, sequenceLength, numHeads, headDim, segmentStart: Uint32Array.from(batch.segmentStart) };
}

export function referenceForward(config: ModelConfig, weights: Weights, batch: ReferenceBatch): Forward {
  const { width: C, mlpWidth: M, headDim: D } = config;
  const HD = config.numHeads * D;
  const rows = batch.tokens.length;
  let x = embedding(batch.tokens, parameter(weights, "wte.weight"), C);
  if (batch.embeddingRows) {
    const table = parameter(weights, "address_embed.weight");
    x = addRows(x, { indexes: batch.embeddingRows, table, rowsPerToken: ROWS_PER_TOKEN, width: C });
  }
  const layers: LayerActivations[] = [];
  for (let layer = 0; layer < config.numLayers; layer++) {
    const weight = (name: string) => parameter(weights, `blocks.${layer}.${name}_proj.weight`);
    const xNorm = rmsNorm(x, C).y;
    const [q, k, v] = ["q", "k", "v"].map((name) =>
      gemm({ kind: "NT", m: rows, n: HD, k: C }, xNorm, weight(`attn.${name}`))
    );
    const [qRotated, kUnshifted] = [q, k].map((y) => qkNormRope(headsProblem(config), y).y);
    const kRotated = shiftKeys(keysProblem(config, batch), kUnshifted);
    const { out } = attention(attentionProblem(config, batch), { q: qRotated, k: kRotated, v });
    const xMiddle = gemm({ kind: "NT", m: rows, n: C, k: HD }, out, weight("attn.o"));
    addInto(xMiddle, x);
    const xMiddleNorm = rmsNorm(xMiddle, C).y;
    const hidden = gemm({ kind: "NT", m: rows, n: M, k: C }, xMiddleNorm, weight("mlp.up"));
    const activated = hidden.map(ACTIVATION[config.activation]);
    layers.push({
      x,
      xNorm,
      q,
      k,
      v,
      qRotated,
      kRotated,
      attention: out,
      xMiddle,
      xMiddleNorm,
      hidden,
      activated,
    });
    x = gemm({ kind: "NT", m: rows, n: C, k: M }, activated, weight("mlp.down"));
    addInto(x, xMiddle);
  }
  const xLastNorm = rmsNorm(x, C).y;
  const logits = gemm(
    { kind: "NT", m: rows, n: modelShapes(config).vocabSize, k: C },
    xLastNorm,
    parameter(weights, "lm_head.weight"),
  );
  const targets = Uint32Array.from(batch.targets);
  const losses = crossEntropy(logitsProblem(config), logits, targets, Uint32Array.from(batch.lossMask));
  return { layers, xLast: x, xLastNorm, logits, losses };
}

/**
 * The gradient of `weight * sum(losses)` with respect to every parameter.
 *
 * @param forward The result of {@link referenceForward} for the same arguments.
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
  const V = modelShapes(config).vocabSize;
  const gradients: Weights = new Map();
  const dLogits = crossEntropyBackward(
    logitsProblem(config),
    forward.logits,
    Uint32Array.from(batch.targets),
    Uint32Array.from(batch.lossMask),
    new Float64Array(rows).fill(lossWeight),
  );
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
    const dkUnshifted = shiftKeysBackward(keysProblem(config, batch), dk);
    const unrotate = (d: Float64Array, input: Float64Array) =>
      qkNormRopeBackward(headsProblem(config), input, d);
    const dNorm = new Float64Array(rows * C);
    for (
      const [part, d] of [["q", unrotate(dq, saved.q)], ["k", unrotate(dkUnshifted, saved.k)], [
        "v",
        dv,
      ]] as const
    ) {
      gradients.set(name(`attn.${part}`), gemm({ kind: "TN", m: HD, n: C, k: rows }, d, saved.xNorm));
      addInto(dNorm, gemm({ kind: "NN", m: rows, n: C, k: HD }, d, weight(`attn.${part}`)));
    }
    addInto(dx, rmsNormBackward(saved.x, dNorm, C));
  }
  if (batch.embeddingRows) {
    const sizes = {
      tableRows: modelShapes(config).numAddressEmbeddings,
      rowsPerToken: ROWS_PER_TOKEN,
      width: C,
    };
    gradients.set("address_embed.weight", addRowsBackward(dx, { indexes: batch.embeddingRows, ...sizes }));
  }
  return gradients.set("wte.weight", embeddingBackward(batch.tokens, dx, { width: C, vocabSize: V }));
}
