/**
 * A separate program, which {@link file://./peers.ts} starts: jax-js (npm `@jax-js/jax`, https://jax-js.com)
 * trains the model of lib/model/README.md with the optimizer step of lib/train/optim, for comparison.
 * It prints its device, then answers each {@link PeerRequest}, a line of JSON, with one line.
 *
 * The package name is built at run time, so that neither `deno install` nor `deno check` fetches the package.
 * `peers.lock` fixes its version.
 *
 * Every function of jax-js consumes its arguments: an array that is used again is passed as `x.ref`.
 *
 * The embedding is a product with one-hot rows, since the gradient of `take` in jax-js 0.1.25 does not
 * compile on Deno's WebGPU (a pointer to an atomic as an argument). The loss picks its logit in the same way.
 *
 * @module
 */
import { timed, type Times } from "./usage.ts";

export interface PeerModel {
  /** The fields of `ModelConfig`, with the size of the vocabulary. */
  config: {
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
  };
  /** By name of the parameter. */
  rules: Record<string, PeerRule>;
  maxGradientNorm: number;
  /** A file of all weights as native f32, in the order of `rules`. */
  weightsPath: string;
  /** The batch, (B * T), which also provides the targets. */
  tokens: number[];
}

export interface PeerRule {
  kind: "adamw" | "muon";
  /** The key of its numbers. */
  group: string;
  /** (rows, columns). */
  shape: readonly number[];
  /** For AdamW. */
  beta1: number;
  beta2: number;
  epsilon: number;
}

/** By group: learning rate, weight decay, Muon's `momentum`, AdamW's bias corrections. */
export type StepNumbers = Record<string, Record<string, number>>;

/** The first request contains a model, later ones the number of steps to train. */
export type PeerRequest = { model: PeerModel } | { numbers: StepNumbers[] };

/** The first reply contains the device, or why the package is unavailable; `seconds` times all steps. */
export interface PeerReply extends Partial<Times> {
  unavailable?: string;
  device?: string;
  /** The mean loss before the last step, nats. */
  loss?: number;
}

// The package is not a dependency, so its types are unavailable.
// deno-lint-ignore no-explicit-any
type Jax = any;
type JaxArray = Jax;
type JaxArrays = Record<string, JaxArray>;

const PACKAGE = ["npm:@jax-js/jax", "0.1.25"].join("@");
let jax: Jax;

/** float32 epsilon, as in rmsNorm. */
const EPSILON = 1.1920929e-7;
const ROTATION_BASE = 10000;

/** Constant inputs: cosines and sines (1, T, 1, D / 2), the causal mask as a bias (1, 1, T, T). */
function constantsOf({ sequenceLength: T, headDim }: PeerModel["config"]): JaxArrays {
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

/** The mean loss over all positions in nats. Each position attends to itself and all earlier ones. */
function lossOf(config: PeerModel["config"]) {
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
  return (parameters: JaxArrays, tokens: JaxArray, targets: JaxArray, constants: JaxArrays) => {
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

const NEWTON_SCHULZ = [3.4445, -4.7750, 2.0315];
const NEWTON_SCHULZ_STEPS = 5;
const NEWTON_SCHULZ_EPSILON = 1e-7;

/** An optimizer step as in lib/train/optim: clipping at the global norm, then Muon or AdamW. */
function updateOf({ rules, maxGradientNorm }: PeerModel) {
  const { numpy: np } = jax;
  return (
    parameters: JaxArrays,
    gradients: JaxArrays,
    state: Record<string, JaxArrays>,
    numbers: Record<string, JaxArrays>,
  ) => {
    const squares = Object.values(gradients).map((gradient) => np.square(gradient.ref).sum());
    const norm = np.sqrt(squares.reduce((sum, square) => sum.add(square)));
    const factor = np.minimum(np.array(Float32Array.of(maxGradientNorm)).reshape([]).div(norm), 1);
    const newState: Record<string, JaxArrays> = {};
    const newParameters = mapped(rules, (rule, name) => {
      const gradient = gradients[name].mul(factor.ref);
      const n = numbers[rule.group];
      const [update, changed] = (rule.kind === "muon" ? muon : adamW)(rule, gradient, state[name], n);
      newState[name] = changed;
      // parameter (1 - learning rate * weight decay) - learning rate * update.
      const parameter = parameters[name];
      const shrink = n.learningRate.ref.mul(n.weightDecay.ref);
      return parameter.ref.sub(parameter.mul(shrink)).sub(update.mul(n.learningRate.ref));
    });
    jax.tree.dispose([factor, numbers]);
    return [newParameters, newState];
  };
}

/** @param n Numbers of the step as one-element arrays, which are not consumed. @returns Update and state. */
function adamW({ beta1, beta2, epsilon }: PeerRule, gradient: JaxArray, state: JaxArrays, n: JaxArrays) {
  const { numpy: np } = jax;
  const expAvg = state.expAvg.mul(beta1).add(gradient.ref.mul(1 - beta1));
  const expAvgSq = state.expAvgSq.mul(beta2).add(np.square(gradient).mul(1 - beta2));
  const root = np.sqrt(expAvgSq.ref.div(n.biasCorrection2.ref)).add(epsilon);
  return [expAvg.ref.div(n.biasCorrection1.ref).div(root), { expAvg, expAvgSq }];
}

function muon({ shape: [rows, columns] }: PeerRule, gradient: JaxArray, state: JaxArrays, n: JaxArrays) {
  const lerp = (a: JaxArray, b: JaxArray, share: JaxArray) => a.ref.add(b.sub(a).mul(share));
  // momentum + (1 - mu) (gradient - momentum), then gradient + mu (momentum - gradient).
  const momentum = lerp(gradient.ref, state.momentum, n.momentum.ref);
  const update = orthogonalize(lerp(gradient, momentum.ref, n.momentum.ref), rows > columns);
  return [update.mul(Math.sqrt(Math.max(1, rows / columns))), { momentum }];
}

function orthogonalize(matrix: JaxArray, isTall: boolean): JaxArray {
  const { numpy: np } = jax;
  const [a, b, c] = NEWTON_SCHULZ;
  let x = isTall ? np.transpose(matrix) : matrix;
  const norm = np.sqrt(np.square(x.ref).sum());
  x = x.div(np.maximum(norm, NEWTON_SCHULZ_EPSILON));
  for (let step = 0; step < NEWTON_SCHULZ_STEPS; step++) {
    const gram = np.matmul(x.ref, np.transpose(x.ref));
    const squared = np.matmul(gram.ref, gram.ref);
    const polynomial = gram.mul(b).add(squared.mul(c));
    x = x.ref.mul(a).add(np.matmul(polynomial, x));
  }
  return isTall ? np.transpose(x) : x;
}

/** Trains with a jitted step that updates parameters and state. */
function createTraining(model: PeerModel): (numbers: StepNumbers[]) => Promise<PeerReply> {
  const { config, rules } = model;
  const { numpy: np, tree } = jax;
  const gradient = jax.valueAndGrad(lossOf(config));
  const update = updateOf(model);
  const jitted = jax.jit((
    parameters: JaxArrays,
    state: Record<string, JaxArrays>,
    numbers: Record<string, JaxArrays>,
    { tokens, ...constants }: JaxArrays,
  ) => {
    const [loss, gradients] = gradient(tree.ref(parameters), tokens.ref, tokens, constants);
    return [loss, ...update(parameters, gradients, state, numbers)];
  });
  const tokens = np.array(Int32Array.from(model.tokens), { dtype: np.int32 });
  const inputs = { tokens, ...constantsOf(config) };
  const weights = new Float32Array(Deno.readFileSync(model.weightsPath).buffer);
  let at = 0;
  let parameters = mapped(
    rules,
    ({ shape: [rows, columns] }) =>
      np.array(weights.slice(at, at += rows * columns)).reshape([rows, columns]),
  );
  let state: JaxArrays = mapped(
    rules,
    ({ kind, shape }) =>
      kind === "muon"
        ? { momentum: np.zeros(shape) }
        : { expAvg: np.zeros(shape), expAvgSq: np.zeros(shape) },
  );
  const scalar = (value: number) => np.array(Float32Array.of(value)).reshape([]);
  return async (numbers) => {
    const arrays = numbers.map((groups) => mapped(groups, (values) => mapped(values, scalar)));
    const { result: losses, times } = await timed(async () => {
      const losses = arrays.map((groups) => {
        let loss: JaxArray;
        [loss, parameters, state] = jitted(parameters, state, groups, tree.ref(inputs));
        return loss;
      });
      await jax.blockUntilReady([losses, parameters, state]);
      return losses;
    });
    return { ...times, loss: (await losses[losses.length - 1].data())[0] };
  };
}

function mapped<A, B>(values: Record<string, A>, change: (value: A, name: string) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}

const print = (reply: PeerReply) => console.log(JSON.stringify(reply));

async function serve(): Promise<void> {
  try {
    jax = await import(PACKAGE);
    if (!(await jax.init("webgpu")).includes("webgpu")) throw new Error("it found no WebGPU adapter");
    jax.defaultDevice("webgpu");
  } catch (error) {
    return print({ unavailable: String(error instanceof Error ? error.message : error).split("\n")[0] });
  }
  print({ device: "the same adapter" });
  let train: ReturnType<typeof createTraining> | undefined;
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const request = JSON.parse(line) as PeerRequest;
      if ("model" in request) train = createTraining(request.model);
      print("model" in request ? {} : await train?.(request.numbers) ?? {});
    }
  }
}

if (import.meta.main) {
  await serve();
  Deno.exit(0);
}
