/**
 * The common part of the stages that divide measurements into splits: `shard` and `probe-rows`.
 *
 * @module
 */
import type { StageResult } from "../lib/cli/stage.ts";
import { type ArrayTask, parseArrayTask } from "../lib/io/files/array_task.ts";
import { formatBytes, formatCount, formatSeconds } from "../lib/base/text.ts";
import type { StageSummary } from "../lib/data/probe_rows/sharded_stage.ts";
import { SPLIT_NAMES } from "../lib/data/probe_rows/splits.ts";
import { threadsWithin } from "../lib/data/probe_rows/stage_threads.ts";

/**
 * The options in the form of the stages in lib.
 *
 * @param largestRecordBytes The largest record that a thread makes.
 */
export function limitsOf(
  { task, memoryLimitGb, workers }: { task: string; memoryLimitGb: number; workers: number },
  largestRecordBytes?: number,
): { task: ArrayTask; memoryLimitBytes: number; workers: number } {
  const memoryLimitBytes = memoryLimitGb * 1e9;
  const threads = threadsWithin(workers, memoryLimitBytes, largestRecordBytes);
  return { task: parseArrayTask(task), memoryLimitBytes, workers: threads };
}

/**
 * The result of a run.
 *
 * @param options The options of the stage.
 * @param describe Describes the counts of a split.
 */
export function splitStageResult(
  stage: string,
  { output, task }: { output: string; task: string },
  result: StageSummary,
  describe: (counts: Record<string, number>) => string,
): StageResult {
  const lines = SPLIT_NAMES.map((split) => {
    const { shards, bytes } = result.splits[split];
    return `${split.padEnd(6)}${describe(result.splits[split])}, ${shards} shards, ${formatBytes(bytes)}`;
  });
  const text = [
    result.wasComplete ? `${output} is already complete` : `wrote ${output}`,
    ...lines,
    `${formatCount(result.inputRows)} rows read in ${formatSeconds(result.seconds)}, ` +
    `peak memory ${formatBytes(result.peakMemoryBytes)}`,
  ].join("\n");
  return { text, json: { stage, output, task, ...result } };
}
