/**
 * The common options of `shard` and `probe-rows`, and the definition that distinguishes them.
 *
 * @module
 */
import type { ArrayTask } from "../../io/files/array_task.ts";
import type { GroupKey } from "./external_sort/probe_columns.ts";
import type { SpillReader } from "./external_sort/spill.ts";
import type { ColumnData, SpillColumn } from "./external_sort/spill_block.ts";
import type { OptionalColumn } from "../measurement_files/parquet_writer.ts";
import type { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import type { Shard, ShardRange } from "./shard_layout.ts";
import type { KeyedBatch, SplitName, SplitPlan } from "./splits.ts";

/** The options that both stages take. */
export interface ShardedStageOptions {
  /** Parquet files, sorted. */
  inputs: readonly string[];
  /** The manifests of all inputs, from `neededParts()`, if `inputs` are only those that the task reads. */
  inputManifests?: readonly string[] | undefined;
  /** The output folder. */
  output: string;
  overwrite: boolean;
  /** The column that identifies a source. */
  groupBy: GroupKey;
  /** Seed of the hash, u32. */
  seed: number;
  /** Files of train, val and test. */
  numShards: readonly [train: number, val: number, test: number];
  /** Largest share of rows that may be rejected. */
  maxRejectRatio: number;
  memoryLimitBytes: number;
  /** Largest number of threads (default 1); the output does not depend on it. */
  workers?: number;
  /** The task of this run; by default it is the only one. */
  task?: ArrayTask;
}

/** The source of a row's split: a plan, or the folder of its file. */
export type SplitSource =
  | { plan: Omit<SplitPlan, "timeRangeUs"> }
  | { splitOfFile: ReadonlyMap<string, SplitName> };

/** A shard's rows and its file. */
export interface ShardJob {
  spill: SpillReader;
  /** Optional columns that the input had. */
  columns: readonly string[];
  /** The partitions of the spill files, in order. */
  partitions: readonly number[];
  /** The file to write. */
  path: string;
  pacer: EventLoopPacer;
  /** A file for sorted runs; it is removed after use. */
  runsPath: string;
}

/** A stage that writes one file per shard. */
export interface ShardedStage extends ShardedStageOptions {
  stage: "shard" | "probe-rows";
  /** Plain data from which another thread makes the same definition. */
  options: unknown;
  /** The options that decide the output's bytes. */
  identity: Record<string, unknown>;
  splits: SplitSource;
  /** The share of the input's rows to read. */
  rowShare: ArrayTask;
  /** The shards to make; rows of other shards are skipped. */
  ownShards: ShardRange;
  /** The spill file's columns. */
  schema: readonly SpillColumn[];
  /** Optional columns to read if a file has them. */
  columns: readonly OptionalColumn[];
  /** Fills the spill file's columns from a batch. */
  fill(keyed: KeyedBatch, into: ColumnData[]): void;
  /** The number of partitions of a shard, from the number of rows. */
  subdivisions(numRows: number): number;
  /** The shard's file within the output folder. */
  shardName(shard: Shard): string;
  /** The names of a shard's counts, in order. */
  counted: readonly string[];
  /** Writes a shard's file and returns its counts. */
  writeShard(job: ShardJob): Promise<Record<string, number>>;
}
