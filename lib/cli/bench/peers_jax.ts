/**
 * A separate program, which {@link file://./peers.ts} starts: jax-js (npm `@jax-js/jax`, https://jax-js.com)
 * trains the model of lib/model/README.md with the optimizer step of lib/train/optim, for comparison.
 * Standard input has one {@link PeerRequest} as JSON per line; each is answered with one line of JSON.
 *
 * Nothing else needs jax-js. The package name is built at run time, so that neither `deno install` nor `deno
 * check` fetches the package; the part of its API that is used here is declared as types. `peers.lock` fixes
 * its version.
 *
 * Every function of jax-js consumes its arguments: an array that is used again is passed as `x.ref`.
 *
 * The embedding is a product with one-hot rows, since the gradient of `take` in jax-js 0.1.25 does not
 * compile on Deno's WebGPU (a pointer to an atomic as an argument). The loss picks its logit in the same way.
 *
 * @module
 */
import { timed } from "./usage.ts";

interface JaxArray {
  /** The same array, for one more use. */
  readonly ref: JaxArray;
  add(other: JaxArray | number): JaxArray;
  sub(other: JaxArray | number): JaxArray;
  mul(other: JaxArray | number): JaxArray;
  div(other: JaxArray | number): JaxArray;
  mean(axis: number, options: { keepdims: boolean }): JaxArray;
  sum(): JaxArray;
  reshape(shape: readonly number[]): JaxArray;
  dispose(): void;
  data(): Promise<Float32Array>;
}

/** Arrays by name, which the transformations of jax-js traverse. */
type JaxArrays = { [name: string]: JaxArray };

interface Jax {
  init(device: "webgpu"): Promise<string[]>;
  defaultDevice(device: "webgpu"): void;
  blockUntilReady(arrays: unknown): Promise<unknown>;
  jit<F>(compute: F): F;
  valueAndGrad<Rest extends unknown[]>(
    compute: (parameters: JaxArrays, ...rest: Rest) => JaxArray,
  ): (parameters: JaxArrays, ...rest: Rest) => [JaxArray, JaxArrays];
  tree: { ref<T>(arrays: T): T; dispose(arrays: unknown): void };
  nn: {
    relu(x: JaxArray): JaxArray;
    silu(x: JaxArray): JaxArray;
    gelu(x: JaxArray, options: { approximate: boolean }): JaxArray;
    softmax(x: JaxArray, axis: number): JaxArray;
    logSoftmax(x: JaxArray, axis: number): JaxArray;
    oneHot(x: JaxArray, numClasses: number): JaxArray;
  };
  numpy: {
    int32: unknown;
    array(values: Float32Array | Int32Array, options?: { dtype: unknown }): JaxArray;
    zeros(shape: readonly number[]): JaxArray;
    matmul(a: JaxArray, b: JaxArray): JaxArray;
    transpose(x: JaxArray, axes?: readonly number[]): JaxArray;
    split(x: JaxArray, numParts: number, axis: number): JaxArray[];
    concatenate(parts: readonly JaxArray[], axis: number): JaxArray;
    square(x: JaxArray): JaxArray;
    sqrt(x: JaxArray): JaxArray;
    tanh(x: JaxArray): JaxArray;
    minimum(a: JaxArray, b: JaxArray | number): JaxArray;
    maximum(a: JaxArray, b: JaxArray | number): JaxArray;
  };
}

/** The fields of `ModelConfig`, with the size of the vocabulary. */
interface JaxModelConfig {
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

/** float32 epsilon, as in rmsNorm. */
const EPSILON = 1.1920929e-7;
const ROTATION_BASE = 10000;

/** Constant inputs: cosines and sines (1, T, 1, D / 2), the causal mask as a bias (1, 1, T, T). */
function jaxConstants(jax: Jax, config: JaxModelConfig): JaxArrays {
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
 * The mean loss over all positions in nats, as a function of (parameters, tokens (B * T), targets (B * T),
 * constants). Each position attends to itself and all earlier ones.
 */
function jaxLoss(
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

export interface JaxRule {
  kind: "adamw" | "muon";
  /** The key of its {@link JaxStepNumbers}. */
  group: string;
  /** (rows, columns). */
  shape: readonly number[];
  /** For AdamW. */
  beta1: number;
  beta2: number;
  epsilon: number;
}

export type JaxStepNumbers = {
  learningRate: number;
  weightDecay: number;
  /** Muon's mu. */
  momentum: number;
  /** AdamW's 1 - beta^step. */
  biasCorrection1: number;
  biasCorrection2: number;
};

type JaxState = Record<string, JaxArrays>;

const NEWTON_SCHULZ = [3.4445, -4.7750, 2.0315];
const NEWTON_SCHULZ_STEPS = 5;
const NEWTON_SCHULZ_EPSILON = 1e-7;

function jaxOptimizerState(jax: Jax, rules: Record<string, JaxRule>): JaxState {
  const state: JaxState = {};
  for (const [name, { kind, shape }] of Object.entries(rules)) {
    const moments = kind === "muon" ? ["momentum"] : ["expAvg", "expAvgSq"];
    state[name] = Object.fromEntries(moments.map((moment) => [moment, jax.numpy.zeros(shape)]));
  }
  return state;
}

/** A parameter before a step, and the hyperparameters as one-element arrays, which are not consumed. */
interface UpdateInput {
  parameter: JaxArray;
  gradient: JaxArray;
  state: JaxArrays;
  numbers: JaxArrays;
}

/**
 * An optimizer step as in lib/train/optim: clipping at the global norm, then Muon or AdamW.
 *
 * @returns (parameters, gradients, state, numbers of each group) -> new parameters and state.
 */
function jaxUpdate(jax: Jax, rules: Record<string, JaxRule>, maxGradientNorm: number): (
  parameters: JaxArrays,
  gradients: JaxArrays,
  state: JaxState,
  numbers: Record<string, JaxArrays>,
) => [JaxArrays, JaxState] {
  const { numpy: np } = jax;
  return (parameters, gradients, state, numbers) => {
    const squares = Object.values(gradients).map((gradient) => np.square(gradient.ref).sum());
    const norm = np.sqrt(squares.reduce((sum, square) => sum.add(square)));
    const factor = np.minimum(np.array(Float32Array.of(maxGradientNorm)).reshape([]).div(norm), 1);
    const newParameters: JaxArrays = {};
    const newState: JaxState = {};
    for (const [name, rule] of Object.entries(rules)) {
      const input = {
        parameter: parameters[name],
        gradient: gradients[name].mul(factor.ref),
        state: state[name],
        numbers: numbers[rule.group],
      };
      [newParameters[name], newState[name]] = (rule.kind === "muon" ? muon : adamW)(jax, rule, input);
    }
    jax.tree.dispose([factor, numbers]);
    return [newParameters, newState];
  };
}

/** parameter (1 - learning rate * weight decay) - learning rate * update. */
function descend(parameter: JaxArray, update: JaxArray, { learningRate, weightDecay }: JaxArrays): JaxArray {
  const shrink = learningRate.ref.mul(weightDecay.ref);
  return parameter.ref.sub(parameter.mul(shrink)).sub(update.mul(learningRate.ref));
}

function adamW(
  { numpy: np }: Jax,
  { beta1, beta2, epsilon }: JaxRule,
  { parameter, gradient, state, numbers }: UpdateInput,
): [JaxArray, JaxArrays] {
  const expAvg = state.expAvg.mul(beta1).add(gradient.ref.mul(1 - beta1));
  const expAvgSq = state.expAvgSq.mul(beta2).add(np.square(gradient).mul(1 - beta2));
  const root = np.sqrt(expAvgSq.ref.div(numbers.biasCorrection2.ref)).add(epsilon);
  const update = expAvg.ref.div(numbers.biasCorrection1.ref).div(root);
  return [descend(parameter, update, numbers), { expAvg, expAvgSq }];
}

function muon(
  jax: Jax,
  { shape: [rows, columns] }: JaxRule,
  { parameter, gradient, state, numbers }: UpdateInput,
): [JaxArray, JaxArrays] {
  const lerp = (a: JaxArray, b: JaxArray, share: JaxArray) => a.ref.add(b.sub(a).mul(share));
  // momentum + (1 - mu) (gradient - momentum), then gradient + mu (momentum - gradient).
  const momentum = lerp(gradient.ref, state.momentum, numbers.momentum.ref);
  const update = orthogonalize(jax, lerp(gradient, momentum.ref, numbers.momentum.ref), rows > columns);
  const scaled = update.mul(Math.sqrt(Math.max(1, rows / columns)));
  return [descend(parameter, scaled, numbers), { momentum }];
}

function orthogonalize(jax: Jax, matrix: JaxArray, isTall: boolean): JaxArray {
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

const PACKAGE = ["npm:@jax-js/jax", "0.1.25"].join("@");

type StepNumbers = Record<string, JaxStepNumbers>;

export interface PeerModel {
  config: JaxModelConfig;
  /** By name of the parameter. */
  rules: Record<string, JaxRule>;
  maxGradientNorm: number;
  /** A file of all weights as native f32, in the order of `rules`. */
  weightsPath: string;
  /** The batch, (B * T), which also provides the targets. */
  tokens: number[];
}

export type PeerRequest =
  | { kind: "start" }
  | { kind: "model"; model: PeerModel }
  | { kind: "steps"; numbers: StepNumbers[] };

/** `seconds` has the times of all steps; for `start`, the device or why the package is not available. */
export interface PeerReply {
  unavailable?: string;
  device?: string;
  seconds?: number;
  cpuSeconds?: number;
  /** The mean loss before the last step, nats. */
  loss?: number;
}

/** Trains with a jitted step that updates parameters and state. */
function createTraining(jax: Jax, model: PeerModel): (numbers: StepNumbers[]) => Promise<PeerReply> {
  const { config, rules, maxGradientNorm } = model;
  const { numpy: np, tree } = jax;
  const gradient = jax.valueAndGrad(jaxLoss(jax, config));
  const update = jaxUpdate(jax, rules, maxGradientNorm);
  const jitted = jax.jit((
    parameters: JaxArrays,
    state: JaxState,
    { tokens, constants, numbers }: {
      tokens: JaxArray;
      constants: JaxArrays;
      numbers: Record<string, JaxArrays>;
    },
  ): [JaxArray, JaxArrays, JaxState] => {
    const [loss, gradients] = gradient(tree.ref(parameters), tokens.ref, tokens, constants);
    return [loss, ...update(parameters, gradients, state, numbers)];
  });
  const tokens = np.array(Int32Array.from(model.tokens), { dtype: np.int32 });
  const constants = jaxConstants(jax, config);
  let parameters = readParameters(jax, model);
  let state = jaxOptimizerState(jax, rules);
  const inputsOf = (numbers: StepNumbers) => {
    const scalars: Record<string, JaxArrays> = {};
    for (const [group, values] of Object.entries(numbers)) {
      scalars[group] = {};
      for (const [name, value] of Object.entries(values)) {
        scalars[group][name] = np.array(Float32Array.of(value)).reshape([]);
      }
    }
    return { tokens: tokens.ref, constants: tree.ref(constants), numbers: scalars };
  };
  return async (numbers) => {
    const inputs = numbers.map(inputsOf);
    const { result: losses, times } = await timed(async () => {
      const losses = inputs.map((each) => {
        let loss: JaxArray;
        [loss, parameters, state] = jitted(parameters, state, each);
        return loss;
      });
      await jax.blockUntilReady([losses, parameters, state]);
      return losses;
    });
    return { ...times, loss: (await losses[losses.length - 1].data())[0] };
  };
}

function readParameters(jax: Jax, { rules, weightsPath }: PeerModel): JaxArrays {
  const weights = new Float32Array(Deno.readFileSync(weightsPath).buffer);
  const parameters: JaxArrays = {};
  let at = 0;
  for (const [name, { shape: [rows, columns] }] of Object.entries(rules)) {
    parameters[name] = jax.numpy.array(weights.slice(at, at += rows * columns)).reshape([rows, columns]);
  }
  return parameters;
}

async function loadJax(): Promise<Jax | string> {
  try {
    const jax = await import(PACKAGE) as Jax;
    if (!(await jax.init("webgpu")).includes("webgpu")) return "it found no WebGPU adapter";
    jax.defaultDevice("webgpu");
    return jax;
  } catch (error) {
    return String(error instanceof Error ? error.message : error).split("\n")[0];
  }
}

async function serve(): Promise<void> {
  const jax = await loadJax();
  let train: ReturnType<typeof createTraining> | undefined;
  const answer = async (request: PeerRequest): Promise<PeerReply> => {
    if (typeof jax === "string") return { unavailable: jax };
    switch (request.kind) {
      case "start":
        return { device: "the same adapter" };
      case "model":
        train = createTraining(jax, request.model);
        return {};
      case "steps":
        return await train?.(request.numbers) ?? {};
    }
  };
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) console.log(JSON.stringify(await answer(JSON.parse(line) as PeerRequest)));
  }
}

if (import.meta.main) {
  await serve();
  Deno.exit(0);
}
