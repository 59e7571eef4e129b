/**
 * What distinguishes `shard` and `probe-rows` from each other.
 *
 * @module
 */
import type { ArrayTask } from "../files/array_task.ts";
import type { PartitionTask } from "./partition_share.ts";
import type { Shard } from "./shard_layout.ts";
import type { SpillReader } from "../external_sort/spill.ts";
import type { Breather } from "../threads/stage_hooks.ts";

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
  /** A file for sorted runs, to be removed after use. */
  runsPath: string;
}

/** A stage that writes one file per shard. */
export interface ShardedStage {
  stage: "shard" | "probe-rows";
  /** Which of several runs that write to the output folder this is. */
  arrayTask: ArrayTask;
  /** Where tasks read other files each: the manifests of all that they divide. */
  inputManifests?: readonly string[] | undefined;
  output: string;
  overwrite: boolean;
  /** The options that decide the output's bytes. */
  identity: Record<string, unknown>;
  task: PartitionTask;
  /** Threads at most. */
  workers: number;
  /** What another thread makes the same definition from: plain data. */
  options: unknown;
  /** The shard's file within the output folder. */
  shardName(shard: Shard): string;
  /** What is counted of a shard, in order. */
  counted: readonly string[];
  /** Writes a shard's file and returns its counts. */
  writeShard(job: ShardJob): Promise<Record<string, number>>;
}
