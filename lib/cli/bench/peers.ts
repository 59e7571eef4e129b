/**
 * Compares this program with a peer, see {@link PeerName}: both train the same model from the same weights on
 * the same batch, taking turns in one run, with the most similar dtypes.
 *
 * Both first train a few untimed steps, and their losses must agree.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import type { TensorArray } from "../../base/safetensors_header.ts";
import { medianOf } from "../../base/sample_statistics.ts";
import { formatTable } from "../../base/text.ts";
import { ByteFile } from "../../io/files/byte_file.ts";
import { Gpu, type GpuInfo } from "../../tensor/device.ts";
import type { EngineName } from "../../tensor/engine.ts";
import { KernelRegistry } from "../../tensor/registry.ts";
import type { DType } from "../../tensor/tensor.ts";
import { modelShapes } from "../../model/model_config.ts";
import { Transformer } from "../../model/transformer.ts";
import { groupOf } from "../../train/optim/optim_config.ts";
import { momentumAt } from "../../train/optim/rules.ts";
import { Optimizer } from "../../train/optim/optimizer.ts";
import { weightDecayFactor, widthFactor } from "../../train/optim/schedule.ts";
import { claimedAddresses, denseBatch, timingWeights } from "../../train/step_timing.ts";
import type { RunConfig } from "../../train/run_config.ts";
import type { JaxRule, JaxStepNumbers, PeerModel, PeerReply, PeerRequest } from "./peers_jax.ts";
import { CHECKOUT } from "../own_program.ts";
import { reasonIn } from "./child.ts";
import { timed, type Times } from "./usage.ts";
import { fromFileUrl } from "@std/path";

/** Steps whose losses are compared; they also warm up both programs. */
const NUM_CHECKED_STEPS = 3;
/** The largest relative difference of losses; f16 is compared with bf16, which rounds to 2^-9. */
const MAX_LOSS_DIFFERENCE: Record<DType, number> = { f32: 1e-3, f16: 2e-2 };
/** Steps per turn on a GPU, submitted together as in a training run. */
const STEPS_TOGETHER = 8;

/** Training speeds of both programs, tokens/s. */
export interface TrainingComparison {
  readonly peer: PeerName;
  readonly device: string;
  /** The WebGPU implementation of this program. */
  readonly engine: EngineName;
  readonly dtype: DType;
  readonly median: number;
  readonly peerMedian: number;
  /** By processor time, which other programs do not affect on a software adapter. */
  readonly perCore: number;
  readonly peerPerCore: number;
  readonly tokensPerStep: number;
  readonly numSteps: number;
  /** The largest relative difference of the losses of the checked steps. */
  readonly lossDifference: number;
}

/**
 * Starts a peer and trains with both programs, on a device that is freed afterwards.
 *
 * @param options `isSoftware`: PyTorch runs on the processor; others as for {@link compareTraining}.
 * @throws {UserError} If the peer is not available, or the losses differ.
 */
export async function compareWith(
  [name, dtype]: [PeerName, DType],
  { config, seconds, isSoftware, signal }: {
    config: RunConfig;
    seconds: number;
    isSoftware: boolean;
    signal: AbortSignal;
  },
): Promise<TrainingComparison> {
  using peer = await PeerProcess.start(name, { signal, torchDevice: isSoftware ? "cpu" : "cuda" });
  using gpu = await Gpu.open({ dtype });
  const comparable = comparableConfig(config, dtype);
  return await compareTraining(new KernelRegistry(gpu), peer, { config: comparable, seconds, signal });
}

/**
 * Trains with both programs, one micro-batch per step.
 *
 * @param options `seconds`: the total training time of both after the checked steps.
 * @throws {UserError} If the losses differ.
 */
export async function compareTraining(
  registry: KernelRegistry,
  peer: Peer,
  { config, seconds, signal }: { config: RunConfig; seconds: number; signal?: AbortSignal },
): Promise<TrainingComparison> {
  const { dtype } = config.train;
  const { isSoftware, engine } = registry.gpu.info;
  const ours = await startTraining(registry, peer, config);
  let lossDifference = 0;
  for (let step = 0; step < NUM_CHECKED_STEPS; step++) {
    signal?.throwIfAborted();
    await ours.steps([step]);
    const loss = await ours.loss();
    const theirs = await peer.ask({ kind: "steps", numbers: [ours.numbersOf(step)] });
    lossDifference = Math.max(lossDifference, Math.abs((theirs.loss ?? NaN) - loss) / Math.abs(loss));
    if (!(lossDifference <= MAX_LOSS_DIFFERENCE[dtype])) {
      throw new UserError(
        `Cannot compare with ${peer.name}: its loss in step ${step} is ${theirs.loss}, expected ${loss}; ` +
          "it does different work",
      );
    }
  }
  const together = isSoftware ? 1 : STEPS_TOGETHER;
  const oursTimes: Times[] = [];
  const peerTimes: Times[] = [];
  const startMs = performance.now();
  for (
    let step = NUM_CHECKED_STEPS;
    oursTimes.length === 0 || performance.now() - startMs < 1000 * seconds;
    step += together
  ) {
    signal?.throwIfAborted();
    const turn = Array.from({ length: together }, (_, i) => step + i);
    oursTimes.push(await ours.steps(turn));
    const theirs = await peer.ask({ kind: "steps", numbers: turn.map(ours.numbersOf) });
    peerTimes.push({ seconds: theirs.seconds ?? NaN, cpuSeconds: theirs.cpuSeconds ?? NaN });
  }
  const speedOf = (times: readonly Times[], key: keyof Times) =>
    together * ours.numTokens / (medianOf(times.map((each) => each[key])) ?? NaN);
  return {
    peer: peer.name,
    device: peer.device,
    engine,
    dtype,
    median: speedOf(oursTimes, "seconds"),
    peerMedian: speedOf(peerTimes, "seconds"),
    perCore: speedOf(oursTimes, "cpuSeconds"),
    peerPerCore: speedOf(peerTimes, "cpuSeconds"),
    tokensPerStep: ours.numTokens,
    numSteps: together * oursTimes.length,
    lossDifference,
  };
}

/** Prepares this program's training and sends the peer the same model, weights and batch. */
async function startTraining(registry: KernelRegistry, peer: Peer, config: RunConfig) {
  const { model: modelConfig, optim, train: { microBatchSize: batchSize, steps: totalSteps, dtype } } =
    config;
  const { gpu } = registry;
  const batch = denseBatch(batchSize, modelConfig.sequenceLength, claimedAddresses(modelConfig, new Map()));
  const numTokens = batch.tokens.length;
  const model = await Transformer.create(registry, modelConfig, { batchSize, training: true, dtype });
  const optimizer = Optimizer.create(registry, model, optim, { totalSteps });
  await registry.ready();
  const weights = timingWeights(modelConfig);
  model.load(weights);
  await sendModel(peer, config, { weights, tokens: batch.tokens });
  const steps = async (stepIndices: readonly number[]): Promise<Times> => {
    const { result: seconds, times: { cpuSeconds } } = await timed(() =>
      gpu.timeS(() => {
        for (const stepIndex of stepIndices) {
          model.zeroGradients();
          model.accumulate(batch, 1 / numTokens);
          optimizer.step(stepIndex);
        }
      })
    );
    gpu.check();
    return { seconds, cpuSeconds };
  };
  const loss = async () => (await gpu.read(model.lossSum))[0][0] / numTokens;
  /** Hyperparameters of a step as the optimizer applies them. */
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
  return { numTokens, steps, loss, numbersOf };
}

async function sendModel(
  peer: Peer,
  { model, optim, train }: RunConfig,
  { weights, tokens }: { weights: Map<string, TensorArray>; tokens: Uint16Array },
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

const STEP_NOTE =
  "A step is one micro-batch: forward, backward, clipping, the preset's optimizers. Medians; the programs take turns.";

export function describeComparisons(comparisons: readonly TrainingComparison[]): string[] {
  const head = ["tokens/s compared with", "this program", "", "ms per step", "other", "ms", "ratio"];
  const fastest = comparisons.find(({ peer }) => peer === "torch.compile bf16");
  head.push(...(fastest ? ["ratio to the last"] : ["per core", "other", "ratio"]));
  const lines = comparisons.map((row) => {
    const { peer, dtype, engine, median, peerMedian, perCore, peerPerCore, tokensPerStep } = row;
    const msOf = (rate: number) => format(1000 * tokensPerStep / rate);
    const cells = [peer, `${dtype} on ${engine}`, format(median), msOf(median)];
    cells.push(format(peerMedian), msOf(peerMedian), ratioOf(median, peerMedian));
    if (fastest) return [...cells, ratioOf(median, fastest.peerMedian)];
    return [...cells, format(perCore), format(peerPerCore), ratioOf(perCore, peerPerCore)];
  });
  const notes = comparisons.map(({ peer, device, numSteps, lossDifference }) => {
    const difference = lossDifference.toExponential(1);
    return `${peer} on ${device}: ${numSteps} steps; the losses of the first steps differ by at most ${difference}`;
  });
  return [formatTable([head, ...lines], { left: [0, 1] }), "", STEP_NOTE, ...notes];
}

const format = (value: number) => value.toPrecision(3);
const ratioOf = (ours: number, theirs: number) => `${(ours / theirs).toFixed(2)} x`;

/** The configuration without features that peers lack: address embeddings, shifted keys, loss weights. */
export function comparableConfig(config: RunConfig, dtype: DType): RunConfig {
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
    train: { ...train, dtype, rttByteWeight: 1, rttDistanceWeights: null },
    autosize: null,
  };
}

export interface Peer {
  readonly name: PeerName;
  readonly device: string;
  ask(request: PeerRequest): Promise<PeerReply>;
}

/** jax-js on the same adapter, or PyTorch on the processor or a CUDA GPU. */
export type PeerName = "jax-js" | `${"PyTorch" | "torch.compile"} ${"f32" | "bf16"}`;

/** The peers for an adapter, each with the dtype that this program uses against it; the fastest is last. */
export function peersOn({ isSoftware }: Pick<GpuInfo, "isSoftware">): [PeerName, DType][] {
  if (isSoftware) return [["jax-js", "f32"], ["PyTorch f32", "f32"], ["torch.compile f32", "f32"]];
  return [["PyTorch f32", "f32"], ["PyTorch bf16", "f16"], ["torch.compile bf16", "f16"]];
}

interface PeerOptions {
  /** Where PyTorch runs (default: cpu). */
  torchDevice?: "cpu" | "cuda";
  signal?: AbortSignal;
  /** Whether jax-js may only use cached packages. */
  cachedOnly?: boolean;
  env?: Record<string, string>;
}

export class PeerProcess implements Peer, Disposable {
  readonly #child: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<string>;
  readonly #errors: Promise<string>;
  readonly #signal: AbortSignal | undefined;
  #received = "";
  #device = "";

  private constructor(readonly name: PeerName, options: PeerOptions) {
    this.#child = commandOf(name, options).spawn();
    this.#requests = this.#child.stdin.getWriter();
    this.#replies = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#errors = new Response(this.#child.stderr).text();
    this.#signal = options.signal;
  }

  get device(): string {
    return this.#device;
  }

  /** The first start of jax-js fetches it from npm. @throws {UserError} If the peer is not available. */
  static async start(name: PeerName, options: PeerOptions = {}): Promise<PeerProcess> {
    if (CHECKOUT === undefined) {
      throw new UserError(
        `Cannot compare with ${name}: it needs the sources of this program; run bench in a checkout`,
      );
    }
    let peer: PeerProcess;
    try {
      peer = new PeerProcess(name, options);
    } catch (cause) {
      if (!(cause instanceof Deno.errors.NotFound)) throw cause;
      throw new UserError(`Cannot compare with ${name}: python3 was not found, expected one with torch`, {
        cause,
      });
    }
    const { unavailable, device = "" } = await peer.ask({ kind: "start" });
    peer.#device = device;
    if (unavailable === undefined) return peer;
    peer[Symbol.dispose]();
    throw new UserError(`Cannot compare with ${name}: it is not available: ${unavailable}`);
  }

  /** Sends a request and waits for the reply. @throws {UserError} If the process ended, with the reason. */
  async ask(request: PeerRequest): Promise<PeerReply> {
    // If the process has ended, the missing reply is reported below.
    await this.#requests.write(new TextEncoder().encode(JSON.stringify(request) + "\n")).catch(() => {});
    while (!this.#received.includes("\n")) {
      const { value, done } = await this.#replies.read();
      this.#signal?.throwIfAborted();
      if (done) {
        throw new UserError(
          `Cannot compare with ${this.name}: its process ended: ${reasonIn(await this.#errors)}`,
        );
      }
      this.#received += value;
    }
    const [line, ...rest] = this.#received.split("\n");
    this.#received = rest.join("\n");
    return JSON.parse(line) as PeerReply;
  }

  [Symbol.dispose](): void {
    try {
      this.#child.kill("SIGTERM");
    } catch {
      // It has already ended.
    }
  }
}

function commandOf(
  name: PeerName,
  { signal, cachedOnly = false, env, torchDevice = "cpu" }: PeerOptions,
): Deno.Command {
  const path = (file: string) => fromFileUrl(new URL(file, import.meta.url));
  const options: Deno.CommandOptions = {
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  };
  if (signal) options.signal = signal;
  if (name !== "jax-js") {
    const [program, dtype] = name.split(" ");
    const mode = program === "PyTorch" ? "eager" : "compiled";
    options.args = [path("peers_torch.py"), mode, dtype, torchDevice];
    return new Deno.Command("python3", options);
  }
  const permissions = ["--no-prompt", "--allow-read", "--allow-env", "--allow-sys"];
  const lock = ["--no-config", `--lock=${path("peers.lock")}`, "--frozen"];
  if (cachedOnly) lock.push("--cached-only");
  options.args = ["run", ...permissions, ...lock, path("peers_jax.ts")];
  return new Deno.Command(Deno.execPath(), options);
}
