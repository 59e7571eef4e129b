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
import { defineStage, serveStage, type Stage, type StageContext } from "../lib/cli/stage.ts";
import { ConfigError, ensure, FormatError, UserError } from "../lib/errors.ts";
import { answerExamples, type ExampleAnswer, type Truth } from "../lib/evaluate/example_queries.ts";
import {
  type MedianReport,
  type MedianReportErrors,
  reportBesideMedians,
} from "../lib/evaluate/median_report.ts";
import { unigramEntropyBits } from "../lib/evaluate/unigram.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/files/atomic.ts";
import { exists, listInputs, readText } from "../lib/files/inputs.ts";
import { refuseOverlap } from "../lib/files/output_guard.ts";
import { OutputLock } from "../lib/files/output_lock.ts";
import { WORK } from "../lib/files/array_task.ts";
import { validationBatches } from "../lib/loader/batches.ts";
import { openProbeRows } from "../lib/loader/row_source.ts";
import { ATLAS_EXTENSIONS } from "../lib/measurement/atlas_import.ts";
import { SyntheticTruth, truthPathBeside } from "../lib/measurement/synth/truth.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { timeSteps } from "../lib/train/calibration.ts";
import { deriveConfig, loadConfig, type RunConfig } from "../lib/train/config.ts";
import { importStage } from "./import.ts";
import { probeRowsStage } from "./probe_rows.ts";
import { shardStage } from "./shard.ts";
import { synthStage } from "./synth.ts";
import { trainStage } from "./train.ts";

const CONFIG = "demo";
const CALIBRATION_S = 4;
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
    const demo = openDemo(options);
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
    const steps = await chooseSteps(demo, options, context);
    const run = join(output, "train");
    const training = ["--data", rows, "--run", run, "--config", CONFIG, "--steps", String(steps), ...seeded];
    const trained = await step(context, trainStage, training).catch((error) => {
      // The run of the demo that this one replaces.
      if (!(error instanceof ConfigError && demo.replaces)) throw error;
      return step(context, trainStage, [...training, "--fresh"]);
    });
    if (trained["tokensPerSecond"] !== null) {
      demo.tokensPerSecond = trained["tokensPerSecond"] as number;
      writeJsonAtomic(statePath(output), demo);
    }
    using model = await PingModel.load(run);
    const config = loadConfig(CONFIG);
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

/** What the demo remembers between interrupted calls: its options, and the length it chose for the training. */
interface DemoState {
  options: { input: string[]; minutes: number; seed: number };
  steps?: number;
  tokensPerSecond?: number;
  /** Whether it replaces what a demo with other options wrote. */
  replaces?: boolean;
}

interface DemoOptions {
  output: string;
  input: string[];
  minutes: number;
  seed: number;
  overwrite: boolean;
}

function statePath(output: string): string {
  return join(output, "demo.json");
}

function readState(path: string): DemoState {
  try {
    return JSON.parse(readText(path));
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new FormatError("it is no state of a demo; choose another --output", { path, cause });
  }
}

/** Opens the folder: fresh, or that of the same demo, which then goes on. */
function openDemo({ output, input, minutes, seed, overwrite }: DemoOptions): DemoState {
  const state: DemoState = { options: { input, minutes, seed } };
  if (exists(statePath(output))) {
    const earlier = readState(statePath(output));
    if (JSON.stringify(earlier.options) === JSON.stringify(state.options)) return earlier;
    if (!overwrite) {
      throw new UserError(
        `Cannot use ${output}: a demo with other options wrote to it; choose another --output or add --overwrite`,
      );
    }
    state.replaces = true;
  } else if ([...Deno.readDirSync(output)].some(({ name }) => name !== WORK)) {
    throw new UserError(
      `Cannot use ${output}: it holds other files, an empty folder was wanted; choose another --output`,
    );
  }
  writeJsonAtomic(statePath(output), state);
  return state;
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

/** Runs a stage as a part of the demo, showing the command a user would type and its result. */
async function step(context: StageContext, stage: Stage, args: string[]): Promise<Record<string, unknown>> {
  context.log(`\n$ deno task ${stage.name} ${shorten(args)}`);
  const result = await stage.run(args, context);
  ensure("json" in result, `${stage.name} gave help instead of a result`);
  context.log(result.text);
  context.signal.throwIfAborted();
  return result.json;
}

function shorten(args: string[]): string {
  const text = args.join(" ");
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}

/** As many steps as fill the minutes at the measured speed; chosen once for a demo folder. */
async function chooseSteps(
  demo: DemoState,
  { output, minutes }: DemoOptions,
  context: StageContext,
): Promise<number> {
  if (demo.steps !== undefined) return demo.steps;
  context.log("\nmeasuring how fast this machine trains");
  const config = loadConfig(CONFIG);
  const { stepsS } = await timeSteps(config, { seconds: CALIBRATION_S });
  const stepS = stepsS.reduce((sum, seconds) => sum + seconds, 0) / stepsS.length;
  demo.tokensPerSecond = deriveConfig(config).tokensPerStep / stepS;
  demo.steps = Math.max(10, Math.round(minutes * 60 / stepS));
  writeJsonAtomic(statePath(output), demo);
  context.log(
    `${formatCount(Math.round(demo.tokensPerSecond))} tokens/s: ${demo.steps} steps fill ${minutes} min`,
  );
  return demo.steps;
}

async function evaluate(
  model: PingModel,
  rowsDir: string,
  { config, seed }: { config: RunConfig; seed: number },
  context: StageContext,
) {
  using progress = context.progress("evaluating", { total: NUM_HELD_OUT, unit: "held-out measurements" });
  using validation = await openProbeRows(rowsDir, "val");
  const batches = validationBatches(validation, {
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
