/**
 * The shard of a source and its partition in the spill file, the names of shards, and which parts of shards a
 * task needs.
 *
 * Shards and partitions are consecutive ranges of the source's hash, so a shard's records are in hash order
 * whatever the number of partitions.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import * as z from "zod";
import { getOrMake } from "../../base/collections.ts";
import { type ArrayTask, padded, shareOf, taskSuffix } from "../../io/files/array_task.ts";
import type { IsRead } from "../../io/files/inputs.ts";
import { readManifest } from "../../io/files/manifest.ts";
import { realPath } from "../../io/files/real_path.ts";
import { listTasks, manifestName } from "../../io/files/task_manifests.ts";
import { SPLIT_NAMES, type SplitName } from "./splits.ts";

const TWO_32 = 2 ** 32;

/** A range of shards that a run makes. Shards are numbered through train, val and test. */
export type ShardRange = readonly [first: number, end: number];

export interface Shard {
  split: SplitName;
  shard: number;
}

/** Hash ranges of splits, their shards, and partitions within a shard. A run may make only some shards. */
export class ShardLayout {
  /** Number of partitions of the run's shards. */
  readonly numPartitions: number;
  readonly #firstPartition: number[];

  /** @param numShards Number of shards of train, val and test. @param own The shards that the run makes. */
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
   * @param hash The first word of the source's hash, u32.
   * @returns 0..numPartitions - 1, or numPartitions if the run does not make the source's shard.
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

export function shardRangeOf(task: ArrayTask, numShards: readonly number[]): ShardRange {
  return shareOf(task, numShards.reduce((sum, count) => sum + count, 0));
}

export function shardsWithin(numShards: readonly number[], [first, end]: ShardRange): Shard[] {
  const all = SPLIT_NAMES.flatMap((split, s) =>
    Array.from({ length: numShards[s] }, (_, shard) => ({ split, shard }))
  );
  return all.slice(first, end);
}

/** For example `train/shard-00000.parquet`, or for a part of a shard `…-part-00002-of-00004.parquet`. */
export function parquetShardName({ split, shard }: Shard, task: ArrayTask): string {
  const part = task.count === 1 ? "" : `-part${taskSuffix(task)}`;
  return `${split}/shard-${padded(shard)}${part}.parquet`;
}

/** Parses a name from {@link parquetShardName}; undefined for other names. */
function shardOfParquetName(path: string): number | undefined {
  const match = /(?:^|[\\/])shard-(\d{5})(?:-part-\d{5}-of-\d{5})?\.parquet$/.exec(path);
  return match ? Number(match[1]) : undefined;
}

/** For example `train/train-00000-of-00016.arrayrecord`. */
export function recordShardName({ split, shard }: Shard, numShards: number): string {
  return `${split}/${split}-${padded(shard)}-of-${padded(numShards)}.arrayrecord`;
}

/** Options of `shard` that determine the shard of a source. */
const placingSchema = z.object({
  groupBy: z.string(),
  seed: z.number(),
  numShards: z.array(z.number()).length(SPLIT_NAMES.length),
});

/** The output of a task of `probe-rows`. */
interface WantedRecords {
  task: ArrayTask;
  /** Number of ArrayRecord files of train, val and test, over all tasks. */
  numShards: readonly number[];
  groupBy: string;
  /** Seed of the sources' hash, u32. */
  seed: number;
}

/**
 * Finds the parts of shards that a task needs and therefore checks (`checkOutputs()`).
 *
 * @returns `isRead`: false for parts without rows for the task; `manifests`: the manifests of all parts,
 *   including those that are not read. Undefined if the task must read everything, either because it is the
 *   only task or because not all inputs are folders that `shard` wrote with the same options for sources.
 */
export function neededParts(
  paths: readonly string[],
  wanted: WantedRecords,
): { isRead: IsRead; manifests: string[] } | undefined {
  if (wanted.task.count === 1) return undefined;
  const numShardsOf = new Map<string, readonly number[]>();
  const manifests: string[] = [];
  for (const root of paths) {
    const names = listTasks(root).map((task) => join(root, manifestName(task)));
    const manifest = names.length > 0 ? readManifest(names[0]) : undefined;
    const placing = manifest?.stage === "shard" ? placingSchema.safeParse(manifest.options).data : undefined;
    if (placing?.groupBy !== wanted.groupBy || placing.seed !== wanted.seed) return undefined;
    numShardsOf.set(realPath(root), placing.numShards);
    manifests.push(...names);
  }
  const isNeededIn = new Map<string, readonly boolean[]>();
  const isRead = (path: string) => {
    const shard = shardOfParquetName(path);
    if (shard === undefined) return true;
    const folder = dirname(path);
    const isNeeded = getOrMake(isNeededIn, folder, () => {
      const numShards = numShardsOf.get(realPath(dirname(folder)));
      return numShards ? neededShards(basename(folder), numShards, wanted) : [];
    });
    return isNeeded[shard] ?? true;
  };
  return { isRead, manifests };
}

/** Whether each shard in a split's folder can contain rows of the task. */
function neededShards(
  folder: string,
  ofFolders: readonly number[],
  { task, numShards }: WantedRecords,
): boolean[] {
  const at = SPLIT_NAMES.findIndex((name) => name === folder);
  if (at < 0) return [];
  const own = shardsWithin(numShards, shardRangeOf(task, numShards)).filter(({ split }) => split === folder);
  // Shard i of n covers the hashes from i / n to (i + 1) / n of the range.
  const n = ofFolders[at];
  const m = numShards[at];
  const overlaps = (i: number, j: number) => i * m < (j + 1) * n && j * n < (i + 1) * m;
  return Array.from({ length: n }, (_, i) => own.some(({ shard }) => overlaps(i, shard)));
}
