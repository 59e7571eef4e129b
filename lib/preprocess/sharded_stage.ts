/**
 * What `shard` and `probe-rows` have in common: rows divided over a spill file, then shard after shard written
 * from it, with a manifest from which an interrupted run goes on.
 *
 * @module
 */
import { join } from "@std/path";
import { OutputRun } from "./output_run.ts";
import { partitionRows, type PartitionTask } from "./partitioner.ts";
import { PeakMemory } from "./peak_memory.ts";
import { ShardLayout } from "./shard_layout.ts";
import type { SpillReader } from "./spill.ts";
import { SPLIT_NAMES, type SplitName } from "./splits.ts";
import { Breather, type StageHooks } from "./stage_hooks.ts";

/** Where a shard's rows are and where the shard goes. */
export interface ShardJob {
  spill: SpillReader;
  /** Optional columns that the input had. */
  columns: readonly string[];
  /** The partitions of the spill file, in order. */
  partitions: readonly number[];
  /** The file to write. */
  path: string;
  breather: Breather;
  /** A file for sorted runs, to be removed after use. */
  runsPath: string;
}

/** A stage that writes one file per shard. */
export interface ShardedStage {
  stage: string;
  output: string;
  overwrite: boolean;
  /** The options that decide the output's bytes. */
  identity: Record<string, unknown>;
  task: PartitionTask;
  /** The shard's file within the output folder. */
  shardName(split: SplitName, shard: number): string;
  /** Writes a shard's file and returns its counts. */
  writeShard(job: ShardJob): Promise<Record<string, number>>;
}

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
  const { task, stage, identity, overwrite } = definition;
  const run = OutputRun.open(definition.output, { stage, inputs: task.inputs, options: identity, overwrite });
  const wasComplete = run.isComplete;
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
    run.finish(sumBySplit(run));
  }
  const seconds = (performance.now() - startMs) / 1000;
  const inputRows = Number(run.manifest.counts.inputRows);
  return {
    splits: sumBySplit(run),
    rejected: run.manifest.rejected,
    inputRows,
    seconds,
    rowsPerSecond: wasComplete ? 0 : inputRows / seconds,
    peakMemoryBytes: memory.peakBytes,
    wasComplete,
  };
}

async function writeShards(definition: ShardedStage, run: OutputRun, hooks: StageHooks): Promise<void> {
  const { task, shardName } = definition;
  const names = [...new ShardLayout(task.numShards, 1).shards()].map(({ split, shard }) =>
    shardName(split, shard)
  );
  if (names.every((name) => run.finished(name))) return;
  const state = await partitionRows(task, run, hooks);
  using spill = run.openSpill(task.schema, state);
  const breather = new Breather(hooks);
  const layout = new ShardLayout(task.numShards, state.subdivisions);
  const totalRows = spill.index.numRows.reduce((sum, rows) => sum + rows, 0);
  let numRowsDone = 0;
  for (const { split, shard, partitions } of layout.shards()) {
    const name = shardName(split, shard);
    if (!run.finished(name)) {
      const path = join(run.folder, name);
      const job = { spill, columns: state.columns, partitions, path, breather, runsPath: run.runsPath };
      await run.record(name, await definition.writeShard(job));
    }
    for (const partition of partitions) numRowsDone += spill.index.numRows[partition];
    hooks.onProgress?.("writing", numRowsDone, totalRows);
    await breather.breathe();
  }
}

function sumBySplit(run: OutputRun): Record<SplitName, Record<string, number>> {
  const sums = Object.fromEntries(
    SPLIT_NAMES.map((split) => [split, { shards: 0, bytes: 0 } as Record<string, number>]),
  ) as Record<SplitName, Record<string, number>>;
  for (const { path, sizeBytes, counts } of run.manifest.outputs) {
    const split = SPLIT_NAMES.find((name) => path.startsWith(`${name}/`));
    if (!split) continue;
    const sum = sums[split];
    sum.shards++;
    sum.bytes += sizeBytes;
    for (const [name, count] of Object.entries(counts ?? {})) sum[name] = (sum[name] ?? 0) + count;
  }
  return sums;
}
