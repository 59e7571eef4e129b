/**
 * Finds the parts of shards that a task of `probe-rows` reads. The task checks no others: otherwise every task would
 * check all parts.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import * as z from "zod";
import type { ArrayTask } from "../../io/files/array_task.ts";
import type { IsRead } from "../../io/files/inputs.ts";
import { readManifest } from "../../io/files/manifest.ts";
import { realPath } from "../../io/files/real_path.ts";
import { listTasks, manifestName } from "../../io/files/task_manifests.ts";
import { shardOfParquetName, shardRangeOf, shardsWithin } from "./shard_layout.ts";
import { SPLIT_NAMES } from "./splits.ts";

/** The options of `shard` that decide the shard of a source. */
const placingSchema = z.object({
  groupBy: z.string(),
  seed: z.number(),
  numShards: z.array(z.number()).length(SPLIT_NAMES.length),
});

/** The output of a task of `probe-rows`. */
interface WantedRecords {
  task: ArrayTask;
  /** ArrayRecord files of train, val and test, of all tasks. */
  numShards: readonly number[];
  groupBy: string;
  /** Seed of the hash of sources, u32. */
  seed: number;
}

/**
 * Finds the parts that a task needs. `checkOutputs()` checks that they exist and that all tasks of `shard` are done.
 *
 * @param paths The inputs.
 * @returns `isRead`: false for parts that hold no rows for the task; `manifests`: those of all parts, including
 *   that are not read. Undefined if the task has to read everything: it is the only one, or not all are folders of
 *   `shard` with the same options for sources.
 * @throws {FormatError} If a manifest is damaged.
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
    let isNeeded = isNeededIn.get(folder);
    if (!isNeeded) {
      const numShards = numShardsOf.get(realPath(dirname(folder)));
      isNeeded = numShards ? neededShards(basename(folder), numShards, wanted) : [];
      isNeededIn.set(folder, isNeeded);
    }
    return isNeeded[shard] ?? true;
  };
  return { isRead, manifests };
}

/** For each shard in the folder of a split, whether it can hold rows of the task. */
function neededShards(
  folder: string,
  ofFolders: readonly number[],
  { task, numShards }: WantedRecords,
): boolean[] {
  const at = SPLIT_NAMES.findIndex((name) => name === folder);
  if (at < 0) return [];
  const own = shardsWithin(numShards, shardRangeOf(task, numShards)).filter(({ split }) => split === folder);
  // The i-th of n shards has the hashes from i / n to (i + 1) / n of the range.
  const n = ofFolders[at];
  const m = numShards[at];
  const overlaps = (i: number, j: number) => i * m < (j + 1) * n && j * n < (i + 1) * m;
  return Array.from({ length: n }, (_, i) => own.some(({ shard }) => overlaps(i, shard)));
}
