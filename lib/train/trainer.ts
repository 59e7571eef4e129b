/**
 * Trains a model on a folder of probe rows. The `train` stage and the demo call this.
 *
 * @module
 */
import { join, relative } from "@std/path";
import { writeFileAtomic } from "../io/files/atomic.ts";
import { RUN_FILES, stepName } from "../io/files/checkpoint_folder.ts";
import { ensure } from "../base/errors.ts";
import { exists, fingerprint } from "../io/files/inputs.ts";
import { describeOutput, type Manifest } from "../io/files/manifest.ts";
import type { GpuInfo } from "../tensor/device.ts";
import type { EngineName } from "../tensor/engine.ts";
import { describeProfile, PROFILE_NOTES, type ProfileRow } from "../tensor/program.ts";
import { loadForResume, makeLatest, modelFilesOf } from "./checkpoint.ts";
import { checkpointFiles, type ResumableCheckpoint } from "./checkpoint_files.ts";
import { describePlan } from "./run_config.ts";
import { openLoader, openRows, openValidation } from "./run_data.ts";
import { readMetrics, type ScalarLog } from "./metrics.ts";
import { writeRunReport } from "./report.ts";
import { type ResolvedRun, resolveRun, type RunOptions } from "./resolved_run.ts";
import type { RunFolder } from "./run_folder.ts";
import { allAgreeOnStart, openRun, type RunStart } from "./run_start.ts";
import { openGpu, openModel } from "./open_model.ts";
import { endsOf, StepChoice } from "./step_choice.ts";
import { StepJournal } from "./step_journal.ts";
import { openWork } from "./step_work.ts";
import { type StepProfile, TrainingLoop, type TrainProgress } from "./training_loop.ts";

export type { TrainProgress } from "./training_loop.ts";

/** Options of {@link train}. */
export interface TrainOptions extends RunOptions {
  /** Stops the run after the current step, with everything saved. */
  signal?: AbortSignal;
  /** Profile one of the first steps and write it to the run's folder and the log. Results are unaffected. */
  profile?: boolean;
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
export async function train(options: TrainOptions): Promise<TrainResult> {
  const run = await resolveRun(options);
  const { config, ranks, onLog } = run;
  using folder = await openRun(run.runDir, ranks);
  const start = await allAgreeOnStart(folder, run);
  const ends = options.validate && !ranks ? endsOf(config.train) : endsOf(config.train).slice(0, 1);
  const resumed = start.isOwn ? start.resumed?.state : undefined;
  const hasMoreSteps = resumed !== undefined && resumed.config.train.steps < config.train.steps;
  const choice = folder && ends.length > 1
    ? new StepChoice(folder.at("choice"), resumed?.step ?? 0, { isMade: !start.goesBack, hasMoreSteps })
    : undefined;
  const isDone = choice ? choice.chosen !== null : start.resumed && start.resumed.state.step >= ends[0];
  if (start.resumed && isDone) return await endEarlier(start.resumed, folder, run, options);
  describeStart(start, config.train.steps).forEach(onLog);
  describePlan(run).forEach(onLog);
  let last: Trained | undefined;
  let next = start;
  for (const end of ends) {
    const step = next.resumed?.state.step ?? 0;
    if (step > end) continue;
    if (step < end) {
      last = await trainFrom(next, folder, run, { options, isFirst: !last, end, ends });
      if (last.result.status !== "done" || !choice || !folder) break;
      next = { resumed: loadForResume(folder.checkpointsDir), isOwn: true, initial: undefined };
    }
    if (!choice || !next.resumed) break;
    const errors = await options.validate?.(next.resumed.directory) ?? {};
    if (!isWorthMore(errors, { choice, end, onLog })) break;
  }
  if (last && last.result.status !== "done") return last.result;
  const chosen = choice && folder && choose(choice, folder, onLog);
  if (!last) {
    ensure(next.resumed, "a run without steps has a checkpoint");
    return await endEarlier(chosen ?? next.resumed, folder, run, options);
  }
  const result = chosen ? { ...last.result, ...endOf(chosen) } : last.result;
  if (folder && chosen) await report(folder, run, { ...chosen, engine: chosen.state.engine });
  if (folder && last.manifest) {
    if (result.checkpoint !== null) await options.afterLastStep?.(result.checkpoint);
    folder.finish(last.manifest, await describeRun(folder, result));
  }
  return result;
}

/** Finishes a run whose last step was done by an earlier call. */
async function endEarlier(
  resumed: ResumableCheckpoint,
  folder: RunFolder | undefined,
  run: ResolvedRun,
  { afterLastStep }: TrainOptions,
): Promise<TrainResult> {
  const last = endOf(resumed);
  if (folder && !exists(folder.at("report"))) {
    await report(folder, run, { ...resumed, engine: resumed.state.engine });
  }
  const isChanged = folder && await afterLastStep?.(resumed.directory);
  await folder?.finishEarlier(() => describeRun(folder, last), isChanged);
  return {
    ...last,
    status: "already done",
    tokensPerSecond: null,
    padding: null,
    numSkippedSteps: resumed.state.numSkippedSteps,
    sentBytes: null,
    report: join(run.runDir, RUN_FILES.report),
    profile: null,
  };
}

/** Stores the errors at an end of the run. @returns Whether any kind of question improved. */
function isWorthMore(
  errors: Record<string, number>,
  { choice, end, onLog }: { choice: StepChoice; end: number; onLog: (line: string) => void },
): boolean {
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

/** Makes the best end's checkpoint the run's final one and returns it; undefined if no end was validated. */
function choose(
  choice: StepChoice,
  folder: RunFolder,
  onLog: (line: string) => void,
): ResumableCheckpoint | undefined {
  if (choice.ends.length === 0) return undefined;
  const step = choice.choose();
  makeLatest(join(folder.checkpointsDir, stepName(step)));
  if (choice.ends.length > 1) onLog(`best checkpoint by validation: after step ${step}`);
  return loadForResume(folder.checkpointsDir);
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

interface Trained {
  readonly result: TrainResult;
  readonly manifest: Manifest | undefined;
}

interface PartOptions {
  options: TrainOptions;
  /** Whether the call has not done any step yet. */
  isFirst: boolean;
  /** The step to train to, which the schedule spans. */
  end: number;
  /** All ends of the run. */
  ends: readonly number[];
}

/** Trains from a start to an end of the run or to the deadline. */
async function trainFrom(
  start: RunStart,
  folder: RunFolder | undefined,
  run: ResolvedRun,
  { options: { signal, profile, onProgress }, isFirst, end, ends }: PartOptions,
): Promise<Trained> {
  const { config, ranks, resumeFrom, initFrom, loadedTeacher, geo, places, onLog } = run;
  const { resumed, isOwn } = start;
  using rows = await openRows(run);
  using loader = await openLoader(rows, run, resumed);
  using gpu = await openGpu(config.train.dtype, ranks, onLog);
  const { engine } = gpu.info;
  const earlier = resumed?.state.engine;
  if (earlier && earlier !== engine) {
    onLog(
      `the checkpoint was trained with the engine ${earlier}; continuing with ${engine} changes the last bits of results`,
    );
  }
  const survey = () => run.survey(rows);
  const { model, optimizer, trainingData } = await openModel(gpu, run, { ...start, totalSteps: end, survey });
  if (run.fresh && isFirst) folder?.startOver();
  const ofTeacher = loadedTeacher ? [fingerprint(modelFilesOf(loadedTeacher.directory)[0])] : [];
  const inputs = [...rows.train.files, ...ofTeacher, ...geo.map((path) => fingerprint(path))];
  const begin = ({ config, seed, data, teacher }: ResolvedRun) =>
    folder?.begin({ inputs, options: { config, seed, data, teacher, engine, resumeFrom, initFrom } });
  let manifest = begin(run);
  if (places) folder?.writePlaces(places, geo);
  using scalars = folder?.openScalars(isOwn ? resumed?.state.step ?? 0 : 0) ?? NO_LOG;
  const work = await openWork({ gpu, model, optimizer }, run, resumed);
  const { lossScale, gradNorm: gradientNorm } = optimizer;
  const journal = new StepJournal(gpu, { lossSum: model.lossSum, gradientNorm, lossScale }, {
    scalars,
    logEverySteps: config.train.logEverySteps,
    state: resumed?.state,
    ranks: work,
  });
  let profiled: ProfileRow[] | null = null;
  const loop = new TrainingLoop({
    run,
    model,
    optimizer,
    engine,
    loader,
    openValidation: () => openValidation(rows, run),
    trainingData,
    journal,
    scalars,
    work,
    end,
    ends,
    folder,
    signal,
    onProgress,
    onCorrected: (run) => manifest = begin(run),
    onProfile: folder && profile
      ? (measured) => {
        profiled = measured.rows;
        reportProfile(folder, measured, gpu.info).forEach(onLog);
      }
      : undefined,
  }, start);
  let isDone: boolean;
  try {
    isDone = await loop.train();
  } finally {
    if (folder) await report(folder, loop.run, { directory: loop.checkpoint, engine });
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
    report: join(run.runDir, RUN_FILES.report),
    profile: profiled,
  };
  return { result, manifest };
}

/** For ranks that do not log. */
const NO_LOG: ScalarLog = { append() {}, flush() {}, [Symbol.dispose]() {} };

/** Writes the profile of a step. @returns Lines for the user. */
function reportProfile(folder: RunFolder, { step, rows }: StepProfile, { name }: GpuInfo): string[] {
  const heading = `step ${step} on ${name} (${PROFILE_NOTES}):`;
  const table = describeProfile(rows);
  const path = folder.at("profile");
  writeFileAtomic(path, `${heading}\n${table}\n`);
  return [heading, ...table.split("\n"), `the profile is in ${path}`];
}

/** Writes the report, even if the run was stopped: it takes less than a second. */
async function report(
  folder: RunFolder,
  run: ResolvedRun,
  { directory: checkpoint, engine }: { directory: string | null; engine: EngineName },
): Promise<void> {
  const metrics = folder.at("metrics");
  const records = exists(metrics) ? readMetrics(metrics) : [];
  await writeRunReport(folder.at("report"), run, { records, checkpoint, engine });
}

function describeStart({ resumed, isOwn, initial }: RunStart, steps: number): string[] {
  if (initial) return [`starting with the weights of ${initial.directory}; everything else is new`];
  if (!resumed) return [];
  const from = isOwn ? "" : ` from ${resumed.directory}`;
  return [`resuming after step ${resumed.state.step} of ${steps}${from}`];
}

/** Collects the counts and outputs of a finished run for its manifest. */
async function describeRun(
  { path: root }: RunFolder,
  loop: Pick<TrainResult, "step" | "checkpoint">,
): Promise<Pick<Manifest, "counts" | "outputs">> {
  const outputs = loop.checkpoint === null ? [] : checkpointFiles(loop.checkpoint);
  return {
    counts: { steps: loop.step },
    outputs: await Promise.all(outputs.map((path) => describeOutput(root, relative(root, path)))),
  };
}
