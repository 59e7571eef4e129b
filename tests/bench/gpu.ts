/**
 * `deno task bench:gpu`: surveys a GPU that may be available for only minutes: correctness, training beside
 * PyTorch, a step by kernel, open choices with advice, a large model, queries, products in all ways. Each
 * step runs in a separate process with a time limit, so that failed or hanging ones do not stop the others.
 *
 * @module
 */
import { join } from "@std/path";
import { UserError } from "../../lib/base/errors.ts";
import { command } from "../../lib/cli/command.ts";
import { option, parseDurationS } from "../../lib/cli/options.ts";
import * as uses from "../../lib/cli/path_uses.ts";
import { defineStage, runStage } from "../../lib/cli/stage.ts";
import { writeJsonAtomic } from "../../lib/io/files/atomic.ts";
import { exists } from "../../lib/io/files/inputs.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import type { EngineName } from "../../lib/tensor/engine.ts";
import { loadConfig } from "../../lib/train/run_config.ts";
import { configOptions } from "../../tasks/shared_options.ts";
import { runChild } from "./child.ts";
import { isRight } from "./gpu_checks.ts";
import { type GpuStep, resultsOf, type StepEnd, type SurveyPlan, surveySteps } from "./gpu_steps.ts";
import { describeSurvey } from "./gpu_tables.ts";

const gpuBench = defineStage(
  command({
    name: "bench:gpu",
    summary: "a survey of this GPU on both engines, with advice: tables, and gpu.json after each step",
    example: "--output runs/gpu",
    options: {
      output: option.path(uses.outputFolder, "folder of gpu.json", { required: true }),
      scale: option.choice(
        ["auto", "full", "small"],
        "sizes; auto: small on a software adapter, else full",
        { default: "auto" },
      ),
      config: option.path(
        uses.config,
        "configuration to train: a preset or a JSON file (default: 95m; with scale small: demo)",
      ),
      set: configOptions.set,
      maxTime: option.text("skip steps that have not begun after this time", {
        default: "8m",
        value: "TIME",
      }),
      only: option.text("only the steps whose names match this pattern", { default: "", value: "REGEXP" }),
      overwrite: option.switch("replace an earlier gpu.json"),
    },
  }),
  async (options, context) => {
    const startMs = performance.now();
    const maxS = parseDurationS(options.maxTime, "max-time");
    const elapsedS = () => (performance.now() - startMs) / 1000;
    const adapter = await readAdapter();
    const isSoftware = options.scale === "small" || options.scale === "auto" && adapter.isSoftware;
    const plan = planOf(options.config ?? (isSoftware ? "demo" : "95m"), options.set, isSoftware);
    const steps = surveySteps(plan).filter(({ name }) => name.match(options.only));
    const path = join(options.output, "gpu.json");
    if (exists(path) && !options.overwrite) {
      throw new UserError(`Cannot write ${path}: it exists; give another --output, or --overwrite`);
    }
    Deno.mkdirSync(options.output, { recursive: true });
    context.log(`adapter: ${adapter.name}; ${isSoftware ? "small" : "full"} sizes`);
    const jsonOf = (ends: readonly StepEnd[]) => ({ adapter, options, seconds: elapsedS(), steps: ends });
    using progress = context.progress("measuring", { total: steps.length, unit: "steps" });
    const ends: StepEnd[] = [];
    const missing = new Set<EngineName>();
    for (const step of steps) {
      progress.update(ends.length, step.name);
      const leftS = maxS - elapsedS();
      const end = await measureStep(step, { leftS, missing, signal: context.signal });
      ends.push(end);
      // Saved after each step, in case the machine is gone before the end.
      writeJsonAtomic(path, jsonOf(ends));
      context.log(`${end.name}: ${end.reason ?? "measured"}, ${end.seconds.toFixed(1)} s`);
    }
    return { text: describeSurvey(ends, plan), json: jsonOf(ends), exitCode: hasFault(ends) ? 1 : 0 };
  },
);

async function readAdapter() {
  using gpu = await Gpu.open();
  return gpu.info;
}

function planOf(preset: string, set: readonly string[], isSoftware: boolean): SurveyPlan {
  const withOneMicroBatch = (config: string) => {
    const { microBatchSize } = loadConfig(config, set).train;
    return { config, set: [...set, `train.batchSize=${microBatchSize}`] };
  };
  return {
    isSoftware,
    usual: withOneMicroBatch(preset),
    large: withOneMicroBatch(isSoftware ? preset : "680m"),
    whole: { config: preset, set },
  };
}

/** @param options `missing`: engines without an adapter, whose steps are skipped; adapter steps add to it. */
async function measureStep(
  step: GpuStep,
  { leftS, missing, signal }: { leftS: number; missing: Set<EngineName>; signal: AbortSignal },
): Promise<StepEnd> {
  const { part, name: label } = step;
  const engine = "gpu" in part ? part.gpu.engine as EngineName : undefined;
  if (leftS <= 0) return { ...step, seconds: 0, reason: "the time limit was reached" };
  if (engine && missing.has(engine)) return { ...step, seconds: 0, reason: `${engine} found no adapter` };
  const startMs = performance.now();
  const seconds = () => (performance.now() - startMs) / 1000;
  try {
    const limitS = Math.min(step.limitS, leftS);
    const { result } = await runChild(["gpu_parts.ts", "runGpuPart", part], { label, signal, limitS });
    return { ...step, seconds: seconds(), result };
  } catch (error) {
    if (signal.aborted || !(error instanceof UserError)) throw error;
    if (engine && part.kind === "adapter") missing.add(engine);
    return { ...step, seconds: seconds(), reason: error.message };
  }
}

/** Whether a result is wrong, or the checks of an available engine failed. */
function hasFault(ends: readonly StepEnd[]): boolean {
  const engines = new Set(resultsOf(ends, "adapter").map(({ part }) => part.gpu.engine));
  return ends.some(({ part, reason }) =>
    part.kind === "checks" && reason !== undefined && engines.has(part.gpu.engine)
  ) ||
    resultsOf(ends, "checks").some(({ result }) => !result.every(isRight));
}

if (import.meta.main) await runStage(gpuBench, Deno.args);
