/**
 * The output of a stage: locked and built in a work folder, moved to its final path when it is complete.
 *
 * The work folder is `DIR/.work/` in an output folder, `DIR/.work-00002-of-00004/` for one of several tasks, and
 * `.F.parquet.work/` beside an output file. It holds the lock, the manifest so far and, in `next/`, the outputs; the
 * program may delete all of it. Elsewhere the program deletes only files that a manifest of the same stage lists, and
 * an error leaves the result of an earlier run as it was.
 *
 * Once the manifest in the work folder has `complete: true`, the outputs are moved to their final paths, by this run
 * or, after a kill, by the next one.
 *
 * @module
 */
import { basename, dirname, join, resolve } from "@std/path";
import { UsageError, UserError } from "../../base/errors.ts";
import { explainFileError } from "./file_errors.ts";
import { type ArrayTask, formatArrayTask, ONLY_TASK, WORK } from "./array_task.ts";
import { syncDirectory, temporaryName } from "./atomic.ts";
import { exists, isMissing } from "./inputs.ts";
import {
  describeOutput,
  isSameWork,
  type Manifest,
  type ManifestOutput,
  manifestPathBeside,
  type ManifestStart,
  newManifest,
  readManifest,
  writeManifest,
} from "./manifest.ts";
import {
  type Found,
  manifestName,
  refuseOtherDivision,
  refuseOtherTasks,
  workName,
} from "./task_manifests.ts";
import { refuseLink, requireRegular } from "./byte_file.ts";
import { refuseOverlap } from "./real_path.ts";
import { LOCK, OutputLock } from "./output_lock.ts";

// Moves outputs to their final paths, and decides what they may replace there: another run's result only with
// --overwrite, another stage's or a user's file never.

/** The folder of outputs within a work folder. */
export const NEXT = "next";
/** The manifest of unfinished work, within its folder. */
export const MANIFEST = "manifest.json";
/** The manifest of the outputs that are being replaced, within the work folder. */
const REPLACED = "replaced.json";
/** Bytes of the longest name of a file: NAME_MAX of Linux, less the length that a temporary name adds. */
const MAX_NAME_BYTES = 255 - temporaryName("").length;

interface OutputPath {
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
function finishMoving({ root, work, manifestPath }: OutputPath, lock: OutputLock): void {
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
    const move = (from: string, to: string) => {
      lock.requireHeld();
      Deno.renameSync(from, to);
    };
    if (published) {
      move(manifestPath, replacedPath);
      syncDirectory(root);
    }
    if (replaced?.stage === manifest.stage) {
      for (const { path } of replaced.outputs) {
        lock.requireHeld();
        if (!names.has(path)) removeOutput(root, path);
      }
    }
    const folders = new Set([root]);
    for (const name of names) {
      const from = join(work, NEXT, name);
      if (!exists(from)) continue;
      const to = join(root, name);
      // The folder of a file exists, and this process may not be allowed to make it.
      if (!folders.has(dirname(to))) Deno.mkdirSync(dirname(to), { recursive: true });
      folders.add(dirname(to));
      move(from, to);
    }
    folders.forEach(syncDirectory);
    move(join(work, MANIFEST), manifestPath);
    syncDirectory(root);
  } catch (error) {
    throw explainFileError(error, `write to ${root}`);
  }
}

/** Refuses an output that a link in its folder would lead elsewhere. @throws {UserError} If there is such a link. */
function refuseLinksTo(root: string, name: string): void {
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

/** Refuses a folder that holds other files or another run's output. @throws {UserError} If it does. */
function refuseOthersFolder({ output, root }: OutputPath, found: Found, overwrite: boolean): void {
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
function requireRegularPlaces({ root }: OutputPath, names: readonly string[]): void {
  for (const name of names) {
    const path = join(root, name);
    requireShortName(path);
    if (exists(path)) requireRegular(Deno.statSync(path), `write ${path}`);
  }
}

/** Refuses to replace files that another run or an unknown program wrote. @throws {UserError} If there is one. */
function refuseOthersFiles(
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

/** The inputs and options that an output depends on. */
export interface OutputStart extends ManifestStart {
  /** Whether the result of another run of the same stage is replaced instead of refused. */
  overwrite: boolean;
}

/** An output that this process alone writes, until it is disposed of. */
export class StagedOutput implements Disposable {
  /** The inputs, the options, and the outputs written so far. */
  readonly manifest: Manifest;
  readonly #place: OutputPath;
  readonly #lock: OutputLock;

  private constructor(place: OutputPath, lock: OutputLock, manifest: Manifest) {
    this.#place = place;
    this.#lock = lock;
    this.manifest = manifest;
  }

  /**
   * Opens an output folder: empty, or with the work that an earlier run of the same inputs and options left.
   *
   * @param folder The folder; it may not exist.
   * @param start The inputs and options of the run.
   * @param task This run's task among those that write to the folder.
   * @throws {UserError} If it holds other files or another run's output, or another process writes to it.
   */
  static openFolder(folder: string, start: OutputStart, task: ArrayTask = ONLY_TASK): StagedOutput {
    requireFolderOrNothing(folder);
    const { overwrite } = start;
    if (overwrite && task.count > 1) {
      throw new UsageError(
        `Cannot use --overwrite with --task ${formatArrayTask(task)}: tasks would delete each other's ` +
          `files; delete ${folder} before the first task starts`,
      );
    }
    const place = {
      output: folder,
      root: folder,
      work: join(folder, workName(task)),
      manifestPath: join(folder, manifestName(task)),
    };
    const refuse = (found: Found) => {
      refuseOtherDivision(folder, task);
      if (task.count > 1) refuseOtherTasks(folder, found);
      else refuseOthersFolder(place, found, overwrite);
    };
    const output = StagedOutput.#open(place, start, refuse);
    try {
      // If two runs start together, each checks after it has begun, so at least one sees the other.
      refuseOtherDivision(folder, task);
    } catch (error) {
      output.discard();
      output[Symbol.dispose]();
      throw error;
    }
    return output;
  }

  /**
   * Opens an output file, whose manifest lies beside it.
   *
   * @param file The file, of {@link placeOfFile} if it may be a link.
   * @param start The inputs and options of the run, and `besides`: the further files in the same folder that the stage may write.
   * @throws {UserError} If one of the files is another run's, or another process writes them.
   */
  static openFile(file: string, start: OutputStart & { besides: readonly string[] }): StagedOutput {
    const { work } = placeOfFile(file);
    const place = { output: file, root: dirname(file), work, manifestPath: manifestPathBeside(file) };
    const names = [file, ...start.besides].map((name) => basename(name));
    requireRegularPlaces(place, names);
    return StagedOutput.#open(
      place,
      start,
      (found) => refuseOthersFiles(place, names, found, start.overwrite),
    );
  }

  static #open(place: OutputPath, start: OutputStart, refuse: (found: Found) => void): StagedOutput {
    const { stage, inputs, inputManifests = [] } = start;
    refuseOverlap(place.output, [...inputs, ...inputManifests].map(({ path }) => path));
    const wanted = newManifest(start);
    const lock = OutputLock.acquire(place.work, { output: place.output, stage });
    try {
      refuseLinksIn(place.work, `write to ${place.output}`);
      finishMoving(place, lock);
      const begun = readManifest(join(place.work, MANIFEST));
      // A run that was killed while it cleared the folder left the rest.
      if (!begun) lock.clearFolder();
      const published = readManifest(place.manifestPath);
      const isSame = (manifest: Manifest | undefined) => manifest && isSameWork(manifest, wanted);
      refuse({
        wanted,
        published,
        isPublished: isSame(published) ?? false,
        hasBegunOther: isSame(begun) === false,
      });
      const earlier = isSame(begun) ? begun : isSame(published) ? published : undefined;
      const output = new StagedOutput(place, lock, earlier ?? wanted);
      if (earlier) output.#resume();
      else output.#begin();
      return output;
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }

  /** Whether the work is complete and published. */
  get isComplete(): boolean {
    return this.manifest.complete;
  }

  /** The folder to write outputs to, under their final names. */
  get folder(): string {
    this.#lock.requireHeld();
    return join(this.#place.work, NEXT);
  }

  /** The path of a temporary file; it is deleted at the end. @param name Within the work folder. */
  workPath(name: string): string {
    this.#lock.requireHeld();
    return join(this.#place.work, name);
  }

  /** The record of an output, if it is finished. */
  finished(name: string): ManifestOutput | undefined {
    return this.manifest.outputs.find(({ path }) => path === name);
  }

  /** Adds a finished output of {@link folder} to the manifest, which {@link save} writes. */
  async record(name: string, counts?: Record<string, number>): Promise<void> {
    this.add(await describeOutput(this.folder, name, counts));
  }

  /** {@link record} for an output that is already described. */
  add(output: ManifestOutput): void {
    this.manifest.outputs = [...this.manifest.outputs.filter(({ path }) => path !== output.path), output];
  }

  /** Writes the manifest of the work so far. */
  save(): void {
    writeManifest(this.workPath(MANIFEST), this.manifest, () => this.#lock.requireHeld());
  }

  /**
   * Publishes all recorded outputs, and deletes those of the run that they replace.
   *
   * @throws {UserError} If another program's file has an output's path; nothing is changed then.
   */
  publish(): void {
    const { root, manifestPath } = this.#place;
    const replaced = new Set(readManifest(manifestPath)?.outputs.map(({ path }) => path));
    this.manifest.outputs.sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const { path } of this.manifest.outputs) {
      refuseLinksTo(root, path);
      if (!exists(join(this.folder, path)) || replaced.has(path) || !exists(join(root, path))) continue;
      throw new UserError(
        `Cannot write ${
          join(root, path)
        }: a file that ${this.manifest.stage} did not write exists already; ` +
          "move it away and run again",
      );
    }
    this.manifest.complete = true;
    this.save();
    finishMoving(this.#place, this.#lock);
    this.discard();
  }

  /** Begins new outputs; the published ones are kept until the new ones are published. */
  begin(): void {
    Object.assign(this.manifest, { outputs: [], complete: false });
    this.#begin();
  }

  /** Deletes the work so far. */
  discard(): void {
    this.#lock.clearFolder();
  }

  /** Releases the lock; unfinished work is kept for the next run. */
  [Symbol.dispose](): void {
    // The next run moves the outputs that a complete manifest lists.
    try {
      this.#lock.requireHeld();
      const hasWork = this.isComplete ||
        filesIn(this.#place.work).some((name) => name !== LOCK && name !== MANIFEST);
      if (!hasWork) this.discard();
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }

  #begin(): void {
    this.discard();
    Deno.mkdirSync(this.folder, { recursive: true });
    this.save();
  }

  /** Keeps the outputs that an earlier run recorded, and deletes its other files. */
  #resume(): void {
    const { manifest } = this;
    const left = manifest.outputs.filter((output) => this.#has(output));
    if (manifest.complete && left.length === manifest.outputs.length) return;
    manifest.outputs = left;
    manifest.complete = false;
    Deno.mkdirSync(this.folder, { recursive: true });
    for (const path of filesIn(this.folder)) {
      if (!this.finished(path)) Deno.removeSync(join(this.folder, path));
    }
    this.save();
  }

  /** Whether an output is in the work folder or published. */
  #has({ path, sizeBytes }: ManifestOutput): boolean {
    return [this.folder, this.#place.root].some((folder) => {
      const full = join(folder, path);
      return exists(full) && Deno.statSync(full).size === sizeBytes;
    });
  }
}

/** Refuses a path that cannot be an output folder. @throws {UserError} If it is a file or a dangling link. */
function requireFolderOrNothing(folder: string): void {
  if (!exists(folder)) return refuseLink(folder, `write to ${folder}`);
  if (Deno.statSync(folder).isDirectory) return;
  throw new UserError(
    `Cannot write to ${folder}: it is a file, expected a folder; choose another --output`,
  );
}

/** Refuses links in a work folder, which no stage makes. @throws {UserError} If there is one. */
function refuseLinksIn(folder: string, action: string): void {
  for (const { name, isDirectory, isSymlink } of Deno.readDirSync(folder)) {
    const path = join(folder, name);
    if (isSymlink) refuseLink(path, action);
    if (isDirectory) refuseLinksIn(path, action);
  }
}

/** The files of a folder and of its subfolders, by paths relative to it. */
function filesIn(folder: string, within = ""): string[] {
  return [...Deno.readDirSync(join(folder, within))].flatMap(({ name, isDirectory }) => {
    const path = within === "" ? name : `${within}/${name}`;
    return isDirectory ? filesIn(folder, path) : [path];
  });
}
