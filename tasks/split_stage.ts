/**
 * The common part of the stages that divide measurements into splits: `shard` and `probe-rows`.
 *
 * @module
 */
import { dataFlags, type Flag, flag } from "../lib/cli/flags.ts";
import type { StageResult } from "../lib/cli/stage.ts";
import { type ArrayTask, parseArrayTask } from "../lib/io/files/array_task.ts";
import { formatBytes, formatCount, formatSeconds } from "../lib/base/text.ts";
import { GROUP_KEYS } from "../lib/data/probe_rows/external_sort/probe_columns.ts";
import type { StageSummary } from "../lib/data/probe_rows/sharded_stage.ts";
import { SPLIT_MODES, SPLIT_NAMES, type SplitMode } from "../lib/data/probe_rows/splits.ts";
import { threadsWithin } from "../lib/data/probe_rows/stage_threads.ts";

const MODE_PURPOSES: Record<SplitMode, string> = {
  probe: "all measurements of a source together",
  time: "the end of the time span is test, the part before it val",
  row: "each (msm_id, event_time); without msm_id each (src_addr, dst_addr, event_time)",
  pair: "all measurements between two addresses together, in both directions",
  destination: "all measurements to an address together",
  node: "by addresses: a measurement is test if either end is, else val if either is, else train",
};

/** The option for the way of splitting. @param purpose The first line of its description. */
export function splitByFlag(purpose: string): Flag<SplitMode> {
  const modes = Object.entries(MODE_PURPOSES).map(([mode, meaning]) => `  ${mode}: ${meaning}`);
  return flag.choice(SPLIT_MODES, [purpose, ...modes].join("\n"), { default: "probe" });
}

/** Their options for rows and memory. */
export const splitStageFlags = {
  ratios: flag.text("shares of train, val, test, of addresses if by node; 0,0,100 puts everything in test", {
    default: "80,10,10",
    placeholder: "A,B,C",
  }),
  groupBy: flag.choice(GROUP_KEYS, "column that identifies a source", { default: "src_addr" }),
  maxRejectRatio: flag.number("fail when a larger share of the rows is rejected", {
    default: 0.05,
    min: 0,
    max: 1,
  }),
  task: flag.text(
    "this task and the number of tasks that share the work and the output folder, such as 2/4",
    {
      default: "1/1",
      placeholder: "I/N",
    },
  ),
  overwrite: flag.boolean("replace what this stage wrote to the output folder with other inputs or options"),
  // The runtime and one row group of the input already take 0.3 GB.
  memoryLimitGb: flag.number(dataFlags.memoryLimitGb.description, { default: 2, min: 0.5 }),
};

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
