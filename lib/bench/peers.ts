/**
 * This program beside others, see {@link PeerName}: both train the same model from the same weights on the same batch,
 * and multiply the same matrices, in turns within one run.
 *
 * Before anything is timed both train a few steps, whose losses have to agree.
 *
 * @module
 */
import process from "node:process";
import { UserError } from "../errors.ts";
import { ByteFile } from "../files/byte_file.ts";
import { type BenchCase, measureCase } from "../gpu/bench.ts";
import { kernelCases } from "../gpu/bench_cases.ts";
import type { KernelRegistry } from "../gpu/registry.ts";
import { parameterShapes, vocabSize } from "../model/model_config.ts";
import { initialParameters } from "../model/parameters.ts";
import { Transformer } from "../model/transformer.ts";
import { groupOf } from "../optim/optim_config.ts";
import { momentumAt } from "../optim/muon.ts";
import { Optimizer } from "../optim/optimizer.ts";
import { weightDecayFactor, widthFactor } from "../optim/schedule.ts";
import { claimedAddresses, denseBatch } from "../train/step_timing.ts";
import type { RunConfig } from "../train/run_config.ts";
import type { Peer, PeerName } from "./peer_process.ts";
import type { PeerModel, PeerReply, Product } from "./peers_child.ts";
import type { JaxRule, JaxStepNumbers } from "./peers_jax_optimizer.ts";

/** Steps whose losses are compared; they also warm both up. */
const NUM_CHECKED_STEPS = 3;
/** The largest relative difference of the losses. */
const MAX_LOSS_DIFFERENCE = 1e-3;

/** Products that are timed: layers of width 512 of the demo preset's batch. */
export const PRODUCTS: readonly Product[] = (["NN", "NT", "TN"] as const).map((kind) =>
  kind === "TN" ? { kind, m: 512, n: 512, k: 2048 } : { kind, m: 2048, n: 512, k: 512 }
);

/** The speeds of both at one task. */
export interface PeerRow {
  readonly name: string;
  readonly peer: PeerName;
  readonly unit: "tokens/s" | "GFLOP/s";
  /** This program's median. */
  readonly median: number;
  readonly peerMedian: number;
  /** By processor time, which on a software adapter does not depend on other programs. */
  readonly perCore: number;
  readonly peerPerCore: number;
}

/** The result of {@link compareTraining}. */
export interface TrainingComparison {
  readonly row: PeerRow;
  /** Timed steps of each. */
  readonly numSteps: number;
  /** The largest relative difference of the losses of the checked steps. */
  readonly lossDifference: number;
}

/** Time and processor time. */
interface Times {
  seconds: number;
  cpuSeconds: number;
}

/**
 * Multiplies with both.
 *
 * @param registry Of the adapter.
 * @param peer The other program.
 * @param options `product`: one that `bench kernels` has; `seconds`: how long each multiplies.
 */
export async function compareProduct(
  registry: KernelRegistry,
  peer: Peer,
  { product, seconds }: { product: Product; seconds: number },
): Promise<PeerRow> {
  const benchCase = productCase(product);
  const ours = await measureCase(registry, benchCase, { seconds });
  const theirs = timesOf(await peer.ask({ kind: "product", product, seconds }));
  return {
    name: benchCase.name,
    peer: peer.name,
    unit: "GFLOP/s",
    median: ours.median,
    peerMedian: benchCase.work / theirs.seconds / 1e9,
    perCore: ours.perCore,
    peerPerCore: benchCase.work / theirs.cpuSeconds / 1e9,
  };
}

/**
 * Trains with both, a step of one micro-batch at a time.
 *
 * @param registry Of the adapter.
 * @param peer The other program.
 * @param options `config`: what is trained; `seconds`: how long both train together after the checked steps.
 * @throws {UserError} If the losses differ.
 */
export async function compareTraining(
  registry: KernelRegistry,
  peer: Peer,
  { config, seconds, signal }: { config: RunConfig; seconds: number; signal?: AbortSignal },
): Promise<TrainingComparison> {
  const ours = await OurTraining.create(registry, config);
  await ours.sendTo(peer);
  const [oursTimes, peerTimes]: [Times[], Times[]] = [[], []];
  let lossDifference = 0;
  let startMs = 0;
  for (let step = 0;; step++) {
    signal?.throwIfAborted();
    const mine = await ours.step(step);
    const theirs = await peer.ask({ kind: "step", numbers: ours.numbers(step) });
    if (step < NUM_CHECKED_STEPS) {
      lossDifference = Math.max(lossDifference, relativeDifference(theirs.loss ?? NaN, mine.loss));
      if (!(lossDifference <= MAX_LOSS_DIFFERENCE)) {
        throw differentLosses(peer.name, step, { ours: mine.loss, theirs: theirs.loss ?? NaN });
      }
      startMs = performance.now();
      continue;
    }
    oursTimes.push(mine);
    peerTimes.push(timesOf(theirs));
    if (performance.now() - startMs >= 1000 * seconds) break;
  }
  const work = ours.numTokens;
  const row: PeerRow = {
    name: "train",
    peer: peer.name,
    unit: "tokens/s",
    median: work / medianOf(oursTimes, "seconds"),
    peerMedian: work / medianOf(peerTimes, "seconds"),
    perCore: work / medianOf(oursTimes, "cpuSeconds"),
    peerPerCore: work / medianOf(peerTimes, "cpuSeconds"),
  };
  return { row, numSteps: oursTimes.length, lossDifference };
}

/** This program's part of the comparison. */
class OurTraining {
  readonly #batch;

  private constructor(
    readonly model: Transformer,
    readonly optimizer: Optimizer,
    readonly config: RunConfig,
  ) {
    const { model: modelConfig, train: { microBatchSize } } = config;
    const addresses = claimedAddresses(modelConfig, new Map());
    this.#batch = denseBatch(microBatchSize, modelConfig.sequenceLength, addresses);
  }

  static async create(registry: KernelRegistry, config: RunConfig): Promise<OurTraining> {
    const batchSize = config.train.microBatchSize;
    const model = await Transformer.create(registry, config.model, { batchSize, training: true });
    const optimizer = Optimizer.create(registry, model, config.optim, { totalSteps: config.train.steps });
    await registry.ready();
    return new OurTraining(model, optimizer, config);
  }

  /** Tokens of a step. */
  get numTokens(): number {
    return this.#batch.tokens.length;
  }

  /** Gives both the same weights. */
  async sendTo(peer: Peer): Promise<void> {
    const weights = initialParameters(this.config.model, 0);
    this.model.load(weights);
    const weightsPath = Deno.makeTempFileSync({ prefix: "ping-llm-bench-" });
    try {
      using file = ByteFile.write(weightsPath, "new");
      for (const values of weights.values()) file.write(new Uint8Array(values.buffer));
      await peer.ask({ kind: "model", model: this.#peerModel(weightsPath) });
    } finally {
      Deno.removeSync(weightsPath);
    }
  }

  async step(stepIndex: number): Promise<Times & { loss: number }> {
    const { model } = this;
    const [startMs, before] = [performance.now(), process.cpuUsage()];
    model.zeroGradients();
    model.accumulate(this.#batch, 1 / this.numTokens);
    this.optimizer.step(stepIndex);
    await model.registry.gpu.finish();
    const { user, system } = process.cpuUsage(before);
    const seconds = (performance.now() - startMs) / 1000;
    const [[lossSum]] = await model.registry.gpu.read(model.lossSum);
    return { seconds, cpuSeconds: (user + system) / 1e6, loss: lossSum / this.numTokens };
  }

  /** The numbers of a step as {@link Optimizer} applies them. */
  numbers(stepIndex: number): Record<string, JaxStepNumbers> {
    const { groups } = this.config.optim;
    const rateFactor = this.optimizer.learningRateFactor(stepIndex) * widthFactor(this.config.model.width);
    const decayFactor = weightDecayFactor(stepIndex, this.config.train.steps);
    return Object.fromEntries(
      Object.entries(groups).map(([name, rule]) => [name, {
        learningRate: rule.learningRate * rateFactor,
        weightDecay: rule.weightDecay * decayFactor,
        momentum: rule.kind === "muon" ? momentumAt(stepIndex, rule) : 0,
        biasCorrection1: rule.kind === "adamw" ? 1 - rule.beta1 ** (stepIndex + 1) : 1,
        biasCorrection2: rule.kind === "adamw" ? 1 - rule.beta2 ** (stepIndex + 1) : 1,
      }]),
    );
  }

  #peerModel(weightsPath: string): PeerModel {
    const { model, optim } = this.config;
    const rules = [...parameterShapes(model)].map(([name, shape]): [string, JaxRule] => {
      const group = groupOf(name);
      const rule = optim.groups[group];
      const { beta1, beta2, epsilon } = rule.kind === "adamw" ? rule : { beta1: 0, beta2: 0, epsilon: 0 };
      return [name, { kind: rule.kind, group, shape, beta1, beta2, epsilon }];
    });
    return {
      config: { ...model, vocabSize: vocabSize(model), batchSize: this.config.train.microBatchSize },
      rules: Object.fromEntries(rules),
      maxGradientNorm: optim.maxGradientNorm,
      weightsPath,
      tokens: [...this.#batch.tokens],
    };
  }
}

function productCase({ kind, m, n, k }: Product): BenchCase {
  const name = `gemm ${kind} ${m} x ${n} x ${k}`;
  const found = kernelCases().find((benchCase) => benchCase.name === name);
  if (!found) throw new Error(`Internal error: there is no case ${name}`);
  return found;
}

function timesOf({ seconds, cpuSeconds }: PeerReply): Times {
  return { seconds: seconds ?? NaN, cpuSeconds: cpuSeconds ?? NaN };
}

function medianOf(times: readonly Times[], key: keyof Times): number {
  return times.map((entry) => entry[key]).sort((a, b) => a - b)[times.length >> 1];
}

function relativeDifference(a: number, b: number): number {
  return Math.abs(a - b) / Math.abs(b);
}

function differentLosses(
  name: PeerName,
  step: number,
  { ours, theirs }: { ours: number; theirs: number },
): UserError {
  return new UserError(
    `Cannot compare with ${name}: found a loss of ${theirs} in step ${step}, ${ours} was wanted; it does other work`,
  );
}

/** A configuration without what the peers' models lack: learned rows, shifted keys, weights of the loss, f16. */
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
    fit: null,
  };
}
