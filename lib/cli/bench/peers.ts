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
import type { Peer, PeerName } from "./peer_process.ts";
import type { PeerModel } from "./peers_child.ts";
import type { JaxRule, JaxStepNumbers } from "./peers_jax.ts";
import { medianOf } from "./throughput.ts";
import { timed, type Times } from "./usage.ts";

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
