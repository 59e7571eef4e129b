/**
 * `eval`: how well a model predicts held-out measurements, compared with methods without a model.
 *
 * @module
 */
import type { OptionsOf } from "../lib/cli/command.ts";
import { kebab } from "../lib/cli/options.ts";
import { didYouMean } from "../lib/base/text.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/base/errors.ts";
import { requireAdaptable } from "../lib/eval/sections/adapt_section.ts";
import { standardBaselines } from "../lib/eval/baselines/standard.ts";
import { EvalFolder } from "../lib/eval/eval_folder.ts";
import { splitModeOf } from "../lib/eval/eval_rows.ts";
import { evaluate } from "../lib/eval/evaluate.ts";
import { headlineLines } from "../lib/eval/page/headline.ts";
import type { EvalReport } from "../lib/eval/report.ts";
import { checkpointDirectory, loadCheckpoint } from "../lib/train/checkpoint.ts";
import { evaluateAllSplits, NO_ADAPT } from "./all_splits.ts";
import { checkInputs, requireProbeRows } from "./input_check.ts";
import { STAGES } from "./stages.ts";

/** Options that --all-splits sets itself. */
const OF_ONE_SPLIT = ["data", "train", "split", "history"] as const;
/** Options of the training. */
const OF_TRAINING = ["config", "set", "maxTime"] as const;
/** More context than a model's sequence holds, and more measurements of an address than a fit needs. */
const MAX_COUNT = 10_000;

/** The stage `eval`. */
export const evalStage: Stage = defineStage(STAGES.eval, async (options, context) => {
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
});

/** @throws {UsageError} If an option was not given. */
function required(value: string | undefined, option: string): string {
  if (value !== undefined) return value;
  throw new UsageError(`Cannot run: ${option} DIR is missing; add it, or give --all-splits PATH`);
}

type EvalOptions = OptionsOf<typeof STAGES.eval>;

/** Refuses options that exclude each other. @param context The other options, as text. */
function refuseOptions(options: EvalOptions, names: readonly (keyof EvalOptions)[], context: string): void {
  const isGiven = (name: keyof EvalOptions) =>
    JSON.stringify(options[name]) !== JSON.stringify(STAGES.eval.options[name].default);
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
