/**
 * What `shard` and `probe-rows` have in common: rows divided over a spill file, then shard after shard written
 * from it, with a manifest from which an interrupted run goes on.
 *
 * @module
 */
import { shareOf } from "../files/array_task.ts";
import { surveyInputs } from "../measurement/parquet_reader.ts";
import { OutputRun } from "./output_run.ts";
import { partitionRows } from "./partitioner.ts";
import { PeakMemory } from "../runtime/peak_memory.ts";
import { type Shard, ShardLayout, shardsWithin } from "./shard_layout.ts";
import type { ShardQueue } from "./shard_queue.ts";
import type { ShardedStage } from "./sharded_stage_definition.ts";
import { SPLIT_NAMES, type SplitName } from "./splits.ts";
import type { StageHooks } from "../threads/stage_hooks.ts";
import { StageThreads } from "./stage_threads.ts";

/** A thread takes 0.1 s to start, in which another reads this many rows. */
const MIN_ROWS_PER_THREAD = 50_000;

/** What a run did; `splits` has the sums of the shards' counts with `shards` and `bytes`. */
export interface StageSummary {
  splits: Record<SplitName, Record<string, number>>;
  rejected: Record<string, number>;
  inputRows: number;
  seconds: number;
  rowsPerSecond: number;
  peakMemoryBytes: number;
  /** Whether all was there already; `rowsPerSecond` is then 0. */
  wasComplete: boolean;
}

/**
 * Runs a stage to its end, from where an earlier run of the same work ended.
 *
 * @throws {UserError} If the input or output cannot be used.
 */
export async function runShardedStage(definition: ShardedStage, hooks: StageHooks): Promise<StageSummary> {
  const startMs = performance.now();
  using memory = new PeakMemory();
  const { stage, task, inputManifests, identity, overwrite, arrayTask } = definition;
  using run = OutputRun.open(definition.output, {
    stage,
    inputs: task.inputs,
    inputManifests,
    options: identity,
    overwrite,
    task: arrayTask,
  });
  const wasComplete = run.output.isComplete;
  if (!wasComplete) {
    const watched: StageHooks = {
      ...hooks,
      onProgress(phase, done, total) {
        memory.sample();
        hooks.onProgress?.(phase, done, total);
      },
    };
    try {
      await writeShards(definition, run, watched);
    } catch (error) {
      run.discardIfUseless();
      throw error;
    }
    run.finish(sumBySplit(run, definition));
  }
  const seconds = (performance.now() - startMs) / 1000;
  const inputRows = Number(run.output.manifest.counts.inputRows ?? 0);
  return {
    splits: sumBySplit(run, definition),
    rejected: run.output.manifest.rejected,
    inputRows,
    seconds,
    rowsPerSecond: wasComplete ? 0 : inputRows / seconds,
    peakMemoryBytes: memory.peakBytes,
    wasComplete,
  };
}

async function writeShards(definition: ShardedStage, run: OutputRun, hooks: StageHooks): Promise<void> {
  const { task, shardName, workers } = definition;
  const isFinished = (shard: Shard) => run.output.finished(shardName(shard)) !== undefined;
  if (shardsWithin(task.numShards, task.ownShards).every(isFinished)) return;
  const survey = await surveyInputs(task.inputs);
  const [first, end] = shareOf(task.rowShare, survey.numRows);
  const numThreads = Math.max(1, Math.min(workers, Math.floor((end - first) / MIN_ROWS_PER_THREAD)));
  using threads = new StageThreads(numThreads, definition);
  const state = run.earlierSpill() ?? await partitionRows(task, run, { survey, threads, hooks });
  const layout = new ShardLayout(task.numShards, state.subdivisions, task.ownShards);
  const queue: ShardQueue = {
    folder: run.output.folder,
    spill: state.indexes.map((index, i) => ({ path: run.spillPath(i), index })),
    columns: state.columns,
    shards: layout.shards().filter((shard) => !isFinished(shard)),
    numTaken: new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT),
  };
  await threads.run({
    work: Array.from({ length: numThreads }, (_, i) => ({ kind: "write", queue, runsPath: run.runsPath(i) })),
    onShard: (output) => run.add(output),
    phase: "writing",
    total: queue.shards.flatMap(({ partitions }) => partitions).reduce(
      (sum, partition) => sum + state.indexes.reduce((rows, { numRows }) => rows + numRows[partition], 0),
      0,
    ),
  }, hooks);
}

function sumBySplit(
  run: OutputRun,
  { counted }: ShardedStage,
): Record<SplitName, Record<string, number>> {
  const names = ["shards", "bytes", ...counted];
  const sums = Object.fromEntries(
    SPLIT_NAMES.map((split) => [split, Object.fromEntries(names.map((name) => [name, 0]))]),
  ) as Record<SplitName, Record<string, number>>;
  for (const { path, sizeBytes, counts } of run.output.manifest.outputs) {
    const split = SPLIT_NAMES.find((name) => path.startsWith(`${name}/`));
    if (!split) continue;
    const sum = sums[split];
    sum.shards++;
    sum.bytes += sizeBytes;
    for (const [name, count] of Object.entries(counts ?? {})) sum[name] += count;
  }
  return sums;
}
