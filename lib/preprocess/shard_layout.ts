/**
 * Which shard a source goes to, which partition of the spill file, and what the shards are called.
 *
 * Shards and partitions are ranges of the source's hash, one after the other, so the records of a shard are in
 * the order of the hash whatever the number of partitions.
 *
 * @module
 */
import { SPLIT_NAMES, type SplitName } from "./splits.ts";

const TWO_32 = 2 ** 32;

/** Ranges of the hash: splits, their shards, and partitions within a shard. */
export class ShardLayout {
  /** Shards of train, val and test. */
  readonly numShards: readonly number[];
  /** Partitions of a shard. */
  readonly subdivisions: number;
  readonly #firstPartition: number[];

  /**
   * @param numShards Shards of train, val and test.
   * @param subdivisions Partitions of a shard.
   */
  constructor(numShards: readonly number[], subdivisions: number) {
    this.numShards = numShards;
    this.subdivisions = subdivisions;
    this.#firstPartition = [0];
    for (const shards of numShards) {
      this.#firstPartition.push((this.#firstPartition.at(-1) ?? 0) + shards * subdivisions);
    }
  }

  /** Number of partitions in all. */
  get numPartitions(): number {
    return this.#firstPartition[SPLIT_NAMES.length];
  }

  /**
   * The partition of a source.
   *
   * @param split Index into {@link SPLIT_NAMES}.
   * @param hash The first word of its hash, u32.
   */
  partitionOf(split: number, hash: number): number {
    const count = this.#firstPartition[split + 1] - this.#firstPartition[split];
    return this.#firstPartition[split] + Math.floor(hash * count / TWO_32);
  }

  /** The shards in order, each with its partitions in order. */
  *shards(): Generator<{ split: SplitName; shard: number; partitions: number[] }> {
    for (const [s, split] of SPLIT_NAMES.entries()) {
      for (let shard = 0; shard < this.numShards[s]; shard++) {
        const first = this.#firstPartition[s] + shard * this.subdivisions;
        yield { split, shard, partitions: Array.from({ length: this.subdivisions }, (_, i) => first + i) };
      }
    }
  }
}

/** `train/shard-00000.parquet`: a shard of measurements. */
export function parquetShardName(split: SplitName, shard: number): string {
  return `${split}/shard-${padded(shard)}.parquet`;
}

/** `train/train-00000-of-00016.arrayrecord`: a shard of probe rows. */
export function recordShardName(split: SplitName, shard: number, numShards: number): string {
  return `${split}/${split}-${padded(shard)}-of-${padded(numShards)}.arrayrecord`;
}

function padded(number: number): string {
  return String(number).padStart(5, "0");
}
