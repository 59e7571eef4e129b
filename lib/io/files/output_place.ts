/**
 * Where an output goes, and what it may replace there: another run's result only with `--overwrite`, and
 * never a file of another stage or of a user.
 *
 * @module
 */
import { basename, dirname, join, resolve } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { type ArrayTask, formatArrayTask, TRACE, WORK } from "./array_task.ts";
import { temporaryName } from "./atomic.ts";
import { refuseLink, requireRegular } from "./byte_file.ts";
import { explained, unlessMissing } from "./file_errors.ts";
import { exists } from "./inputs.ts";
import { isSameRun, type Manifest } from "./manifest.ts";
import { firstManifest, listTasks, manifestName } from "./task_manifests.ts";

/** Maximum length of a file name: Linux's NAME_MAX minus what a temporary name adds. */
const MAX_NAME_BYTES = 255 - temporaryName("").length;

export interface OutputPath {
  /** As given by the user. */
  output: string;
  /** The folder to which names in the manifest are relative. */
  root: string;
  /** The folder for unfinished work, within `root`. */
  work: string;
  manifestPath: string;
}

/**
 * The paths of an output file: the file to be replaced on completion, and its work folder.
 *
 * @throws {UserError} If its name is too long.
 */
export function placeOfFile(file: string): { path: string; work: string } {
  const path = targetOf(file);
  requireShortName(path);
  return { path, work: join(dirname(path), `.${basename(path)}${WORK}`) };
}

/** Rejects a file whose temporary name would be too long for the file system. */
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
  exists(file); // rejects a link to itself
  const target = () => Deno.lstatSync(file).isSymlink ? Deno.readLinkSync(file) : undefined;
  const next = explained(`write ${file}`, () => unlessMissing(target));
  return next === undefined ? file : targetOf(resolve(dirname(file), next));
}

/** Rejects an output that a link in its folder would redirect. @throws {UserError} If there is a link. */
export function refuseLinksTo(root: string, name: string): void {
  for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
    refuseLink(join(root, folder), `write ${join(root, name)}`);
  }
}

/** Names of all outputs of a manifest, and of those that they replace. */
export function namesOf({ outputs, replaces = [] }: Manifest): string[] {
  return [...outputs.map(({ path }) => path), ...replaces];
}

/**
 * Rejects a folder that contains other files or another run's output, or is divided in another way.
 *
 * @param task This run's task among those that write to the folder.
 */
export function refuseOthersFolder(
  { output, root }: OutputPath,
  task: ArrayTask,
  found: Found,
  overwrite: boolean,
): void {
  refuseOtherDivision(root, task);
  if (task.count > 1) return refuseOtherTasks(root, found);
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
    `Cannot write to ${output}: ${
      published ? `${published.stage} wrote to it` : "it contains other files"
    }, ` +
      `expected an empty folder or one of ${stage}; choose another --output, or delete the folder by hand`,
  );
}

/** @throws {UserError} If one of the paths is not a regular file. */
export function requireRegularPlaces({ root }: OutputPath, names: readonly string[]): void {
  for (const name of names) {
    const path = join(root, name);
    requireShortName(path);
    if (exists(path)) requireRegular(Deno.statSync(path), `write ${path}`);
  }
}

/** Rejects outputs that would replace files of others. @throws {UserError} If there are such files. */
export function refuseOthersFiles(
  { root }: OutputPath,
  names: readonly string[],
  found: Found,
  overwrite: boolean,
): void {
  const { wanted: { stage }, published, isPublished } = found;
  const own = new Set(published?.stage === stage ? namesOf(published) : []);
  for (const name of names) {
    const path = join(root, name);
    if (!exists(path)) continue;
    if (!own.has(name)) {
      const writer = published ? `${published.stage} wrote it` : "no manifest says which stage wrote it";
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

/** @throws {UserError} If the output folder is divided in another way. */
export function refuseOtherDivision(folder: string, task: ArrayTask): void {
  const other = listTasks(folder).find(({ count }) => count !== task.count);
  if (!other) return;
  const isWhole = other.count === 1;
  throw new UserError(
    `Cannot write to ${folder}: it is ${isWhole ? "not divided" : `divided over ${other.count} tasks`} ` +
      `(${manifestName(other)}), this run is task ${formatArrayTask(task)}; ` +
      `${isWhole ? "leave out --task" : `continue with --task I/${other.count}`}, ` +
      `choose another --output or delete the folder`,
  );
}

/** The state of an output's path before a run. */
export interface Found {
  wanted: Manifest;
  published: Manifest | undefined;
  /** Whether it belongs to the requested run. */
  isPublished: boolean;
  /** Whether another run left unfinished work. */
  hasBegunOther: boolean;
}

/** Rejects an output folder for one of several tasks, which may all start at the same time. */
function refuseOtherTasks(folder: string, found: Found): void {
  const { wanted, published, isPublished, hasBegunOther } = found;
  // Listed before reading the manifests: a stage writes its manifest before other files.
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  const sibling = firstManifest(folder);
  const isOther = published && !isPublished || hasBegunOther;
  if (sibling && (isOther || !isSameRun(sibling, wanted))) {
    throw new UserError(
      `Cannot write to ${folder}: ${sibling.stage} with other inputs or options wrote to it, expected the same ` +
        `in all tasks; choose another --output or delete the folder`,
    );
  }
  if (!sibling && names.some((name) => !TRACE.test(name))) {
    throw new UserError(
      `Cannot write to ${folder}: it contains other files, expected an empty folder; choose another --output`,
    );
  }
}

/** Rejects a path that cannot be an output folder. @throws {UserError} If it is a file or a dangling link. */
export function requireFolderOrNothing(folder: string): void {
  if (!exists(folder)) return refuseLink(folder, `write to ${folder}`);
  if (Deno.statSync(folder).isDirectory) return;
  throw new UserError(
    `Cannot write to ${folder}: it is a file, expected a folder; choose another --output`,
  );
}

/** Rejects links in a work folder, where no stage makes any. @throws {UserError} If there is one. */
export function refuseLinksIn(folder: string, action: string): void {
  for (const { name, isDirectory, isSymlink } of Deno.readDirSync(folder)) {
    const path = join(folder, name);
    if (isSymlink) refuseLink(path, action);
    if (isDirectory) refuseLinksIn(path, action);
  }
}
