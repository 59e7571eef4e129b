/**
 * `bench kernels`, `bench train`, `bench gpu` and `bench peers`: the speed of the program on an adapter.
 *
 * @module
 */
import { readEarlierRun } from "../lib/cli/bench/throughput.ts";
import { didYouMean, formatBytes, formatCount, formatTable } from "../lib/base/text.ts";
import { UserError } from "../lib/base/errors.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { type BenchRow, kernelCases, measureCase } from "../lib/cli/bench/kernel_bench.ts";
import { Gpu, type GpuInfo } from "../lib/tensor/device.ts";
import { describeProfile, PROFILE_NOTES } from "../lib/tensor/program.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { timeSteps } from "../lib/train/step_timing.ts";
import { deriveConfig, describeConfig, loadConfig } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/base/version.ts";
import {
  benchGpuCommand,
  benchKernelsCommand,
  benchPeersCommand,
  benchTrainCommand,
} from "./bench.command.ts";
import { join } from "@std/path";
import { isRight } from "../lib/cli/bench/gpu_checks.ts";
import { describeFinding, findingsOf, pageOfSurvey, peakOf } from "../lib/cli/bench/gpu_report.ts";
import {
  type DecodedQuery,
  describeAdapter,
  emptyRows,
  runSurvey,
  SURVEY_SCALES,
  SurveyDevice,
  surveySteps,
  type TrainingRow,
} from "../lib/cli/bench/gpu_survey.ts";
import {
  describeQuick,
  hasFault,
  type QuickEnd,
  type QuickPlan,
  quickSteps,
  runQuick,
} from "../lib/cli/bench/gpu_quick.ts";
import { parseDurationS } from "../lib/cli/options.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/io/files/atomic.ts";
import { Output } from "../lib/io/files/output.ts";
import { MAX_CONTINUATIONS, MAX_ROWS, PROMPT_TOKENS_PER_CONTINUATION } from "../lib/query/model_decoders.ts";
import { FIRST_BYTES } from "../lib/query/rtt/rtt_bytes.ts";
import {
  compareWith,
  describeComparisons,
  peersOn,
  type TrainingComparison,
} from "../lib/cli/bench/peers.ts";

export const kernelsStage = defineStage(benchKernelsCommand, async (options, context) => {
  const earlier = options.compare === undefined ? undefined : readEarlierRun(options.compare);
  using gpu = await Gpu.open();
  const all = kernelCases();
  const cases = all.filter(({ name }) => name.includes(options.only));
  if (cases.length === 0) {
    const names = [...new Set(all.map(({ name }) => name.split(" ")[0]))];
    throw new UserError(
      `Cannot time kernels: no name contains "${options.only}"${didYouMean(options.only, names)}`,
    );
  }
  context.log(`adapter: ${gpu.info.name}, subgroups of ${gpu.info.subgroupSize ?? "no fixed size"}`);
  const registry = new KernelRegistry(gpu);
  using progress = context.progress("timing", { total: cases.length, unit: "kernels" });
  const rows: BenchRow[] = [];
  for (const benchCase of cases) {
    context.signal.throwIfAborted();
    progress.update(rows.length, benchCase.name);
    rows.push(await measureCase(registry, benchCase, options));
  }
  return {
    text: describe(rows, earlier),
    json: { stage: "bench kernels", version: VERSION, adapter: gpu.info, seconds: options.seconds, rows },
  };
});

/** @param earlier Adds the medians of an earlier run and the ratios to them. */
function describe(rows: BenchRow[], earlier: Map<string, number> | undefined): string {
  const head = ["kernel", "median", "unit", "slowest", "fastest", "GB/s", "cores busy", "per core"];
  if (earlier) head.push("earlier", "speed-up");
  const lines = rows.map((row) => {
    const { name, unit, median } = row;
    const numbers = [row.slowest, row.fastest, row.gigabytesPerSecond].map(format);
    const cells = [name, format(median), unit, ...numbers, row.coresBusy.toFixed(1), format(row.perCore)];
    const before = earlier?.get(name);
    if (before !== undefined) {
      const ratio = unit === "GFLOP/s" ? median / before : before / median;
      cells.push(format(before), `${ratio.toFixed(2)} x`);
    }
    return cells;
  });
  return formatTable([head, ...lines], { left: [0, 2] });
}

const format = (value: number) => value.toPrecision(3);

export const trainStage = defineStage(benchTrainCommand, async (options, context) => {
  const config = loadConfig(options.config, options.set);
  describeConfig(config).forEach((line) => context.log(line));
  const { tokensPerStep } = deriveConfig(config);
  using progress = context.progress("training", { unit: "micro-batches" });
  let done = 0;
  const onMicroBatch = () => progress.update(++done);
  const { stepsS, profile } = await timeSteps(config, {
    seconds: options.seconds,
    profile: true,
    onMicroBatch,
  });
  const rates = stepsS.map((seconds) => tokensPerStep / seconds).sort((a, b) => a - b);
  const row = {
    name: `train ${options.config}`,
    unit: "tokens/s",
    median: rates[rates.length >> 1],
    slowest: rates[0],
    fastest: rates[rates.length - 1],
    steps: rates.length,
  };
  const range = `${format(row.slowest)} to ${format(row.fastest)}`;
  const text = [
    `${row.name}: median ${format(row.median)} tokens/s over ${row.steps} steps (${range})`,
    `one more step (${PROFILE_NOTES}):`,
    describeProfile(profile),
  ].join("\n");
  return { text, json: { stage: "bench train", version: VERSION, rows: [row], profile } };
});

// `bench gpu`: a survey that recommends values of constants for an adapter.

const JSON_NAME = "gpu.json";
const PAGE_NAME = "gpu.html";
/** The number of orders in which the fields of a measurement can be written. */
const NUM_ORDERS = 24;
/** The most unmeasured steps in the notes; the page lists all. */
const MAX_SHOWN = 5;

const QUERIES: readonly [DecodedQuery, DecodedQuery] = [
  { kind: "one step", promptTokens: 20, rowsPerPrompt: FIRST_BYTES.length, steps: 1 },
  {
    kind: "many steps",
    promptTokens: NUM_ORDERS * PROMPT_TOKENS_PER_CONTINUATION,
    rowsPerPrompt: NUM_ORDERS,
    steps: 16,
  },
];

export const gpuBench = defineStage(benchGpuCommand, async (options, context) => {
  const startMs = performance.now();
  const maxS = parseDurationS(options.maxTime ?? (options.quick ? "8m" : "20m"), "max-time");
  const elapsedS = () => (performance.now() - startMs) / 1000;
  using device = new SurveyDevice();
  const adapter = await describeAdapter((await device.registry()).gpu);
  const scale = options.scale === "auto" ? adapter.isSoftware ? "small" : "full" : options.scale;
  const preset = options.config ?? (scale === "full" ? "95m" : "demo");
  const config = loadConfig(preset, options.set);
  const settings = { adapter: adapter.name, scale, config, maxS, ...(options.quick ? { quick: true } : {}) };
  using output = Output.openFolder(options.output, {
    stage: "bench gpu",
    inputs: [],
    options: settings,
    overwrite: options.overwrite,
  });
  // Speeds are measured again each time.
  if (output.isComplete) output.begin();
  context.log(`adapter: ${adapter.name}; scale ${scale}`);
  if (options.quick) {
    // Each step has a device of its own.
    device[Symbol.dispose]();
    const named = (config: string) => {
      const { microBatchSize } = loadConfig(config, options.set).train;
      return { config, set: [...options.set, `train.batchSize=${microBatchSize}`] };
    };
    const plan: QuickPlan = {
      isSoftware: scale === "small",
      usual: named(preset),
      large: named(scale === "full" ? "680m" : preset),
      whole: { config: preset, set: options.set },
      queries: QUERIES,
    };
    return await surveyQuickly(plan, { context, output, settings, leftS: () => maxS - elapsedS() });
  }
  const rows = emptyRows();
  const plan = { scale: SURVEY_SCALES[scale], adapter, device, config, queries: QUERIES };
  const steps = surveySteps(plan, rows);
  using progress = context.progress("measuring", { total: steps.length, unit: "steps" });
  const ends = await runSurvey(steps, {
    device,
    signal: context.signal,
    isOver: () => elapsedS() > maxS,
    onStep: (index, name) => progress.update(index, name),
  });
  const findings = findingsOf(rows, adapter, { MAX_ROWS, MAX_CONTINUATIONS });
  const numWrong = rows.checks.filter((row) => !isRight(row)).length;
  const unmeasured = ends.filter(({ reason }) => reason !== undefined);
  const peak = peakOf(rows.products);
  const notes = scale === "small"
    ? ["Small sizes only show that the survey works; they do not justify settings."]
    : [];
  notes.push(`${numWrong} of ${rows.checks.length} checks are wrong.`);
  notes.push(`The best matrix product makes ${peak.toPrecision(3)} GFLOP/s.`);
  notes.push(...rows.training.map((row) => describeTraining(preset, row, peak)));
  const numMeasured = steps.length - unmeasured.length;
  notes.push(`${numMeasured} of ${steps.length} steps were measured, in ${elapsedS().toFixed(0)} s.`);
  for (const { name, reason } of unmeasured.slice(0, MAX_SHOWN)) {
    notes.push(`Not measured: ${name}: ${reason}`);
  }
  const json = {
    stage: "bench gpu",
    version: VERSION,
    ...settings,
    adapter,
    seconds: elapsedS(),
    notes,
    findings,
    lines: findings.map(describeFinding),
    ...rows,
    steps: ends,
  };
  writeJsonAtomic(join(output.folder, JSON_NAME), json);
  const page = await pageOfSurvey({ adapter, findings, rows, steps: ends, notes });
  writeFileAtomic(join(output.folder, PAGE_NAME), page);
  for (const name of [JSON_NAME, PAGE_NAME]) await output.record(name);
  output.publish();
  const where = `The numbers are in ${join(options.output, PAGE_NAME)}.`;
  return { text: [...json.lines, "", ...notes, where].join("\n"), json, exitCode: numWrong > 0 ? 1 : 0 };
});

async function surveyQuickly(plan: QuickPlan, { context, output, settings, leftS }: {
  context: StageContext;
  output: Output;
  settings: Record<string, unknown>;
  leftS: () => number;
}): Promise<StageResult> {
  const steps = quickSteps(plan);
  using progress = context.progress("measuring", { total: steps.length, unit: "steps" });
  const jsonOf = (ends: readonly QuickEnd[]) => ({
    stage: "bench gpu",
    version: VERSION,
    ...settings,
    steps: ends,
  });
  const ends = await runQuick(steps, {
    signal: context.signal,
    leftS,
    onStep: (index, name) => progress.update(index, name),
    onEnd(ends) {
      // What was measured is there even if the machine is gone before the end.
      writeJsonAtomic(join(output.folder, JSON_NAME), jsonOf(ends));
      const { name, seconds, reason = "measured" } = ends[ends.length - 1];
      context.log(`${name}: ${reason}, ${seconds.toFixed(1)} s`);
    },
  });
  await output.record(JSON_NAME);
  output.publish();
  return { text: describeQuick(ends, plan), json: jsonOf(ends), exitCode: hasFault(ends) ? 1 : 0 };
}

function describeTraining(preset: string, row: TrainingRow, peak: number): string {
  const tokens = `${formatCount(Math.round(row.tokensPerS))} tokens/s`;
  const share = peak > 0
    ? `, ${(100 * row.gigaflopsPerS / peak).toFixed(0)} % of the best product's rate`
    : "";
  const memory = `${formatBytes(row.plannedMemoryBytes)} of memory`;
  const start = `the first step is done after ${row.startS.toFixed(1)} s`;
  return `${preset} in ${row.dtype}: ${tokens}${share}, ${memory}; ${start}.`;
}

// `bench peers`: compares this program with jax-js on the same adapter and with PyTorch, in the same run.

const NO_JAX = "Not compared on a GPU: jax-js, which stores the weights of all pairs of attention.";

export const peersBench = defineStage(
  benchPeersCommand,
  async ({ config: preset, set, seconds }, { log, signal }) => {
    const config = loadConfig(preset, set);
    const adapter = await infoOfAdapter();
    log(`adapter: ${adapter.name}`);
    const comparisons: TrainingComparison[] = [];
    const missing = adapter.isSoftware ? [] : [NO_JAX];
    for (const [name, dtype] of peersOn(adapter)) {
      log(`training ${preset} in turns with ${name}`);
      try {
        const options = { config, seconds, isSoftware: adapter.isSoftware, signal };
        comparisons.push(await compareWith([name, dtype], options));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UserError)) throw error;
        missing.push(error.message);
        log(error.message);
      }
    }
    if (comparisons.length === 0) throw new UserError(missing.join("; "));
    const text = [...describeComparisons(comparisons), ...missing].join("\n");
    const json = { stage: "bench peers", version: VERSION, adapter, comparisons, missing };
    return { text, json };
  },
);

async function infoOfAdapter(): Promise<GpuInfo> {
  using gpu = await Gpu.open();
  return gpu.info;
}

if (import.meta.main) serveStage(kernelsStage, trainStage, gpuBench, peersBench);
