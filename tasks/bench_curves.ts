/**
 * `bench curves`: how fast configurations learn in time: trains them in turns and compares validation curves.
 *
 * @module
 */
import { join } from "@std/path";
import {
  type CurveRun,
  curvesOf,
  describeCurves,
  pageOfCurves,
  pointsOf,
  timesOf,
} from "../lib/cli/bench/curves.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { writeFileAtomic, writeJsonAtomic } from "../lib/io/files/atomic.ts";
import { exists } from "../lib/io/files/inputs.ts";
import { StagedOutput } from "../lib/io/files/staged_output.ts";
import { openProbeRows } from "../lib/data/loader/row_source.ts";
import { deriveConfig, loadConfig } from "../lib/train/run_config.ts";
import { dataFingerprint } from "../lib/train/run_data.ts";
import { readMetrics } from "../lib/train/metrics.ts";
import { VERSION } from "../lib/base/version.ts";
import { runProgram } from "./bench_child.ts";
import { STAGES } from "./stages.ts";

/** The number of times in the table. */
const NUM_TIMES = 5;
const JSON_NAME = "curves.json";
const PAGE_NAME = "curves.html";

/** A configuration with its settings. */
interface Variant {
  label: string;
  config: string;
  settings: string[];
  tokensPerStep: number;
}

/** The stage `bench curves`. */
export const curvesBench: Stage = defineStage(STAGES.bench.kinds.curves, async (options, context) => {
  const variants = variantsOf(options);
  using rows = await openProbeRows(options.data, "train");
  const { data: dataDir, seed, seeds, maxTime, until } = options;
  using output = StagedOutput.openFolder(options.output, {
    stage: "bench curves",
    inputs: rows.files,
    options: {
      variants,
      seed,
      seeds,
      maxTime: maxTime ?? null,
      until: until ?? null,
      data: await dataFingerprint(dataDir),
    },
    overwrite: options.overwrite,
  });
  const jsonPath = join(output.isComplete ? options.output : output.folder, JSON_NAME);
  if (!output.isComplete) {
    const runs: CurveRun[] = [];
    using progress = context.progress("training", { total: seeds * variants.length, unit: "runs" });
    for (let i = 0; i < seeds; i++) {
      // Every second seed has the reverse order, so that a machine that becomes slower favours no configuration.
      for (const variant of i % 2 === 0 ? variants : variants.toReversed()) {
        progress.update(runs.length, `${variant.label}, seed ${seed + i}`);
        runs.push(
          await trainOne(variant, { ...options, seed: seed + i }, { output, signal: context.signal }),
        );
      }
    }
    runs.sort((a, b) => labelAt(variants, a) - labelAt(variants, b) || a.seed - b.seed);
    const times = timesOf(runs, NUM_TIMES);
    const curves = curvesOf(runs, { times, until });
    writeJsonAtomic(jsonPath, { stage: "bench curves", version: VERSION, times, curves, runs });
    writeFileAtomic(join(output.folder, PAGE_NAME), await pageOfCurves(runs, { curves, times }));
    for (const name of [JSON_NAME, PAGE_NAME]) await output.record(name);
    output.publish();
  }
  const json = JSON.parse(Deno.readTextFileSync(join(options.output, JSON_NAME)));
  const path = join(options.output, PAGE_NAME);
  return { text: `${describeCurves(json.curves, json.times)}\n\nThe curves are in ${path}.`, json };
});

function variantsOf(
  { config, vary, set }: { config: string[]; vary: string[]; set: string[] },
): Variant[] {
  return (config.length > 0 ? config : [STAGES.bench.kinds.train.options.config.default ?? ""]).flatMap((
    name,
  ) =>
    (vary.length > 0 ? vary : [""]).map((text) => {
      const settings = [...set, ...text.split(/\s+/).filter((part) => part !== "")];
      const { tokensPerStep } = deriveConfig(loadConfig(name, settings));
      return { label: `${name} ${text}`.trim(), config: name, settings, tokensPerStep };
    })
  );
}

const labelAt = (variants: readonly Variant[], run: CurveRun) =>
  variants.findIndex(({ label }) => label === run.variant);

/** Trains once in a separate process, unless that was done before. */
async function trainOne(
  { label, config, settings, tokensPerStep }: Variant,
  { data, seed, maxTime }: { data: string; seed: number; maxTime: string | undefined },
  { output, signal }: { output: StagedOutput; signal: AbortSignal },
): Promise<CurveRun> {
  const runDir = output.workPath(`runs/${label.replace(/[^\w.=-]+/g, "_")}-seed-${seed}`);
  const donePath = `${runDir}.json`;
  if (!exists(donePath)) {
    const args = [`--data=${data}`, `--run=${runDir}`, `--config=${config}`, `--seed=${seed}`];
    if (maxTime !== undefined) args.push(`--max-time=${maxTime}`);
    for (const setting of settings) args.push("--set", setting);
    await runProgram(["train", ...args, "--json", "--quiet"], { label, signal });
    const points = pointsOf(readMetrics(join(runDir, "metrics.jsonl")), tokensPerStep);
    writeJsonAtomic(donePath, { variant: label, seed, points });
    Deno.removeSync(runDir, { recursive: true });
  }
  return JSON.parse(Deno.readTextFileSync(donePath)) as CurveRun;
}

if (import.meta.main) serveStage(curvesBench);
