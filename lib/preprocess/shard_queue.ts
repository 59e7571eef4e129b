/**
 * The second half of `shard` and `probe-rows`: shards taken one by one by whichever thread is free, each written
 * from its partitions of the spill files.
 *
 * @module
 */
import { join } from "@std/path";
import { describeOutput, type ManifestOutput } from "../files/manifest.ts";
import { type SpillPart, SpillReader } from "../external_sort/spill.ts";
import type { Shard } from "./shard_layout.ts";
import type { ShardedStage } from "./sharded_stage_definition.ts";
import { Breather, type StageHooks } from "../threads/stage_hooks.ts";

/** The shards that are not finished: plain data, the same for all threads. */
export interface ShardQueue {
  /** The output folder. */
  folder: string;
  spill: SpillPart[];
  /** Optional columns that the input had. */
  columns: string[];
  shards: (Shard & { partitions: number[] })[];
  /** One i32: the number of shards that were taken. */
  numTaken: SharedArrayBuffer;
}

/** A thread's place at the queue. */
export interface QueueOptions {
  queue: ShardQueue;
  /** The thread's own file for sorted runs. */
  runsPath: string;
  /** Called with each finished shard. */
  onShard(output: ManifestOutput): void;
}

/**
 * Writes shards until none is left.
 *
 * @param hooks `onProgress` gets the rows written by this thread.
 * @throws {UserError} If the disk is full.
 */
export async function writeFromQueue(
  definition: ShardedStage,
  { queue, runsPath, onShard }: QueueOptions,
  hooks: StageHooks,
): Promise<void> {
  using spill = new SpillReader(queue.spill, definition.task.schema);
  const breather = new Breather(hooks);
  const taken = new Int32Array(queue.numTaken);
  let numRowsDone = 0;
  for (let at; (at = Atomics.add(taken, 0, 1)) < queue.shards.length;) {
    const { partitions, ...shard } = queue.shards[at];
    const name = definition.shardName(shard);
    const path = join(queue.folder, name);
    const job = { spill, columns: queue.columns, partitions, path, breather, runsPath };
    const counts = await definition.writeShard(job);
    onShard(await describeOutput(queue.folder, name, counts));
    for (const partition of partitions) numRowsDone += spill.numRows[partition];
    hooks.onProgress?.("writing", numRowsDone, numRowsDone);
    await breather.breathe();
  }
}
