/**
 * `eval`: how well a model predicts held-out measurements, beside methods without a model.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { didYouMean } from "../lib/cli/nearest.ts";
import { PhaseProgress } from "../lib/cli/phase_progress.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/errors.ts";
import { standardBaselines } from "../lib/evaluate/baselines/standard.ts";
import { EvalFolder } from "../lib/evaluate/eval_folder.ts";
import { HISTORY_MODES } from "../lib/evaluate/eval_rows.ts";
import { evaluate } from "../lib/evaluate/evaluate.ts";
import { headlineLines } from "../lib/evaluate/page/headline.ts";
import type { EvalReport } from "../lib/evaluate/report.ts";
import { checkpointDirectory } from "../lib/train/checkpoint.ts";
import { checkInputs, verifyFlag } from "./input_check.ts";

/** More context than any model's sequence holds. */
const MAX_CONTEXT = 10_000;

/** The stage `eval`. */
export const evalStage = defineStage({
  name: "eval",
  purpose:
    "predicts held-out measurements with a model and with baselines; writes report.json and report.html",
  example: "--checkpoint runs/first --data data/rows --output runs/first/eval",
  flags: {
    checkpoint: flag.requiredText("a run directory or one of its checkpoints", { placeholder: "DIR" }),
    data: flag.requiredText("folder of probe rows with the split to predict", { placeholder: "DIR" }),
    output: flag.requiredText("folder to write", { placeholder: "DIR" }),
    train: flag.optionalText(
      "folder of the probe rows whose train the model was trained on and baselines learn from (default: --data)",
      { placeholder: "DIR" },
    ),
    split: flag.choice(["test", "val"], "which split to predict", { default: "test" }),
    history: flag.choice(
      ["default", ...HISTORY_MODES],
      "earlier measurements that may be known: all, or those of the training (default: train if split by pair, destination, node)",
      { default: "default" },
    ),
    maxMeasurements: flag.integer("measurements to predict, drawn at random", { default: 2000, min: 1 }),
    contexts: flag.text("numbers of context measurements", {
      default: "0,1,2,5,10,20",
      placeholder: "N,N,…",
    }),
    everyContext: flag.boolean("predict each measurement with each number, not with one of them in rotation"),
    baselines: flag.text("methods to compare with: all, none, or names such as `pair last seen,Vivaldi`", {
      default: "all",
      placeholder: "NAMES",
    }),
    encodings: flag.optionalText("encodings.json of bench encodings, to be shown too", {
      placeholder: "FILE",
    }),
    verify: verifyFlag,
    overwrite: flag.boolean(
      "replace what this stage wrote to the output folder with other inputs or options",
    ),
  },
  async run(options, context) {
    const evaluation = {
      // Settled here: a run that goes on makes others its latest.
      checkpoint: checkpointDirectory(options.checkpoint),
      dataDir: options.data,
      trainDir: options.train,
      split: options.split,
      history: options.history === "default" ? undefined : options.history,
      maxMeasurements: options.maxMeasurements,
      contexts: contextsOf(options.contexts),
      isEveryContext: options.everyContext,
      baselines: baselinesOf(options.baselines),
      seed: options.seed,
      encodings: options.encodings,
    };
    const checked = await checkInputs([options.data, options.train ?? options.data], options, context);
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
    return { text: describe(report, folder), json: summaryOf(report, folder) };
  },
});

/** Ascending numbers, each once. @throws {UsageError} If it is no list of counts. */
function contextsOf(text: string): number[] {
  const counts = text.split(",").map((part) => /^\s*\d+\s*$/.test(part) ? Number(part) : NaN);
  if (counts.every((count) => count <= MAX_CONTEXT)) return [...new Set(counts)].sort((a, b) => a - b);
  throw new UsageError(
    `Cannot use --contexts ${text}: counts from 0 to ${MAX_CONTEXT} separated by commas were wanted`,
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

function summaryOf(report: EvalReport, folder: EvalFolder): Record<string, unknown> {
  const { run, rtt, bits, ...sections } = report;
  return {
    stage: "eval",
    report: folder.jsonPath,
    page: folder.htmlPath,
    bitsPerMeasurement: bits?.withTimes.bitsPerMeasurement ?? null,
    bitsPerToken: bits?.withTimes.bitsPerToken ?? null,
    bitsByTokenType: Object.fromEntries(
      (bits?.withTimes.byTokenType ?? []).map(({ tokenType, meanBits }) => [tokenType, meanBits]),
    ),
    rtt: rtt?.model ?? null,
    likeliest: rtt?.likeliest ?? null,
    baselines: Object.fromEntries((rtt?.baselines ?? []).map(({ name, ...metrics }) => [name, metrics])),
    comparisons: rtt?.comparisons ?? [],
    ...sections,
    run,
  };
}

function describe(report: EvalReport, folder: EvalFolder): string {
  const { run } = report;
  return [
    `evaluated ${run.checkpoint}, step ${run.step}, on ${run.numMeasurements} measurements of ${run.data}`,
    ...headlineLines(report).map((line) => `  ${line}`),
    `  report  ${folder.htmlPath}`,
    `  data    ${folder.jsonPath}`,
  ].join("\n");
}

if (import.meta.main) serveStage(evalStage);
