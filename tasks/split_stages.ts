/**
 * The stages that divide measurements into splits: `shard` (measurements Parquet to Parquet shards per split)
 * and `probe-rows` (to ArrayRecord files of probe rows).
 *
 * @module
 */
import { defineStage, serveStage, snakeKeys, type StageResult } from "../lib/cli/stage.ts";
import { type ArrayTask, parseArrayTask } from "../lib/io/files/array_task.ts";
import { formatBytes, formatCount } from "../lib/base/text.ts";
import { describeRejected, totalOf } from "../lib/data/measurement_files/rejects.ts";
import type { StageSummary } from "../lib/data/probe_rows/sharded_stage.ts";
import { noteOnFarTimes } from "../lib/data/probe_rows/time_cuts.ts";
import { listSplitInputs, parseRatios, SPLIT_NAMES } from "../lib/data/probe_rows/splits.ts";
import { threadsWithin } from "../lib/data/probe_rows/stage_threads.ts";
import { PhaseProgress } from "../lib/cli/progress.ts";
import { listInputs } from "../lib/io/files/inputs.ts";
import { shardMeasurements } from "../lib/data/probe_rows/shard.ts";
import { checkInputs, madeText, requireMeasurements } from "./stage_files.ts";
import { probeRowsCommand, shardCommand } from "./split_stages.command.ts";
import { neededParts } from "../lib/data/probe_rows/shard_layout.ts";
import { buildProbeRows } from "../lib/data/probe_rows/probe_rows.ts";

/** The options as lib/ expects them. @param largestRecordBytes The largest record that a thread makes. */
function limitsOf(
  { task, memoryLimitGb, workers }: { task: string; memoryLimitGb: number; workers: number },
  largestRecordBytes?: number,
): { task: ArrayTask; memoryLimitBytes: number; workers: number } {
  const memoryLimitBytes = memoryLimitGb * 1e9;
  const threads = threadsWithin(workers, memoryLimitBytes, largestRecordBytes);
  return { task: parseArrayTask(task), memoryLimitBytes, workers: threads };
}

function splitStageResult(
  stage: string,
  { output, task, ratios }: { output: string; task: string; ratios?: string | undefined },
  result: StageSummary,
  describe: (counts: Record<string, number>) => string,
): StageResult {
  const lines = SPLIT_NAMES.map((split) => {
    const { shards, bytes } = result.splits[split];
    return `${split.padEnd(6)}${describe(result.splits[split])}, ${shards} shards, ${formatBytes(bytes)}`;
  });
  const note = result.timeCuts && noteOnFarTimes(result.timeCuts);
  const shares = ratios === undefined ? [] : parseRatios(ratios);
  const empty = SPLIT_NAMES.filter((split, i) => shares[i] > 0 && result.splits[split].sources === 0);
  const isWhole = parseArrayTask(task).count === 1;
  const text = [
    madeText(output, { isDone: result.wasComplete, seconds: result.seconds }),
    ...lines,
    ...(note === undefined ? [] : [note]),
    ...(isWhole && empty.length > 0
      ? [`nothing is in ${empty.join(" and ")}: split by row or time (--split-by), or give more measurements`]
      : []),
    ...(totalOf(result.rejected) > 0 ? [describeRejected(result.rejected)] : []),
    `${formatCount(result.inputRows)} rows read, peak memory ${formatBytes(result.peakMemoryBytes)}`,
  ].join("\n");
  const { rejected, ...counts } = result;
  return { text, json: { stage, output, task, ...snakeKeys(counts, true), rejected } };
}

export const shardStage = defineStage(shardCommand, async (options, context) => {
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

/** Val and test have an eighth of train by default, so they also get an eighth of its files. */
const HELD_OUT_SHARE = 1 / 8;

export const probeRowsStage = defineStage(probeRowsCommand, async (options, context) => {
  const plan = { mode: options.splitBy, ratios: parseRatios(options.ratios), seed: options.seed };
  const numHeldOut = Math.max(1, Math.ceil(options.shards * HELD_OUT_SHARE));
  const numShards = [options.shards, numHeldOut, numHeldOut] as const;
  const limits = limitsOf(options, options.maxRowSizeMb * 1e6);
  const { isRead, manifests } = neededParts(options.input, { ...options, ...limits, numShards }) ?? {};
  await checkInputs(options.input, { verify: options.verify, isRead }, context);
  const { files, splitOfFile } = listSplitInputs(options.input, undefined, isRead);
  using progress = new PhaseProgress(context, "rows");
  const result = await buildProbeRows({
    ...options,
    ...limits,
    inputs: files,
    inputManifests: manifests,
    splits: splitOfFile ? { splitOfFile } : { plan },
    numShards,
    maxRowSizeBytes: Math.floor(options.maxRowSizeMb * 1e6),
  }, { signal: context.signal, onProgress: progress.update });
  // Shards are in splits already.
  const split = { ...options, ratios: splitOfFile ? undefined : options.ratios };
  return splitStageResult("probe-rows", split, result, ({ records, measurements, sources }) => {
    const what = `${formatCount(measurements)} measurements of ${formatCount(sources)} sources`;
    return `${what} in ${formatCount(records)} records`;
  });
});

if (import.meta.main) serveStage(shardStage, probeRowsStage);
