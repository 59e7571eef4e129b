/**
 * Measures how long a training step takes on this machine, to compute the number of steps of a time-limited
 * run before it starts: the learning rate's schedule spans the steps. During training the run's own speed
 * corrects the number, because other work on the machine may have distorted it.
 *
 * @module
 */
import type { TensorArray } from "../base/safetensors_header.ts";
import { Gpu, type GpuOptions } from "../tensor/device.ts";
import { KernelRegistry } from "../tensor/registry.ts";
import { AddressEmbeddings } from "../model/address_embeddings.ts";
import type { ModelConfig } from "../model/model_config.ts";
import { initialParameters } from "../model/parameters.ts";
import { mergeProfiles, type ProfileRow } from "../tensor/program.ts";
import type { ModelBatch } from "../model/batch_rows.ts";
import { Transformer } from "../model/transformer.ts";
import { Optimizer } from "./optim/optimizer.ts";
import { MAX_MEASUREMENT_TOKENS } from "../data/tokens/contexts.ts";
import { RandomStream } from "../base/random.ts";
import { encodeRttCode } from "../data/tokens/rtt_code.ts";
import { QUERY_ORDER, TokenWriter } from "../data/tokens/vocab_v2.ts";
import type { RunPlan } from "./run_config.ts";

interface StepTimes {
  /** Seconds from opening the device to the end of the first step, which is not timed. */
  startS: number;
  /** Seconds per step, without evaluations and checkpoints; the mean for steps submitted together. */
  stepsS: number[];
  /** Time per kind of kernel in one step, dispatched one by one, slowest first; empty unless requested. */
  profile: ProfileRow[];
}

/**
 * Times optimizer steps on synthetic batches, after a warm-up step.
 *
 * @param plan The run to time.
 * @param options `seconds`: how long to measure; at least one step is measured. `profile`: whether to
 *   profile. `gpu`: how the device is opened.
 * @throws {UserError} If there is no WebGPU adapter or the model does not fit it.
 */
export async function timeSteps(
  plan: RunPlan,
  options: { seconds: number; profile?: boolean; gpu?: GpuOptions },
): Promise<StepTimes> {
  const { config, extent, microBatchesPerStep, tokensPerStep } = plan;
  const openMs = performance.now();
  using gpu = await Gpu.open({ dtype: config.train.dtype, ...options.gpu });
  const registry = new KernelRegistry(gpu);
  const model = await Transformer.create(registry, config.model, extent);
  const optimizer = Optimizer.create(registry, model, config.optim, { totalSteps: config.train.steps });
  await registry.ready();
  const weights = timingWeights(config.model);
  const addresses = claimedAddresses(config.model, weights);
  model.load(weights);
  const batch = denseBatch(extent.batchSize, extent.sequenceLength, addresses);
  const submitStep = () => {
    model.zeroGradients();
    for (let i = 0; i < microBatchesPerStep; i++) model.accumulate(batch, 1 / tokensPerStep);
    optimizer.step(0);
  };
  const meanStepS = async (numSteps: number) => {
    const totalS = await gpu.timeS(() => {
      for (let i = 0; i < numSteps; i++) submitStep();
    });
    gpu.check();
    return totalS / numSteps;
  };
  await meanStepS(1);
  const startMs = performance.now();
  const startS = (startMs - openMs) / 1000;
  const onceS = await meanStepS(1);
  // Like a run, wait once for several steps: a GPU may take less time for a step than a wait does.
  const together = Math.max(1, Math.min(MAX_STEPS_TOGETHER, Math.floor(SUBMITTED_S / onceS)));
  const stepsS = together > 1 ? [] : [onceS];
  while (stepsS.length === 0 || performance.now() - startMs < 1000 * options.seconds) {
    stepsS.push(...Array<number>(together).fill(await meanStepS(together)));
  }
  if (!options.profile) return { startS, stepsS, profile: [] };
  const ofModel = await model.profile(batch, 1 / tokensPerStep);
  const repeated = Array<ProfileRow[]>(microBatchesPerStep).fill(ofModel);
  return { startS, stepsS, profile: mergeProfiles([...repeated, await optimizer.profile(0)]) };
}

/** Initial weights with repeated values, which take no time to make. */
export function timingWeights(config: ModelConfig): Map<string, TensorArray> {
  return initialParameters(config, 0, { period: 2 ** 16 });
}

/** Approximate time of steps that are submitted together, and their maximum number. */
const SUBMITTED_S = 0.25;
const MAX_STEPS_TOGETHER = 32;

/** Maximum time to measure the speed of training. */
const TIMING_S = 4;
/** Share of the time spent on steps; the rest is for batches, validations and checkpoints. */
const STEPS_SHARE = 0.9;
/** Minimum number of steps, however short the time. */
const MIN_STEPS = 10;

/**
 * Measures how many steps fill a time at the present speed, at least {@link MIN_STEPS}.
 *
 * @param plan The run, fitted to its data.
 * @param seconds The time, including the measurement and the start.
 * @throws {UserError} As {@link timeSteps}.
 */
export async function stepsThatFill(
  plan: RunPlan,
  seconds: number,
): Promise<{ steps: number; tokensPerSecond: number }> {
  const beginMs = performance.now();
  const { startS, stepsS } = await timeSteps(plan, { seconds: Math.min(TIMING_S, seconds / 10) });
  const stepS = stepsS.reduce((sum, stepS) => sum + stepS, 0) / stepsS.length;
  // The run takes as long to start as the measurement did.
  const leftS = seconds - (performance.now() - beginMs) / 1000 - startS;
  const steps = Math.max(MIN_STEPS, Math.floor(STEPS_SHARE * leftS / stepS));
  return { steps, tokensPerSecond: plan.tokensPerStep / stepS };
}

/** The share of the time after which the steps are first recomputed, and again at each doubling. */
const FIRST_REVIEW = 0.1;
/** A relative difference of steps below this is not worth another schedule. */
const LEAST_CHANGE = 0.1;

/** Corrects the number of steps of a run by its actual training speed. */
export class StepPlan {
  #nextS: number;
  #last: { step: number; elapsedS: number } | undefined;

  /** @param maxSteps Steps the run needs. @param maxTimeS Time to fill. @param beginMs Start of that time. */
  constructor(readonly maxSteps: number, readonly maxTimeS: number, readonly beginMs: number) {
    this.#nextS = FIRST_REVIEW * maxTimeS;
  }

  /** @param step Steps done. @param steps Planned steps. @returns A new plan, and the recent speed. */
  review(step: number, steps: number): { steps: number; stepsPerSecond: number } | undefined {
    const elapsedS = (performance.now() - this.beginMs) / 1000;
    this.#last ??= { step, elapsedS };
    const { step: lastStep, elapsedS: lastS } = this.#last;
    if (elapsedS < this.#nextS || step === lastStep || elapsedS <= lastS) return undefined;
    while (this.#nextS <= elapsedS) this.#nextS *= 2;
    this.#last = { step, elapsedS };
    const stepsPerSecond = (step - lastStep) / (elapsedS - lastS);
    const left = Math.max(1, Math.floor(STEPS_SHARE * (this.maxTimeS - elapsedS) * stepsPerSecond));
    const wanted = Math.min(this.maxSteps, step + left);
    const isNear = Math.abs(wanted - steps) <= LEAST_CHANGE * steps;
    return isNear ? undefined : { steps: wanted, stepsPerSecond };
  }
}

/** Random addresses that, with pairs of neighbours, fill the tables. @param weights Receives their keys. */
export function claimedAddresses(config: ModelConfig, weights: Map<string, TensorArray>): Uint8Array[] {
  const random = new RandomStream(0, "calibration/addresses");
  const { prefixVectors, pairVectors } = config;
  const count = Math.max(MIN_ADDRESSES, (prefixVectors?.rows ?? 0) / 2, pairVectors?.rows ?? 0);
  const addresses = Array.from(
    { length: count },
    () => Uint8Array.from({ length: 4 }, () => random.below(256)),
  );
  const rows = new AddressEmbeddings(config);
  if (rows.shapes.numAddressEmbeddings === 0) return addresses;
  addresses.forEach((address, i) => rows.claim(address, addresses[(i + 1) % count]));
  rows.save(weights);
  return addresses;
}

const MIN_ADDRESSES = 1024;

/**
 * One context per sequence and no padding: attention at its most expensive.
 *
 * @param addresses Pairs of neighbouring addresses are measured.
 */
export function denseBatch(
  batchSize: number,
  sequenceLength: number,
  addresses: readonly Uint8Array[],
): ModelBatch {
  const length = batchSize * sequenceLength;
  const random = new RandomStream(0, "calibration/measurements");
  const written = new Uint16Array(length + MAX_MEASUREMENT_TOKENS);
  const writer = new TokenWriter(written);
  while (writer.at < length) {
    const source = random.below(addresses.length);
    const [from, to] = [addresses[source], addresses[(source + 1) % addresses.length]];
    const rttCode = encodeRttCode(1 + 200 * random.float64());
    writer.write({ source: from, destination: to, rttCode, timeS: null }, QUERY_ORDER);
  }
  const tokens = written.slice(0, length);
  return {
    tokens,
    targets: tokens,
    lossMask: new Uint8Array(length).fill(1),
    segmentStart: new Uint16Array(length),
  };
}
