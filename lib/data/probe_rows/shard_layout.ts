/**
 * The shard and the spill file's partition of a source, and the names of shards.
 *
 * Shards and partitions are consecutive ranges of the source's hash, so the records of a shard are in
 * the order of the hash whatever the number of partitions.
 *
 * @module
 */
import { type ArrayTask, shareOf, taskSuffix } from "../../io/files/array_task.ts";
import { SPLIT_NAMES, type SplitName } from "./splits.ts";

const TWO_32 = 2 ** 32;

/** The range of shards that a run makes; shards are numbered through train, val and test. */
export type ShardRange = readonly [first: number, end: number];

/** A shard and its index among those of its split. */
export interface Shard {
  split: SplitName;
  shard: number;
}

/** Ranges of the hash: splits, their shards, and partitions within a shard; a run may make only some of the shards. */
export class ShardLayout {
  /** Partitions of the run's shards. */
  readonly numPartitions: number;
  readonly #firstPartition: number[];

  /**
   * @param numShards Shards of train, val and test.
   * @param subdivisions Partitions of a shard.
   * @param own The shards that the run makes.
   */
  constructor(
    readonly numShards: readonly number[],
    readonly subdivisions: number,
    readonly own: ShardRange,
  ) {
    const [first, end] = own;
    this.numPartitions = (end - first) * subdivisions;
    this.#firstPartition = [-first * subdivisions];
    for (const shards of numShards) {
      this.#firstPartition.push((this.#firstPartition.at(-1) ?? 0) + shards * subdivisions);
    }
  }

  /**
   * The partition of a source.
   *
   * @param split Index into {@link SPLIT_NAMES}.
   * @param hash The first word of its hash, u32.
   * @returns 0..numPartitions - 1, or numPartitions if the run does not make its shard.
   */
  partitionOf(split: number, hash: number): number {
    const count = this.#firstPartition[split + 1] - this.#firstPartition[split];
    const partition = this.#firstPartition[split] + Math.floor(hash * count / TWO_32);
    return partition >= 0 && partition < this.numPartitions ? partition : this.numPartitions;
  }

  /** The run's shards in order, each with its partitions in order. */
  shards(): (Shard & { partitions: number[] })[] {
    return shardsWithin(this.numShards, this.own).map((shard, i) => ({
      ...shard,
      partitions: Array.from({ length: this.subdivisions }, (_, p) => i * this.subdivisions + p),
    }));
  }
}

/** The share of the shards that a task makes. */
export function shardRangeOf(task: ArrayTask, numShards: readonly number[]): ShardRange {
  return shareOf(task, numShards.reduce((sum, count) => sum + count, 0));
}

export function shardsWithin(numShards: readonly number[], [first, end]: ShardRange): Shard[] {
  const all = SPLIT_NAMES.flatMap((split, s) =>
    Array.from({ length: numShards[s] }, (_, shard) => ({ split, shard }))
  );
  return all.slice(first, end);
}

/** `train/shard-00000.parquet`: a shard of measurements, or a task's part of it (`…-part-00002-of-00004.parquet`). */
export function parquetShardName({ split, shard }: Shard, task: ArrayTask): string {
  const part = task.count === 1 ? "" : `-part${taskSuffix(task)}`;
  return `${split}/shard-${padded(shard)}${part}.parquet`;
}

/** The index of the shard in a name of {@link parquetShardName}, or undefined for other names. */
export function shardOfParquetName(path: string): number | undefined {
  const match = /(?:^|[\\/])shard-(\d{5})(?:-part-\d{5}-of-\d{5})?\.parquet$/.exec(path);
  return match ? Number(match[1]) : undefined;
}

/** `train/train-00000-of-00016.arrayrecord`: a shard of probe rows. */
export function recordShardName({ split, shard }: Shard, numShards: number): string {
  return `${split}/${split}-${padded(shard)}-of-${padded(numShards)}.arrayrecord`;
}

function padded(number: number): string {
  return String(number).padStart(5, "0");
}
