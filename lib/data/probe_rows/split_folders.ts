/**
 * Inputs that are already split: folders with `train`, `val` and `test` in them, as `shard` writes.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { UsageError } from "../../base/errors.ts";
import { exists, type IsRead, listInputs } from "../../io/files/inputs.ts";
import { SPLIT_NAMES, type SplitName } from "./splits.ts";

const PARQUET: InputKind = { extensions: [".parquet"], wanted: "a Parquet file" };

/** Input files, with their splits if folders decide them. */
export interface SplitInputs {
  files: string[];
  /** The split of each file; absent if rows are split by a rule. */
  splitOfFile?: ReadonlyMap<string, SplitName>;
}

/** The files of a folder that count, and their name in error messages. */
export interface InputKind {
  extensions: string[];
  wanted: string;
}

/**
 * Lists inputs and determines whether they are split.
 *
 * @param paths Files, folders, globs.
 * @param kind The kind of the files; Parquet by default.
 * @param isRead The inputs that count, if these are known to be split, such as by `neededParts()`; by default
 *   all inputs.
 * @throws {UserError} If there are no files, or only some of the paths are split folders.
 */
export function listSplitInputs(
  paths: readonly string[],
  kind: InputKind = PARQUET,
  isRead?: IsRead,
): SplitInputs {
  const folders = new Map(paths.map((path) => [path, splitFoldersOf(path, isRead ? undefined : kind)]));
  const split = paths.filter((path) => folders.get(path)?.length);
  if (split.length === 0) return { files: listInputs(paths, kind) };
  if (split.length < paths.length) {
    const other = paths.find((path) => !split.includes(path));
    throw new UsageError(
      `Cannot use --input ${other} with ${split[0]}: only one of them has folders train, val, test; ` +
        "use separate runs for them",
    );
  }
  const files = listInputs([...folders.values()].flat(), { ...kind, isRead });
  return {
    files,
    splitOfFile: new Map(files.map((file) => [file, splitOf(file, split)])),
  };
}

/**
 * The folders train, val, test of a folder; one may be missing.
 *
 * @param kind If given, they count only if they have such files, which are not hidden.
 */
function splitFoldersOf(path: string, kind: InputKind | undefined): string[] {
  const isWanted = (name: string) =>
    !name.startsWith(".") && kind?.extensions.some((extension) => name.endsWith(extension));
  return SPLIT_NAMES.map((name) => join(path, name)).filter((folder) =>
    exists(folder) && Deno.statSync(folder).isDirectory &&
    (!kind || [...Deno.readDirSync(folder)].some(({ name }) => isWanted(name)))
  );
}

function splitOf(file: string, roots: readonly string[]): SplitName {
  const tops = new Set(roots.map((root) => join(root)));
  let folder = dirname(file);
  while (!tops.has(dirname(folder)) && dirname(folder) !== folder) folder = dirname(folder);
  return SPLIT_NAMES.find((name) => name === basename(folder)) ?? "train";
}
