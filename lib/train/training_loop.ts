/**
 * The loop over optimizer steps: micro-batches in; evaluations, checkpoints and metrics out.
 *
 * Work is submitted without waiting for it, and the next step's batches are made while the GPU computes.
 * Logging, evaluations, checkpoints and interruptions do not change what is computed. So a run that was
 * stopped and resumed anywhere has the same losses as an uninterrupted one, to the last bit.
 *
 * @module
 */
import type { Batch, BatchLoader, DataPosition } from "../data/loader/batches.ts";
import { markRttBytes } from "../model/batch_rows.ts";
import type { Transformer } from "../model/transformer.ts";
import { agreedError, type RankSums, SINGLE_PROCESS, type StepWishes, type StepWork } from "./ranks.ts";
import { type InterruptedError, UserError } from "../base/errors.ts";
import type { TensorArray } from "../base/safetensors_header.ts";
import { formatLoss } from "../base/text.ts";
import type { EngineName } from "../tensor/engine.ts";
import { mergeProfiles, type ProfileRow } from "../tensor/program.ts";
import type { Optimizer } from "./optim/optimizer.ts";
import type { TrainingData } from "../data/addresses/known_addresses.ts";
import { VERSION } from "../base/version.ts";
import { join } from "@std/path";
import type { RunFolder } from "./run_folder.ts";
import { stepName } from "../io/files/checkpoint_folder.ts";
import { saveCheckpoint } from "./checkpoint.ts";
import type { ResolvedRun } from "./resolved_run.ts";
import type { ScalarLog } from "./metrics.ts";
import type { RunStart } from "./run_start.ts";
import type { StepJournal } from "./step_journal.ts";

/** Progress of a run. */
export interface TrainProgress {
  /** Steps done. */
  step: number;
  /** Steps of the whole run. */
  steps: number;
  /** Loss of the last settled step, in nats per token; null if it is not finite. */
  loss: number | null;
  /** Learning rate of the matrices in the last settled step, including the schedule. */
  learningRate: number;
  /** Positions per second of this process's steps; null before the first is settled. */
  tokensPerSecond: number | null;
  /** Share of padding. */
  padding: number | null;
  /** Estimated at the present rate. */
  secondsLeft: number | null;
}

/** How the time of a step is spent. */
export interface StepProfile {
  /** From 1. */
  step: number;
  /** Slowest first. */
  rows: ProfileRow[];
}

/** Steps before the profiled one. */
const WARM_UP_STEPS = 3;

/** Time between turns of the event loop, which take about a millisecond each. */
const YIELD_MS = 20;

interface LoopParts {
  run: ResolvedRun;
  model: Transformer;
  optimizer: Optimizer;
  engine: EngineName;
  /** Makes micro-batches, each for all ranks together. */
  loader: BatchLoader;
  /** Makes the fixed validation batches, none without validation rows; called once, in the first step. */
  openValidation: () => Promise<readonly Batch[]>;
  trainingData: TrainingData;
  journal: StepJournal;
  scalars: ScalarLog;
  /** How a step is computed, alone or by several ranks. */
  work: StepWork;
  /** The step after which the loop is done. */
  end: number;
  /** Steps whose checkpoints are kept; see step_choice.ts. */
  ends: readonly number[];
  /** Where checkpoints go; undefined on ranks that write none. */
  folder: Pick<RunFolder, "checkpointsDir" | "takePlace"> | undefined;
  signal: AbortSignal | undefined;
  onProgress: ((progress: TrainProgress) => void) | undefined;
  /** Called with the run after its number of steps was corrected. */
  onCorrected: (run: ResolvedRun) => void;
  /** If given, one of the first steps is profiled: slower, with the same result. */
  onProfile: ((profile: StepProfile) => void) | undefined;
}

export class TrainingLoop {
  #parts: LoopParts;
  /** The step to profile, from 0: the first warm one, or the last. */
  readonly #profiledStep: number;
  #step: number;
  #evalLoss: number | null;
  /** Whether {@link #evalLoss} belongs to the current step. */
  #isEvaluated = false;
  #checkpoint: string | null;
  #isSaved: boolean;
  readonly #batches: StepBatches;
  #validation: readonly Batch[] | undefined;
  #lastYieldMs = performance.now();

  constructor(parts: LoopParts, { resumed, isOwn }: RunStart) {
    this.#parts = parts;
    this.#step = resumed?.state.step ?? 0;
    this.#profiledStep = Math.min(this.#step + WARM_UP_STEPS, parts.end - 1);
    this.#evalLoss = resumed?.state.evalLoss ?? null;
    this.#checkpoint = isOwn ? resumed?.directory ?? null : null;
    this.#isSaved = this.#checkpoint !== null;
    this.#batches = new StepBatches(
      parts.loader,
      parts.run.config.train.batchSize,
      () => this.#yieldToSignals(),
    );
  }

  get run(): ResolvedRun {
    return this.#parts.run;
  }

  get step(): number {
    return this.#step;
  }

  get end(): number {
    return this.#parts.end;
  }

  /** Last validation loss, in nats per token. */
  get evalLoss(): number | null {
    return this.#evalLoss;
  }

  get checkpoint(): string | null {
    return this.#checkpoint;
  }

  /**
   * Runs to the last step, or to the deadline with everything saved.
   *
   * @returns Whether the last step was done.
   * @throws {InterruptedError} On the signal, with everything saved.
   * @throws {UserError} If too many consecutive steps were not finite.
   */
  async train(): Promise<boolean> {
    const { run: { config: { train } }, journal, work } = this.#parts;
    journal.restartClock();
    while (this.#step < this.#parts.end) {
      const { stop, isOutOfTime, isDue } = await work.agree(this.#wishes());
      if (stop || isOutOfTime) {
        await this.#save();
        if (stop) throw stop;
        return false;
      }
      if (isDue) await this.#settle();
      await this.#submitStep();
      const isLast = this.#step === this.#parts.end;
      const isEval = this.#isDue(train.evalEverySteps);
      const isCheckpoint = this.#isDue(train.checkpointEverySteps);
      if (isEval || isCheckpoint) await this.#settle();
      if (isEval) await this.#evaluate();
      // While steps are not finite, another checkpoint would only displace a good one.
      if (isCheckpoint && (isLast || journal.state.numSkippedInRow === 0)) await this.#save();
      await this.#yieldToSignals();
    }
    return true;
  }

  /** Whether something done every `everySteps` steps is due, which requires equal weights on all ranks. */
  #isDue(everySteps: number): boolean {
    const { work, end } = this.#parts;
    return this.#step === end || this.#step % everySteps < work.numShared(this.#step);
  }

  #wishes(): StepWishes<InterruptedError> {
    const { run, signal, journal } = this.#parts;
    const isOutOfTime = performance.now() >= run.deadlineMs;
    return { stop: signal?.aborted ? signal.reason : undefined, isOutOfTime, isDue: journal.isDue };
  }

  async #submitStep(): Promise<void> {
    const { model, optimizer, journal, work } = this.#parts;
    const batches = await this.#batches.take();
    const numTargets = sum(batches, (batch) => batch.numTargets);
    const isProfiled = this.#parts.onProfile && this.#step === this.#profiledStep;
    const profiles: ProfileRow[][] | undefined = isProfiled ? [] : undefined;
    model.zeroGradients();
    for (const [i, batch] of batches.entries()) {
      if (profiles) profiles.push(await model.profile(batch, 1 / numTargets));
      else work.add(batch, { numTargets, isLastBatch: i === batches.length - 1 });
      await this.#yieldToSignals();
    }
    // While the device computes.
    if (this.#step + 1 < this.#parts.end) await this.#batches.prepare();
    if (profiles) profiles.push(await optimizer.profile(this.#step));
    else await work.finish(this.#step);
    journal.submitted({
      step: this.#step + 1,
      numTargets,
      numTokens: sum(batches, (batch) => batch.tokens.length),
      numPaddingTokens: sum(batches, (batch) => batch.numPaddingTokens),
      learningRate: optimizer.learningRate(this.#step),
    });
    this.#step++;
    this.#isEvaluated = false;
    this.#isSaved = false;
    if (profiles) this.#parts.onProfile?.({ step: this.#step, rows: mergeProfiles(profiles) });
    this.#validation ??= await this.#parts.openValidation();
  }

  async #settle(): Promise<void> {
    const { journal, optimizer, onProgress } = this.#parts;
    await journal.settle();
    this.#correct();
    const { end, run: { tokensPerStep, config: { train } } } = this.#parts;
    const { tokensPerSecond, padding, lastLoss } = journal;
    const stepsLeft = end - this.#step;
    onProgress?.({
      step: this.#step,
      steps: end,
      loss: lastLoss,
      learningRate: optimizer.learningRate(this.#step - 1),
      tokensPerSecond,
      padding,
      secondsLeft: tokensPerSecond === null ? null : stepsLeft * tokensPerStep / tokensPerSecond,
    });
    this.#checkFinite();
    // Otherwise the step waits for its validation loss.
    if (!this.#isDue(train.evalEverySteps)) journal.write();
  }

  /** Changes the number of steps if the run's own speed says so. */
  #correct(): void {
    const { model, optimizer, end, run: planned, onCorrected } = this.#parts;
    const run = this.#step < end ? planned.corrected?.(this.#step, planned) : undefined;
    if (!run) return;
    const { model: { pairVectors }, train: { steps } } = run.config;
    optimizer.totalSteps = steps;
    model.hidePairs(pairVectors?.dropShare ?? 0);
    this.#parts = { ...this.#parts, run, end: steps, ends: [steps] };
    onCorrected(run);
  }

  #checkFinite(): void {
    const { journal, work, run: { config: { train } } } = this.#parts;
    const { numSkippedInRow } = journal.state;
    if (numSkippedInRow < train.maxSkippedSteps) return;
    journal.write();
    const kept = this.#checkpoint
      ? `the last good checkpoint is ${this.#checkpoint}`
      : "there is no checkpoint yet";
    const error = new UserError(
      `Cannot continue training: the loss or gradient was not finite in ${numSkippedInRow} steps in a row, up to step ` +
        `${this.#step}; ${kept}; lower the learning rates (--set optim.groups…)` +
        `${train.dtype === "f16" ? " or store in f32 (--set train.dtype=f32)" : ""} and start another run`,
    );
    throw agreedError(work, error);
  }

  async #evaluate(): Promise<void> {
    const { model, journal, work, run: { onLog } } = this.#parts;
    if (this.#validation?.length) {
      const { loss, rttBits } = await validate(model, this.#validation, work);
      this.#evalLoss = loss;
      this.#isEvaluated = true;
      journal.annotate("eval/loss", this.#evalLoss);
      if (rttBits !== null) journal.annotate("eval/rtt_bits", rttBits);
      onLog(`step ${this.#step}: validation loss ${formatLoss(this.#evalLoss)} per token`);
    }
    journal.write();
    journal.restartClock();
  }

  async #save(): Promise<void> {
    const { journal, model, work, folder, run: { onLog } } = this.#parts;
    if (this.#isSaved) return;
    await this.#settle();
    const weights = await model.weights();
    await work.checkWeights(weights, this.#step);
    this.#isSaved = true;
    if (folder) await this.#write(folder, weights);
    await work.saveOwn(this.#checkpoint);
    if (folder) onLog(`step ${this.#step}: saved ${stepName(this.#step)}`);
    collectGarbage();
    journal.restartClock();
  }

  async #write(
    folder: Pick<RunFolder, "checkpointsDir" | "takePlace">,
    weights: Map<string, TensorArray>,
  ): Promise<void> {
    const { run: { config, seed, data, asked, teacher }, ...parts } = this.#parts;
    const { journal, scalars, optimizer, work, loader, engine, trainingData, ends } = parts;
    scalars.flush();
    saveCheckpoint(folder.checkpointsDir, {
      state: {
        version: VERSION,
        step: this.#step,
        seed,
        config,
        dataFingerprint: data,
        asked,
        teacher,
        engine,
        position: { ...this.#batches.position, blockRows: loader.blockRows },
        ...journal.state,
        evalLoss: this.#isEvaluated ? this.#evalLoss : null,
      },
      weights,
      optimizer: new Map([...await optimizer.readState(), ...work.state]),
      trainingData,
    }, { keep: config.train.keepCheckpoints, ends });
    folder.takePlace();
    this.#checkpoint = join(folder.checkpointsDir, stepName(this.#step));
  }

  /** Lets the event loop turn, so that signals arrive: submitting work and making batches do not. */
  async #yieldToSignals(): Promise<void> {
    if (performance.now() - this.#lastYieldMs < YIELD_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#lastYieldMs = performance.now();
  }
}

/** Yields the micro-batches of one step after the other; they are made one step ahead. */
class StepBatches {
  readonly #loader: BatchLoader;
  readonly #batchSize: number;
  readonly #afterBatch: () => Promise<void>;
  #next: Batch[] = [];
  #position: DataPosition;

  /** @param batchSize Sequences per step. @param afterBatch Called after each batch. */
  constructor(loader: BatchLoader, batchSize: number, afterBatch: () => Promise<void>) {
    this.#loader = loader;
    this.#batchSize = batchSize;
    this.#afterBatch = afterBatch;
    this.#position = loader.position;
  }

  /** Where the batches of the next step start, for checkpoints. */
  get position(): DataPosition {
    return this.#position;
  }

  async take(): Promise<Batch[]> {
    if (this.#next.length === 0) await this.prepare();
    const batches = this.#next;
    this.#next = [];
    this.#position = this.#loader.position;
    return batches;
  }

  async prepare(): Promise<void> {
    let numSequences = 0;
    while (numSequences < this.#batchSize) {
      const batch = await this.#loader.next();
      this.#next.push(batch);
      numSequences += batch.batchSize;
      await this.#afterBatch();
    }
  }
}

interface ValidationResult {
  /** Mean over the unmasked targets, in nats per token. */
  loss: number;
  /** Mean over the RTT codes, in bits per two-byte code; null in vocabulary v1 or without codes. */
  rttBits: number | null;
}

/**
 * Evaluates a model on the fixed validation batches.
 *
 * @param batches Fixed batches with at least one unmasked target.
 * @param ranks The ranks that share the batches.
 * @returns Means, summed in float64.
 */
async function validate(
  model: Transformer,
  batches: readonly Batch[],
  ranks: RankSums = SINGLE_PROCESS,
): Promise<ValidationResult> {
  const { rank, size } = ranks.share;
  let ownSum = 0;
  let ownTargets = 0;
  let ownRttSum = 0;
  let ownCodes = 0;
  for (let i = rank; i < batches.length; i += size) {
    const batch = batches[i];
    const losses = await model.evaluateLosses(batch);
    const marks = markRttBytes(batch, model.extent.sequenceLength);
    losses.forEach((loss, row) => {
      ownSum += loss;
      if (marks[row] >= 2) ownRttSum += loss;
      if (marks[row] === 2) ownCodes++;
    });
    ownTargets += batch.numTargets;
  }
  const [sum, numTargets, rttSum, numCodes] = await ranks.sum([ownSum, ownTargets, ownRttSum, ownCodes]);
  const hasCodes = model.config.vocabulary === "v2" && numCodes > 0;
  return { loss: sum / numTargets, rttBits: hasCodes ? rttSum / numCodes / Math.LN2 : null };
}

/**
 * Collects all garbage if V8 exposes `gc()` (`--v8-flags=--expose-gc`, as in the tasks); else does nothing.
 *
 * Each step leaves wrappers of commands and buffers behind. They are small to V8, but each retains memory of
 * the GPU's driver, which V8 does not count, so V8 collects too rarely on its own: over 2,000 steps of the
 * demo model the resident memory grew from 252 to 275 MB (lavapipe, Mesa 25.0, 2 cores, 2026-11-21).
 */
function collectGarbage(): void {
  (globalThis as { gc?: () => void }).gc?.();
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
