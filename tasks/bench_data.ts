/**
 * `bench preprocess` and `bench loader`: the speed of the stages that process data. `bench child` runs one
 * part of them in a separate process, which prints its result and usage.
 *
 * @module
 */
import type { OptionsOf } from "../lib/cli/command.ts";
import { join } from "@std/path";
import { DataBench, type StageRunner } from "../lib/cli/bench/data_stages.ts";
import {
  type LoaderPass,
  type LoaderPassOptions,
  passLoader,
  writeRowMix,
} from "../lib/cli/bench/loader_pass.ts";
import {
  describeScaling,
  describeThroughputs,
  readEarlierRun,
  scalingOf,
  type Throughput,
  throughputOf,
} from "../lib/cli/bench/throughput.ts";
import {
  defineStage,
  serveStage,
  type Stage,
  type StageContext,
  type StageResult,
} from "../lib/cli/stage.ts";
import { runChild } from "../lib/cli/bench/child.ts";
import { UsageError } from "../lib/base/errors.ts";
import { VERSION } from "../lib/base/version.ts";
import { benchChildCommand, benchLoaderCommand, benchPreprocessCommand } from "./bench_data.command.ts";
import { measureUsage } from "../lib/cli/bench/usage.ts";

const MIN_ROWS = 1000;
const MAX_ROWS = 2 ** 40;
const MAX_LOADER_WORKERS = 64;
/** The share of rows that are imported: results as text are large and slower to make than to import. */
const IMPORT_SHARE = 0.1;

type PreprocessOptions = OptionsOf<typeof benchPreprocessCommand>;
type LoaderOptions = OptionsOf<typeof benchLoaderCommand>;
type SharedOptions = Omit<Pick<LoaderOptions, keyof LoaderOptions & keyof PreprocessOptions>, "rows">;

export const preprocessBench = defineStage(
  benchPreprocessCommand,
  async (options, context) => {
    const range = { min: MIN_ROWS, max: MAX_ROWS, example: "1_000_000,10_000_000" };
    const rows = parseNumbers("rows", options.rows, range).sort((a, b) => a - b);
    const benches: DataBench[] = [];
    for (const numRows of rows) {
      await inFolder({ ...options, rows: numRows }, context, async (bench) => {
        await bench.synth();
        await bench.import(options.importRows ?? Math.ceil(IMPORT_SHARE * numRows));
        await bench.shard();
        await bench.probeRows();
        benches.push(bench);
      });
    }
    return describe("bench preprocess", { ...options, rows }, benches);
  },
);

export const loaderBench = defineStage(
  benchLoaderCommand,
  async (options, context) => {
    const { sequenceLength, batchSize, seconds, seed, rows } = options;
    const range = { min: 0, max: MAX_LOADER_WORKERS, example: "0,1,2,4" };
    const workerCounts = parseNumbers("loader-workers", options.loaderWorkers, range);
    const loaderRows: Throughput[] = [];
    const benches: DataBench[] = [];
    await inFolder({ ...options, repeats: 1 }, context, async (bench, folder) => {
      await bench.synth();
      await bench.probeRows();
      const folders = new Map([["synth", bench.probeRowsFolder]]);
      for (const mix of ["short rows", "mixed rows"] as const) {
        folders.set(mix, join(folder, mix));
        await writeRowMix(join(folder, mix), mix, { numMeasurements: rows, seed });
      }
      for (const [name, data] of folders) {
        for (const numWorkers of workerCounts) {
          const what = `loader, ${name}, ${numWorkers} ${numWorkers === 1 ? "worker" : "workers"}`;
          context.log(`timing ${what}`);
          const pass = { data, split: "train", seed, sequenceLength, batchSize, numWorkers, seconds };
          const { result } = await runnerOf(context)([
            "loader",
            JSON.stringify(pass satisfies LoaderPassOptions),
          ]);
          const { first, later } = result as unknown as { first: LoaderPass; later: LoaderPass };
          loaderRows.push(loaderRow(`${what}, first epoch`, first), loaderRow(`${what}, later`, later));
        }
      }
      benches.push(bench);
    });
    return describe("bench loader", options, benches, loaderRows);
  },
);

function loaderRow(name: string, { usage, numTokens, numPaddingTokens }: LoaderPass): Throughput {
  const padding = numPaddingTokens / Math.max(1, numTokens);
  return throughputOf({ name, unit: "tokens/s", work: numTokens, padding }, [usage]);
}

function runnerOf({ signal }: StageContext): StageRunner {
  return async (args) =>
    await runChild(args, { label: args[0], signal }) as Awaited<
      ReturnType<StageRunner>
    >;
}

/** Distinct numbers of an option, in order. @throws {UsageError} If one is not an integer in range. */
export function parseNumbers(
  name: string,
  text: string,
  { min, max, example }: { min: number; max: number; example: string },
): number[] {
  const numbers = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part.replaceAll("_", "")));
  if (numbers.some((number) => !Number.isInteger(number) || number < min || number > max)) {
    throw new UsageError(
      `Cannot use --${name} ${text}: expected numbers in ${min}..${max}, such as ${example}`,
    );
  }
  return [...new Set(numbers)];
}

async function inFolder(
  options: SharedOptions & { rows: number; repeats: number },
  context: StageContext,
  use: (bench: DataBench, folder: string) => Promise<void>,
): Promise<void> {
  const { signal, log } = context;
  const temporary: Deno.MakeTempOptions = { prefix: "ping-llm-bench-" };
  if (options.folder !== undefined) {
    Deno.mkdirSync(options.folder, { recursive: true });
    temporary.dir = options.folder;
  }
  const folder = Deno.makeTempDirSync(temporary);
  try {
    await use(new DataBench({ ...options, folder, runStage: runnerOf(context), log, signal }), folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

function describe(
  stage: string,
  options: SharedOptions & { rows: number | number[] },
  benches: readonly DataBench[],
  loaderRows: readonly Throughput[] = [],
): StageResult {
  const { rows, probes, destinations, seed, workers, memoryLimitGb, compare } = options;
  const earlier = compare === undefined ? undefined : readEarlierRun(compare);
  const measures = [...loaderRows, ...benches.flatMap((bench) => bench.rows)];
  const scaling = scalingOf(measures);
  const parts = [describeThroughputs(measures, earlier)];
  if (scaling.length > 0) parts.push(describeScaling(scaling));
  return {
    text: parts.join("\n\n"),
    json: {
      stage,
      version: VERSION,
      input: { rows, probes, destinations, seed },
      workers,
      memoryLimitGb,
      rows: measures,
      scaling,
    },
  };
}

/** The stages that can run in a child. */
const MEASURED: Record<string, () => Promise<Stage>> = {
  "synth": async () => (await import("./synth.ts")).synthStage,
  "import": async () => (await import("./import.ts")).importStage,
  "shard": async () => (await import("./split_stages.ts")).shardStage,
  "probe-rows": async () => (await import("./split_stages.ts")).probeRowsStage,
};

export const childStage = defineStage(
  benchChildCommand,
  async (_options, context, [name, ...rest]) => {
    const { result, usage } = await measureUsage(() => runPiece(name, rest, context));
    // Always one line, because a program reads it.
    const json = { usage, result };
    return { text: JSON.stringify(json), json };
  },
);

async function runPiece(name: string, args: string[], context: StageContext): Promise<unknown> {
  if (name === "gpu") {
    const { runGpuPart } = await import("../lib/cli/bench/gpu_parts.ts");
    return await runGpuPart(JSON.parse(args[0]), context);
  }
  if (name === "loader") return await passLoader(JSON.parse(args[0]) as LoaderPassOptions);
  if (!Object.hasOwn(MEASURED, name)) {
    throw new UsageError(
      `Cannot run bench child ${name}: expected gpu, loader or one of ${Object.keys(MEASURED).join(", ")}`,
    );
  }
  return (await (await MEASURED[name]()).run(args, context)).json;
}

if (import.meta.main) serveStage(preprocessBench, loaderBench, childStage);
