/**
 * `bench preprocess` and `bench loader`: how fast the stages that pass over data are, beside DuckDB.
 *
 * @module
 */
import { fromFileUrl, join } from "@std/path";
import { runChild } from "../lib/bench/child_process.ts";
import { DataBench, type DataBenchOptions, type StageRunner } from "../lib/bench/data_stages.ts";
import { readEarlierRun } from "../lib/bench/earlier_run.ts";
import type { LoaderPass, LoaderPassOptions } from "../lib/bench/loader_pass.ts";
import { writeRowMix } from "../lib/bench/row_mixes.ts";
import { describeThroughputs, type Throughput, throughputOf } from "../lib/bench/throughput.ts";
import { describeScaling, scalingOf } from "../lib/bench/scaling.ts";
import type { Usage } from "../lib/bench/usage.ts";
import { commonFlags, dataFlags, flag, type Values } from "../lib/cli/flags.ts";
import { formatCount } from "../lib/text/quantities.ts";
import { defineStage, type Stage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { UsageError } from "../lib/errors.ts";
import { VERSION } from "../lib/version.ts";

const MIN_ROWS = 1000;
const MAX_ROWS = 2 ** 40;
const MAX_LOADER_WORKERS = 64;
/** Of the rows, how many are imported: results as text are large and take longer to make than to import. */
const IMPORT_SHARE = 0.1;

const sharedFlags = {
  probes: flag.integer("sources", { default: 500, min: 2, max: 100_000 }),
  destinations: flag.integer("destinations", { default: 200, min: 2, max: 100_000 }),
  folder: flag.optionalText(
    "where to make a folder for the files, some 150 bytes a row, removed in the end",
    {
      placeholder: "DIR",
    },
  ),
  duckdb: flag.choice(["auto", "off"], "whether DuckDB runs beside, where it can be had", {
    default: "auto",
  }),
  memoryLimitGb: dataFlags.memoryLimitGb,
  compare: flag.optionalText("an earlier --json output; adds the ratios to it", { placeholder: "FILE" }),
};
type SharedOptions = Values<typeof sharedFlags> & Values<typeof commonFlags> & { rows: number };

/** The stage `bench preprocess`. */
export const preprocessBench: Stage = defineStage({
  name: "bench preprocess",
  purpose:
    "the speed and memory of synth, import, shard and probe-rows at several sizes, beside DuckDB's sort and group",
  example: "--rows 1_000_000,10_000_000,100_000_000",
  flags: {
    rows: flag.text("measurements to make and pass over, one number or several", {
      default: "1_000_000,10_000_000",
      placeholder: "N,N",
    }),
    ...sharedFlags,
    importRows: flag.optionalInteger(
      "results to import, at most (default: a tenth of the rows); a result has some 500 bytes",
      { min: 1 },
    ),
    repeats: flag.integer("how often each stage is run; the median counts", { default: 1, min: 1, max: 100 }),
  },
  async run(options, context): Promise<StageResult> {
    const sizes = parseRowCounts(options.rows);
    const benches: DataBench[] = [];
    for (const rows of sizes) {
      const bench = await inFolder({ ...options, rows }, context, async (bench) => {
        await bench.synth();
        await bench.import(options.importRows ?? Math.ceil(IMPORT_SHARE * rows));
        await bench.shard();
        await bench.probeRows();
        if (options.duckdb === "auto") await bench.duckDb(["sort", "group"]);
        return bench;
      });
      benches.push(bench);
    }
    return describe("bench preprocess", { ...options, rows: sizes }, benches);
  },
});

/** The stage `bench loader`. */
export const loaderBench: Stage = defineStage({
  name: "bench loader",
  purpose:
    "the speed, padding and memory of the loader by worker threads and sizes of rows, beside DuckDB's grouping",
  example: "--rows 1_000_000 --sequence-length 1024",
  flags: {
    rows: flag.integer("measurements to make and pass over", {
      default: 1_000_000,
      min: MIN_ROWS,
      max: MAX_ROWS,
    }),
    ...sharedFlags,
    sequenceLength: flag.integer("tokens of a sequence", { default: 1024, min: 47, max: 65_535 }),
    batchSize: flag.integer("sequences of a batch", { default: 32, min: 1, max: 65_536 }),
    loaderWorkers: flag.text("threads of the loader, one number or several; 0 for none", {
      default: "0,1,2,4",
      placeholder: "N,N",
    }),
    seconds: flag.number("how long to load after the first epoch", { default: 1, min: 0.1, max: 3600 }),
  },
  async run(options, context): Promise<StageResult> {
    const { sequenceLength, batchSize, seconds, seed, rows } = options;
    const workerCounts = parseWorkerCounts(options.loaderWorkers);
    return await inFolder({ ...options, repeats: 1 }, context, async (bench, folder) => {
      await bench.synth();
      await bench.probeRows();
      const folders = new Map([["synth", bench.probeRowsFolder]]);
      for (const mix of ["short rows", "mixed rows"] as const) {
        folders.set(mix, join(folder, mix));
        await writeRowMix(join(folder, mix), mix, { numMeasurements: rows, seed });
      }
      const loaderRows: Throughput[] = [];
      for (const [name, data] of folders) {
        for (const numWorkers of workerCounts) {
          const what = `loader, ${name}, ${numWorkers} ${numWorkers === 1 ? "worker" : "workers"}`;
          context.log(`timing ${what}`);
          const pass: LoaderPassOptions = {
            data,
            split: "train",
            seed,
            sequenceLength,
            batchSize,
            numWorkers,
            seconds,
          };
          const { result } = await childOf(context)(["loader", JSON.stringify(pass)]);
          const { first, later } = result as unknown as { first: LoaderPass; later: LoaderPass };
          loaderRows.push(loaderRow(`${what}, first epoch`, first), loaderRow(`${what}, later`, later));
        }
      }
      if (options.duckdb === "auto") await bench.duckDb(["group"]);
      return describe("bench loader", options, [bench], loaderRows);
    });
  },
});

function loaderRow(name: string, { usage, numTokens, numPaddingTokens }: LoaderPass): Throughput {
  return throughputOf(
    { name, unit: "tokens/s", work: numTokens, padding: numPaddingTokens / Math.max(1, numTokens) },
    [usage],
  );
}

/** Runs stages by `bench child`. */
function childOf({ signal }: StageContext): StageRunner {
  const main = fromFileUrl(new URL("./main.ts", import.meta.url));
  // The kernel's count of the largest memory can be read with all permissions only.
  const self = Deno.build.standalone ? [] : ["run", "--no-prompt", "--allow-all", main];
  return async (args) =>
    await runChild({
      program: Deno.execPath(),
      args: [...self, "bench", "child", ...args],
      label: args[0],
      signal,
    }) as { usage: Usage; result: Record<string, unknown> };
}

/**
 * The sizes of `--rows`, ascending.
 *
 * @throws {UsageError} If one is no number of rows.
 */
function parseRowCounts(text: string): number[] {
  const counts = text.split(",").map((part) => Number(part.replaceAll("_", "")));
  if (counts.some((count) => !Number.isInteger(count) || count < MIN_ROWS || count > MAX_ROWS)) {
    throw new UsageError(
      `Cannot use --rows ${text}: numbers from ${MIN_ROWS} on were wanted, such as 1_000_000,10_000_000`,
    );
  }
  return [...new Set(counts)].sort((a, b) => a - b);
}

/**
 * The numbers of `--loader-workers`, in their order.
 *
 * @throws {UsageError} If one is no number of threads.
 */
function parseWorkerCounts(text: string): number[] {
  const counts = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part));
  if (counts.some((count) => !Number.isInteger(count) || count < 0 || count > MAX_LOADER_WORKERS)) {
    throw new UsageError(
      `Cannot use --loader-workers ${text}: numbers in 0..${MAX_LOADER_WORKERS} were wanted, such as 0,1,2,4`,
    );
  }
  return [...new Set(counts)];
}

async function inFolder<T>(
  options: SharedOptions & { repeats: number },
  context: StageContext,
  use: (bench: DataBench, folder: string) => Promise<T>,
): Promise<T> {
  if (options.folder !== undefined) Deno.mkdirSync(options.folder, { recursive: true });
  const folder = Deno.makeTempDirSync({
    prefix: "ping-llm-bench-",
    ...(options.folder ? { dir: options.folder } : {}),
  });
  const { signal, log } = context;
  const benchOptions: DataBenchOptions = {
    ...options,
    folder,
    runStage: childOf(context),
    onStage: (name) => log(`timing ${name} with ${formatCount(options.rows)} rows`),
    log,
    signal,
  };
  try {
    return await use(new DataBench(benchOptions), folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

function describe(
  stage: string,
  { rows, probes, destinations, seed, workers, memoryLimitGb, compare }:
    & Omit<SharedOptions, "rows">
    & { rows: number | number[] },
  benches: readonly DataBench[],
  further: readonly Throughput[] = [],
): StageResult {
  const earlier = compare === undefined ? undefined : readEarlierRun(compare);
  const comparisons = benches.flatMap((bench) => bench.comparisons());
  const measures = [...further, ...benches.flatMap((bench) => bench.rows)];
  const failed = benches.flatMap((bench) => bench.failed);
  const table = describeThroughputs(
    [...further, ...benches.flatMap((bench) => [...bench.rows, ...bench.failed])],
    earlier,
  );
  const scaling = scalingOf(measures);
  const parts = [table, comparisons.join("\n"), scaling.length > 0 ? describeScaling(scaling) : ""];
  return {
    text: parts.filter((part) => part !== "").join("\n\n"),
    json: {
      stage,
      version: VERSION,
      input: { rows, probes, destinations, seed },
      workers,
      memoryLimitGb,
      rows: measures,
      failed,
      comparisons,
      scaling,
    },
  };
}
