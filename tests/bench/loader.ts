/** `deno task bench:loader`: times the loader's first epoch, which decodes rows, and later ones. @module */
import { join } from "@std/path";
import { RandomStream } from "../../lib/base/random.ts";
import { command } from "../../lib/cli/command.ts";
import { option } from "../../lib/cli/options.ts";
import { defineStage, runStage } from "../../lib/cli/stage.ts";
import { BatchLoader } from "../../lib/data/loader/batches.ts";
import { openProbeRows } from "../../lib/data/loader/row_source.ts";
import { syntheticRow, writeProbeRows } from "../data/loader/synthetic_rows.ts";
import { runChild } from "./child.ts";
import { DataBench, dataOptions } from "./data_stages.ts";
import { describeThroughputs, parseNumbers, type Throughput, throughputOf } from "./throughput.ts";
import { measureUsage, type Usage } from "./usage.ts";

const loaderBench = defineStage(
  command({
    name: "bench:loader",
    summary: "the speed, padding and memory of the loader by worker threads and sizes of rows",
    example: "--rows 1_000_000 --sequence-length 1024",
    options: {
      rows: option.integer("measurements to make and load", { default: 1_000_000, min: 1000, max: 2 ** 40 }),
      ...dataOptions,
      sequenceLength: option.integer("tokens per sequence", { default: 1024, min: 47, max: 65_535 }),
      batchSize: option.integer("sequences per batch", { default: 32, min: 1, max: 65_536 }),
      loaderWorkers: option.text("threads of the loader, one number or several; 0 for none", {
        default: "0,1,2,4",
        value: "N,N",
      }),
      seconds: option.number("seconds to load after the first epoch", { default: 1, min: 0.1, max: 3600 }),
    },
  }),
  async (options, context) => {
    const { sequenceLength, batchSize, seconds, seed } = options;
    const workerCounts = parseNumbers("loader-workers", options.loaderWorkers, [0, 64]);
    using bench = new DataBench({ ...options, repeats: 1 }, context);
    await bench.synth();
    await bench.probeRows();
    const folders = new Map([["synth", bench.probeRowsFolder]]);
    for (const mix of ["short rows", "mixed rows"]) {
      const folder = join(bench.folder, mix);
      folders.set(mix, folder);
      await writeRowMix(folder, mix === "mixed rows", options);
    }
    const rows: Throughput[] = [];
    for (const [name, data] of folders) {
      for (const numWorkers of workerCounts) {
        const what = `loader, ${name}, ${numWorkers} ${numWorkers === 1 ? "worker" : "workers"}`;
        context.log(`timing ${what}`);
        const pass: PassOptions = { data, seed, sequenceLength, batchSize, numWorkers, seconds };
        const { result } = await runChild<Pass[]>(["loader.ts", "passLoader", pass], {
          label: what,
          signal: context.signal,
        });
        result.forEach(({ usage, numTokens, numPaddingTokens }, i) => {
          const epoch = { name: `${what}, ${i === 0 ? "first epoch" : "later"}`, unit: "tokens/s" as const };
          const padding = numPaddingTokens / Math.max(1, numTokens);
          rows.push(throughputOf({ ...epoch, work: numTokens, padding }, [usage]));
        });
      }
    }
    rows.push(...bench.rows);
    return { text: describeThroughputs(rows, options.compare), json: { options, rows } };
  },
);

interface PassOptions {
  data: string;
  seed: number;
  sequenceLength: number;
  batchSize: number;
  /** Threads that make batches; 0 for none. */
  numWorkers: number;
  /** The minimum duration of the later epochs. */
  seconds: number;
}

interface Pass {
  usage: Usage;
  numTokens: number;
  numPaddingTokens: number;
}

/** Called in a separate process. @returns The first epoch, including opening the files; later ones. */
export async function passLoader({ data, seconds, ...options }: PassOptions): Promise<[Pass, Pass]> {
  const load = async (loader: BatchLoader, isDone: () => boolean) => {
    const counts = { numTokens: 0, numPaddingTokens: 0 };
    while (!isDone()) {
      const batch = await loader.next();
      counts.numTokens += batch.tokens.length;
      counts.numPaddingTokens += batch.numPaddingTokens;
    }
    return counts;
  };
  const opened = await measureUsage(async () => {
    const source = await openProbeRows(data, "train");
    const loader = await BatchLoader.openWithWorkers(source, options);
    return { source, loader, counts: await load(loader, () => loader.position.epoch > 0) };
  });
  using _source = opened.result.source;
  using loader = opened.result.loader;
  const later = await measureUsage(() => {
    const endMs = performance.now() + seconds * 1000;
    return load(loader, () => performance.now() > endMs);
  });
  return [
    { usage: opened.usage, ...opened.result.counts },
    { usage: later.usage, ...later.result },
  ];
}

/** ASSUMPTION: mean size of a short row; rows of menog-2019-05 have a median of 23, a mean of 288. */
const MEAN_SHORT = 60;
/** Measurements of a huge row, fewer if the total is small. */
const MAX_HUGE = 200_000;
const NUM_HUGE = 4;

/**
 * Writes a train split of rows whose sizes are difficult for a loader, unlike those of `synth`.
 *
 * @param isMixed Four huge rows with most of the data; half of the others have 1 to 5, half are short.
 *   Otherwise all rows are short.
 * @param options `rows`: the approximate number of measurements.
 */
async function writeRowMix(
  folder: string,
  isMixed: boolean,
  { rows: total, seed }: { rows: number; seed: number },
): Promise<void> {
  const random = new RandomStream(seed, `bench/${isMixed}`);
  const huge = isMixed ? Math.min(MAX_HUGE, Math.floor(total / (NUM_HUGE + 1))) : 0;
  const sizes = isMixed ? Array<number>(NUM_HUGE).fill(huge) : [];
  for (let left = total - huge * NUM_HUGE, i = 0; left > 0; i++) {
    const isTiny = isMixed && i % 2 === 0;
    sizes.push(isTiny ? 1 + random.below(5) : Math.ceil(MEAN_SHORT * random.exponential()));
    left -= sizes[sizes.length - 1];
  }
  Deno.mkdirSync(join(folder, "train"), { recursive: true });
  const rows = sizes.map((size, row) => syntheticRow(seed, row % 2 ** 16, Math.max(1, size)));
  await writeProbeRows(join(folder, "train", "train-00000-of-00001.arrayrecord"), rows);
}

if (import.meta.main) await runStage(loaderBench, Deno.args);
