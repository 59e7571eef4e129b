/**
 * Moves outputs to their final paths, and decides what they may replace there: another run's result only with
 * --overwrite, another stage's or a user's file never.
 *
 * @module
 */
import { basename, dirname, join, resolve } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { explainFileError } from "./file_errors.ts";
import { WORK } from "./array_task.ts";
import { syncDirectory, temporaryName } from "./atomic.ts";
import { exists, isMissing } from "./inputs.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { refuseLink, requireRegular } from "./byte_file.ts";

/** The folder of outputs within a work folder. */
export const NEXT = "next";
/** The manifest of unfinished work, within its folder. */
export const MANIFEST = "manifest.json";
/** The manifest of the outputs that are being replaced, within the work folder. */
const REPLACED = "replaced.json";
/** Bytes of the longest name of a file: NAME_MAX of Linux, less the length that a temporary name adds. */
const MAX_NAME_BYTES = 255 - temporaryName("").length;

export interface OutputPath {
  /** As the user named it. */
  output: string;
  /** The folder that names in the manifest are relative to. */
  root: string;
  /** The folder of unfinished work, within `root`. */
  work: string;
  /** The manifest of the published output. */
  manifestPath: string;
}

/**
 * The paths of an output file: the file that is replaced when the new one is complete, and its work folder.
 *
 * @throws {UserError} If its name is too long.
 */
export function placeOfFile(file: string): { path: string; work: string } {
  const path = targetOf(file);
  requireShortName(path);
  return { path, work: join(dirname(path), `.${basename(path)}${WORK}`) };
}

/** Refuses a file whose temporary name the file system would not take. */
function requireShortName(path: string): void {
  const numBytes = new TextEncoder().encode(basename(path)).length;
  if (numBytes <= MAX_NAME_BYTES) return;
  throw new UserError(
    `Cannot write ${path}: its name has ${numBytes} bytes, expected at most ${MAX_NAME_BYTES}; ` +
      "choose a shorter one",
  );
}

/** The target of a link, which need not exist yet; any other path unchanged. */
function targetOf(file: string): string {
  try {
    exists(file); // a link to itself is refused
    if (!Deno.lstatSync(file).isSymlink) return file;
    return targetOf(resolve(dirname(file), Deno.readLinkSync(file)));
  } catch (error) {
    if (isMissing(error)) return file;
    throw explainFileError(error, `write ${file}`);
  }
}

/**
 * Moves the outputs of finished work, if there is any, to their final paths and deletes the outputs that they
 * replace. After a kill in between, the next call continues.
 *
 * The old manifest is removed first and the new one is put in place last, so no manifest describes a mixture.
 *
 * @throws {UserError} If a file cannot be moved, or its path leads through a link; nothing is changed then.
 */
export function finishMoving({ root, work, manifestPath }: OutputPath): void {
  const manifest = readManifest(join(work, MANIFEST));
  if (!manifest?.complete) return;
  try {
    const names = new Set(manifest.outputs.map(({ path }) => path));
    const replacedPath = join(work, REPLACED);
    const published = readManifest(manifestPath);
    const replaced = readManifest(replacedPath) ?? published;
    for (const name of [...names, ...replaced?.outputs.map(({ path }) => path) ?? []]) {
      refuseLinksTo(root, name);
    }
    if (published) {
      Deno.renameSync(manifestPath, replacedPath);
      syncDirectory(root);
    }
    if (replaced?.stage === manifest.stage) {
      for (const { path } of replaced.outputs) if (!names.has(path)) removeOutput(root, path);
    }
    const folders = new Set([root]);
    for (const name of names) {
      const from = join(work, NEXT, name);
      if (!exists(from)) continue;
      const to = join(root, name);
      // The folder of a file exists, and this process may not be allowed to make it.
      if (!folders.has(dirname(to))) Deno.mkdirSync(dirname(to), { recursive: true });
      folders.add(dirname(to));
      Deno.renameSync(from, to);
    }
    folders.forEach(syncDirectory);
    Deno.renameSync(join(work, MANIFEST), manifestPath);
    syncDirectory(root);
  } catch (error) {
    throw explainFileError(error, `write to ${root}`);
  }
}

/** Refuses an output that a link in its folder would lead elsewhere. @throws {UserError} If there is such a link. */
export function refuseLinksTo(root: string, name: string): void {
  for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
    refuseLink(join(root, folder), `write ${join(root, name)}`);
  }
}

/** Deletes a file, and then the folders on its path that have become empty. */
function removeOutput(root: string, name: string): void {
  try {
    // A run that was killed here may have deleted the file but not its folders.
    if (exists(join(root, name))) Deno.removeSync(join(root, name));
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
      Deno.removeSync(join(root, folder));
    }
  } catch { /* it is gone already, or the folder holds more */ }
}

/** The state of an output's path before a run. */
export interface Found {
  wanted: Manifest;
  /** The manifest of the published outputs. */
  published: Manifest | undefined;
  /** Whether it is of the requested run. */
  isPublished: boolean;
  /** Whether there is unfinished work of another run. */
  hasBegunOther: boolean;
}

/** Refuses a folder that holds other files or another run's output. @throws {UserError} If it does. */
export function refuseOthersFolder({ output, root }: OutputPath, found: Found, overwrite: boolean): void {
  const { wanted: { stage }, published, isPublished, hasBegunOther } = found;
  if (isPublished) return;
  if (hasBegunOther && !overwrite) {
    throw new UserError(
      `Cannot write to ${output}: a run with other inputs or options did not finish there; finish it, ` +
        "choose another --output or add --overwrite",
    );
  }
  const isEmpty = [...Deno.readDirSync(root)].every(({ name }) => name.startsWith(WORK));
  if (isEmpty) return;
  if (published?.stage === stage) {
    if (overwrite) return;
    throw new UserError(
      `Cannot write to ${output}: ${stage} with other inputs or options wrote to it, expected an empty folder; ` +
        "choose another --output or add --overwrite",
    );
  }
  throw new UserError(
    `Cannot write to ${output}: ${published ? `${published.stage} wrote to it` : "it holds other files"}, ` +
      `expected an empty folder or one of ${stage}; choose another --output, or delete the folder by hand`,
  );
}

/** Refuses paths that are not regular files. @throws {UserError} If there is one. */
export function requireRegularPlaces({ root }: OutputPath, names: readonly string[]): void {
  for (const name of names) {
    const path = join(root, name);
    requireShortName(path);
    if (exists(path)) requireRegular(Deno.statSync(path), `write ${path}`);
  }
}

/** Refuses to replace files that another run or an unknown program wrote. @throws {UserError} If there is one. */
export function refuseOthersFiles(
  { root }: OutputPath,
  names: readonly string[],
  found: Found,
  overwrite: boolean,
): void {
  const { wanted: { stage }, published, isPublished } = found;
  const own = new Set(published?.stage === stage ? published.outputs.map(({ path }) => path) : []);
  for (const name of names) {
    const path = join(root, name);
    if (!exists(path)) continue;
    if (!own.has(name)) {
      const writer = published ? `${published.stage} wrote it` : "no manifest says who wrote it";
      throw new UserError(
        `Cannot write ${path}: it exists already, and ${writer}; choose another --output, or delete it by hand`,
      );
    }
    if (isPublished || overwrite) continue;
    throw new UserError(
      `Cannot write ${path}: ${stage} with other inputs or options wrote it; ` +
        "choose another --output or add --overwrite",
    );
  }
}
