/**
 * What `shard` and `probe-rows` have in common, and what distinguishes them.
 *
 * @module
 */
import type { ArrayTask } from "../files/array_task.ts";
import type { GroupKey } from "../external_sort/probe_columns.ts";
import type { SpillReader } from "../external_sort/spill.ts";
import type { ColumnData, SpillColumn } from "../external_sort/spill_block.ts";
import type { OptionalColumn } from "../measurement/parquet_writer.ts";
import type { Breather } from "../threads/stage_hooks.ts";
import type { Shard, ShardRange } from "./shard_layout.ts";
import type { KeyedBatch, SplitName, SplitPlan } from "./splits.ts";

/** The options that both stages take. */
export interface ShardedStageOptions {
  /** Parquet files, sorted. */
  inputs: readonly string[];
  /** If `inputs` are only those that the task reads: the manifests of all, as `neededParts()` finds them. */
  inputManifests?: readonly string[] | undefined;
  /** The output folder. */
  output: string;
  overwrite: boolean;
  /** What a source is. */
  groupBy: GroupKey;
  /** Seed of the hash, u32. */
  seed: number;
  /** Files of train, val and test. */
  numShards: readonly [train: number, val: number, test: number];
  /** Largest share of rows that may be rejected. */
  maxRejectRatio: number;
  memoryLimitBytes: number;
  /** Threads at most (default 1); the output does not depend on it. */
  workers?: number;
  /** Which task of several this run is; the only one by default. */
  task?: ArrayTask;
}

/** Where the split of a row comes from: a plan, or the folder of its file. */
export type SplitSource =
  | { plan: Omit<SplitPlan, "timeRangeUs"> }
  | { splitOfFile: ReadonlyMap<string, SplitName> };

/** Where a shard's rows are and where the shard goes. */
export interface ShardJob {
  spill: SpillReader;
  /** Optional columns that the input had. */
  columns: readonly string[];
  /** The partitions of the spill files, in order. */
  partitions: readonly number[];
  /** The file to write. */
  path: string;
  breather: Breather;
  /** A file for sorted runs; it is removed after use. */
  runsPath: string;
}

/** A stage that writes one file per shard. */
export interface ShardedStage extends ShardedStageOptions {
  stage: "shard" | "probe-rows";
  /** What another thread makes the same definition from: plain data. */
  options: unknown;
  /** The options that decide the output's bytes. */
  identity: Record<string, unknown>;
  splits: SplitSource;
  /** Which share of the input's rows is read. */
  rowShare: ArrayTask;
  /** Rows of other shards are left out. */
  ownShards: ShardRange;
  /** The spill file's columns. */
  schema: readonly SpillColumn[];
  /** Optional columns to read where a file has them. */
  columns: readonly OptionalColumn[];
  /** Fills the spill file's columns from a batch. */
  fill(keyed: KeyedBatch, into: ColumnData[]): void;
  /** How many partitions a shard has, from the number of rows. */
  subdivisions(numRows: number): number;
  /** The shard's file within the output folder. */
  shardName(shard: Shard): string;
  /** What is counted of a shard, in order. */
  counted: readonly string[];
  /** Writes a shard's file and returns its counts. */
  writeShard(job: ShardJob): Promise<Record<string, number>>;
}
