/**
 * Compares this program with a peer, see {@link PeerName}: both train the same model from the same weights on the
 * same batch, in turns within one run.
 *
 * Both first train a few untimed steps, and their losses must agree.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { ByteFile } from "../../io/files/byte_file.ts";
import type { KernelRegistry } from "../../tensor/registry.ts";
import { modelShapes } from "../../model/model_config.ts";
import { initialParameters } from "../../model/parameters.ts";
import { Transformer } from "../../model/transformer.ts";
import { groupOf } from "../../train/optim/optim_config.ts";
import { momentumAt } from "../../train/optim/rules.ts";
import { Optimizer } from "../../train/optim/optimizer.ts";
import { weightDecayFactor, widthFactor } from "../../train/optim/schedule.ts";
import { claimedAddresses, denseBatch } from "../../train/step_timing.ts";
import type { RunConfig } from "../../train/run_config.ts";
import type { JaxRule, JaxStepNumbers, PeerModel, PeerReply, PeerRequest } from "./peers_jax.ts";
import { CHECKOUT } from "../own_program.ts";
import { medianOf } from "./throughput.ts";
import { timed, type Times } from "./usage.ts";
import { fromFileUrl } from "@std/path";

/** Steps whose losses are compared. They also warm both up. */
const NUM_CHECKED_STEPS = 3;
/** The largest relative difference of the losses. */
const MAX_LOSS_DIFFERENCE = 1e-3;

/** The training speeds of both, in tokens/s. */
export interface TrainingComparison {
  readonly peer: PeerName;
  /** This program's median. */
  readonly median: number;
  readonly peerMedian: number;
  /** By processor time, which on a software adapter does not depend on other programs. */
  readonly perCore: number;
  readonly peerPerCore: number;
  /** Timed steps of each. */
  readonly numSteps: number;
  /** The largest relative difference of the losses of the checked steps. */
  readonly lossDifference: number;
}

/**
 * Trains with both, a step of one micro-batch at a time.
 *
 * @param registry The kernels of the adapter.
 * @param peer The other program.
 * @param options `config`: the configuration; `seconds`: the total training time of both after the checked steps.
 * @throws {UserError} If the losses differ.
 */
export async function compareTraining(
  registry: KernelRegistry,
  peer: Peer,
  { config, seconds, signal }: { config: RunConfig; seconds: number; signal?: AbortSignal },
): Promise<TrainingComparison> {
  const ours = await startTraining(registry, peer, config);
  const oursTimes: Times[] = [];
  const peerTimes: Times[] = [];
  let lossDifference = 0;
  let startMs = 0;
  for (let step = 0; step <= NUM_CHECKED_STEPS || performance.now() - startMs < 1000 * seconds; step++) {
    signal?.throwIfAborted();
    const { result: loss, times } = await ours.step(step);
    const theirs = await peer.ask({ kind: "step", numbers: ours.numbersOf(step) });
    if (step >= NUM_CHECKED_STEPS) {
      oursTimes.push(times);
      peerTimes.push({ seconds: theirs.seconds ?? NaN, cpuSeconds: theirs.cpuSeconds ?? NaN });
      continue;
    }
    lossDifference = Math.max(lossDifference, Math.abs((theirs.loss ?? NaN) - loss) / Math.abs(loss));
    if (!(lossDifference <= MAX_LOSS_DIFFERENCE)) {
      throw new UserError(
        `Cannot compare with ${peer.name}: found a loss of ${theirs.loss} in step ${step}, expected ${loss}; ` +
          "it does different work",
      );
    }
    startMs = performance.now();
  }
  const speedOf = (times: readonly Times[], key: keyof Times) =>
    ours.numTokens / medianOf(times.map((each) => each[key]));
  return {
    peer: peer.name,
    median: speedOf(oursTimes, "seconds"),
    peerMedian: speedOf(peerTimes, "seconds"),
    perCore: speedOf(oursTimes, "cpuSeconds"),
    peerPerCore: speedOf(peerTimes, "cpuSeconds"),
    numSteps: oursTimes.length,
    lossDifference,
  };
}

/** Prepares this program's training, and gives the peer the same model, weights and batch. */
async function startTraining(registry: KernelRegistry, peer: Peer, config: RunConfig) {
  const { model: modelConfig, optim, train: { microBatchSize: batchSize, steps: totalSteps } } = config;
  const batch = denseBatch(batchSize, modelConfig.sequenceLength, claimedAddresses(modelConfig, new Map()));
  const numTokens = batch.tokens.length;
  const model = await Transformer.create(registry, modelConfig, { batchSize, training: true });
  const optimizer = Optimizer.create(registry, model, optim, { totalSteps });
  await registry.ready();
  const weights = initialParameters(modelConfig, 0);
  model.load(weights);
  await sendModel(peer, config, { weights, tokens: batch.tokens });
  const step = async (stepIndex: number) => {
    const { times } = await timed(async () => {
      model.zeroGradients();
      model.accumulate(batch, 1 / numTokens);
      optimizer.step(stepIndex);
      await registry.gpu.finish();
    });
    const [[lossSum]] = await registry.gpu.read(model.lossSum);
    return { result: lossSum / numTokens, times };
  };
  /** The hyperparameters of a step as the optimizer applies them. */
  const numbersOf = (stepIndex: number) => {
    const rateFactor = optimizer.learningRateFactor(stepIndex) * widthFactor(modelConfig.width);
    const decayFactor = weightDecayFactor(stepIndex, totalSteps);
    const numbers: Record<string, JaxStepNumbers> = {};
    for (const [group, rule] of Object.entries(optim.groups)) {
      numbers[group] = {
        learningRate: rule.learningRate * rateFactor,
        weightDecay: rule.weightDecay * decayFactor,
        momentum: rule.kind === "muon" ? momentumAt(stepIndex, rule) : 0,
        biasCorrection1: rule.kind === "adamw" ? 1 - rule.beta1 ** (stepIndex + 1) : 1,
        biasCorrection2: rule.kind === "adamw" ? 1 - rule.beta2 ** (stepIndex + 1) : 1,
      };
    }
    return numbers;
  };
  return { numTokens, step, numbersOf };
}

async function sendModel(
  peer: Peer,
  { model, optim, train }: RunConfig,
  { weights, tokens }: { weights: Map<string, Float32Array>; tokens: Uint16Array },
): Promise<void> {
  const rules: Record<string, JaxRule> = {};
  for (const [name, shape] of modelShapes(model).parameters) {
    const group = groupOf(name);
    const rule = optim.groups[group];
    const { beta1, beta2, epsilon } = rule.kind === "adamw" ? rule : { beta1: 0, beta2: 0, epsilon: 0 };
    rules[name] = { kind: rule.kind, group, shape, beta1, beta2, epsilon };
  }
  const weightsPath = Deno.makeTempFileSync({ prefix: "ping-llm-bench-" });
  const sent: PeerModel = {
    config: { ...model, vocabSize: modelShapes(model).vocabSize, batchSize: train.microBatchSize },
    rules,
    maxGradientNorm: optim.maxGradientNorm,
    weightsPath,
    tokens: [...tokens],
  };
  try {
    using file = ByteFile.write(weightsPath, "new");
    for (const values of weights.values()) file.write(new Uint8Array(values.buffer));
    await peer.ask({ kind: "model", model: sent });
  } finally {
    Deno.removeSync(weightsPath);
  }
}

/** A configuration without the options that peers do not have: address embeddings, shifted keys, loss weights, f16. */
export function comparableConfig(config: RunConfig): RunConfig {
  const { model, train } = config;
  return {
    ...config,
    model: {
      ...model,
      prefixVectors: null,
      pairVectors: null,
      coordinates: null,
      keyShift: false,
      byteVectors: "random",
    },
    train: { ...train, dtype: "f32", rttByteWeight: 1, rttDistanceWeights: null },
    autosize: null,
  };
}

// A process that runs another program, jax-js or PyTorch, and answers requests, so that both programs take turns.

/** A program that answers requests. */
export interface Peer {
  readonly name: PeerName;
  ask(request: PeerRequest): Promise<PeerReply>;
}

/** The peers: jax-js on the same adapter, PyTorch on the processor. */
export const PEERS = ["jax-js", "PyTorch", "torch.compile"] as const;

/** One of {@link PEERS}. */
export type PeerName = typeof PEERS[number];

/** The options of starting a peer. */
interface PeerOptions {
  /** Stops it. */
  signal?: AbortSignal;
  /** Whether jax-js may use only cached packages. */
  cachedOnly?: boolean;
  /** Further environment variables. */
  env?: Record<string, string>;
}

/** A peer in a separate process. */
export class PeerProcess implements Peer, Disposable {
  readonly #child: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<string>;
  readonly #errors: Promise<string>;
  readonly #signal: AbortSignal | undefined;
  #received = "";

  private constructor(readonly name: PeerName, options: PeerOptions) {
    this.#child = commandOf(name, options).spawn();
    this.#requests = this.#child.stdin.getWriter();
    this.#replies = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#errors = new Response(this.#child.stderr).text();
    this.#signal = options.signal;
  }

  /**
   * Starts a peer. The first start of jax-js fetches it from npm.
   *
   * @throws {UserError} If the peer is not available.
   */
  static async start(name: PeerName, options: PeerOptions = {}): Promise<PeerProcess> {
    if (CHECKOUT === undefined) {
      throw new UserError(
        `Cannot compare with ${name}: found no sources of this program, expected a checkout; run bench from one`,
      );
    }
    let peer: PeerProcess;
    try {
      peer = new PeerProcess(name, options);
    } catch (cause) {
      if (!(cause instanceof Deno.errors.NotFound)) throw cause;
      throw new UserError(`Cannot compare with ${name}: there is no python3, expected one with torch`, {
        cause,
      });
    }
    const { unavailable } = await peer.ask({ kind: "start" });
    if (unavailable === undefined) return peer;
    peer[Symbol.dispose]();
    throw new UserError(`Cannot compare with ${name}: it is not available: ${unavailable}`);
  }

  /**
   * Sends a request. The next one may be sent after the reply.
   *
   * @throws {UserError} If the process ended; the message has the reason.
   */
  async ask(request: PeerRequest): Promise<PeerReply> {
    // If the process has ended, the missing reply is reported.
    await this.#requests.write(new TextEncoder().encode(JSON.stringify(request) + "\n")).catch(() => {});
    while (!this.#received.includes("\n")) {
      const { value, done } = await this.#replies.read();
      this.#signal?.throwIfAborted();
      if (done) {
        throw new UserError(`Cannot compare with ${this.name}: its process ended: ${await this.#reason()}`);
      }
      this.#received += value;
    }
    const [line, ...rest] = this.#received.split("\n");
    this.#received = rest.join("\n");
    return JSON.parse(line) as PeerReply;
  }

  async #reason(): Promise<string> {
    const lines = (await this.#errors).trimEnd().split("\n");
    return (lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1) ?? "").replace(/^error: /, "");
  }

  [Symbol.dispose](): void {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // It has already ended.
    }
  }
}

function commandOf(name: PeerName, { signal, cachedOnly = false, env }: PeerOptions): Deno.Command {
  const path = (file: string) => fromFileUrl(new URL(file, import.meta.url));
  const options: Deno.CommandOptions = {
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  };
  if (signal) options.signal = signal;
  if (name !== "jax-js") {
    options.args = [path("peers_torch.py"), name === "PyTorch" ? "eager" : "compiled"];
    return new Deno.Command("python3", options);
  }
  const permissions = ["--no-prompt", "--allow-read", "--allow-env", "--allow-sys"];
  const lock = ["--no-config", `--lock=${path("peers.lock")}`, "--frozen"];
  if (cachedOnly) lock.push("--cached-only");
  options.args = ["run", ...permissions, ...lock, path("peers_jax.ts")];
  return new Deno.Command(Deno.execPath(), options);
}
