/** `train`: trains a model on probe rows, from the run's latest checkpoint if there is one. @module */
import type { OptionsOf } from "../lib/cli/command.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { PhaseProgress, Progress } from "../lib/cli/progress.ts";
import { type IdentityCounts, MAX_ADDRESSES_OF_ONE } from "../lib/model/pool/identities.ts";
import { requireSameSources } from "../lib/eval/eval_rows.ts";
import { fitPoolOf, type FitPoolOptions, type FittedPool, validationErrors } from "../lib/eval/fit_pool.ts";
import { formatCount, formatLoss } from "../lib/base/text.ts";
import { defineStage, serveStage, snakeKeys, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { UsageError, UserError } from "../lib/base/errors.ts";
import { printLog } from "../lib/base/printed.ts";
import { Communicator } from "../lib/train/mpi/communicator.ts";
import { launchOf } from "../lib/train/mpi/launch.ts";
import { loadConfig, type RunConfig, withTotalTokens } from "../lib/train/run_config.ts";
import { AgreedError } from "../lib/train/ranks.ts";
import { train, type TrainProgress, type TrainResult } from "../lib/train/trainer.ts";
import { checkInputs, requireProbeRows } from "./stage_files.ts";
import { trainCommand } from "./train.command.ts";

type TrainOptions = OptionsOf<typeof trainCommand>;

export const trainStage = defineStage(trainCommand, async (options, context) => {
  const launch = launchOf(variable);
  if (!launch) return await trainOn(undefined, options, context);
  if (options.profile) {
    throw new UsageError("Cannot use --profile with several ranks: expected one process; leave it out");
  }
  const { rank, numRanks } = launch;
  // Only the first rank logs.
  const heard = rank === 0 ? context : silent(context);
  const ranks = Communicator.open(launch, options.mpiLibrary);
  try {
    heard.log(`${numRanks} ranks with ${ranks.library}`);
    const result = await trainOn(ranks, options, heard);
    await ranks.close();
    return rank === 0 ? result : { text: "", json: null };
  } catch (error) {
    if (error instanceof AgreedError) {
      await ranks.close();
    } else if (error instanceof UserError) {
      printLog(`error: rank ${rank} of ${numRanks}: ${error.message}`);
      ranks.abort(error.exitCode);
    }
    throw error;
  }
});

async function trainOn(
  ranks: Communicator | undefined,
  options: TrainOptions,
  context: StageContext,
): Promise<StageResult> {
  const startMs = performance.now();
  if (options.resumeFrom !== undefined && options.initFrom !== undefined) {
    throw new UsageError(
      "Cannot use --resume-from and --init-from together: either sets the start; leave one out",
    );
  }
  const progress = new TrainingProgress(context);
  const validationDirs = [...new Set([...options.poolData, ...options.data])];
  for (const folder of options.data) requireProbeRows(folder, "train on");
  const checked = await checkInputs(validationDirs, options, context);
  for (const folder of validationDirs) requireSameSources(folder, options.data[0]);
  const pools = new Map<string, FittedPool>();
  const validation = (checkpoint: string): FitPoolOptions => ({
    checkpoint,
    dataDir: options.data,
    validationDirs,
    checked,
    onCorrupt: options.onCorrupt,
    maxMeasurements: options.poolMeasurements,
    memoryMb: options.memoryMb,
    seed: options.seed,
  });
  const fit = async (checkpoint: string) => {
    progress.finish();
    using during = new PhaseProgress(context, "done");
    const hooks = { signal: context.signal, onProgress: during.update };
    const fitted = await fitPoolOf(validation(checkpoint), hooks);
    if (fitted) pools.set(checkpoint, fitted);
    return fitted !== undefined;
  };
  const result = await train({
    validate: options.poolMeasurements === 0 ? undefined : async (checkpoint) => {
      await fit(checkpoint);
      using during = new PhaseProgress(context, "done");
      return await validationErrors(validation(checkpoint), {
        signal: context.signal,
        onProgress: during.update,
      });
    },
    afterLastStep: async (checkpoint) => options.poolMeasurements > 0 && await fit(checkpoint),
    config: configOf(options),
    seed: options.seed,
    dataDir: options.data,
    checked,
    ranks,
    runDir: options.run,
    teacher: options.teacher,
    geo: options.geo,
    onCorrupt: options.onCorrupt,
    numLoaderWorkers: options.workers,
    fresh: options.fresh,
    profile: options.profile,
    resumeFrom: options.resumeFrom,
    initFrom: options.initFrom,
    fitsTime: options.steps === undefined && options.tokens === undefined,
    maxTimeS: options.maxTime === undefined ? undefined : parseDurationS(options.maxTime, "max-time"),
    signal: context.signal,
    onProgress: (state) => progress.update(state),
    onLog: (line) => progress.log(line),
  }).finally(() => progress.finish());
  const pool = pools.get(result.checkpoint ?? "") ?? null;
  return {
    text: describe(result, pool, options.steps),
    json: {
      stage: "train",
      ...snakeKeys({ ...result, pool }, true),
      seconds: (performance.now() - startMs) / 1000,
    },
  };
}

function configOf({ config: nameOrFile, set, steps, tokens }: TrainOptions): RunConfig {
  if (steps !== undefined && tokens !== undefined) {
    throw new UsageError("Cannot use --steps and --tokens together: either sets the length; leave one out");
  }
  const config = loadConfig(nameOrFile, [...set, ...(steps === undefined ? [] : [`train.steps=${steps}`])]);
  return tokens === undefined ? config : withTotalTokens(config, tokens);
}

/** An environment variable, if it may be read. */
function variable(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}

function silent({ signal }: StageContext): StageContext {
  const progress: StageContext["progress"] = (label, options) =>
    new Progress(label, { ...options, quiet: true });
  return { signal, progress, log() {} };
}

/** Shows the progress of training, and lines of text above it. */
class TrainingProgress {
  readonly #context: StageContext;
  #progress: Progress | undefined;
  #steps = 0;

  constructor(context: StageContext) {
    this.#context = context;
  }

  update({ step, steps, loss, learningRate, tokensPerSecond, padding }: TrainProgress): void {
    if (steps !== this.#steps) this.finish();
    this.#steps = steps;
    this.#progress ??= this.#context.progress("training", { total: steps, unit: "steps", start: step });
    const notes = [
      `loss ${loss === null ? "not finite" : formatLoss(loss)}`,
      `lr ${learningRate.toExponential(2)}`,
      ...(tokensPerSecond === null ? [] : [`${formatCount(Math.round(tokensPerSecond))} tokens/s`]),
      ...(padding === null ? [] : [`padding ${(100 * padding).toFixed(1)} %`]),
    ];
    this.#progress.update(step, notes.join(", "));
  }

  log(line: string): void {
    if (this.#progress) this.#progress.print(line);
    else this.#context.log(line);
  }

  finish(): void {
    this.#progress?.finish();
    // More steps may follow.
    this.#progress = undefined;
  }
}

function describe(result: TrainResult, pool: FittedPool | null, askedSteps = 0): string {
  const { status, step, steps } = result;
  const perToken = (loss: number | null) => loss === null ? "unknown" : `${formatLoss(loss)} per token`;
  return [
    status === "done"
      ? `trained ${steps} steps`
      : status === "already done"
      ? `the run is complete: ${step} of ${steps} steps were done before; --fresh starts over` +
        (askedSteps > steps ? "; --steps is a maximum: raise autosize.passes for more steps" : "")
      : `stopped by --max-time after ${step} of ${steps} steps; run the same command again to continue`,
    `  training loss    ${perToken(result.trainLoss)}`,
    `  validation loss  ${perToken(result.evalLoss)}`,
    ...(result.tokensPerSecond === null
      ? []
      : [`  speed            ${formatCount(Math.round(result.tokensPerSecond))} tokens/s`]),
    ...(result.padding === null ? [] : [`  padding          ${(100 * result.padding).toFixed(2)} %`]),
    ...(result.numSkippedSteps === 0 ? [] : [`  skipped updates  ${result.numSkippedSteps}`]),
    ...(result.sentBytes === null ? [] : [`  sent by a rank   ${formatCount(result.sentBytes)} bytes`]),
    ...(pool === null ? [] : [
      `  pool             ${pool.poolBits.toFixed(2)} bits per RTT of ${pool.numMeasurements} validation ` +
      `measurements (the network alone: ${pool.modelBits.toFixed(2)})`,
      ...describeIdentities(pool.identities),
      ...(pool.numMoved === 0 ? [] : [
        `  places           ${pool.numMoved} addresses are elsewhere than the database says, by their RTTs`,
      ]),
    ]),
    `  checkpoint       ${result.checkpoint ?? "none"}`,
    `  report           ${result.report}`,
  ].join("\n");
}

function describeIdentities({ identified, shared, ignored }: IdentityCounts): string[] {
  return identified + shared + ignored === 0 ? [] : [
    `  identities       ${identified} addresses of known probes; left out: ${shared} of several probes, ` +
    `${ignored} of a prb_id with more than ${MAX_ADDRESSES_OF_ONE}`,
  ];
}

if (import.meta.main) serveStage(trainStage);
