/**
 * The model of lib/model/README.md in jax-js, for the comparison.
 *
 * Two of its parts are composed, since jax-js 0.1.25 has none that serve: the embedding is a product with one-hot
 * rows, for the gradient of `take` does not compile on Deno's WebGPU (a pointer to an atomic as an argument), and the
 * loss picks its logit in the same way.
 *
 * @module
 */
import type { Jax, JaxArray, JaxArrays } from "./peers_jax.ts";

/** The model's extents and options; those of `ModelConfig`, with the vocabulary's size. */
export interface JaxModelConfig {
  numLayers: number;
  width: number;
  numHeads: number;
  headDim: number;
  sequenceLength: number;
  activation: "relu2" | "gelu" | "silu";
  softcap: number | null;
  qkNorm: boolean;
  vocabSize: number;
  batchSize: number;
}

/** float32 epsilon, as rmsNorm has it. */
const EPSILON = 1.1920929e-7;
const ROTATION_BASE = 10000;

/** What is the same in every step: cosines and sines (1, T, 1, D / 2), and the causal mask as a bias (1, 1, T, T). */
export function jaxConstants(jax: Jax, config: JaxModelConfig): JaxArrays {
  const { sequenceLength: T, headDim } = config;
  const half = headDim / 2;
  const angles = Float32Array.from(
    { length: T * half },
    (_, i) => Math.floor(i / half) * ROTATION_BASE ** (-(i % half) / half),
  );
  const isSeen = (i: number) => i % T <= Math.floor(i / T);
  const bias = Float32Array.from({ length: T * T }, (_, i) => isSeen(i) ? 0 : -1e30);
  return {
    cos: jax.numpy.array(angles.map(Math.cos)).reshape([1, T, 1, half]),
    sin: jax.numpy.array(angles.map(Math.sin)).reshape([1, T, 1, half]),
    bias: jax.numpy.array(bias).reshape([1, 1, T, T]),
  };
}

/**
 * Makes the function of the mean loss: every position counts, and attends to all before it.
 *
 * @returns (parameters, tokens (B * T), targets (B * T), constants) -> loss, nats.
 */
export function jaxLoss(
  jax: Jax,
  config: JaxModelConfig,
): (parameters: JaxArrays, tokens: JaxArray, targets: JaxArray, constants: JaxArrays) => JaxArray {
  const { numpy: np, nn } = jax;
  const { batchSize: B, sequenceLength: T, numHeads: H, headDim: D, vocabSize: V, softcap } = config;
  const linear = (x: JaxArray, weight: JaxArray) => np.matmul(x, np.transpose(weight));
  const norm = (x: JaxArray) => {
    const meanSquare = np.square(x.ref).mean(-1, { keepdims: true });
    return x.div(np.sqrt(meanSquare.add(EPSILON)));
  };
  const activate = (u: JaxArray) => {
    if (config.activation === "relu2") return np.square(nn.relu(u));
    return config.activation === "gelu" ? nn.gelu(u, { approximate: true }) : nn.silu(u);
  };
  const rotate = (x: JaxArray, { cos, sin }: JaxArrays) => {
    const [a, b] = np.split(config.qkNorm ? norm(x) : x, 2, -1);
    const first = a.ref.mul(cos.ref).sub(b.ref.mul(sin.ref));
    return np.concatenate([first, a.mul(sin.ref).add(b.mul(cos.ref))], -1);
  };
  const attention = (q: JaxArray, k: JaxArray, v: JaxArray, bias: JaxArray) => {
    const scores = np.matmul(np.transpose(q, [0, 2, 1, 3]), np.transpose(k, [0, 2, 3, 1]));
    const weights = nn.softmax(scores.mul(1 / Math.sqrt(D)).add(bias), -1);
    return np.transpose(np.matmul(weights, np.transpose(v, [0, 2, 1, 3])), [0, 2, 1, 3]);
  };
  return (parameters, tokens, targets, constants) => {
    let x = np.matmul(nn.oneHot(tokens, V), parameters["wte.weight"]);
    for (let layer = 0; layer < config.numLayers; layer++) {
      const weight = (part: string) => parameters[`blocks.${layer}.${part}_proj.weight`];
      const xNorm = norm(x.ref);
      const [q, k, v] = ["q", "k", "v"].map((part) =>
        linear(xNorm.ref, weight(`attn.${part}`)).reshape([B, T, H, D])
      );
      xNorm.dispose();
      const mixed = attention(rotate(q, constants), rotate(k, constants), v, constants.bias.ref);
      x = x.add(linear(mixed.reshape([B * T, H * D]), weight("attn.o")));
      x = x.add(linear(activate(linear(norm(x.ref), weight("mlp.up"))), weight("mlp.down")));
    }
    jax.tree.dispose(constants);
    const logits = linear(norm(x), parameters["lm_head.weight"]);
    const z = softcap === null ? logits : np.tanh(logits.div(softcap)).mul(softcap);
    const picked = nn.logSoftmax(z, -1).mul(nn.oneHot(targets, V));
    return picked.sum().mul(-1 / (B * T));
  };
}
