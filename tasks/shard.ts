/**
 * `shard`: measurements Parquet to Parquet shards per split.
 *
 * @module
 */
import { PhaseProgress } from "../lib/cli/progress.ts";
import { formatCount } from "../lib/base/text.ts";
import { defineStage, serveStage, type Stage } from "../lib/cli/stage.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { shardMeasurements } from "../lib/data/probe_rows/shard.ts";
import { parseRatios } from "../lib/data/probe_rows/splits.ts";
import { checkInputs, requireMeasurements } from "./input_check.ts";
import { limitsOf, splitStageResult } from "./split_stage.ts";
import { STAGES } from "./stages.ts";

export const shardStage: Stage = defineStage(STAGES.shard, async (options, context) => {
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
});

if (import.meta.main) serveStage(shardStage);
