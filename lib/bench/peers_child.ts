/**
 * jax-js (https://jax-js.com) training the same model, for comparison: a program of its own, started by `bench peers`
 * through {@link file://./peer_process.ts}, since jax-js is needed by nothing else.
 *
 * The package is named by a text that is put together at run time, so that neither `deno install` nor `deno check`
 * fetches it; `peers.lock` beside this file fixes what is fetched when this program runs. It reads requests from
 * standard input, a {@link PeerRequest} as JSON a line, and answers each with one line.
 *
 * @module
 */
import process from "node:process";
import type { Jax, JaxArray, JaxArrays } from "./peers_jax.ts";
import { jaxConstants, jaxLoss, type JaxModelConfig } from "./peers_jax_model.ts";
import { jaxOptimizerState, type JaxRule, type JaxStepNumbers, jaxUpdate } from "./peers_jax_optimizer.ts";

const PACKAGE = ["npm:@jax-js/jax", "0.1.25"].join("@");

/** A model and its training. */
export interface PeerModel {
  config: JaxModelConfig;
  /** How each parameter is updated, by its name. */
  rules: Record<string, JaxRule>;
  maxGradientNorm: number;
  /** File of all weights, f32 in the machine's order, one parameter after the other in the order of `rules`. */
  weightsPath: string;
  /** The batch, (B * T), which is also its own targets. */
  tokens: number[];
}

/** A matrix product: NN is A B, NT is A B^T, TN is A^T B; the result is (m, n), the sum is over k. */
export interface Product {
  kind: "NN" | "NT" | "TN";
  m: number;
  n: number;
  k: number;
}

/** What can be asked. */
export type PeerRequest =
  | { kind: "start" }
  | { kind: "model"; model: PeerModel }
  | { kind: "step"; numbers: Record<string, JaxStepNumbers> }
  | { kind: "product"; product: Product; seconds: number };

/** What is answered: to `step` and `product` how long one took, to `start` perhaps why there is no jax-js. */
export interface PeerReply {
  unavailable?: string;
  seconds?: number;
  cpuSeconds?: number;
  /** The mean loss before the step, nats. */
  loss?: number;
}

/** Batches of products that are timed; the median counts. */
const NUM_BATCHES = 5;

/** A jitted training step and what it changes. */
class Training {
  readonly #step: (
    parameters: JaxArrays,
    state: Record<string, JaxArrays>,
    inputs: { tokens: JaxArray; constants: JaxArrays; numbers: Record<string, JaxArrays> },
  ) => [JaxArray, JaxArrays, Record<string, JaxArrays>];
  readonly #tokens: JaxArray;
  readonly #constants: JaxArrays;
  #parameters: JaxArrays;
  #state: Record<string, JaxArrays>;

  constructor(readonly jax: Jax, model: PeerModel) {
    const { config, rules, maxGradientNorm } = model;
    const { numpy: np } = jax;
    const gradient = jax.valueAndGrad(jaxLoss(jax, config));
    const update = jaxUpdate(jax, rules, maxGradientNorm);
    this.#step = jax.jit((parameters, state, { tokens, constants, numbers }) => {
      const [loss, gradients] = gradient(jax.tree.ref(parameters), tokens.ref, tokens, constants);
      return [loss, ...update(parameters, gradients, state, numbers)];
    });
    this.#tokens = np.array(Int32Array.from(model.tokens), { dtype: np.int32 });
    this.#constants = jaxConstants(jax, config);
    this.#parameters = readParameters(jax, model);
    this.#state = jaxOptimizerState(jax, rules);
  }

  async step(numbers: Record<string, JaxStepNumbers>): Promise<PeerReply> {
    const { jax } = this;
    const inputs = {
      tokens: this.#tokens.ref,
      constants: jax.tree.ref(this.#constants),
      numbers: Object.fromEntries(
        Object.entries(numbers).map(([group, values]) => [group, scalars(jax, values)]),
      ),
    };
    let loss: JaxArray | undefined;
    const times = await timed(async () => {
      [loss, this.#parameters, this.#state] = this.#step(this.#parameters, this.#state, inputs);
      await jax.blockUntilReady([loss, this.#parameters, this.#state]);
    });
    return { ...times, loss: (await loss?.data())?.[0] ?? NaN };
  }
}

function scalars(jax: Jax, values: JaxStepNumbers): JaxArrays {
  return Object.fromEntries(
    Object.entries(values).map((
      [name, value],
    ) => [name, jax.numpy.array(Float32Array.of(value)).reshape([])]),
  );
}

function readParameters(jax: Jax, { rules, weightsPath }: PeerModel): JaxArrays {
  const weights = new Float32Array(Deno.readFileSync(weightsPath).buffer);
  let at = 0;
  return Object.fromEntries(
    Object.entries(rules).map(([name, { shape: [rows, columns] }]) => {
      const values = weights.slice(at, at += rows * columns);
      return [name, jax.numpy.array(values).reshape([rows, columns])];
    }),
  );
}

async function timed(work: () => Promise<unknown>): Promise<{ seconds: number; cpuSeconds: number }> {
  const [startMs, before] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - startMs) / 1000, cpuSeconds: (user + system) / 1e6 };
}

/** Numbers within [-0.5, 0.5), as the kernels' own bench has them. */
function matrix(jax: Jax, rows: number, columns: number): JaxArray {
  const values = Float32Array.from({ length: rows * columns }, (_, i) => (i * Math.SQRT2) % 1 - 0.5);
  return jax.numpy.array(values).reshape([rows, columns]);
}

/** Time of one product, medians over batches of them. */
async function timeProduct(jax: Jax, { kind, m, n, k }: Product, seconds: number): Promise<PeerReply> {
  const { numpy: np } = jax;
  const a = kind === "TN" ? matrix(jax, k, m) : matrix(jax, m, k);
  const b = kind === "NT" ? matrix(jax, n, k) : matrix(jax, k, n);
  const multiply = jax.jit((a: JaxArray, b: JaxArray) =>
    np.matmul(kind === "TN" ? np.transpose(a) : a, kind === "NT" ? np.transpose(b) : b)
  );
  const batch = (count: number) =>
    timed(async () => {
      const results = Array.from({ length: count }, () => multiply(a.ref, b.ref));
      await jax.blockUntilReady(results);
      jax.tree.dispose(results);
    });
  await batch(1);
  const estimate = await batch(1);
  const count = Math.max(1, Math.ceil(seconds / NUM_BATCHES / estimate.seconds));
  const batches = [];
  for (let i = 0; i < NUM_BATCHES; i++) batches.push(await batch(count));
  jax.tree.dispose([a, b]);
  const medianOf = (values: number[]) => values.sort((x, y) => x - y)[NUM_BATCHES >> 1] / count;
  return {
    seconds: medianOf(batches.map((times) => times.seconds)),
    cpuSeconds: medianOf(batches.map((times) => times.cpuSeconds)),
  };
}

async function loadJax(): Promise<Jax | string> {
  try {
    const jax = await import(PACKAGE) as Jax;
    if (!(await jax.init("webgpu")).includes("webgpu")) return "it finds no WebGPU adapter";
    jax.defaultDevice("webgpu");
    return jax;
  } catch (error) {
    return String(error instanceof Error ? error.message : error).split("\n")[0];
  }
}

async function serve(): Promise<void> {
  const jax = await loadJax();
  let training: Training | undefined;
  const answer = async (request: PeerRequest): Promise<PeerReply> => {
    if (typeof jax === "string") return { unavailable: jax };
    switch (request.kind) {
      case "start":
        return {};
      case "model":
        training = new Training(jax, request.model);
        return {};
      case "step":
        return await training?.step(request.numbers) ?? {};
      case "product":
        return await timeProduct(jax, request.product, request.seconds);
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
