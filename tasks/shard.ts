/**
 * `shard`: measurements Parquet to Parquet shards per split.
 *
 * @module
 */
import { PhaseProgress } from "../lib/cli/phase_progress.ts";
import { dataFlags, flag } from "../lib/cli/flags.ts";
import { formatBytes, formatCount, formatSeconds } from "../lib/cli/progress.ts";
import { defineStage, runStage, type Stage } from "../lib/cli/stage.ts";
import { listInputs } from "../lib/files/inputs.ts";
import { GROUP_KEYS } from "../lib/preprocess/probe_columns.ts";
import { shardMeasurements } from "../lib/preprocess/shard.ts";
import { parseRatios, SPLIT_MODES, SPLIT_NAMES } from "../lib/preprocess/splits.ts";

/** The stage. */
export const shardStage: Stage = defineStage({
  name: "shard",
  purpose: "divide measurements Parquet into train, val and test shards; every source lies in one shard",
  example: "--input measurements.parquet --output data/shards --split-by probe",
  flags: {
    input: flag.texts("Parquet files, folders or globs", { placeholder: "PATH", required: true }),
    output: flag.requiredText("folder to write", { placeholder: "DIR" }),
    splitBy: flag.choice(
      SPLIT_MODES,
      "what is kept out of training: whole sources, the latest time, rows, pairs",
      {
        default: "probe",
      },
    ),
    ratios: flag.text("shares of train, val, test", { default: "80,10,10", placeholder: "A,B,C" }),
    groupBy: flag.choice(GROUP_KEYS, "what a source is", { default: "src_addr" }),
    trainShards: flag.integer("files of train", { default: 200, min: 1, max: 10_000 }),
    valShards: flag.integer("files of val", { default: 25, min: 1, max: 10_000 }),
    testShards: flag.integer("files of test", { default: 25, min: 1, max: 10_000 }),
    maxRejectRatio: flag.number("fail when a larger share of the rows is rejected", {
      default: 0.05,
      min: 0,
      max: 1,
    }),
    overwrite: flag.boolean("delete another run's files in the output folder"),
    // The runtime and one row group of the input take 0.3 GB already.
    memoryLimitGb: flag.number(dataFlags.memoryLimitGb.description, { default: 2, min: 0.5 }),
  },
  async run(options, context) {
    using progress = new PhaseProgress(context, "rows");
    const result = await shardMeasurements({
      ...options,
      inputs: listInputs(options.input, { extensions: [".parquet"], wanted: "a Parquet file" }),
      ratios: parseRatios(options.ratios),
      numShards: [options.trainShards, options.valShards, options.testShards],
      memoryLimitBytes: options.memoryLimitGb * 1e9,
    }, { signal: context.signal, onProgress: progress.update });
    const lines = SPLIT_NAMES.map((split) => {
      const { rows, sources, shards, bytes } = result.splits[split];
      return `${split.padEnd(6)}${formatCount(rows)} rows of ${formatCount(sources)} sources in ` +
        `${shards} shards, ${formatBytes(bytes)}`;
    });
    const text = [
      result.wasComplete ? `${options.output} is complete already` : `wrote ${options.output}`,
      ...lines,
      `${formatCount(result.inputRows)} rows read in ${formatSeconds(result.seconds)}, ` +
      `peak memory ${formatBytes(result.peakMemoryBytes)}`,
    ].join("\n");
    return { text, json: { stage: "shard", output: options.output, ...result } };
  },
});

if (import.meta.main) await runStage(shardStage, Deno.args);
