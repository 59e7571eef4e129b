/**
 * The first half of `shard` and `probe-rows`: the rows divided over spill files, each thread reading a run of
 * consecutive rows into a file of its own.
 *
 * @module
 */
import { join } from "@std/path";
import { shareOf } from "../files/array_task.ts";
import type { InputSurvey } from "../measurement/parquet_reader.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { readTimeRangeUs } from "../measurement/time_range.ts";
import type { OutputRun, SpillState } from "./output_run.ts";
import type { PartitionTask } from "./partition_share.ts";
import { SPLIT_NAMES } from "./splits.ts";
import { Breather, type StageHooks } from "../threads/stage_hooks.ts";
import type { StageThreads } from "./stage_threads.ts";

/** Share of the memory limit for rows waiting to be written, over all threads. */
const SPILL_BUFFER_SHARE = 1 / 8;

/**
 * Divides the task's rows over the spill files of the run.
 *
 * @param task What to divide, and how.
 * @param run The output folder; gets `rejects.jsonl`, the counts and the spill files.
 * @param options `survey`: of the inputs; `threads`: who helps.
 * @throws {UserError} If the input cannot be used, too many rows are rejected, or the disk is full.
 */
export async function partitionRows(
  task: PartitionTask,
  run: OutputRun,
  { survey, threads, hooks }: { survey: InputSurvey; threads: StageThreads; hooks: StageHooks },
): Promise<SpillState> {
  run.beginSpill();
  const timeRangeUs = await timeRangeOf(task, hooks);
  const [first, end] = shareOf(task.rowShare, survey.numRows);
  const subdivisions = task.subdivisions(end - first);
  const numShares = threads.numThreads;
  const boundary = (i: number) => first + Math.floor((end - first) * i / numShares);
  const shares = Array.from({ length: numShares }, (_, i) => ({
    rowRange: [boundary(i), boundary(i + 1)] as const,
    spillPath: run.spillPath(i),
    subdivisions,
    bufferBytes: task.memoryLimitBytes * SPILL_BUFFER_SHARE / numShares,
    timeRangeUs,
  }));
  const round = {
    work: shares.map((share) => ({ kind: "partition" as const, share })),
    phase: "reading",
    total: end - first,
  };
  const results = (await threads.run(round, hooks)).filter((result) => result !== undefined);
  const rejects = new RejectLog();
  for (const result of results) rejects.merge(result.rejects);
  const numRowsRead = results.reduce((sum, result) => sum + result.numRowsRead, 0);
  if (rejects.write(join(run.output.folder, run.rejectsName))) await run.record(run.rejectsName);
  rejects.check(numRowsRead, task.maxRejectRatio);
  run.checkInputs();
  const columns = task.columns.filter((column) => survey.columns.includes(column)).sort();
  const state = { indexes: results.map(({ index }) => index), subdivisions, columns };
  const rows = Object.fromEntries(
    SPLIT_NAMES.map((split) => [split, results.reduce((sum, result) => sum + result.rows[split], 0)]),
  );
  const counts = { inputRows: numRowsRead, rows, ...(timeRangeUs ? { timeRangeUs } : {}) };
  run.finishSpill(state, { counts, rejected: rejects.counts });
  return state;
}

async function timeRangeOf(task: PartitionTask, hooks: StageHooks): Promise<[number, number] | undefined> {
  if (!("plan" in task.splits) || task.splits.plan.mode !== "time") return undefined;
  const breather = new Breather(hooks);
  return await readTimeRangeUs(task.inputs, () => breather.breathe());
}
