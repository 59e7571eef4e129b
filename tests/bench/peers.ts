/**
 * `deno task bench:peers`: compares the training speed with jax-js and PyTorch. Both programs train the same
 * model from the same weights on the same batch, in turns within one run, with the most similar dtypes. They
 * first train a few untimed steps, and their losses must agree.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { medianOf } from "../../lib/base/sample_statistics.ts";
import { formatTable } from "../../lib/base/text_table.ts";
import { command } from "../../lib/cli/command.ts";
import { option } from "../../lib/cli/options.ts";
import { defineStage, runStage } from "../../lib/cli/stage.ts";
import { ByteFile } from "../../lib/io/files/byte_file.ts";
import { modelShapes } from "../../lib/model/model_config.ts";
import { Gpu, type GpuInfo } from "../../lib/tensor/device.ts";
import type { EngineName } from "../../lib/tensor/engine.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import type { DType } from "../../lib/tensor/tensor.ts";
import { groupOf } from "../../lib/train/optim/optim_config.ts";
import { momentumAt } from "../../lib/train/optim/rules.ts";
import { weightDecayFactor, widthFactor } from "../../lib/train/optim/schedule.ts";
import { loadConfig, planRun, type RunConfig } from "../../lib/train/run_config.ts";
import { timeSteps } from "../../lib/train/step_timing.ts";
import { configOptions, engine } from "../../tasks/shared_options.ts";
import { reasonIn } from "./child.ts";
import type { PeerModel, PeerReply, PeerRequest, PeerRule, StepNumbers } from "./peers_jax.ts";
import { prepareTraining, type Training } from "./training.ts";
import { timed, type Times } from "./usage.ts";

const peersBench = defineStage(
  command({
    name: "bench:peers",
    summary: "the speed of training compared with jax-js and, if python3 has torch, PyTorch, in turns",
    details:
      "A step has one micro-batch. On a GPU, PyTorch also uses it, through CUDA, in f32 and in bf16, compared with f16 of " +
      "this program; jax-js is compared on a software adapter.",
    example: "--config demo --seconds 60",
    options: {
      engine,
      ...configOptions,
      seconds: option.number("time to train in turns with each, in seconds", {
        default: 60,
        min: 0.1,
        max: 3600,
      }),
      only: option.text("only the programs whose names match this pattern", { default: "", value: "REGEXP" }),
    },
  }),
  async ({ config: preset, set, seconds, only }, { log, signal }) => {
    const config = loadConfig(preset, set);
    const adapter = await infoOfAdapter();
    log(`adapter: ${adapter.name}`);
    const comparisons: TrainingComparison[] = [];
    const missing: string[] = [];
    for (const [peer, dtype] of peersOn(adapter).filter(([name]) => name.match(only))) {
      log(`training ${preset} in turns with ${peer}`);
      try {
        const { isSoftware } = adapter;
        comparisons.push(await compareWith([peer, dtype], { config, seconds, isSoftware, signal }));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UserError)) throw error;
        missing.push(error.message);
        log(error.message);
      }
    }
    const json = { adapter, comparisons, missing };
    if (comparisons.length > 0) {
      return { text: [describeComparisons(comparisons), ...missing].join("\n"), json };
    }
    const plan = planRun(comparableConfig(config, "f32"));
    const { stepsS } = await timeSteps(plan, { seconds });
    const tokensPerS = plan.tokensPerStep / (medianOf(stepsS) ?? NaN);
    const alone = `this program alone, f32: ${format(tokensPerS)} tokens/s over ${stepsS.length} steps`;
    return { text: [alone, ...missing].join("\n"), json: { ...json, tokensPerS } };
  },
);

async function infoOfAdapter(): Promise<GpuInfo> {
  using gpu = await Gpu.open();
  return gpu.info;
}

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
 * Starts a peer and trains with both programs, one micro-batch per step.
 *
 * @param options `seconds`: the total training time of both after the checked steps. `isSoftware`: PyTorch
 *   runs on the processor.
 * @throws {UserError} If the peer is not available, or the losses differ.
 */
export async function compareWith(
  [name, dtype]: [PeerName, DType],
  { config: whole, seconds, isSoftware, signal }: {
    config: RunConfig;
    seconds: number;
    isSoftware: boolean;
    signal: AbortSignal;
  },
): Promise<TrainingComparison> {
  using peer = await PeerProcess.start(name, { signal, torchDevice: isSoftware ? "cpu" : "cuda" });
  using gpu = await Gpu.open({ dtype });
  const config = comparableConfig(whole, dtype);
  const ours = await prepareTraining(new KernelRegistry(gpu), config);
  await sendModel(peer, config, ours);
  const trainBoth = async (steps: readonly number[]) => {
    signal.throwIfAborted();
    const { result, times } = await timed(() => gpu.timeS(() => steps.forEach(ours.submitStep)));
    gpu.check();
    const theirs = await peer.ask({ numbers: steps.map((i) => numbersOf(config, ours, i)) });
    const { seconds = NaN, cpuSeconds = NaN } = theirs;
    return { ours: { ...times, seconds: result }, theirs: { seconds, cpuSeconds }, loss: theirs.loss };
  };
  let lossDifference = 0;
  for (let step = 0; step < NUM_CHECKED_STEPS; step++) {
    const { loss = NaN } = await trainBoth([step]);
    const wanted = await ours.loss();
    lossDifference = Math.max(lossDifference, Math.abs(loss - wanted) / Math.abs(wanted));
    if (!(lossDifference <= MAX_LOSS_DIFFERENCE[dtype])) {
      throw new UserError(
        `Cannot compare with ${name}: its loss in step ${step} is ${loss}, expected ${wanted}; it does different work`,
      );
    }
  }
  const together = isSoftware ? 1 : STEPS_TOGETHER;
  const turns: Awaited<ReturnType<typeof trainBoth>>[] = [];
  const startMs = performance.now();
  while (turns.length === 0 || performance.now() - startMs < 1000 * seconds) {
    const first = NUM_CHECKED_STEPS + turns.length * together;
    turns.push(await trainBoth(Array.from({ length: together }, (_, i) => first + i)));
  }
  const speedOf = (of: "ours" | "theirs", key: keyof Times) =>
    together * ours.tokens.length / (medianOf(turns.map((turn) => turn[of][key])) ?? NaN);
  return {
    peer: name,
    device: peer.device,
    engine: gpu.info.engine,
    dtype,
    median: speedOf("ours", "seconds"),
    peerMedian: speedOf("theirs", "seconds"),
    perCore: speedOf("ours", "cpuSeconds"),
    peerPerCore: speedOf("theirs", "cpuSeconds"),
    tokensPerStep: ours.tokens.length,
    numSteps: together * turns.length,
    lossDifference,
  };
}

/** Hyperparameters of a step as the optimizer applies them, by group. */
function numbersOf(
  { model, optim, train }: RunConfig,
  { optimizer }: Training,
  stepIndex: number,
): StepNumbers {
  const rateFactor = optimizer.learningRateFactor(stepIndex) * widthFactor(model.width);
  const decayFactor = weightDecayFactor(stepIndex, train.steps);
  const numbers = Object.entries(optim.groups).map(([group, rule]) => [group, {
    learningRate: rule.learningRate * rateFactor,
    weightDecay: rule.weightDecay * decayFactor,
    momentum: rule.kind === "muon" ? momentumAt(stepIndex, rule) : 0,
    biasCorrection1: rule.kind === "adamw" ? 1 - rule.beta1 ** (stepIndex + 1) : 1,
    biasCorrection2: rule.kind === "adamw" ? 1 - rule.beta2 ** (stepIndex + 1) : 1,
  }]);
  return Object.fromEntries(numbers);
}

async function sendModel(
  peer: PeerProcess,
  { model, optim, train }: RunConfig,
  { weights, tokens }: Training,
): Promise<void> {
  const rules: Record<string, PeerRule> = {};
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
    await peer.ask({ model: sent });
  } finally {
    Deno.removeSync(weightsPath);
  }
}

const STEP_NOTE =
  "A step is one micro-batch: forward, backward, clipping, the preset's optimizers. Medians; the programs take turns.";

const SPEEDS = ["this program", "", "ms per step", "other", "ms", "ratio"];
const TITLES = ["tokens/s compared with", ...SPEEDS, "per core", "other", "ratio"];

export function describeComparisons(comparisons: readonly TrainingComparison[]): string {
  const lines = comparisons.map(({ peer, dtype, engine, tokensPerStep, ...of }) => {
    const msOf = (rate: number) => format(1000 * tokensPerStep / rate);
    return [
      ...[peer, `${dtype} on ${engine}`, format(of.median), msOf(of.median)],
      ...[format(of.peerMedian), msOf(of.peerMedian), ratioOf(of.median, of.peerMedian)],
      ...[format(of.perCore), format(of.peerPerCore), ratioOf(of.perCore, of.peerPerCore)],
    ];
  });
  const notes = comparisons.map(({ peer, device, numSteps, lossDifference }) => {
    const difference = lossDifference.toExponential(1);
    return `${peer} on ${device}: ${numSteps} steps; the losses of the first steps differ by at most ${difference}`;
  });
  return [formatTable([TITLES, ...lines], { left: [0, 1] }), "", STEP_NOTE, ...notes].join("\n");
}

const format = (value: number) => value.toPrecision(3);
const ratioOf = (ours: number, theirs: number) => `${(ours / theirs).toFixed(2)} x`;

/** Removes features that peers lack from a configuration: address embeddings, shifted keys, loss weights. */
function comparableConfig(config: RunConfig, dtype: DType): RunConfig {
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

/** jax-js on the same adapter, or PyTorch on the processor or a CUDA GPU. */
export type PeerName = "jax-js" | `${"PyTorch" | "torch.compile"} ${"f32" | "bf16"}`;

/** The peers for an adapter, each with the dtype that this program uses against it; the fastest is last. */
export function peersOn({ isSoftware }: Pick<GpuInfo, "isSoftware">): [PeerName, DType][] {
  if (isSoftware) return [["jax-js", "f32"], ["PyTorch f32", "f32"], ["torch.compile f32", "f32"]];
  return [["PyTorch f32", "f32"], ["PyTorch bf16", "f16"], ["torch.compile bf16", "f16"]];
}

class PeerProcess implements Disposable {
  readonly #child: Deno.ChildProcess;
  readonly #requests: WritableStreamDefaultWriter<Uint8Array>;
  readonly #replies: ReadableStreamDefaultReader<string>;
  readonly #errors: Promise<string>;
  #received = "";
  #device = "";

  private constructor(readonly name: PeerName, readonly signal: AbortSignal, torchDevice: "cpu" | "cuda") {
    this.#child = commandOf(name, signal, torchDevice).spawn();
    this.#requests = this.#child.stdin.getWriter();
    this.#replies = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#errors = new Response(this.#child.stderr).text();
  }

  get device(): string {
    return this.#device;
  }

  /** The first start of jax-js fetches it from npm. @throws {UserError} If the peer is not available. */
  static async start(
    name: PeerName,
    { signal, torchDevice }: { signal: AbortSignal; torchDevice: "cpu" | "cuda" },
  ): Promise<PeerProcess> {
    let peer: PeerProcess;
    try {
      peer = new PeerProcess(name, signal, torchDevice);
    } catch (cause) {
      if (!(cause instanceof Deno.errors.NotFound)) throw cause;
      throw new UserError(`Cannot compare with ${name}: python3 was not found, expected one with torch`, {
        cause,
      });
    }
    const { unavailable, device = "" } = await peer.#answer();
    peer.#device = device;
    if (unavailable === undefined) return peer;
    peer[Symbol.dispose]();
    throw new UserError(`Cannot compare with ${name}: it is not available: ${unavailable}`);
  }

  /** Sends a request and waits for the reply. @throws {UserError} If the process ended, with the reason. */
  async ask(request: PeerRequest): Promise<PeerReply> {
    // If the process has ended, the missing reply is reported.
    await this.#requests.write(new TextEncoder().encode(JSON.stringify(request) + "\n")).catch(() => {});
    return await this.#answer();
  }

  async #answer(): Promise<PeerReply> {
    while (!this.#received.includes("\n")) {
      const { value, done } = await this.#replies.read();
      this.signal.throwIfAborted();
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

function commandOf(name: PeerName, signal: AbortSignal, torchDevice: string): Deno.Command {
  const path = (file: string) => fromFileUrl(new URL(file, import.meta.url));
  const options = {
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    signal,
  } as const;
  if (name === "jax-js") {
    const lock = ["--no-config", `--lock=${path("peers.lock")}`, "--frozen"];
    const args = ["run", "--no-prompt", "-A", ...lock, path("peers_jax.ts")];
    return new Deno.Command(Deno.execPath(), { ...options, args });
  }
  const [program, dtype] = name.split(" ");
  const mode = program === "PyTorch" ? "eager" : "compiled";
  const args = [path("peers_torch.py"), mode, dtype, torchDevice];
  return new Deno.Command("python3", { ...options, args });
}

if (import.meta.main) await runStage(peersBench, Deno.args);
