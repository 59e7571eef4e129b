/**
 * `shard`: measurements Parquet to Parquet shards per split.
 *
 * @module
 */
import { PhaseProgress } from "../lib/cli/progress.ts";
import { flag } from "../lib/cli/flags.ts";
import { formatCount } from "../lib/base/text.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { shardMeasurements } from "../lib/data/probe_rows/shard.ts";
import { parseRatios } from "../lib/data/probe_rows/splits.ts";
import { checkInputs, requireMeasurements, verifyFlag } from "./input_check.ts";
import { limitsOf, splitByFlag, splitStageFlags, splitStageResult } from "./split_stage.ts";

/** The stage. */
export const shardStage: Stage = defineStage({
  name: "shard",
  purpose: "divide measurements Parquet into train, val and test shards; every source is in one shard",
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
    requireMeasurements(options.input, "shard");
    await checkInputs(options.input, options, context);
    using progress = new PhaseProgress(context, "rows");
    const result = await shardMeasurements({
      ...options,
      ...limitsOf(options),
      inputs: listInputs(options.input, { extensions: [".parquet"], wanted: "a Parquet file" }),
      ratios: parseRatios(options.ratios),
      numShards: [options.trainShards, options.valShards, options.testShards],
    }, { signal: context.signal, onProgress: progress.update });
    return splitStageResult(
      "shard",
      options,
      result,
      ({ rows, sources }) => `${formatCount(rows)} rows of ${formatCount(sources)} sources`,
    );
  },
});

if (import.meta.main) serveStage(shardStage);
