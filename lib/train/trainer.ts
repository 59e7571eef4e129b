/**
 * Trains a model on a folder of probe rows. The `train` stage and the demo call this.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, join, relative } from "@std/path";
import { writeFileAtomic } from "../io/files/atomic.ts";
import { autosizer, DataSurvey } from "./autosize.ts";
import { formatCount, formatSeconds } from "../base/text.ts";
import { type CheckedOutputs, checkOutputs } from "../io/files/checked_outputs.ts";
import { CHECKPOINTS, stepName } from "../io/files/checkpoint_folder.ts";
import { ensure } from "../base/errors.ts";
import { exists, fingerprint } from "../io/files/inputs.ts";
import { describeOutput, type Manifest } from "../io/files/manifest.ts";
import { refuseOverlap } from "../io/files/real_path.ts";
import type { GpuInfo } from "../tensor/device.ts";
import type { EngineName } from "../tensor/engine.ts";
import { describeProfile, PROFILE_NOTES, type ProfileRow } from "../tensor/program.ts";
import type { Communicator } from "./mpi/communicator.ts";
import { loadForResume, makeLatest, modelFilesOf } from "./checkpoint.ts";
import {
  checkpointFiles,
  type CheckpointState,
  engineOf,
  type LoadedCheckpoint,
  type ResumableCheckpoint,
} from "./checkpoint_files.ts";
import { checkModelConfig, placesSchema } from "../model/model_config.ts";
import { describePlan, planRun, type RunConfig, type RunIdentity, type RunPlan } from "./run_config.ts";
import { dataFingerprint, type DataOptions, openLoader, openRows, openValidation } from "./run_data.ts";
import { checkHostMemory } from "./memory_plan.ts";
import { readMetrics, type ScalarLog } from "./metrics.ts";
import { checkSameRun, shareConfig } from "./ranks.ts";
import { writeRunReport } from "./report.ts";
import { RUN_FILES } from "../io/files/checkpoint_folder.ts";
import { RunFolder } from "./run_folder.ts";
import { allAgreeOnStart, checkNotWithin, openRun, type RunStart, type StartOptions } from "./run_start.ts";
import { loadTeacher, openGpu, openModel } from "./open_model.ts";
import { openRunPlaces, type RunPlaces } from "./run_places.ts";
import { StepPlan, stepsThatFill } from "./step_timing.ts";
import { endsOf, StepChoice } from "./step_choice.ts";
import { StepJournal } from "./step_journal.ts";
import { openWork } from "./step_work.ts";
import { originOf } from "./training_data.ts";
import { type StepProfile, TrainingLoop, type TrainProgress } from "./training_loop.ts";

export type { TrainProgress } from "./training_loop.ts";

/** Options of {@link train}. */
export interface TrainOptions extends DataOptions, StartOptions {
  /** The run's folder. An earlier run in it is resumed. */
  runDir: string;
  /** A trained model (a checkpoint or a run with one) whose RTT distributions are learned as well. */
  teacher?: string | undefined;
  /** Files with positions of addresses (see lib/data/addresses/places); later ones take precedence. */
  geo?: readonly string[];
  /** Replace an earlier run in the folder instead of resuming it, as soon as there is a checkpoint. */
  fresh?: boolean;
  /** Stop this many seconds after the start, with everything saved; see `fitsTime`. */
  maxTimeS?: number | undefined;
  /**
   * Instead of stopping at `maxTimeS`, lower the number of steps so that they fill that time and the schedule
   * ends (default: false). The run's actual speed corrects the number until there is a checkpoint. Several
   * ranks always stop at `maxTimeS`.
   */
  fitsTime?: boolean;
  /** Stops the run after the current step, with everything saved. */
  signal?: AbortSignal;
  /** Profile one of the first steps and write it to the run's folder and the log. Results are unaffected. */
  profile?: boolean;
  /** The ranks that train together, each with a share of every batch (default: this process alone). */
  ranks?: Communicator | undefined;
  /**
   * Returns the errors of a checkpoint's answers by kind of question, which decide whether a run with
   * `train.firstSteps` continues (see step_choice.ts). Such a run ends after its first steps if this is
   * missing or finds no kinds, or if there are several ranks.
   */
  validate?: ((checkpoint: string) => Promise<Record<string, number>>) | undefined;
  /**
   * Called with the last checkpoint when the run is finished and the GPU is free, before the manifest is
   * written; only on the first rank. Returns whether it changed the checkpoint's folder.
   */
  afterLastStep?: (checkpoint: string) => Promise<boolean>;
  /** Called about once a second, and before evaluations and checkpoints. */
  onProgress?: (progress: TrainProgress) => void;
}

/** Result of {@link train}. */
export interface TrainResult {
  /** `done`: this call did the last step; `already done`: an earlier one did; `out of time`: `maxTimeS`. */
  status: "done" | "already done" | "out of time";
  /** Steps done, including earlier calls. */
  step: number;
  /** Steps of the whole run. */
  steps: number;
  /** Loss of the last step, in nats per token; null if it was not finite. */
  trainLoss: number | null;
  /** Last validation loss, in nats per token; null if there was no evaluation. */
  evalLoss: number | null;
  /** Positions per second of this call's steps; null without any steps. */
  tokensPerSecond: number | null;
  /** Share of padding among this call's positions; null without any steps. */
  padding: number | null;
  /** Steps without an update, because the loss or gradient was not finite. */
  numSkippedSteps: number;
  /** Bytes that this call sent to other ranks; null for one process. */
  sentBytes: number | null;
  /** The folder of the last checkpoint. */
  checkpoint: string | null;
  /** Path of the report. */
  report: string;
  /** The profile of a step, slowest kernels first; null if none was profiled. */
  profile: ProfileRow[] | null;
}

/**
 * Trains, continuing from the run's latest checkpoint if there is one. Only rank 0 writes the run, and only
 * its result is complete.
 *
 * @throws {InterruptedError} The signal's reason, with everything saved.
 * @throws {AgreedError} An error of all ranks, which one of them reports.
 * @throws {ConfigError} If the run to continue has another configuration or seed, or the run needs more
 *   memory than there is.
 * @throws {UserError} If the data or the folder cannot be used, there is no WebGPU adapter, or the loss is
 *   not finite for too long.
 */
export async function train(given: TrainOptions): Promise<TrainResult> {
  const fitsTime = given.fitsTime && !given.ranks && given.resumeFrom === undefined;
  const deadlineMs = performance.now() + 1000 * (fitsTime ? Infinity : given.maxTimeS ?? Infinity);
  const options = await checkedOptions({ ...given, fitsTime: fitsTime ?? false });
  const { config, plan, identity, ranks, onLog } = options;
  using run = await openRun(options.runDir, ranks);
  const start = await allAgreeOnStart(run, identity, options);
  const ends = options.validate && !ranks ? endsOf(config.train) : endsOf(config.train).slice(0, 1);
  const resumedStep = start.isOwn ? start.resumed?.state.step ?? 0 : 0;
  const choice = run && ends.length > 1
    ? new StepChoice(run.at("choice"), resumedStep, !start.goesBack)
    : undefined;
  const isDone = choice ? choice.chosen !== null : start.resumed && start.resumed.state.step >= ends[0];
  if (start.resumed && isDone) return await endEarlier(start.resumed, run, options);
  describeStart(start, config).forEach(onLog);
  describePlan(plan, ranks?.size).forEach(onLog);
  let last: Trained | undefined;
  let next = start;
  for (const end of ends) {
    const step = next.resumed?.state.step ?? 0;
    if (step > end) continue;
    if (step < end) {
      last = await trainFrom(next, {
        run,
        options,
        isFirst: !last,
        deadlineMs,
        end,
        ends,
      });
      if (last.result.status !== "done" || !choice || !run) break;
      next = { resumed: loadForResume(run.checkpointsDir), isOwn: true, initial: undefined };
    }
    if (!choice || !next.resumed || !await isWorthMore(next.resumed.directory, { choice, end, options })) {
      break;
    }
  }
  if (last && last.result.status !== "done") return last.result;
  const chosen = choice && run && choose(choice, run, onLog);
  if (!last) {
    ensure(next.resumed, "a run without steps has a checkpoint");
    return await endEarlier(chosen ?? next.resumed, run, options);
  }
  const result = chosen ? { ...last.result, ...endOf(chosen) } : last.result;
  if (run && chosen) await report(run, options, { ...chosen, engine: engineOf(chosen.state) });
  if (run && last.manifest) {
    if (result.checkpoint !== null) await options.afterLastStep?.(result.checkpoint);
    run.finish(last.manifest, await describeRun(run, result));
  }
  return result;
}

/** Finishes a run whose last step was done by an earlier call. */
async function endEarlier(
  resumed: ResumableCheckpoint,
  run: RunFolder | undefined,
  options: CheckedOptions,
): Promise<TrainResult> {
  const last = endOf(resumed);
  if (run && !exists(run.at("report"))) {
    await report(run, options, { ...resumed, engine: engineOf(resumed.state) });
  }
  const isChanged = run && await options.afterLastStep?.(resumed.directory);
  await run?.finishEarlier(() => describeRun(run, last), isChanged);
  return {
    ...last,
    status: "already done",
    tokensPerSecond: null,
    padding: null,
    numSkippedSteps: resumed.state.numSkippedSteps,
    sentBytes: null,
    report: join(options.runDir, RUN_FILES.report),
    profile: null,
  };
}

/** Validates an end of the run. @returns Whether any kind of question improved. */
async function isWorthMore(
  checkpoint: string,
  { choice, end, options: { validate, onLog } }: { choice: StepChoice; end: number; options: CheckedOptions },
): Promise<boolean> {
  const errors = await validate?.(checkpoint) ?? {};
  const kinds = Object.entries(errors);
  if (kinds.length === 0) return false;
  const isBetter = choice.add({ step: end, errors });
  onLog(
    `step ${end}: validation CRPS ${
      kinds.map(([kind, error]) => `${kind} ${error.toPrecision(3)} ms`).join(", ")
    }` +
      (isBetter ? "" : ": no kind improved"),
  );
  return isBetter;
}

/** Makes the best end's checkpoint the run's final one. @returns It; undefined if no end was validated. */
function choose(
  choice: StepChoice,
  run: RunFolder,
  onLog: (line: string) => void,
): ResumableCheckpoint | undefined {
  if (choice.ends.length === 0) return undefined;
  const step = choice.choose();
  makeLatest(join(run.checkpointsDir, stepName(step)));
  if (choice.ends.length > 1) onLog(`best checkpoint by validation: after step ${step}`);
  return loadForResume(run.checkpointsDir);
}

/** The fields of a result that come from its last checkpoint. */
function endOf(
  { state, directory }: ResumableCheckpoint,
): Pick<TrainResult, "step" | "steps" | "trainLoss" | "evalLoss" | "checkpoint"> {
  return {
    step: state.step,
    steps: state.step,
    trainLoss: state.losses.at(-1)?.loss ?? null,
    evalLoss: state.evalLoss,
    checkpoint: directory,
  };
}

interface CheckedOptions extends TrainOptions {
  checked: CheckedOutputs;
  identity: RunIdentity;
  /**
   * The run as this rank trains it (see `shareConfig`). `config` is the configuration of all ranks, with the
   * sizes that the data need.
   */
  plan: RunPlan;
  asked: string | undefined;
  /** Survey of the training rows if sizes follow from it; dropped once the model has its rows. */
  survey: DataSurvey | undefined;
  places: RunPlaces | undefined;
  loadedTeacher: LoadedCheckpoint | undefined;
  ranks: Communicator | undefined;
  /** Called after a step; returns the configuration with another number of steps, or undefined to keep it. */
  replan: ((step: number, config: RunConfig) => RunConfig | undefined) | undefined;
  onLog: (line: string) => void;
}

/** Checks what can be checked before the run's folder is opened. @throws As {@link train}. */
async function checkedOptions(given: TrainOptions): Promise<CheckedOptions> {
  const { dataDir, runDir, ranks, seed, onCorrupt = "error", onLog = () => {} } = given;
  for (const path of [given.resumeFrom ?? given.initFrom, given.teacher]) {
    if (given.fresh && path !== undefined) checkNotWithin(path, runDir);
  }
  refuseOverlap(runDir, [dataDir]);
  const checked = given.checked ?? await checkOutputs([dataDir], { onCorrupt });
  const data = await dataFingerprint(dataDir);
  let { config } = given;
  const places = await placesOf({ ...given, checked });
  if (places) config = withPlaces(config, places, given.geo ?? []);
  let survey: DataSurvey | undefined;
  let replan: CheckedOptions["replan"];
  const asked = config.autosize && !places ? askedFingerprint(config, given) : undefined;
  const known = asked && sizedBefore(given, { asked, data });
  if (known) config = known;
  else {
    if (config.autosize) {
      using rows = await openRows({ ...given, checked });
      survey = DataSurvey.of(rows.train);
    }
    const configOf = autosizer(config, survey, places);
    config = configOf(config.train.steps);
    if (given.fitsTime && given.maxTimeS !== undefined) {
      ({ config, replan } = await fittedToTime(config, configOf, { ...given, maxTimeS: given.maxTimeS }));
    }
  }
  const loadedTeacher = loadTeacher(given.teacher, config.model, onLog);
  const identity = { config, seed, data, teacher: loadedTeacher?.state.files.model.sha256 };
  if (ranks) await checkSameRun(ranks, identity);
  const plan = planRun(shareConfig(config, ranks?.size ?? 1));
  checkHostMemory(plan);
  return {
    ...given,
    config,
    plan,
    identity,
    checked,
    asked,
    survey,
    places,
    loadedTeacher,
    ranks,
    replan,
    onLog,
  };
}

/**
 * The configuration of the checkpoint to continue from, if its run had the same request and data. A run that is
 * fitted to a time changes its number of steps.
 */
function sizedBefore(
  { runDir, fresh }: TrainOptions,
  { asked, data }: { asked: string; data: string },
): RunConfig | undefined {
  const state = stateToContinue(runDir, fresh);
  return state?.asked === asked && state.dataFingerprint === data ? state.config : undefined;
}

/** The state of the checkpoint that the run continues from; undefined for a new run. */
function stateToContinue(runDir: string, fresh = false): CheckpointState | undefined {
  return fresh ? undefined : loadForResume(join(runDir, CHECKPOINTS))?.state;
}

/** See `CheckpointState.asked`. */
function askedFingerprint(config: RunConfig, { fitsTime, maxTimeS }: TrainOptions): string {
  const asked = JSON.stringify([config, fitsTime === true && maxTimeS !== undefined]);
  return createHash("sha256").update(asked).digest("hex").slice(0, 16);
}

async function placesOf(
  { geo = [], onLog = () => {}, ...data }: TrainOptions & { checked: CheckedOutputs },
): Promise<RunPlaces | undefined> {
  if (geo.length === 0) return undefined;
  using rows = await openRows(data);
  return await openRunPlaces(geo, rows.train, onLog);
}

function withPlaces(config: RunConfig, { table }: RunPlaces, files: readonly string[]): RunConfig {
  const found = { tableSize: table.length / 3, sources: files.map((path) => basename(path)) };
  const places = { ...placesSchema.parse(config.model.places ?? {}), ...found };
  const model = { ...config.model, places };
  checkModelConfig(model);
  return { ...config, model };
}

/**
 * Lowers the steps of a time-limited run: to the number that it began with, or to what fills the time at this
 * machine's speed, which the run's own speed then corrects.
 */
async function fittedToTime(
  config: RunConfig,
  configOf: (maxSteps: number) => RunConfig,
  { maxTimeS, fresh, runDir, onLog = () => {} }: TrainOptions & { maxTimeS: number },
): Promise<Pick<CheckedOptions, "config" | "replan">> {
  const state = stateToContinue(runDir, fresh);
  if (state) return { config: configOf(state.config.train.steps), replan: undefined };
  const run = planRun(config);
  checkHostMemory(run);
  const beginMs = performance.now();
  onLog("measuring the training speed of this machine");
  const measured = await stepsThatFill(run, maxTimeS);
  const { steps: needed, firstSteps } = config.train;
  const time = formatSeconds(maxTimeS);
  const speedText = (perSecond: number) => `${formatCount(Math.round(perSecond))} tokens/s`;
  onLog(
    `${speedText(measured.tokensPerSecond)}: ` +
      (measured.steps < needed
        ? `${measured.steps} of ${needed} steps fill ${time}`
        : `${needed} steps take less than ${time}`),
  );
  const planned = configOf(measured.steps);
  // With validated ends, the number of steps is fixed.
  if (planned.train.firstSteps !== null) return { config: planned, replan: undefined };
  const plan = new StepPlan(firstSteps ?? needed, maxTimeS, beginMs);
  return {
    config: planned,
    replan: (step, { train: { steps } }) => {
      const found = plan.review(step, steps);
      if (!found) return undefined;
      const tokensPerSecond = found.stepsPerSecond * run.tokensPerStep;
      onLog(
        `training at ${speedText(tokensPerSecond)}: ${found.steps} instead of ${steps} steps fill ${time}`,
      );
      return configOf(found.steps);
    },
  };
}

interface Trained {
  readonly result: TrainResult;
  readonly manifest: Manifest | undefined;
}

/**
 * Trains from a start to an end of the run or to the deadline.
 *
 * @param parts `isFirst`: whether the call has not done any step yet; `ends`: all ends of the run.
 */
async function trainFrom(
  start: RunStart,
  { run, options, isFirst, deadlineMs, end, ends }: {
    run: RunFolder | undefined;
    options: CheckedOptions;
    isFirst: boolean;
    deadlineMs: number;
    end: number;
    ends: readonly number[];
  },
): Promise<Trained> {
  const { identity, loadedTeacher, ranks, seed, resumeFrom, initFrom, onLog } = options;
  const { resumed, isOwn } = start;
  // The schedule spans the steps to this end.
  const { config: ofAllEnds } = options.plan;
  const config = { ...ofAllEnds, train: { ...ofAllEnds.train, steps: end } };
  const ofRank = { ...options, config, plan: planRun(config), survey: undefined };
  using rows = await openRows(options);
  using loader = await openLoader(rows, { ...ofRank, resumed, numRanks: ranks?.size ?? 1 });
  using gpu = await openGpu(config.train.dtype, ranks, onLog);
  const { engine } = gpu.info;
  const earlier = resumed && engineOf(resumed.state);
  if (earlier && earlier !== engine) {
    onLog(
      `the checkpoint was trained with the engine ${earlier}, continuing with ${engine}: results differ in the last bits`,
    );
  }
  const survey = () => options.survey ?? DataSurvey.of(rows.train);
  const { model, optimizer, counts } = await openModel(gpu, ofRank, { ...start, survey });
  options.survey = undefined;
  if (options.fresh && isFirst) run?.startOver();
  const ofTeacher = loadedTeacher ? [fingerprint(modelFilesOf(loadedTeacher.directory)[0])] : [];
  const inputs = [...rows.train.files, ...ofTeacher, ...(options.geo ?? []).map((path) => fingerprint(path))];
  const begin = () => run?.begin({ inputs, options: { ...options.identity, engine, resumeFrom, initFrom } });
  let manifest = begin();
  if (run && options.places) run.writePlaces(options.places, options.geo ?? []);
  using scalars = run?.openScalars(isOwn ? resumed?.state.step ?? 0 : 0) ?? NO_LOG;
  const work = await openWork(gpu, { model, optimizer }, { config, ranks, resumed, onLog });
  const { lossScale, gradNorm: gradientNorm } = optimizer;
  const journal = new StepJournal(gpu, { lossSum: model.lossSum, gradientNorm, lossScale }, {
    scalars,
    logEverySteps: config.train.logEverySteps,
    state: resumed?.state,
    ranks: work,
  });
  let profile: ProfileRow[] | null = null;
  const loop = new TrainingLoop({
    plan: planRun(options.config),
    seed,
    identity: { dataFingerprint: identity.data, asked: options.asked, teacher: identity.teacher, engine },
    model,
    optimizer,
    loader,
    openValidation: () => openValidation(rows, ofRank),
    trainingData: counts
      ? { summary: counts.summary(originOf(options.dataDir)), known: counts.table() }
      : resumed?.trainingData,
    journal,
    scalars,
    work,
    end,
    ends,
    run,
    signal: options.signal ?? new AbortController().signal,
    deadlineMs,
    onProgress: options.onProgress ?? (() => {}),
    replan: (step) => {
      const config = options.replan?.(step, options.config);
      if (!config) return undefined;
      options.config = config;
      options.identity = { ...options.identity, config };
      manifest = begin();
      return config;
    },
    onLog,
    onProfile: run && options.profile
      ? (measured) => {
        profile = measured.rows;
        reportProfile(run, measured, gpu.info).forEach(onLog);
      }
      : undefined,
  }, start);
  let isDone: boolean;
  try {
    isDone = await loop.run();
  } finally {
    if (run) await report(run, options, { directory: loop.checkpoint, engine });
  }
  const result: TrainResult = {
    status: isDone ? "done" : "out of time",
    step: loop.step,
    steps: loop.end,
    trainLoss: journal.lastLoss,
    evalLoss: loop.evalLoss,
    tokensPerSecond: journal.tokensPerSecond,
    padding: journal.padding,
    numSkippedSteps: journal.state.numSkippedSteps,
    sentBytes: ranks?.numSentBytes ?? null,
    checkpoint: loop.checkpoint,
    report: join(options.runDir, RUN_FILES.report),
    profile,
  };
  return { result, manifest };
}

/** For ranks that do not log. */
const NO_LOG: ScalarLog = { append() {}, flush() {}, [Symbol.dispose]() {} };

/** Writes the profile of a step. @returns Lines for the user. */
function reportProfile(run: RunFolder, { step, rows }: StepProfile, { name }: GpuInfo): string[] {
  const heading = `step ${step} on ${name} (${PROFILE_NOTES}):`;
  const table = describeProfile(rows);
  writeFileAtomic(run.at("profile"), `${heading}\n${table}\n`);
  return [heading, ...table.split("\n"), `the profile is in ${run.at("profile")}`];
}

/** Writes the report, even if the run was stopped: it takes less than a second. */
async function report(
  run: RunFolder,
  { config, seed, dataDir, identity, loadedTeacher }: CheckedOptions,
  { directory: checkpoint, engine }: { directory: string | null; engine: EngineName },
): Promise<void> {
  await writeRunReport(run.at("report"), {
    runDir: run.path,
    dataDir,
    dataFingerprint: identity.data,
    teacher: loadedTeacher?.directory,
    seed,
    config,
    records: exists(run.at("metrics")) ? readMetrics(run.at("metrics")) : [],
    checkpoint,
    engine,
  });
}

function describeStart({ resumed, isOwn, initial }: RunStart, { train }: RunConfig): string[] {
  if (initial) return [`starting with the weights of ${initial.directory}; everything else is new`];
  if (!resumed) return [];
  const from = isOwn ? "" : ` from ${resumed.directory}`;
  return [`resuming after step ${resumed.state.step} of ${train.steps}${from}`];
}

/** The counts and outputs of a finished run for its manifest. */
async function describeRun(
  run: RunFolder,
  loop: Pick<TrainResult, "step" | "checkpoint">,
): Promise<Pick<Manifest, "counts" | "outputs">> {
  const outputs = loop.checkpoint === null ? [] : checkpointFiles(loop.checkpoint);
  return {
    counts: { steps: loop.step },
    outputs: await Promise.all(outputs.map((path) => describeOutput(run.path, relative(run.path, path)))),
  };
}
