/**
 * `eval --all-splits`: measurements to nested splits, to one model, to an evaluation of each split and a page of all.
 * Each step is the stage of that name, called as a user would call it.
 *
 * @module
 */
import { join } from "@std/path";
import { parseDurationS } from "../lib/cli/duration.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import type { Stage, StageContext, StageResult } from "../lib/cli/stage.ts";
import { UserError } from "../lib/errors.ts";
import { ADAPTABLE_SPLITS, canAdapt, requireAdaptable } from "../lib/evaluate/adapt_section.ts";
import {
  adaptedOf,
  type AllSplitsReport,
  contextRows,
  type SplitCounts,
} from "../lib/evaluate/all_splits.ts";
import { allSplitsLines, allSplitsPage } from "../lib/evaluate/page/all_splits_page.ts";
import type { EvalReport } from "../lib/evaluate/report.ts";
import {
  type MeasurementSurvey,
  parseSplits,
  type PlannedSplit,
  ratiosOf,
  splitsFor,
  surveyMeasurements,
} from "../lib/evaluate/split_plan.ts";
import { WORK } from "../lib/files/array_task.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/files/atomic.ts";
import { fingerprint, listInputs, readText } from "../lib/files/inputs.ts";
import { refuseOverlap } from "../lib/files/output_guard.ts";
import { OutputLock } from "../lib/files/output_lock.ts";
import { requireQueryable } from "../lib/query/ping_model.ts";
import { checkpointDirectory, loadCheckpoint } from "../lib/train/checkpoint.ts";
import { readState } from "../lib/train/checkpoint_files.ts";
import { loadConfig, type RunConfig } from "../lib/train/run_config.ts";
import { dataFingerprint } from "../lib/train/run_data.ts";
import { type ChainFolder, chooseSteps, openChain, saveChain, step, trainStep } from "./chain.ts";
import { probeRowsStage } from "./probe_rows.ts";
import { shardStage } from "./shard.ts";

/** What is trained unless `--config` says otherwise. */
export const DEFAULT_CONFIG = "campaign";
/** The word of `--adapt` for nothing, and what is taken by default where addresses are held out. */
export const [NO_ADAPT, DEFAULT_ADAPT] = ["none", "0,2,8,24"];
/** Files of each split: few, since each is read whole by the next one. */
const SHARDS = ["--train-shards", "16", "--val-shards", "2", "--test-shards", "2"];

/** What `eval --all-splits` is told. */
export interface AllSplitsOptions {
  allSplits: string[];
  output: string;
  splits: string | undefined;
  checkpoint: string | undefined;
  config: string | undefined;
  set: string[];
  maxTime: string | undefined;
  seed: number;
  workers: number;
  verify: boolean;
  overwrite: boolean;
  adapt: string | undefined;
  /** The arguments of each evaluation on how it is made. */
  evaluation: string[];
}

/** A split with what it left and held out. */
interface MadeSplit extends PlannedSplit {
  /** Its probe rows. */
  rows: string;
  counts: SplitCounts;
}

/** A chain in progress. */
interface Chain {
  options: AllSplitsOptions;
  context: StageContext;
  folder: ChainFolder;
  state: ReturnType<typeof openChain>;
  /** Arguments of every stage. */
  common: string[];
}

/**
 * Does it all, or what is left of it.
 *
 * @param evalStage The stage that evaluates one split.
 */
export async function evaluateAllSplits(
  options: AllSplitsOptions,
  context: StageContext,
  evalStage: Stage,
): Promise<StageResult> {
  const { allSplits, output, seed } = options;
  const given = options.splits === undefined ? undefined : parseSplits(options.splits);
  const [config, set] = [options.config ?? DEFAULT_CONFIG, options.set];
  const wanted = loadConfig(config, set);
  const maxTimeS = options.maxTime === undefined ? undefined : parseDurationS(options.maxTime, "max-time");
  const checkpoint = options.checkpoint === undefined ? undefined : checkpointDirectory(options.checkpoint);
  const asked = checkpoint === undefined ? { directory: config, config: wanted } : loadCheckpoint(checkpoint);
  requireQueryable(asked);
  if (options.adapt !== undefined && options.adapt !== NO_ADAPT) requireAdaptable(asked.config);
  const inputs = listInputs(allSplits, { extensions: [".parquet"], wanted: "measurements Parquet" });
  refuseOverlap(output, inputs);
  using _lock = OutputLock.acquire(join(output, WORK), { output, stage: "eval" });
  const folder = { output, fileName: "all-splits.json", what: "an evaluation of all splits" };
  const chosen = { inputs: inputs.map((path) => fingerprint(path)), splits: options.splits ?? null };
  const trained = { config, set, maxTime: options.maxTime ?? null, checkpoint: checkpoint ?? null, seed };
  const state = openChain(folder, { ...chosen, ...trained }, options.overwrite);
  const common = ["--seed", String(seed), "--workers", String(options.workers)];
  const chain: Chain = { options, context, folder, state, common };
  const survey = await lookAt(inputs, context);
  const made = await makeSplits(chain, given ?? splitsFor(survey), survey);
  const { rows } = made[made.length - 1];
  const model = await modelFor(chain, { config: wanted, maxTimeS, rows, checkpoint });
  const adapt = adaptOf(chain, made, model);
  const details: EvalReport[] = [];
  const evaluated = made.filter(({ counts }) => counts.test > 0);
  for (const split of evaluated) {
    details.push(await evaluateSplit(chain, { split, rows, model, adapt }, evalStage));
  }
  const report = reportOf({ made, details, survey, measurements: allSplits });
  const [jsonPath, htmlPath] = [join(output, "report.json"), join(output, "report.html")];
  writeJsonAtomic(jsonPath, report);
  writeFileAtomic(htmlPath, await allSplitsPage(report, details));
  if (state.replaces) {
    // All is replaced: later calls refuse what differs.
    delete state.replaces;
    saveChain(folder, state);
  }
  return {
    text: [
      `evaluated ${report.run.checkpoint}, step ${report.run.step}, on ${
        evaluated.map(({ mode }) => mode).join(", ")
      }`,
      ...allSplitsLines(report).map((line) => `  ${line}`),
      `  report  ${htmlPath}`,
      `  data    ${jsonPath}`,
    ].join("\n"),
    json: { stage: "eval", report: jsonPath, page: htmlPath, ...report },
  };
}

async function lookAt(inputs: readonly string[], context: StageContext): Promise<MeasurementSurvey> {
  using progress = new PhaseProgress(context, "rows");
  return await surveyMeasurements(inputs, { signal: context.signal, onProgress: progress.update });
}

/** Holds out one split after the other, each from what the one before left. */
async function makeSplits(
  chain: Chain,
  splits: readonly PlannedSplit[],
  { groupBy }: MeasurementSurvey,
): Promise<MadeSplit[]> {
  const { options, context, common } = chain;
  const made: MadeSplit[] = [];
  let input = options.allSplits;
  for (const split of splits) {
    const shards = join(options.output, "shards", split.mode);
    const rows = join(options.output, "rows", split.mode);
    const how = ["--split-by", split.mode, "--ratios", ratiosOf(split).join(",")];
    const alike = ["--group-by", groupBy, ...common, ...verifying(options), ...replacing(chain)];
    const sharded = await step(context, shardStage, [
      ...["--input", ...input, "--output", shards],
      ...[...how, ...SHARDS, ...alike],
    ]);
    const counts = countsOf(sharded);
    if (counts.train === 0) {
      throw new UserError(
        `Cannot train: splitting by ${split.mode} left none of ${
          counts.val + counts.test
        } measurements, some were ` +
          "wanted; hold out less with --splits, or give more measurements",
      );
    }
    await step(context, probeRowsStage, ["--input", shards, "--output", rows, ...alike]);
    made.push({ ...split, rows, counts });
    input = [join(shards, "train")];
  }
  return made;
}

function countsOf(result: Record<string, unknown>): SplitCounts {
  const { train, val, test } = result["splits"] as Record<keyof SplitCounts, { rows: number }>;
  return { train: train.rows, val: val.rows, test: test.rows };
}

/** The model that is evaluated: trained now, or a given one that was trained on the same rows. */
async function modelFor(
  chain: Chain,
  { config, maxTimeS, rows, checkpoint }: {
    config: RunConfig;
    maxTimeS: number | undefined;
    rows: string;
    checkpoint: string | undefined;
  },
): Promise<string> {
  const { options, context, folder, state } = chain;
  if (checkpoint !== undefined) {
    await requireTrainedOn(rows, checkpoint);
    return checkpoint;
  }
  const run = join(options.output, "train");
  const settings = options.set.flatMap((each) => ["--set", each]);
  const training = ["--data", rows, "--run", run, "--config", options.config ?? DEFAULT_CONFIG, ...settings];
  if (maxTimeS !== undefined) {
    const fitting = await chooseSteps(config, maxTimeS, { folder, state, context });
    training.push("--steps", String(Math.min(config.train.steps, fitting)));
  }
  const seeded = ["--seed", String(options.seed), ...verifying(options)];
  await trainStep(context, [...training, ...seeded], isReplacing(chain));
  return run;
}

/** Refuses a model that may have learned from what the splits hold out. */
async function requireTrainedOn(rows: string, checkpoint: string): Promise<void> {
  const [found, wanted] = [readState(checkpoint).dataFingerprint, await dataFingerprint(rows)];
  if (found === wanted) return;
  throw new UserError(
    `Cannot evaluate ${checkpoint} on these splits: it was trained on data with fingerprint ${found}, that of ` +
      `${rows} is ${wanted}; leave out --checkpoint, or train a model on ${rows}`,
  );
}

/** What the model is adapted to on splits that hold out addresses; says where it is to be and cannot. */
function adaptOf({ options, context }: Chain, splits: readonly PlannedSplit[], model: string): string {
  const { adapt = canAdapt(loadCheckpoint(model).config) ? DEFAULT_ADAPT : NO_ADAPT } = options;
  const holdsOut = splits.some(({ mode }) => ADAPTABLE_SPLITS.includes(mode));
  if (holdsOut && adapt !== options.adapt && adapt === NO_ADAPT) {
    context.log("the model is not adapted to addresses never seen: it has no rows of addresses");
  } else if (!holdsOut && adapt === options.adapt && adapt !== NO_ADAPT) {
    context.log(`--adapt ${adapt} changes nothing: no split holds out addresses`);
  }
  return adapt;
}

async function evaluateSplit(
  { options, context, common, ...chain }: Chain,
  { split, rows, model, adapt }: { split: MadeSplit; rows: string; model: string; adapt: string },
  evalStage: Stage,
): Promise<EvalReport> {
  const output = join(options.output, folderOf(split));
  await step(context, evalStage, [
    ...["--checkpoint", model, "--data", split.rows, "--train", rows, "--output", output],
    ...(ADAPTABLE_SPLITS.includes(split.mode) ? ["--adapt", adapt] : []),
    ...[...options.evaluation, ...common, ...verifying(options)],
    ...replacing({ options, ...chain }),
  ]);
  return JSON.parse(readText(join(output, "report.json")));
}

function folderOf({ mode }: PlannedSplit): string {
  return `eval/${mode}`;
}

function verifying({ verify }: AllSplitsOptions): string[] {
  return verify ? ["--verify"] : [];
}

function isReplacing({ options, state }: Pick<Chain, "options" | "state">): boolean {
  return options.overwrite || (state.replaces ?? false);
}

function replacing(chain: Pick<Chain, "options" | "state">): string[] {
  return isReplacing(chain) ? ["--overwrite"] : [];
}

function reportOf(
  { made, details, survey, measurements }: {
    made: readonly MadeSplit[];
    details: readonly EvalReport[];
    survey: MeasurementSurvey;
    measurements: string[];
  },
): AllSplitsReport {
  const plain = ({ rows: _, ...split }: MadeSplit) => split;
  const [heldOut, empty] = [true, false].map((some) =>
    made.filter(({ counts }) => counts.test > 0 === some).map(plain)
  );
  if (details.length === 0) {
    throw new UserError(
      "Cannot evaluate: no split holds out a measurement; hold out more with --splits, or give more measurements",
    );
  }
  const { version, checkpoint, step, numParameters, seed, train, trainFingerprint } = details[0].run;
  return {
    run: {
      ...{ version, checkpoint, step, numParameters, seed, train, trainFingerprint },
      ...{ measurements, groupBy: survey.groupBy, numTraining: made[made.length - 1].counts.train },
    },
    splits: heldOut.map((split, i) => ({
      ...split,
      folder: folderOf(split),
      numPredicted: details[i].run.numMeasurements,
      ...{ rows: contextRows(details[i]), ...adaptedOf(details[i]) },
    })),
    empty,
  };
}
