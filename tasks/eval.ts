/**
 * `eval`: how well a model predicts held-out measurements, compared with methods without a model.
 *
 * @module
 */
import { flag, geoFlag, kebab, type Values } from "../lib/cli/flags.ts";
import { didYouMean } from "../lib/base/text.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { requireAdaptable } from "../lib/eval/sections/adapt_section.ts";
import { standardBaselines } from "../lib/eval/baselines/standard.ts";
import { EvalFolder } from "../lib/eval/eval_folder.ts";
import { HISTORY_MODES, splitModeOf } from "../lib/eval/eval_rows.ts";
import { evaluate } from "../lib/eval/evaluate.ts";
import { headlineLines } from "../lib/eval/page/headline.ts";
import type { EvalReport } from "../lib/eval/report.ts";
import { checkpointDirectory, loadCheckpoint } from "../lib/train/checkpoint.ts";
import { DEFAULT_CONFIG, evaluateAllSplits, NO_ADAPT } from "./all_splits.ts";
import { checkInputs, requireProbeRows, verifyFlag } from "./input_check.ts";

/** Options that --all-splits sets itself. */
const OF_ONE_SPLIT = ["data", "train", "split", "history"] as const;
/** Options of the training. */
const OF_TRAINING = ["config", "set", "geo", "maxTime"] as const;
/** More context than a model's sequence holds, and more measurements of an address than a fit needs. */
const MAX_COUNT = 10_000;

const FLAGS = {
  checkpoint: flag.optionalText(
    "a run directory or one of its checkpoints; optional with --all-splits",
    { placeholder: "DIR" },
  ),
  data: flag.optionalText("folder of probe rows with the split to predict", { placeholder: "DIR" }),
  output: flag.requiredText("folder to write", { placeholder: "DIR" }),
  train: flag.optionalText(
    "folder of the probe rows whose train split the model and the baselines learn from (default: --data)",
    { placeholder: "DIR" },
  ),
  split: flag.choice(["test", "val"], "which split to predict", { default: "test" }),
  history: flag.choice(
    ["default", ...HISTORY_MODES],
    "earlier measurements that are available as context: all, or only those of the training (default: train if split by pair, destination, node)",
    { default: "default" },
  ),
  maxMeasurements: flag.integer("measurements to predict, drawn at random", { default: 2000, min: 1 }),
  contexts: flag.text("numbers of context measurements", {
    default: "0,1,2,5,10,20",
    placeholder: "N,N,…",
  }),
  everyContext: flag.boolean("predict each measurement with each number instead of one of them in rotation"),
  adapt: flag.optionalText(
    "if addresses were held out (destination, node, probe): also adapt the model to K measurements of each new\n" +
      "address and predict others; or none (default: none; with --all-splits 0,2,8,24)",
    { placeholder: "K,K,…" },
  ),
  baselines: flag.text("methods to compare with: all, none, or names such as `pair last seen,Vivaldi`", {
    default: "all",
    placeholder: "NAMES",
  }),
  allSplits: flag.texts(
    "instead of --data: measurements Parquet to split in several ways; trains one model and evaluates it on each split",
    { placeholder: "PATH" },
  ),
  splits: flag.optionalText(
    "what --all-splits holds out, in this order, in percent of the rows, sources, pairs, …\n" +
      "(default: probe=10,destination=10,pair=10,time=10; in a mesh pair=70 and perhaps time=10)",
    { placeholder: "MODE=X,…" },
  ),
  config: flag.optionalText(`preset or JSON file that --all-splits trains (default: ${DEFAULT_CONFIG})`, {
    placeholder: "NAME|FILE",
  }),
  geo: geoFlag,
  set: flag.texts("change one key of it; repeatable", { placeholder: "KEY=VALUE" }),
  maxTime: flag.optionalText("train at most as many steps as fit in this time, such as 30m or 2h", {
    placeholder: "TIME",
  }),
  verify: verifyFlag,
  overwrite: flag.boolean(
    "replace what this stage wrote to the output folder with other inputs or options",
  ),
};

/** The stage `eval`. */
export const evalStage: Stage = defineStage({
  name: "eval",
  purpose:
    "predicts held-out measurements with a model and with baselines; writes report.json and report.html",
  example: "--checkpoint runs/first --data data/rows --output runs/first/eval",
  flags: FLAGS,
  async run(options, context) {
    const contexts = countsOf("--contexts", options.contexts);
    const adapt = options.adapt === undefined || options.adapt === NO_ADAPT
      ? undefined
      : countsOf("--adapt", options.adapt);
    const baselines = baselinesOf(options.baselines);
    if (options.allSplits.length > 0) {
      refuseOptions(options, OF_ONE_SPLIT, "with --all-splits, which makes its splits itself");
      if (options.checkpoint !== undefined) refuseOptions(options, OF_TRAINING, "with --checkpoint");
      return await evaluateAllSplits({ ...options, evaluation: evaluationOf(options) }, context, evalStage);
    }
    refuseOptions(options, ["splits", ...OF_TRAINING], "without --all-splits");
    const dataDir = required(options.data, "--data");
    requireProbeRows(dataDir, "evaluate on");
    const evaluation = {
      // Resolved here, because a run in progress may publish a newer checkpoint.
      checkpoint: checkpointDirectory(required(options.checkpoint, "--checkpoint")),
      dataDir,
      trainDir: options.train,
      split: options.split,
      history: options.history === "default" ? undefined : options.history,
      maxMeasurements: options.maxMeasurements,
      contexts,
      isEveryContext: options.everyContext,
      baselines,
      seed: options.seed,
      adapt,
    };
    const checked = await checkInputs([dataDir, options.train ?? dataDir], options, context);
    if (adapt) requireAdaptable(loadCheckpoint(evaluation.checkpoint).config, splitModeOf(dataDir));
    using folder = EvalFolder.open(options.output, { ...evaluation, overwrite: options.overwrite });
    let report = folder.earlier();
    if (report) context.log(`${options.output} is complete: the same evaluation was made before`);
    else {
      using progress = new PhaseProgress(context, "done");
      report = await evaluate({ ...evaluation, checked }, {
        signal: context.signal,
        onProgress: progress.update,
      });
      await folder.write(report);
    }
    const places = { report: folder.jsonPath, page: folder.htmlPath };
    return { text: textOf(report, folder), json: { stage: "eval", ...places, ...report } };
  },
});

/** @throws {UsageError} If an option was not given. */
function required(value: string | undefined, option: string): string {
  if (value !== undefined) return value;
  throw new UsageError(`Cannot run: ${option} DIR is missing; add it, or give --all-splits PATH`);
}

type EvalOptions = Values<typeof FLAGS>;

/** Refuses options that exclude each other. @param context The other options, as text. */
function refuseOptions(options: EvalOptions, names: readonly (keyof EvalOptions)[], context: string): void {
  const isGiven = (name: keyof EvalOptions) =>
    JSON.stringify(options[name]) !== JSON.stringify(FLAGS[name].defaultValue);
  const given = names.find(isGiven);
  if (given) throw new UsageError(`Cannot use --${kebab(given)} ${context}; leave it out`);
}

/** The arguments of each evaluation of `--all-splits`. */
function evaluationOf({ maxMeasurements, contexts, everyContext, baselines }: EvalOptions): string[] {
  const args = [
    "--max-measurements",
    String(maxMeasurements),
    "--contexts",
    contexts,
    "--baselines",
    baselines,
  ];
  return everyContext ? [...args, "--every-context"] : args;
}

/** Ascending distinct numbers. @throws {UsageError} If it is not a list of counts. */
function countsOf(option: string, text: string): number[] {
  const counts = text.split(",").map((part) => /^\s*\d+\s*$/.test(part) ? Number(part) : NaN);
  if (counts.every((count) => count <= MAX_COUNT)) return [...new Set(counts)].sort((a, b) => a - b);
  throw new UsageError(
    `Cannot use ${option} ${text}: expected counts from 0 to ${MAX_COUNT} separated by commas`,
  );
}

/** Names of baselines. @throws {UsageError} If one is unknown. */
function baselinesOf(text: string): string[] {
  const known = [...standardBaselines(0).keys()];
  if (text === "all") return known;
  if (text === "none") return [];
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return known.filter((name) => names.includes(name));
  throw new UsageError(
    `Cannot use --baselines ${text}: ${unknown} is unknown${didYouMean(unknown, known)}`,
  );
}

function textOf(report: EvalReport, folder: EvalFolder): string {
  const { run } = report;
  return [
    `evaluated ${run.checkpoint}, step ${run.step}, on ${run.numMeasurements} measurements of ${run.data}`,
    ...headlineLines(report).map((line) => `  ${line}`),
    `  report  ${folder.htmlPath}`,
    `  data    ${folder.jsonPath}`,
  ].join("\n");
}

if (import.meta.main) serveStage(evalStage);
