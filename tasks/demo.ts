/**
 * `demo`: the whole chain, small, end to end: measurements -> shard -> probe-rows -> train -> evaluation ->
 * three queries. Each step is the stage of that name, called as a user would call it.
 *
 * @module
 */
import { join } from "@std/path";
import { flag } from "../lib/cli/flags.ts";
import { formatMs } from "../lib/cli/histogram.ts";
import { formatCount, formatSeconds } from "../lib/cli/progress.ts";
import { defineStage, serveStage, type StageContext } from "../lib/cli/stage.ts";
import { UserError } from "../lib/errors.ts";
import { answerExamples, type ExampleAnswer, type Truth } from "../lib/evaluate/example_queries.ts";
import {
  type MedianReport,
  type MedianReportErrors,
  reportBesideMedians,
} from "../lib/evaluate/median_report.ts";
import { unigramEntropyBits } from "../lib/evaluate/unigram.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/files/atomic.ts";
import { listInputs } from "../lib/files/inputs.ts";
import { refuseOverlap } from "../lib/files/output_guard.ts";
import { OutputLock } from "../lib/files/output_lock.ts";
import { WORK } from "../lib/files/array_task.ts";
import { validationBatches } from "../lib/loader/batches.ts";
import { openProbeRows } from "../lib/loader/row_source.ts";
import { ATLAS_EXTENSIONS } from "../lib/measurement/atlas_import.ts";
import { SyntheticTruth, truthPathBeside } from "../lib/measurement/synth/truth.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { loadConfig, type RunConfig } from "../lib/train/config.ts";
import { chooseSteps, openChain, saveChain, step, trainStep } from "./chain.ts";
import { importStage } from "./import.ts";
import { probeRowsStage } from "./probe_rows.ts";
import { shardStage } from "./shard.ts";
import { synthStage } from "./synth.ts";

const CONFIG = "demo";
const NUM_HELD_OUT = 500;
const NUM_EXAMPLES = 3;
/** About as many earlier measurements as the demo model has room for. */
const MAX_CONTEXT = 20;

/** The synthetic Internet of the demo: small enough to be learned in minutes on two cores. */
const SYNTH = ["--rows", "40000", "--probes", "40", "--destinations", "24", "--ipv6-share", "0.25"];
const SHARDS = ["--train-shards", "4", "--val-shards", "1", "--test-shards", "1"];

/** The `demo` stage. */
export const demoStage = defineStage({
  name: "demo",
  purpose: "runs the whole chain, small, on a synthetic Internet or on --input, and reports what was learned",
  example: "--input results/*.json.gz --output runs/mine",
  flags: {
    output: flag.text("folder of everything it writes", { default: "runs/demo", placeholder: "DIR" }),
    input: flag.texts("RIPE Atlas results or measurements Parquet (default: a synthetic Internet)", {
      placeholder: "P",
    }),
    minutes: flag.number("how long to train, in minutes", { default: 3, min: 0.05, max: 100_000 }),
    overwrite: flag.boolean("replace what an earlier demo with other options wrote"),
  },
  async run(options, context) {
    const startMs = performance.now();
    const { output, seed } = options;
    const inputs = listDemoInputs(options.input);
    refuseOverlap(output, inputs);
    using _lock = OutputLock.acquire(join(output, WORK), { output, stage: "demo" });
    const folder = { output, fileName: "demo.json", what: "a demo" };
    const { input, minutes } = options;
    const demo = openChain(folder, { input, minutes, seed }, options.overwrite);
    const replacing = demo.replaces ? ["--overwrite"] : [];
    const measurements = await makeMeasurements(options, { inputs, replacing, context });
    const rows = join(output, "rows");
    const shards = join(output, "shards");
    const seeded = ["--seed", String(seed)];
    await step(context, shardStage, [
      "--input",
      ...measurements,
      "--output",
      shards,
      "--split-by",
      "row",
      ...SHARDS,
      ...seeded,
      ...replacing,
    ]);
    await step(context, probeRowsStage, ["--input", shards, "--output", rows, ...seeded, ...replacing]);
    const config = loadConfig(CONFIG);
    const steps = await chooseSteps(config, 60 * minutes, { folder, state: demo, context });
    const run = join(output, "train");
    const training = ["--data", rows, "--run", run, "--config", CONFIG, "--steps", String(steps), ...seeded];
    const trained = await trainStep(context, training, demo.replaces ?? false);
    if (trained["tokensPerSecond"] !== null) {
      demo.tokensPerSecond = trained["tokensPerSecond"] as number;
      saveChain(folder, demo);
    }
    using model = await PingModel.load(run);
    const evaluation = await evaluate(model, rows, { config, seed }, context);
    const truth = options.input.length === 0
      ? SyntheticTruth.load(truthPathBeside(measurements[0]))
      : undefined;
    const examples = await answerExamples(model, evaluation.cases, {
      ...{ count: NUM_EXAMPLES, maxContext: MAX_CONTEXT },
      truth: truth && truthOf(truth),
    });
    const result: DemoResult = {
      stage: "demo",
      report: join(output, "report.json"),
      evalLoss: trained["evalLoss"] as number,
      evalBitsPerToken: trained["evalLoss"] as number / Math.LN2,
      unigramBitsPerToken: evaluation.unigramBits,
      tokensPerSecond: demo.tokensPerSecond ?? null,
      steps,
      baselines: evaluation.report,
      examples,
      seconds: (performance.now() - startMs) / 1000,
    };
    const text = describe(result, options);
    writeJsonAtomic(result.report, result);
    writeFileAtomic(join(output, "report.md"), text + "\n");
    return { text, json: { ...result } };
  },
});

interface DemoResult {
  stage: "demo";
  report: string;
  /** Nats per token. */
  evalLoss: number;
  evalBitsPerToken: number;
  unigramBitsPerToken: number;
  tokensPerSecond: number | null;
  steps: number;
  baselines: MedianReport;
  examples: ExampleAnswer[];
  seconds: number;
}

interface DemoOptions {
  output: string;
  input: string[];
  minutes: number;
  seed: number;
  overwrite: boolean;
}

/** The files of `--input`, all Parquet or none. */
function listDemoInputs(input: readonly string[]): string[] {
  if (input.length === 0) return [];
  const files = listInputs(input, {
    extensions: [".parquet", ...ATLAS_EXTENSIONS],
    wanted: "measurements Parquet or RIPE Atlas results",
  });
  const numParquet = files.filter((file) => file.endsWith(".parquet")).length;
  if (numParquet === 0 || numParquet === files.length) return files;
  throw new UserError(
    `Cannot use --input: found ${numParquet} Parquet files among ${files.length}, one kind was wanted; give either kind`,
  );
}

/** The Parquet files to learn from: made, imported, or those given. */
async function makeMeasurements(
  { output, input, seed }: DemoOptions,
  { inputs, replacing, context }: { inputs: string[]; replacing: string[]; context: StageContext },
): Promise<string[]> {
  if (inputs.some((file) => file.endsWith(".parquet"))) return input;
  // Two names, since no stage replaces what another one wrote.
  const [parquet, stage, args] = input.length === 0
    ? [join(output, "measurements.parquet"), synthStage, [...SYNTH, "--seed", String(seed)]]
    : [join(output, "imported.parquet"), importStage, ["--input", ...input]];
  await step(context, stage, [...args, "--output", parquet, ...replacing]);
  return [parquet];
}

async function evaluate(
  model: PingModel,
  rowsDir: string,
  { config, seed }: { config: RunConfig; seed: number },
  context: StageContext,
) {
  using progress = context.progress("evaluating", { total: NUM_HELD_OUT, unit: "held-out measurements" });
  using validation = await openProbeRows(rowsDir, "val");
  const batches = await validationBatches(validation, {
    sequenceLength: config.model.sequenceLength,
    numSequences: config.train.evalSequences,
    batchSize: config.train.microBatchSize,
    sampling: config.data,
  });
  const evaluation = await reportBesideMedians(model, rowsDir, {
    count: NUM_HELD_OUT,
    maxContext: MAX_CONTEXT,
    seed,
    onProgress: (done) => progress.update(done),
    signal: context.signal,
  });
  return { ...evaluation, unigramBits: unigramEntropyBits(batches) };
}

function truthOf(truth: SyntheticTruth): Truth {
  return ({ srcAddr, dstAddr, timeS }, q) => truth.rttQuantile(srcAddr, dstAddr, timeS, q);
}

function describe(result: DemoResult, { output, input }: DemoOptions): string {
  const { baselines, examples } = result;
  const ms = (value: number | null, width: number) =>
    (value === null ? "-" : formatMs(value)).padStart(width);
  const row = (name: string, { medianAbsoluteMs, meanAbsoluteMs, p90Relative }: MedianReportErrors) =>
    `  ${name.padEnd(22)}${ms(medianAbsoluteMs, 8)} ms${ms(meanAbsoluteMs, 9)} ms` +
    `${(100 * (p90Relative ?? NaN)).toFixed(1).padStart(9)} %`;
  const known = input.length === 0 ? "true" : "measured";
  return [
    `Learned ${input.length === 0 ? "a synthetic Internet" : input.join(" ")} in ${
      formatSeconds(result.seconds)
    }` +
    ` (${result.steps} steps${
      result.tokensPerSecond ? `, ${formatCount(Math.round(result.tokensPerSecond))} tokens/s` : ""
    })`,
    "",
    `Validation loss ${result.evalBitsPerToken.toFixed(3)} bits per token; the tokens' unigram entropy is ` +
    `${result.unigramBitsPerToken.toFixed(3)}`,
    "",
    `RTT of ${baselines.numMeasurements} held-out measurements, error of the predicted median:`,
    `  ${"".padEnd(22)}${"median".padStart(11)}${"mean".padStart(12)}${"p90 rel.".padStart(11)}`,
    row("model", baselines.model),
    row("per-pair median", baselines.pairMedian),
    row("per-source median", baselines.sourceMedian),
    row("global median", baselines.globalMedian),
    "",
    ...examples.flatMap((example) => [
      `RTT ${example.src} -> ${example.dst}`,
      `  quantile   ${example.quantiles.map((q) => `${q * 100} %`.padStart(9)).join("")}`,
      `  predicted  ${example.predictedMs.map((ms) => formatMs(ms).padStart(9)).join("")} ms`,
      `  ${known.padEnd(9)}  ${example.knownMs.map((ms) => formatMs(ms).padStart(9)).join("")} ms`,
    ]),
    "",
    `Ask it yourself: deno task query rtt --checkpoint ${join(output, "train")} --src ${
      examples[0]?.src
    } --dst ${examples[0]?.dst}`,
    `Report: ${result.report}`,
  ].join("\n");
}

if (import.meta.main) serveStage(demoStage);
