/**
 * `eval`: measures how well a model predicts held-out measurements, compared with baselines. `--all-splits`
 * does this for several splits.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import type { OptionsOf } from "../lib/cli/command.ts";
import { kebab, parseDurationS } from "../lib/cli/options.ts";
import { didYouMean } from "../lib/base/text.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import {
  defineStage,
  serveStage,
  type Stage,
  type StageContext,
  type StageResult,
} from "../lib/cli/stage.ts";
import { UsageError, UserError } from "../lib/base/errors.ts";
import { ADAPTABLE_SPLITS, canAdapt, requireAdaptable } from "../lib/eval/sections/adapt_section.ts";
import { PLACE_BASELINES, standardBaselines } from "../lib/eval/baselines/standard.ts";
import { EvalFolder, evaluate } from "../lib/eval/evaluate.ts";
import { splitModeOf } from "../lib/eval/eval_rows.ts";
import { answersOf, summaryLines } from "../lib/eval/page/summary.ts";
import type { EvalReport } from "../lib/eval/report.ts";
import { checkpointDirectory, loadCheckpoint } from "../lib/train/checkpoint.ts";
import { checkInputs, requireProbeRows } from "./stage_files.ts";
import { evalCommand } from "./eval.command.ts";
import type { AllSplitsReport, SplitCounts } from "../lib/eval/all_splits.ts";
import { allSplitsLines, allSplitsPage } from "../lib/eval/page/all_splits_page.ts";
import {
  type MeasurementSurvey,
  parseSplits,
  type PlannedSplit,
  ratiosOf,
  splitsFor,
  surveyMeasurements,
} from "../lib/eval/split_plan.ts";
import { WORK } from "../lib/io/files/array_task.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/io/files/atomic.ts";
import { fingerprint, listInputs, readText } from "../lib/io/files/inputs.ts";
import { refuseOverlap } from "../lib/io/files/real_path.ts";
import { OutputLock } from "../lib/io/files/output_lock.ts";
import { requireQueryable } from "../lib/query/ping_model.ts";
import { readState } from "../lib/train/checkpoint_files.ts";
import { loadConfig, type RunConfig } from "../lib/train/run_config.ts";
import { dataFingerprint } from "../lib/train/run_data.ts";
import { CHAIN_DATA, type ChainFolder, finishChain, openChain, step, trainStep } from "./chain.ts";
import { probeRowsStage, shardStage } from "./split_stages.ts";

const NO_ADAPT = "none";
/** The default of `--adapt` if addresses are held out. */
const DEFAULT_ADAPT = "0,2,8,24";
/** The state of `--all-splits` in its output folder. */
export const ALL_SPLITS_FOLDER: Omit<ChainFolder, "output"> = {
  fileName: "all-splits.json",
  what: "an evaluation of all splits",
  trainOptions: ["config", "set", "geo", "maxTime", "checkpoint"],
};
/** Few files per split, because making the next split reads all of them. */
const SHARDS = ["--train-shards", "16", "--val-shards", "2", "--test-shards", "2"];
/** Options that --all-splits sets itself. */
const OF_ONE_SPLIT = ["data", "train", "split", "history"] as const;
const OF_TRAINING = ["config", "set", "maxTime"] as const;
/** More context than fits a sequence, and more measurements per address than a fit needs. */
const MAX_COUNT = 10_000;

export const evalStage: Stage = defineStage(evalCommand, async (options, context) => {
  const contexts = countsOf("--contexts", options.contexts);
  const adapt = options.adapt === undefined || options.adapt === NO_ADAPT
    ? undefined
    : countsOf("--adapt", options.adapt);
  const baselines = baselinesOf(options.baselines);
  if (options.allSplits.length > 0) {
    refuseOptions(options, OF_ONE_SPLIT, "with --all-splits, which makes its splits itself");
    if (options.checkpoint !== undefined) {
      refuseOptions(options, [...OF_TRAINING, "geo"], "with --checkpoint");
    }
    return await evaluateAllSplits(options, context);
  }
  refuseOptions(options, ["splits", ...OF_TRAINING], "without --all-splits");
  const dataDir = required(options.data, "--data");
  requireProbeRows(dataDir, "evaluate on");
  const evaluation = {
    // Resolved here, because a run in progress may publish a newer checkpoint.
    checkpoint: checkpointDirectory(required(options.checkpoint, "--checkpoint")),
    dataDir,
    trainDir: options.train.length > 0 ? options.train : undefined,
    split: options.split,
    history: options.history === "default" ? undefined : options.history,
    maxMeasurements: options.maxMeasurements,
    contexts,
    isEveryContext: options.everyContext,
    noPool: options.noPool || undefined,
    baselines,
    parts: options.parts,
    seed: options.seed,
    adapt,
    geo: options.geo.length > 0 ? options.geo : undefined,
  };
  const checked = await checkInputs([dataDir, ...options.train], options, context);
  const { config } = loadCheckpoint(evaluation.checkpoint, { onNote: context.log });
  if (adapt) requireAdaptable(config, splitModeOf(dataDir));
  requirePlaces(options, config);
  const { output, plots, overwrite } = options;
  using folder = EvalFolder.open(output, { ...evaluation, overwrite, plots });
  let report = folder.earlier();
  if (report) context.log(`${output} is complete: the same evaluation was made before`);
  else {
    using progress = new PhaseProgress(context, "done");
    report = await evaluate({ ...evaluation, checked }, {
      signal: context.signal,
      onProgress: progress.update,
      numThreads: options.workers,
    });
    await folder.write(report);
  }
  await folder.writePlots(report);
  const places = { report: folder.jsonPath, page: folder.htmlPath, ...(plots !== undefined && { plots }) };
  const text = textOf(report, folder) + (plots === undefined ? "" : `\n  plots   ${plots}`);
  return { text, json: { stage: "eval", ...places, ...report } };
});

function required(value: string | undefined, option: string): string {
  if (value !== undefined) return value;
  throw new UsageError(`Cannot run: ${option} DIR is missing; add it, or give --all-splits PATH`);
}

type EvalOptions = OptionsOf<typeof evalCommand>;

/** Rejects options that exclude others. @param context What they cannot be combined with. */
function refuseOptions(options: EvalOptions, names: readonly (keyof EvalOptions)[], context: string): void {
  const isGiven = (name: keyof EvalOptions) =>
    JSON.stringify(options[name]) !== JSON.stringify(evalCommand.options[name].default);
  const given = names.find(isGiven);
  if (given) throw new UsageError(`Cannot use --${kebab(given)} ${context}; leave it out`);
}

function evaluationOf(
  { maxMeasurements, contexts, everyContext, noPool, baselines, parts, engine }: EvalOptions,
): string[] {
  const args = [
    ...["--engine", engine, "--max-measurements", String(maxMeasurements), "--contexts", contexts],
    ...["--baselines", baselines, "--parts", String(parts)],
  ];
  return [...args, ...(everyContext ? ["--every-context"] : []), ...(noPool ? ["--no-pool"] : [])];
}

/** Parses counts. @returns Ascending distinct numbers. @throws {UsageError} If the text is malformed. */
function countsOf(option: string, text: string): number[] {
  const counts = text.split(",").map((part) => /^\s*\d+\s*$/.test(part) ? Number(part) : NaN);
  if (counts.every((count) => count <= MAX_COUNT)) return [...new Set(counts)].sort((a, b) => a - b);
  throw new UsageError(
    `Cannot use ${option} ${text}: expected counts from 0 to ${MAX_COUNT} separated by commas`,
  );
}

function baselinesOf(text: string): string[] {
  const known = [...standardBaselines(0).keys(), ...PLACE_BASELINES];
  if (text === "all") return known;
  if (text === "none") return [];
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return known.filter((name) => names.includes(name));
  throw new UsageError(`Cannot use --baselines ${text}: ${unknown} is unknown${didYouMean(unknown, known)}`);
}

/** @throws {UsageError} If a baseline that needs places was named, and nothing has places. */
function requirePlaces({ baselines, geo }: EvalOptions, { model }: Pick<RunConfig, "model">): void {
  const named = PLACE_BASELINES.find((name) => baselinesOf(baselines).includes(name));
  if (baselines === "all" || named === undefined || geo.length > 0 || model.places) return;
  throw new UsageError(
    `Cannot use --baselines ${named}: the model has no places, expected one trained with --geo; add --geo FILES, or ` +
      "leave it out",
  );
}

function textOf(report: EvalReport, folder: EvalFolder): string {
  const { run } = report;
  return [
    `evaluated ${run.checkpoint}, step ${run.step}, on ${run.numMeasurements} measurements of ${run.data}`,
    ...summaryLines(report).map((line) => `  ${line}`),
    `  report  ${folder.htmlPath}`,
    `  data    ${folder.jsonPath}`,
  ].join("\n");
}

interface MadeSplit extends PlannedSplit {
  rows: string;
  counts: SplitCounts;
}

interface Chain {
  options: EvalOptions;
  context: StageContext;
  folder: ChainFolder;
  state: ReturnType<typeof openChain>;
  /** Whether to replace results with other options. */
  isReplacing: boolean;
  /** `--seed` and possibly `--verify`, which every stage takes. */
  common: string[];
  /** Also `--workers` and possibly `--overwrite`, which all stages except train take. */
  shared: string[];
}

/**
 * `--all-splits`: makes nested splits, trains one model, evaluates it on each split and writes a summary
 * page, or completes an earlier run. Each step runs a stage as a user would.
 */
async function evaluateAllSplits(options: EvalOptions, context: StageContext): Promise<StageResult> {
  const { allSplits, output, plots, maxTime, adapt } = options;
  const given = options.splits === undefined ? undefined : parseSplits(options.splits);
  const config = loadConfig(options.config, options.set);
  if (maxTime !== undefined) parseDurationS(maxTime, "max-time");
  const checkpoint = options.checkpoint === undefined ? undefined : checkpointDirectory(options.checkpoint);
  const asked = checkpoint === undefined ? { directory: options.config, config } : loadCheckpoint(checkpoint);
  requireQueryable(asked);
  if (adapt !== undefined && adapt !== NO_ADAPT) requireAdaptable(asked.config);
  requirePlaces(options, asked.config);
  const inputs = listInputs(allSplits, { extensions: [".parquet"], wanted: "measurements Parquet" });
  // A demo made those in its folder of data, which no other step writes to.
  refuseOverlap(output, inputs.filter((path) => dirname(path) !== join(output, CHAIN_DATA)));
  if (plots !== undefined) {
    refuseOverlap(plots, inputs);
    refuseOverlap(plots, [output], "output");
  }
  using _lock = OutputLock.acquire(join(output, WORK), { output, stage: "eval" });
  const chain = openChainOf(inputs, { ...options, checkpoint }, context);
  const survey = await lookAt(inputs, context);
  const made = await makeSplits(chain, given ?? splitsFor(survey), survey.groupBy);
  const { rows } = made[made.length - 1];
  let model = checkpoint;
  if (model !== undefined) await requireTrainedOn(rows, model);
  else model = await trainModel(chain, made);
  const adaptTo = adaptOf(chain, made, model);
  const evaluated = made.filter(({ counts }) => counts.test > 0);
  const details: EvalReport[] = [];
  for (const split of evaluated) {
    const place = join(output, folderOf(split));
    const args = ["--checkpoint", model, "--data", split.rows, "--train", rows, "--output", place];
    if (plots !== undefined) args.push("--plots", join(plots, split.mode));
    if (ADAPTABLE_SPLITS.includes(split.mode)) args.push("--adapt", adaptTo);
    await step(context, evalStage, [...args, ...evaluationOf(options), ...chain.shared]);
    details.push(JSON.parse(readText(join(place, "report.json"))));
  }
  return await writeReport(
    chain,
    reportOf({ made, details, groupBy: survey.groupBy, measurements: allSplits }),
    details,
  );
}

async function writeReport(
  { options: { output }, folder, state }: Chain,
  report: AllSplitsReport,
  details: readonly EvalReport[],
): Promise<StageResult> {
  const jsonPath = join(output, "report.json");
  const htmlPath = join(output, "report.html");
  writeJsonAtomic(jsonPath, report);
  writeFileAtomic(htmlPath, await allSplitsPage(report, details));
  finishChain(folder, state);
  const { run, splits } = report;
  const lines = [
    `evaluated ${run.checkpoint}, step ${run.step}, on ${splits.map(({ mode }) => mode).join(", ")}`,
    ...allSplitsLines(report, details).map((line) => `  ${line}`),
    `  report  ${htmlPath}`,
    `  data    ${jsonPath}`,
  ];
  return { text: lines.join("\n"), json: { stage: "eval", report: jsonPath, page: htmlPath, ...report } };
}

function openChainOf(inputs: readonly string[], options: EvalOptions, context: StageContext): Chain {
  const { output, splits = null, config, set, geo, maxTime = null, checkpoint = null, seed, workers } =
    options;
  const folder = { output, ...ALL_SPLITS_FOLDER };
  const files = inputs.map((path) => fingerprint(path));
  const dependsOn = {
    inputs: files,
    splits,
    config,
    set,
    maxTime,
    checkpoint,
    seed,
    geo,
  };
  const state = openChain(folder, dependsOn, options.overwrite);
  const isReplacing = options.overwrite || (state.replaces ?? false);
  const common = ["--seed", String(seed)];
  if (options.verify) common.push("--verify");
  const shared = [...common, "--workers", String(workers)];
  if (isReplacing) shared.push("--overwrite");
  return { options, context, folder, state, isReplacing, common, shared };
}

async function lookAt(inputs: readonly string[], context: StageContext): Promise<MeasurementSurvey> {
  using progress = new PhaseProgress(context, "rows");
  return await surveyMeasurements(inputs, { signal: context.signal, onProgress: progress.update });
}

/** Holds out one split after the other, each from the measurements that the previous splits left. */
async function makeSplits(
  { options, context, shared }: Chain,
  splits: readonly PlannedSplit[],
  groupBy: string,
): Promise<MadeSplit[]> {
  const made: MadeSplit[] = [];
  let input = options.allSplits;
  for (const split of splits) {
    const shards = join(options.output, "shards", split.mode);
    const rows = join(options.output, "rows", split.mode);
    const how = ["--split-by", split.mode, "--ratios", ratiosOf(split).join(","), ...SHARDS];
    const alike = ["--group-by", groupBy, ...shared];
    const sharded = await step(context, shardStage, [
      "--output",
      shards,
      ...how,
      ...alike,
      "--input",
      ...input,
    ]);
    const { train, val, test } = sharded["splits"] as Record<keyof SplitCounts, { rows: number }>;
    const counts = { train: train.rows, val: val.rows, test: test.rows };
    if (counts.train === 0) {
      throw new UserError(
        `Cannot train: splitting by ${split.mode} left none of ${
          counts.val + counts.test
        } measurements for training, ` +
          "expected at least one; hold out less with --splits, or give more measurements",
      );
    }
    await step(context, probeRowsStage, ["--input", shards, "--output", rows, ...alike]);
    made.push({ ...split, rows, counts });
    input = [join(shards, "train")];
  }
  return made;
}

async function trainModel(chain: Chain, made: readonly MadeSplit[]): Promise<string> {
  const { options, context, common } = chain;
  const { rows } = made[made.length - 1];
  const run = join(options.output, "train");
  const { engine } = options;
  const training = ["--data", rows, "--run", run, "--config", options.config, "--engine", engine, ...common];
  // Each split leaves its validation measurements out of the training.
  if (made.length > 1) training.push("--pool-data", ...made.slice(0, -1).map((split) => split.rows));
  for (const each of options.set) training.push("--set", each);
  if (options.geo.length > 0) training.push("--geo", ...options.geo);
  if (options.maxTime !== undefined) training.push("--max-time", options.maxTime);
  await trainStep(context, training, chain);
  return run;
}

/** Rejects a model whose training data may contain held-out measurements. */
async function requireTrainedOn(rows: string, checkpoint: string): Promise<void> {
  const found = readState(checkpoint).dataFingerprint;
  const wanted = await dataFingerprint(rows);
  if (found === wanted) return;
  throw new UserError(
    `Cannot evaluate ${checkpoint} on these splits: it was trained on data with fingerprint ${found}, but ` +
      `${rows} has ${wanted}; leave out --checkpoint, or train a model on ${rows}`,
  );
}

/** The `--adapt` for splits that hold out addresses; logs if there is nothing to adapt. */
function adaptOf({ options, context }: Chain, splits: readonly PlannedSplit[], model: string): string {
  const { adapt } = options;
  const holdsOut = splits.some(({ mode }) => ADAPTABLE_SPLITS.includes(mode));
  if (adapt !== undefined) {
    if (!holdsOut && adapt !== NO_ADAPT) {
      context.log(`--adapt ${adapt} changes nothing: no split holds out addresses`);
    }
    return adapt;
  }
  if (canAdapt(loadCheckpoint(model).config)) return DEFAULT_ADAPT;
  if (holdsOut) context.log("the model is not adapted to new addresses: it has no address embeddings");
  return NO_ADAPT;
}

function folderOf({ mode }: PlannedSplit): string {
  return `eval/${mode}`;
}

function reportOf({ made, details, groupBy, measurements }: {
  made: readonly MadeSplit[];
  details: readonly EvalReport[];
  groupBy: string;
  measurements: string[];
}): AllSplitsReport {
  if (details.length === 0) {
    throw new UserError(
      "Cannot evaluate: no split holds out a measurement; hold out more with --splits, or give more measurements",
    );
  }
  const splitsWhere = (hasTest: boolean) =>
    made.filter(({ counts }) => counts.test > 0 === hasTest).map(({ rows: _, ...split }) => split);
  const { version, checkpoint, step, numParameters, seed, train, trainFingerprint } = details[0].run;
  const numTraining = made[made.length - 1].counts.train;
  const model = { version, checkpoint, step, numParameters, seed, train, trainFingerprint };
  return {
    run: { ...model, measurements, groupBy, numTraining },
    splits: splitsWhere(true).map((split, i) => ({
      ...split,
      folder: folderOf(split),
      answers: answersOf(details[i]),
    })),
    empty: splitsWhere(false),
  };
}

if (import.meta.main) serveStage(evalStage);
