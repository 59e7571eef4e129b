/**
 * `bench kernels`, `bench train`, `bench gpu` and `bench peers`: the speed of the program on an adapter.
 *
 * @module
 */
import { readEarlierRun } from "../lib/cli/bench/throughput.ts";
import { didYouMean, formatBytes, formatCount, formatTable } from "../lib/base/text.ts";
import { UserError } from "../lib/base/errors.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { type BenchRow, kernelCases, measureCase } from "../lib/cli/bench/kernel_bench.ts";
import { Gpu, type GpuInfo } from "../lib/tensor/device.ts";
import { describeProfile, PROFILE_NOTES } from "../lib/tensor/program.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { timeSteps } from "../lib/train/step_timing.ts";
import { describePlan, loadConfig, planRun } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/base/version.ts";
import {
  benchGpuCommand,
  benchKernelsCommand,
  benchPeersCommand,
  benchTrainCommand,
} from "./bench.command.ts";
import { join } from "@std/path";
import { isRight } from "../lib/cli/bench/gpu_checks.ts";
import type { DecodedQuery, TrainingRow } from "../lib/cli/bench/gpu_parts.ts";
import { describeQuick, type QuickPlan, quickSteps } from "../lib/cli/bench/gpu_quick.ts";
import { describeFinding, findingsOf, pageOfSurvey, peakOf } from "../lib/cli/bench/gpu_report.ts";
import { hasFault, runSteps, type StepEnd } from "../lib/cli/bench/gpu_steps.ts";
import {
  type AdapterRow,
  describeAdapter,
  SURVEY_SCALES,
  surveyRows,
  surveySteps,
} from "../lib/cli/bench/gpu_survey.ts";
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
  const plan = planRun(config);
  describePlan(plan).forEach((line) => context.log(line));
  using progress = context.progress("training", { unit: "micro-batches" });
  let done = 0;
  const onMicroBatch = () => progress.update(++done);
  const { stepsS, profile } = await timeSteps(plan, {
    seconds: options.seconds,
    profile: true,
    onMicroBatch,
  });
  const rates = stepsS.map((seconds) => plan.tokensPerStep / seconds).sort((a, b) => a - b);
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

const JSON_NAME = "gpu.json";
const PAGE_NAME = "gpu.html";
/** The number of orders in which the fields of a measurement can be written. */
const NUM_ORDERS = 24;
/** The most unmeasured steps listed in the notes; the page lists all. */
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
  const adapter = await readAdapter();
  const isSmall = options.scale === "small" || options.scale === "auto" && adapter.isSoftware;
  const scale = isSmall ? "small" : "full";
  const preset = options.config ?? (isSmall ? "demo" : "95m");
  const config = loadConfig(preset, options.set);
  const settings = { adapter: adapter.name, scale, config, maxS, ...(options.quick ? { quick: true } : {}) };
  using output = Output.openFolder(options.output, {
    stage: "bench gpu",
    inputs: [],
    options: settings,
    overwrite: options.overwrite,
  });
  // A repeated command measures again.
  if (output.isComplete) output.begin();
  context.log(`adapter: ${adapter.name}; scale ${scale}`);
  const quick = options.quick ? quickPlanOf(preset, options.set, isSmall) : undefined;
  const named = { config: preset, set: options.set };
  const steps = quick
    ? quickSteps(quick)
    : surveySteps({ scale: SURVEY_SCALES[scale], engine: options.engine, named, queries: QUERIES });
  const jsonOf = (ends: readonly StepEnd[]) => ({
    stage: "bench gpu",
    version: VERSION,
    ...settings,
    seconds: elapsedS(),
    steps: ends,
  });
  using progress = context.progress("measuring", { total: steps.length, unit: "steps" });
  const ends = await runSteps(steps, {
    signal: context.signal,
    leftS: () => maxS - elapsedS(),
    onStep: (index, name) => progress.update(index, name),
    onEnd(ends) {
      // Saved after each step, in case the machine is gone before the end.
      writeJsonAtomic(join(output.folder, JSON_NAME), jsonOf(ends));
      const { name, seconds, reason = "measured" } = ends[ends.length - 1];
      context.log(`${name}: ${reason}, ${seconds.toFixed(1)} s`);
    },
  });
  const exitCode = hasFault(ends) ? 1 : 0;
  if (quick) {
    await output.record(JSON_NAME);
    output.publish();
    return { text: describeQuick(ends, quick), json: jsonOf(ends), exitCode };
  }
  const { text, page, ...found } = await surveyOf(ends, { adapter, preset, isSmall });
  const json = { ...jsonOf(ends), adapter, ...found };
  writeJsonAtomic(join(output.folder, JSON_NAME), json);
  writeFileAtomic(join(output.folder, PAGE_NAME), page);
  for (const name of [JSON_NAME, PAGE_NAME]) await output.record(name);
  output.publish();
  return { text: `${text}\nThe numbers are in ${join(options.output, PAGE_NAME)}.`, json, exitCode };
});

async function readAdapter(): Promise<AdapterRow> {
  using gpu = await Gpu.open();
  return await describeAdapter(gpu);
}

function quickPlanOf(preset: string, set: readonly string[], isSmall: boolean): QuickPlan {
  const named = (config: string) => {
    const { microBatchSize } = loadConfig(config, set).train;
    return { config, set: [...set, `train.batchSize=${microBatchSize}`] };
  };
  return {
    isSoftware: isSmall,
    usual: named(preset),
    large: named(isSmall ? preset : "680m"),
    whole: { config: preset, set },
    queries: QUERIES,
  };
}

/** The rows, the advice and the page of a full survey. */
async function surveyOf(
  ends: readonly StepEnd[],
  { adapter, preset, isSmall }: { adapter: AdapterRow; preset: string; isSmall: boolean },
) {
  const rows = surveyRows(ends);
  const findings = findingsOf(rows, adapter, { MAX_ROWS, MAX_CONTINUATIONS });
  const steps = ends.map(({ name, seconds, reason }) => ({
    name,
    seconds,
    ...(reason !== undefined && { reason }),
  }));
  const unmeasured = steps.filter(({ reason }) => reason !== undefined);
  const peak = peakOf(rows.products);
  const notes = [
    ...(isSmall ? ["Small sizes only show that the survey works; they do not justify settings."] : []),
    `${rows.checks.filter((row) => !isRight(row)).length} of ${rows.checks.length} checks are wrong.`,
    `The fastest matrix product reaches ${peak.toPrecision(3)} GFLOP/s.`,
    ...rows.training.map((row) => describeTraining(preset, row, peak)),
    `${steps.length - unmeasured.length} of ${steps.length} steps were measured.`,
    ...unmeasured.slice(0, MAX_SHOWN).map(({ name, reason }) => `Not measured: ${name}: ${reason}`),
  ];
  const lines = findings.map(describeFinding);
  const page = await pageOfSurvey({ adapter, findings, rows, steps, notes });
  return { text: [...lines, "", ...notes].join("\n"), page, notes, findings, lines, ...rows, steps };
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
