/**
 * `bench`: the speed of the program on this machine. `bench kernels`, `bench train`, `bench gpu` and `bench peers`
 * measure its adapter, `bench preprocess` and `bench loader` its processor.
 *
 * @module
 */
import { readEarlierRun } from "../lib/cli/bench/throughput.ts";
import { didYouMean, formatTable } from "../lib/base/text.ts";
import { UserError } from "../lib/base/errors.ts";
import { configFlags, flag } from "../lib/cli/flags.ts";
import { defineStage, defineStageGroup, serveStage, type Stage } from "../lib/cli/stage.ts";
import { type BenchRow, measureCase } from "../lib/cli/bench/kernel_times.ts";
import { kernelCases } from "../lib/cli/bench/kernel_cases.ts";
import { Gpu } from "../lib/tensor/device.ts";
import { describeProfile, PROFILE_NOTES } from "../lib/tensor/profile.ts";
import { KernelRegistry } from "../lib/tensor/registry.ts";
import { timeSteps } from "../lib/train/step_timing.ts";
import { deriveConfig, describeConfig, loadConfig } from "../lib/train/run_config.ts";
import { VERSION } from "../lib/base/version.ts";
import { childStage } from "./bench_child.ts";
import { loaderBench, preprocessBench } from "./bench_data.ts";
import { gpuBench } from "./bench_gpu.ts";
import { peersBench } from "./bench_peers.ts";

const kernelsStage = defineStage({
  name: "bench kernels",
  purpose: "the speed of each GPU kernel at the sizes of the presets",
  example: "--seconds 0.5 --only gemm",
  flags: {
    seconds: flag.number("time per kernel, in seconds", { default: 0.5, min: 0.01, max: 60 }),
    only: flag.text("time only the kernels whose names contain this", { default: "" }),
    compare: flag.optionalText("an earlier --json output; adds its medians and the ratios to them", {
      placeholder: "FILE",
    }),
  },
  async run(options, context) {
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
  },
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

const trainStage = defineStage({
  name: "bench train",
  purpose: "the speed of training a preset, on made-up batches, and its time profile",
  example: "--config demo --seconds 20",
  flags: {
    ...configFlags,
    seconds: flag.number("measuring time, in seconds", { default: 10, min: 0.1, max: 3600 }),
  },
  async run(options, context) {
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
  },
});

/** The `bench` stage. */
export const benchStage: Stage = defineStageGroup("bench", "how fast this machine runs the program", [
  kernelsStage,
  trainStage,
  gpuBench,
  preprocessBench,
  loaderBench,
  peersBench,
  childStage,
]);

if (import.meta.main) serveStage(benchStage);
