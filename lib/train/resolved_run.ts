/**
 * What a run trains, resolved once: from the configuration, the data, the files of places, the teacher, the
 * ranks and the time. All other modules of a run take this value; a time-limited run that corrects its number
 * of steps makes a new one.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, join } from "@std/path";
import { formatCount, formatSeconds } from "../base/text.ts";
import { checkOutputs } from "../io/files/checked_outputs.ts";
import { CHECKPOINTS } from "../io/files/checkpoint_folder.ts";
import { refuseOverlap } from "../io/files/real_path.ts";
import { checkModelConfig, placesSchema } from "../model/model_config.ts";
import { fingerprint } from "../io/files/inputs.ts";
import { autosizedSteps, autosizer, DataSurvey } from "./autosize.ts";
import { loadForResume } from "./checkpoint.ts";
import type { CheckpointState, LoadedCheckpoint } from "./checkpoint_files.ts";
import { checkHostMemory } from "./memory_plan.ts";
import type { Communicator } from "./mpi/communicator.ts";
import { loadTeacher } from "./open_model.ts";
import { checkSameRun } from "./ranks.ts";
import { lastingText, planRun, type RunConfig, type RunIdentity, type RunPlan } from "./run_config.ts";
import { dataFingerprint, type DataOptions, type OpenRows, openRows, type RowsOptions } from "./run_data.ts";
import { openRunPlaces, type RunPlaces } from "./run_places.ts";
import { checkBeforeSizing, checkNotWithin, type StartOptions } from "./run_start.ts";
import { StepPlan, stepsThatFill } from "./step_timing.ts";

/** @internal What a run is resolved from. */
export interface RunOptions extends DataOptions, StartOptions {
  /** The whole run's configuration. */
  config: RunConfig;
  /** The run's folder. An earlier run in it is resumed. */
  runDir: string;
  /** A trained model (a checkpoint or a run with one) whose RTT distributions are also learned. */
  teacher?: string | undefined;
  /** Files with positions of addresses (see lib/data/addresses/places); later ones take precedence. */
  geo?: readonly string[];
  /** Stop this many seconds after the start, with everything saved; see `fitsTime`. */
  maxTimeS?: number | undefined;
  /**
   * Instead of stopping at `maxTimeS`, lower the number of steps so that they fill that time and the schedule
   * ends (default: false). The run's actual speed corrects the number until there is a checkpoint. Several
   * ranks always stop at `maxTimeS`.
   */
  fitsTime?: boolean;
  /** The ranks that train together, each with a share of every batch (default: this process alone). */
  ranks?: Communicator | undefined;
}

/** A run as it is trained. */
export interface ResolvedRun extends RunPlan, RunIdentity, RowsOptions, StartOptions {
  readonly runDir: string;
  readonly numLoaderWorkers: number;
  readonly ranks: Communicator | undefined;
  readonly loadedTeacher: LoadedCheckpoint | undefined;
  readonly geo: readonly string[];
  /** Undefined for a model without places, and for a run that continues and has its places. */
  readonly places: RunPlaces | undefined;
  /** See `CheckpointState.asked`. */
  readonly asked: string | undefined;
  /** When to stop, by `performance.now()`; Infinity without a time limit, or if steps were fitted to it. */
  readonly deadlineMs: number;
  /** Surveys the training rows. The first call returns the survey that determined the sizes, if one did. */
  readonly survey: (rows: OpenRows) => DataSurvey;
  /** Called after a step; returns the run with another number of steps, or undefined to keep it. */
  readonly corrected: ((step: number, run: ResolvedRun) => ResolvedRun | undefined) | undefined;
}

/**
 * Checks what can be checked before the run's folder is opened, and fits sizes and steps to data and time.
 *
 * @throws {AgreedError} If ranks would train something different.
 * @throws {ConfigError} If the run needs more memory than there is, or a size does not fit.
 * @throws {UserError} If the data, the teacher or a file of places cannot be used.
 */
export async function resolveRun(options: RunOptions): Promise<ResolvedRun> {
  const { dataDir, runDir, seed, resumeFrom, initFrom, fresh = false, ranks, geo = [] } = options;
  const { onCorrupt = "error", onLog = () => {}, numLoaderWorkers = 0, maxTimeS = Infinity } = options;
  const beginMs = performance.now();
  const fillsTime = options.fitsTime === true && maxTimeS < Infinity && !ranks && resumeFrom === undefined;
  for (const path of [resumeFrom ?? initFrom, options.teacher]) {
    if (fresh && path !== undefined) checkNotWithin(path, runDir);
  }
  const folders = [dataDir].flat();
  refuseOverlap(runDir, folders);
  const checked = options.checked ?? await checkOutputs(folders, { onCorrupt });
  const source = { dataDir, checked, onCorrupt, onLog };
  const data = await dataFingerprint(dataDir);
  const asked = options.config.autosize || geo.length > 0 ? askedFingerprint(options.config, geo) : undefined;
  const own = !fresh && (asked !== undefined || fillsTime)
    ? loadForResume(join(runDir, CHECKPOINTS))
    : undefined;
  const state = own?.state;
  let places: RunPlaces | undefined;
  let sized: SizedRun;
  if (own && asked !== undefined && own.state.asked === asked && own.state.dataFingerprint === data) {
    sized = { config: continuedConfig(own, options.config, fillsTime) };
  } else {
    if (own && resumeFrom === undefined) checkBeforeSizing(own, { config: options.config, seed, data, geo });
    places = await placesOf(source, geo);
    const wanted = places ? withPlaces(options.config, places, geo) : options.config;
    sized = await sizedRun(wanted, source, { places, fillTimeS: fillsTime ? maxTimeS : undefined, state });
  }
  const loadedTeacher = loadTeacher(options.teacher, sized.config.model, onLog);
  const teacher = loadedTeacher?.state.files.model.sha256;
  const identity = { config: sized.config, seed, data, teacher };
  if (ranks) await checkSameRun(ranks, identity);
  const plan = planRun(sized.config, ranks?.size);
  checkHostMemory(plan);
  const start = { runDir, fresh, resumeFrom, initFrom };
  const deadlineMs = fillsTime ? Infinity : beginMs + 1000 * maxTimeS;
  const parts = { numLoaderWorkers, ranks, loadedTeacher, geo, places, asked, deadlineMs };
  const hooks = hooksOf(sized);
  return Object.freeze({ ...source, ...identity, ...plan, ...start, ...parts, ...hooks });
}

/** Makes a run's hooks, which drop the survey once it was taken: it may have millions of pairs. */
function hooksOf({ survey, reviewed }: SizedRun): Pick<ResolvedRun, "survey" | "corrected"> {
  return {
    survey({ train }) {
      const known = survey ?? DataSurvey.of(train);
      survey = undefined;
      return known;
    },
    corrected: reviewed && ((step, run) => {
      const config = reviewed(step, run.config.train.steps);
      return config && Object.freeze({ ...run, ...planRun(config, run.numRanks) });
    }),
  };
}

/** See `CheckpointState.asked`. */
function askedFingerprint(config: RunConfig, geo: readonly string[]): string {
  const files = geo.map((path) => [basename(path), fingerprint(path).sizeBytes]);
  return createHash("sha256").update(JSON.stringify([lastingText(config), files])).digest("hex").slice(0, 16);
}

/**
 * The configuration of a run that continues. The sizes are the checkpoint's, so neither the data nor the files
 * of places are read. A run that fills a time keeps its number of steps.
 */
function continuedConfig(
  { state, trainingData: { summary } }: LoadedCheckpoint,
  { train, autosize }: RunConfig,
  fillsTime: boolean,
): RunConfig {
  const wanted = { ...state.config, train, autosize };
  const { steps, firstSteps } = fillsTime ? state.config.train : autosizedSteps(wanted, summary.measurements);
  return { ...wanted, train: { ...train, steps, firstSteps } };
}

async function placesOf(source: RowsOptions, geo: readonly string[]): Promise<RunPlaces | undefined> {
  if (geo.length === 0) return undefined;
  using rows = await openRows(source);
  return await openRunPlaces(geo, rows.train, source.onLog);
}

function withPlaces(config: RunConfig, { table }: RunPlaces, files: readonly string[]): RunConfig {
  const found = { tableSize: table.length / 3, sources: files.map((path) => basename(path)) };
  const places = { ...placesSchema.parse(config.model.places ?? {}), ...found };
  const model = { ...config.model, places };
  checkModelConfig(model);
  return { ...config, model };
}

interface SizedRun {
  config: RunConfig;
  survey?: DataSurvey | undefined;
  /** Returns the configuration with the number of steps that the run's own speed suggests, if it differs. */
  reviewed?: ((step: number, steps: number) => RunConfig | undefined) | undefined;
}

/**
 * Fits sizes to the data and, if there is a time to fill, steps to it.
 *
 * @param options `state`: of the checkpoint to continue from, whose number of steps a filled time keeps.
 */
async function sizedRun(
  config: RunConfig,
  source: RowsOptions,
  { places, fillTimeS, state }: {
    places: RunPlaces | undefined;
    fillTimeS: number | undefined;
    state: CheckpointState | undefined;
  },
): Promise<SizedRun> {
  let survey: DataSurvey | undefined;
  if (config.autosize) {
    using rows = await openRows(source);
    survey = DataSurvey.of(rows.train);
  }
  const configOf = autosizer(config, survey, places);
  const { steps } = config.train;
  if (fillTimeS === undefined) return { config: configOf(steps), survey };
  if (state) return { config: configOf(state.config.train.steps), survey };
  const { onLog } = source;
  return { survey, ...await fittedToTime(configOf(steps), configOf, { maxTimeS: fillTimeS, onLog }) };
}

/** Lowers the steps of a new run to what fills a time at this machine's speed. */
async function fittedToTime(
  config: RunConfig,
  configOf: (maxSteps: number) => RunConfig,
  { maxTimeS, onLog }: { maxTimeS: number; onLog: (line: string) => void },
): Promise<SizedRun> {
  const plan = planRun(config);
  checkHostMemory(plan);
  const beginMs = performance.now();
  onLog("measuring the training speed of this machine");
  const measured = await stepsThatFill(plan, maxTimeS);
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
  if (planned.train.firstSteps !== null) return { config: planned };
  const stepPlan = new StepPlan(firstSteps ?? needed, maxTimeS, beginMs);
  return {
    config: planned,
    reviewed: (step, steps) => {
      const found = stepPlan.review(step, steps);
      if (!found) return undefined;
      const tokensPerSecond = found.stepsPerSecond * plan.tokensPerStep;
      onLog(
        `training at ${speedText(tokensPerSecond)}: ${found.steps} instead of ${steps} steps fill ${time}`,
      );
      return configOf(found.steps);
    },
  };
}
