/**
 * Inputs whose splits are decided already: folders with `train`, `val` and `test` in them, as `shard` writes.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { z } from "zod";
import { UsageError } from "../errors.ts";
import { exists, listInputs } from "../files/inputs.ts";
import { requireFinished } from "../files/task_manifests.ts";
import type { FileSources } from "./partition_share.ts";
import { shardOfParquetName } from "./shard_layout.ts";
import { SPLIT_NAMES, type SplitName } from "./splits.ts";

const PARQUET: InputKind = { extensions: [".parquet"], wanted: "a Parquet file" };

/** Input files, with their splits where folders decide. */
export interface SplitInputs {
  files: string[];
  /** The split of each file; absent where rows are split by a rule. */
  splitOfFile?: ReadonlyMap<string, SplitName>;
  /** What `shard` says of its files' sources. */
  sourcesOfFile?: ReadonlyMap<string, FileSources>;
}

/** Of the options of `shard`, those that place sources. */
const placingSchema = z.object({
  groupBy: z.string(),
  seed: z.number(),
  numShards: z.array(z.number()).length(SPLIT_NAMES.length),
});

/** Which files of a folder count, and what an error message calls them. */
export interface InputKind {
  extensions: string[];
  wanted: string;
}

/**
 * Lists inputs and finds out whether they are split.
 *
 * @param paths Files, folders, globs.
 * @param kind Of the files; Parquet by default.
 * @throws {UserError} If there is nothing there, the run or a task that writes it has not finished, or only some of
 *   the paths are split folders.
 */
export function listSplitInputs(paths: readonly string[], kind: InputKind = PARQUET): SplitInputs {
  const foldersOf = (path: string) => splitFoldersOf(path, kind);
  const split = paths.filter((path) => foldersOf(path).length > 0);
  if (split.length === 0) return { files: listInputs(paths, kind) };
  if (split.length < paths.length) {
    const other = paths.find((path) => !split.includes(path));
    throw new UsageError(
      `Cannot use --input ${other} with ${
        split[0]
      }: one has no folders train, val, test and the other has; ` +
        `give them to runs of their own`,
    );
  }
  const files = listInputs(split.flatMap(foldersOf), kind);
  return {
    files,
    splitOfFile: new Map(files.map((file) => [file, splitOf(file, split)])),
    sourcesOfFile: new Map(split.flatMap((root) => sourcesWithin(root, kind))),
  };
}

/** The files of a folder of which its manifests, if they are of `shard`, say the sources. */
function sourcesWithin(root: string, kind: InputKind): [string, FileSources][] {
  const manifest = requireFinished(root).at(0);
  const placing = manifest?.stage === "shard" ? placingSchema.safeParse(manifest.options).data : undefined;
  if (!placing) return [];
  const { groupBy, seed } = placing;
  return listInputs(splitFoldersOf(root, kind), kind).flatMap((file): [string, FileSources][] => {
    const shard = shardOfParquetName(file);
    const numShards = placing.numShards[SPLIT_NAMES.indexOf(splitOf(file, [root]))];
    return shard === undefined ? [] : [[file, { groupBy, seed, shard, numShards }]];
  });
}

/** The folders train, val, test of a folder that have such files, which are not hidden; one may be empty or missing. */
function splitFoldersOf(path: string, { extensions }: InputKind): string[] {
  return SPLIT_NAMES.map((name) => join(path, name)).filter((folder) =>
    exists(folder) && Deno.statSync(folder).isDirectory &&
    [...Deno.readDirSync(folder)].some(({ name }) =>
      !name.startsWith(".") && extensions.some((extension) => name.endsWith(extension))
    )
  );
}

function splitOf(file: string, roots: readonly string[]): SplitName {
  const tops = new Set(roots.map((root) => join(root)));
  let folder = dirname(file);
  while (!tops.has(dirname(folder)) && dirname(folder) !== folder) folder = dirname(folder);
  return SPLIT_NAMES.find((name) => name === basename(folder)) ?? "train";
}
