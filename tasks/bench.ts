/**
 * `bench`: the speed of the program on this machine. `bench kernels`, `bench train`, `bench gpu` and `bench peers`
 * measure its adapter, `bench preprocess` and `bench loader` its processor.
 *
 * @module
 */
import { readEarlierRun } from "../lib/cli/bench/throughput.ts";
import { didYouMean, formatTable } from "../lib/base/text.ts";
import { UserError } from "../lib/base/errors.ts";
import { defineStage, serveStage } from "../lib/cli/stage.ts";
import { type BenchRow, measureCase } from "../lib/cli/bench/kernel_times.ts";
import { kernelCases } from "../lib/cli/bench/kernel_cases.ts";
import { Gpu } from "../lib/tensor/device.ts";
import { describeProfile, PROFILE_NOTES } from "../lib/tensor/program.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { timeSteps } from "../lib/train/step_timing.ts";
import { deriveConfig, describeConfig, loadConfig } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/base/version.ts";
import { STAGES } from "./stages.ts";

const kernelsStage = defineStage(STAGES.bench.kinds.kernels, async (options, context) => {
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

/** A table of the kernels; with an earlier run, also its medians and the ratios to them. */
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

const trainStage = defineStage(STAGES.bench.kinds.train, async (options, context) => {
  const config = loadConfig(options.config, options.set);
  describeConfig(config).forEach((line) => context.log(line));
  const { tokensPerStep } = deriveConfig(config);
  const { stepsS, profile } = await timeSteps(config, { seconds: options.seconds, profile: true });
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

if (import.meta.main) serveStage(kernelsStage, trainStage);
