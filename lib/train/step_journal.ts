/**
 * Records a run's steps: losses, gradient norms and rates, from the device's numbers to `metrics.jsonl`.
 *
 * Steps are submitted without waiting. Reading a tensor waits until the GPU has finished all submitted work,
 * and takes at least 11 ms on Deno's WebGPU. So each step copies its few numbers into a tensor on the device,
 * and the host reads several steps at once, which settles them. When that happens affects only the recorded
 * speed.
 *
 * @module
 */
import { ensure } from "../base/errors.ts";
import type { Gpu } from "../tensor/device.ts";
import { LOSS_SCALE } from "../tensor/ops/clip.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { CheckpointState } from "./checkpoint_files.ts";
import type { MetricsRecord, ScalarLog } from "./metrics.ts";
import { type RankSums, SINGLE_PROCESS } from "./ranks.ts";

/** What the host knows about a step when it submits it. */
interface StepFacts {
  /** From 1. */
  step: number;
  /** Unmasked targets; the loss is their mean. */
  numTargets: number;
  /** Positions, and how many of them are padding. */
  numTokens: number;
  numPaddingTokens: number;
  learningRate: number;
}

/** The part of the journal that a checkpoint keeps. */
type JournalState = Pick<CheckpointState, "losses" | "numSkippedSteps" | "numSkippedInRow">;

/** How many of the last losses a checkpoint keeps. */
const LOSS_TAIL = 100;
/** The device is read after this many steps, or earlier, after {@link MAX_PENDING_MS}. */
const MAX_PENDING_STEPS = 32;
const MAX_PENDING_MS = 1000;

export class StepJournal {
  readonly #gpu: Gpu;
  readonly #sources: readonly Tensor[];
  /** (steps, sources): the numbers of steps that are not settled. */
  readonly #numbers: Tensor;
  readonly #scalars: ScalarLog;
  readonly #logEverySteps: number;
  readonly #ranks: RankSums;
  readonly #facts: StepFacts[] = [];
  /** Records of settled steps that are not written yet. */
  #records: MetricsRecord[] = [];
  readonly #state: JournalState;
  /** Sums over this process's settled steps. */
  #numTokens = 0;
  #numPaddingTokens = 0;
  #seconds = 0;
  #clockMs = performance.now();

  /**
   * @param sources One element each. `lossSum`: sum of a step's unmasked losses; `gradientNorm`: norm of its
   *   gradient; `lossScale`: the optimizer's loss scale after the step, if it has one.
   * @param options `scalars`: the log, written every `logEverySteps` steps; `state`: from the checkpoint that
   *   the run continues from; `ranks`: the ranks that share the steps.
   */
  constructor(
    gpu: Gpu,
    sources: { lossSum: Tensor; gradientNorm: Tensor; lossScale?: Tensor | undefined },
    options: {
      scalars: ScalarLog;
      logEverySteps: number;
      state?: JournalState | undefined;
      ranks?: RankSums;
    },
  ) {
    const { lossSum, gradientNorm, lossScale } = sources;
    this.#gpu = gpu;
    this.#sources = [lossSum, gradientNorm, ...(lossScale ? [lossScale] : [])];
    this.#numbers = gpu.tensor("step numbers", [MAX_PENDING_STEPS, this.#sources.length]);
    this.#scalars = options.scalars;
    this.#logEverySteps = options.logEverySteps;
    this.#ranks = options.ranks ?? SINGLE_PROCESS;
    const { losses = [], numSkippedSteps = 0, numSkippedInRow = 0 } = options.state ?? {};
    this.#state = { losses: [...losses], numSkippedSteps, numSkippedInRow };
  }

  get state(): JournalState {
    return { ...this.#state, losses: [...this.#state.losses] };
  }

  /** Loss of the last settled step in nats per token; null if there is none or it is not finite. */
  get lastLoss(): number | null {
    return this.#state.losses.at(-1)?.loss ?? null;
  }

  /** Positions per second of this process's settled steps, without evaluations and checkpoints. */
  get tokensPerSecond(): number | null {
    return this.#seconds > 0 ? this.#numTokens / this.#seconds : null;
  }

  /** Share of padding among the positions of this process's settled steps. */
  get padding(): number | null {
    return this.#numTokens > 0 ? this.#numPaddingTokens / this.#numTokens : null;
  }

  get isDue(): boolean {
    const numPending = this.#facts.length;
    return numPending === MAX_PENDING_STEPS ||
      (numPending > 0 && performance.now() - this.#clockMs > MAX_PENDING_MS);
  }

  /** Records that a step's work was submitted, and queues a copy of its numbers. */
  submitted(facts: StepFacts): void {
    const first = this.#facts.length * this.#sources.length;
    ensure(this.#facts.length < MAX_PENDING_STEPS, "too many steps are not settled");
    const encoder = this.#gpu.device.createCommandEncoder({ label: "step numbers" });
    this.#sources.forEach(({ buffer, offsetBytes }, i) =>
      encoder.copyBufferToBuffer(buffer, offsetBytes, this.#numbers.buffer, (first + i) * 4, 4)
    );
    this.#gpu.device.queue.submit([encoder.finish()]);
    this.#facts.push(facts);
  }

  /** Waits for the steps submitted so far and reads their numbers. */
  async settle(): Promise<void> {
    const width = this.#sources.length;
    const facts = this.#facts.splice(0);
    const numbers = facts.length > 0 ? [...(await this.#gpu.read(this.#numbers))[0]] : [];
    const sums = await this.#ranks.sum(numbers.slice(0, facts.length * width));
    const numberOf = (i: number) => {
      const [lossSum, ...others] = sums.slice(i * width, (i + 1) * width);
      // The loss is a sum over a rank's share of the batch; the other numbers are the same on all ranks.
      return [lossSum, ...others.map((value) => value / this.#ranks.share.size)];
    };
    const seconds = (performance.now() - this.#clockMs) / 1000;
    const numTokens = facts.reduce((sum, fact) => sum + fact.numTokens, 0);
    this.#seconds += seconds;
    this.#numTokens += numTokens;
    facts.forEach((fact, i) => this.#take(fact, numberOf(i), numTokens / seconds));
    this.restartClock();
  }

  /** Excludes the time since the last settled step, such as an evaluation, from the rates. */
  restartClock(): void {
    this.#clockMs = performance.now();
  }

  /** Adds a scalar to the last settled step, which is then always logged. */
  annotate(name: string, value: number): void {
    const record = this.#records.at(-1);
    ensure(record, `there is no step to add ${name} to`);
    record[name] = value;
  }

  write(): void {
    for (const record of this.#records) {
      const isAnnotated = Object.keys(record).some((name) => name.startsWith("eval/"));
      if (record.step % this.#logEverySteps === 0 || isAnnotated) this.#scalars.append(record);
    }
    this.#records = [];
  }

  #take(fact: StepFacts, [lossSum, gradientNorm, lossScale]: number[], tokensPerSecond: number): void {
    const loss = lossSum / fact.numTargets;
    const isSkipped = !Number.isFinite(loss) || !Number.isFinite(gradientNorm);
    this.#numPaddingTokens += fact.numPaddingTokens;
    this.#state.losses.push({ step: fact.step, loss: Number.isFinite(loss) ? loss : null });
    if (this.#state.losses.length > LOSS_TAIL) this.#state.losses.shift();
    this.#state.numSkippedSteps += isSkipped ? 1 : 0;
    // A gradient too large for f16 does not count against the run as long as a smaller scale can be tried.
    const triesAgain = Number.isFinite(loss) && lossScale > LOSS_SCALE.min;
    this.#state.numSkippedInRow = isSkipped ? this.#state.numSkippedInRow + (triesAgain ? 0 : 1) : 0;
    this.#records.push({
      step: fact.step,
      "train/loss": loss,
      "train/lr": fact.learningRate,
      "train/grad_norm": gradientNorm,
      "train/tokens_per_second": tokensPerSecond,
      "train/padding": fact.numPaddingTokens / fact.numTokens,
      "train/skipped_steps": this.#state.numSkippedSteps,
      ...(lossScale === undefined ? {} : { "train/loss_scale": lossScale }),
    });
  }
}
