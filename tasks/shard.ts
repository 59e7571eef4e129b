/**
 * `shard`: measurements Parquet to Parquet shards per split.
 *
 * @module
 */
import { PhaseProgress } from "../lib/cli/progress.ts";
import { flag } from "../lib/cli/flags.ts";
import { parseArrayTask } from "../lib/files/array_task.ts";
import { formatBytes, formatCount } from "../lib/text/quantities.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { listInputs } from "../lib/files/inputs.ts";
import { shardMeasurements } from "../lib/preprocess/shard.ts";
import { parseRatios, SPLIT_NAMES } from "../lib/preprocess/splits.ts";
import { threadsWithin } from "../lib/preprocess/stage_threads.ts";
import { checkInputs, verifyFlag } from "./input_check.ts";
import { describeSplitRun, splitByFlag, splitStageFlags } from "./split_stage.ts";

/** The stage. */
export const shardStage: Stage = defineStage({
  name: "shard",
  purpose: "divide measurements Parquet into train, val and test shards; every source lies in one shard",
  example: "--input measurements.parquet --output data/shards --split-by probe",
  flags: {
    input: flag.texts("Parquet files, folders or globs", { placeholder: "PATH", required: true }),
    output: flag.requiredText("folder to write", { placeholder: "DIR" }),
    splitBy: splitByFlag("what stays together in one of train, val and test"),
    trainShards: flag.integer("files of train", { default: 200, min: 1, max: 10_000 }),
    valShards: flag.integer("files of val", { default: 25, min: 1, max: 10_000 }),
    testShards: flag.integer("files of test", { default: 25, min: 1, max: 10_000 }),
    verify: verifyFlag,
    ...splitStageFlags,
  },
  async run(options, context) {
    await checkInputs(options.input, options, context);
    using progress = new PhaseProgress(context, "rows");
    const result = await shardMeasurements({
      ...options,
      task: parseArrayTask(options.task),
      inputs: listInputs(options.input, { extensions: [".parquet"], wanted: "a Parquet file" }),
      ratios: parseRatios(options.ratios),
      numShards: [options.trainShards, options.valShards, options.testShards],
      memoryLimitBytes: options.memoryLimitGb * 1e9,
      workers: threadsWithin(options.workers, options.memoryLimitGb * 1e9),
    }, { signal: context.signal, onProgress: progress.update });
    const lines = SPLIT_NAMES.map((split) => {
      const { rows, sources, shards, bytes } = result.splits[split];
      return `${split.padEnd(6)}${formatCount(rows)} rows of ${formatCount(sources)} sources in ` +
        `${shards} shards, ${formatBytes(bytes)}`;
    });
    const text = describeSplitRun(options.output, result, lines);
    return { text, json: { stage: "shard", output: options.output, task: options.task, ...result } };
  },
});

if (import.meta.main) serveStage(shardStage);
