/**
 * jax-js (https://jax-js.com) training the same model, for comparison. This is a separate program, which
 * {@link file://./peer_process.ts} starts, since nothing else needs jax-js.
 *
 * The name of the package is built at run time, so that neither `deno install` nor `deno check` fetches it.
 * `peers.lock` fixes its version. Standard input has a {@link PeerRequest} as JSON per line; each is answered with one
 * line of JSON.
 *
 * @module
 */
import {
  type Jax,
  type JaxArray,
  type JaxArrays,
  jaxConstants,
  jaxLoss,
  type JaxModelConfig,
  jaxOptimizerState,
  type JaxRule,
  type JaxState,
  type JaxStepNumbers,
  jaxUpdate,
} from "./peers_jax.ts";
import { timed } from "./usage.ts";

const PACKAGE = ["npm:@jax-js/jax", "0.1.25"].join("@");

/** The hyperparameters of a step, by group of parameters. */
type StepNumbers = Record<string, JaxStepNumbers>;

/** A model and its training. */
export interface PeerModel {
  config: JaxModelConfig;
  /** The update rule of each parameter, by its name. */
  rules: Record<string, JaxRule>;
  maxGradientNorm: number;
  /** File of all weights, f32 in the machine's order, one parameter after the other in the order of `rules`. */
  weightsPath: string;
  /** The batch, (B * T), which is also its own targets. */
  tokens: number[];
}

export type PeerRequest =
  | { kind: "start" }
  | { kind: "model"; model: PeerModel }
  | { kind: "step"; numbers: StepNumbers };

/** A reply: the times and the loss of a `step`; to `start`, the reason if the package is not available. */
export interface PeerReply {
  unavailable?: string;
  seconds?: number;
  cpuSeconds?: number;
  /** The mean loss before the step, nats. */
  loss?: number;
}

/** The jitted training step. It updates parameters and state. */
function createTraining(jax: Jax, model: PeerModel): (numbers: StepNumbers) => Promise<PeerReply> {
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
  return async (numbers) => {
    const scalars: Record<string, JaxArrays> = {};
    for (const [group, values] of Object.entries(numbers)) {
      scalars[group] = {};
      for (const [name, value] of Object.entries(values)) {
        scalars[group][name] = np.array(Float32Array.of(value)).reshape([]);
      }
    }
    const inputs = { tokens: tokens.ref, constants: tree.ref(constants), numbers: scalars };
    const { result: loss, times } = await timed(async () => {
      let loss: JaxArray;
      [loss, parameters, state] = jitted(parameters, state, inputs);
      await jax.blockUntilReady([loss, parameters, state]);
      return loss;
    });
    return { ...times, loss: (await loss.data())[0] };
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
  let step: ReturnType<typeof createTraining> | undefined;
  const answer = async (request: PeerRequest): Promise<PeerReply> => {
    if (typeof jax === "string") return { unavailable: jax };
    switch (request.kind) {
      case "start":
        return {};
      case "model":
        step = createTraining(jax, request.model);
        return {};
      case "step":
        return await step?.(request.numbers) ?? {};
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
