/**
 * The first half of `shard` and `probe-rows`: the rows divided over spill files, each thread reading a run of
 * consecutive rows into a file of its own.
 *
 * @module
 */
import { join } from "@std/path";
import { RejectLog } from "../measurement/rejects.ts";
import { readTimeRangeUs } from "./keyed_reader.ts";
import type { OutputRun, SpillState } from "./output_run.ts";
import { partitionShare, type PartitionTask, readOptionsOf } from "./partition_share.ts";
import { SPLIT_NAMES } from "./splits.ts";
import { Breather, type StageHooks } from "./stage_hooks.ts";
import type { StageThreads } from "./stage_threads.ts";

/** Share of the memory limit for rows waiting to be written, over all threads. */
const SPILL_BUFFER_SHARE = 1 / 8;

/**
 * Divides all rows over the spill files of the run.
 *
 * @param task What to divide, and how.
 * @param run The output folder; gets `rejects.jsonl`, the counts and the spill files.
 * @param options `numRows`: rows of the inputs; `threads`: who helps.
 * @throws {UserError} If the input cannot be used, too many rows are rejected, or the disk is full.
 */
export async function partitionRows(
  task: PartitionTask,
  run: OutputRun,
  { numRows, threads, hooks }: { numRows: number; threads: StageThreads; hooks: StageHooks },
): Promise<SpillState> {
  run.beginSpill();
  const timeRangeUs = await timeRangeOf(task, hooks);
  const subdivisions = task.subdivisions(numRows);
  const numShares = threads.numThreads;
  const boundary = (i: number) => Math.floor(numRows * i / numShares);
  const shares = Array.from({ length: numShares }, (_, i) => ({
    rowRange: [boundary(i), boundary(i + 1)] as const,
    spillPath: run.spillPath(i),
    subdivisions,
    bufferBytes: task.memoryLimitBytes * SPILL_BUFFER_SHARE / numShares,
    timeRangeUs,
  }));
  const results = await threads.run({
    own: (own) => partitionShare(task, shares[0], own),
    requests: shares.slice(1).map((share) => ({ kind: "partition", share })),
    phase: "reading",
    total: numRows,
  }, hooks);
  const rejects = new RejectLog();
  for (const result of results) rejects.merge(result.rejects);
  const numRowsRead = results.reduce((sum, result) => sum + result.numRowsRead, 0);
  if (rejects.write(join(run.folder, "rejects.jsonl"))) await run.record("rejects.jsonl");
  rejects.check(numRowsRead, task.maxRejectRatio);
  run.checkInputs();
  const columns = [...new Set(results.flatMap((result) => result.columns))].sort();
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
  return await readTimeRangeUs(task.inputs, readOptionsOf(task, new RejectLog()), new Breather(hooks));
}
