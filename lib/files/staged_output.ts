/**
 * The output of a stage: locked while it is made, built apart, put in its place when it is whole.
 *
 * Everything unfinished lies in a work folder: `DIR/.work/` of an output folder, `DIR/.work-00002-of-00004/` of one of
 * several tasks, `.F.parquet.work/` beside an output file. It holds the lock, the manifest of the work so far and, in
 * `next/`, the outputs. So all in it is this program's and may be deleted; elsewhere only files are deleted that the
 * manifest of the same stage lists, and an error leaves the result of an earlier run as it was.
 *
 * A manifest in the work folder with `complete: true` is the point of no return: from then on the outputs are moved to
 * their places, by this run or, after a kill, by the next one.
 *
 * @module
 */
import { basename, dirname, join, resolve } from "@std/path";
import { explainFileError, UsageError, UserError } from "../errors.ts";
import { type ArrayTask, formatArrayTask, ONLY_TASK } from "./array_task.ts";
import { syncDirectory } from "./atomic.ts";
import { exists } from "./inputs.ts";
import {
  describeOutput,
  isSameRun,
  type Manifest,
  type ManifestOutput,
  manifestPathBeside,
  newManifest,
  readManifest,
  writeManifest,
} from "./manifest.ts";
import { refuseOverlap } from "./output_guard.ts";
import { LOCK, OutputLock } from "./output_lock.ts";
import { manifestName, refuseOtherDivision, refuseOtherTasks, WORK, workName } from "./task_manifests.ts";

/** The folder of outputs within a work folder. */
const NEXT = "next";
const MANIFEST = "manifest.json";

/** What a run starts with. */
export interface OutputStart extends Pick<Manifest, "stage" | "inputs" | "options"> {
  /** Whether the result of another run of the same stage is replaced instead of refused. */
  overwrite: boolean;
}

/** Where an output goes. */
interface Place {
  /** As the user named it. */
  output: string;
  /** The folder that names in the manifest are relative to. */
  root: string;
  work: string;
  manifestPath: string;
}

/** An output that this process alone writes, until it is disposed of. */
export class StagedOutput implements Disposable {
  /** What was read, how, and what was written so far. */
  readonly manifest: Manifest;
  readonly #place: Place;
  readonly #lock: OutputLock;

  private constructor(place: Place, lock: OutputLock, manifest: Manifest) {
    this.#place = place;
    this.#lock = lock;
    this.manifest = manifest;
  }

  /**
   * Opens an output folder: fresh, or with what an earlier run of the same work left.
   *
   * @param folder The folder; it may not exist.
   * @param start What the run depends on.
   * @param task Which of several runs that write to the folder this is.
   * @throws {UserError} If it holds other files or another run's, or another process writes to it.
   */
  static openFolder(folder: string, start: OutputStart, task: ArrayTask = ONLY_TASK): StagedOutput {
    if (exists(folder) && !Deno.statSync(folder).isDirectory) {
      throw new UserError(
        `Cannot write to ${folder}: it is a file, a folder was wanted; choose another --output`,
      );
    }
    const { overwrite } = start;
    if (overwrite && task.count > 1) {
      throw new UsageError(
        `Cannot use --overwrite with --task ${
          formatArrayTask(task)
        }: tasks would delete each other's files; ` +
          `delete ${folder} before the first task starts`,
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
      if (task.count > 1) refuseOtherTasks(folder, found.wanted);
      else refuseOthersFolder(place, found, overwrite);
    };
    const output = StagedOutput.#open(place, start, refuse);
    try {
      // Of two that start at the same time, each looks after it began, so at least one sees the other.
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
   * @param start What the run depends on, and `besides`: the further files in the same folder that the stage may write.
   * @throws {UserError} If one of the files is another run's, or another process writes them.
   */
  static openFile(file: string, start: OutputStart & { besides: readonly string[] }): StagedOutput {
    const { work } = placeOfFile(file);
    const place = { output: file, root: dirname(file), work, manifestPath: manifestPathBeside(file) };
    const names = [file, ...start.besides].map((name) => basename(name));
    names.forEach((name) => requireRegular(join(place.root, name)));
    return StagedOutput.#open(
      place,
      start,
      (found) => refuseOthersFiles(place, names, found, start.overwrite),
    );
  }

  static #open(place: Place, start: OutputStart, refuse: (found: Found) => void): StagedOutput {
    const { stage, inputs, options } = start;
    refuseOverlap(place.output, inputs.map(({ path }) => path));
    const wanted = newManifest({ stage, inputs, options });
    const lock = OutputLock.acquire(place.work, { output: place.output, stage });
    try {
      finishMoving(place);
      const begun = readManifest(join(place.work, MANIFEST));
      const published = readManifest(place.manifestPath);
      const isSame = (manifest: Manifest | undefined) => manifest && isSameRun(manifest, wanted);
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

  /** Whether all is done and in its place. */
  get isComplete(): boolean {
    return this.manifest.complete;
  }

  /** The folder to write outputs to, under the names that they will have in theirs. */
  get folder(): string {
    return join(this.#place.work, NEXT);
  }

  /** A place for what is needed on the way; it is deleted at the end. @param name Within the work folder. */
  workPath(name: string): string {
    return join(this.#place.work, name);
  }

  /** What is recorded of an output, if it is finished. */
  finished(name: string): ManifestOutput | undefined {
    return this.manifest.outputs.find(({ path }) => path === name);
  }

  /** Adds a finished output of {@link folder} to the manifest, which {@link save} writes. */
  async record(name: string, counts?: Record<string, number>): Promise<void> {
    this.add(await describeOutput(this.folder, name, counts));
  }

  /** As {@link record}, of an output that is described already. */
  add(output: ManifestOutput): void {
    this.manifest.outputs = [...this.manifest.outputs.filter(({ path }) => path !== output.path), output];
  }

  /** Writes the manifest of the work so far. */
  save(): void {
    writeManifest(this.workPath(MANIFEST), this.manifest);
  }

  /**
   * Puts all recorded outputs in their places, and deletes those of the run that they replace.
   *
   * @throws {UserError} If a file of somebody else is in such a place; nothing is changed then.
   */
  publish(): void {
    const { root, manifestPath } = this.#place;
    const replaced = new Set(readManifest(manifestPath)?.outputs.map(({ path }) => path));
    this.manifest.outputs.sort((a, b) => (a.path < b.path ? -1 : 1));
    for (const { path } of this.manifest.outputs) {
      if (!exists(join(this.folder, path)) || replaced.has(path) || !exists(join(root, path))) continue;
      throw new UserError(
        `Cannot write ${join(root, path)}: a file that ${this.manifest.stage} did not write is there; ` +
          "move it away and run again",
      );
    }
    this.manifest.complete = true;
    this.save();
    finishMoving(this.#place);
    this.#clear();
  }

  /** Deletes the work so far, if it is of no use to a later run. */
  discard(): void {
    this.#clear();
  }

  /** Gives the output free for others; unfinished work stays for a run to go on with, if there is any. */
  [Symbol.dispose](): void {
    // A complete manifest that is still there says what is to be moved.
    const hasWork = this.isComplete ||
      filesIn(this.#place.work).some((name) => name !== LOCK && name !== MANIFEST);
    if (!hasWork) this.#clear();
    this.#lock[Symbol.dispose]();
  }

  #begin(): void {
    this.#clear();
    Deno.mkdirSync(this.folder, { recursive: true });
    this.save();
  }

  /** Keeps what an earlier run recorded and left, and deletes what it did not come to record. */
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

  /** Whether an output is in the work folder or in its place. */
  #has({ path, sizeBytes }: ManifestOutput): boolean {
    return [this.folder, this.#place.root].some((folder) => {
      const full = join(folder, path);
      return exists(full) && Deno.statSync(full).size === sizeBytes;
    });
  }

  #clear(): void {
    const { work } = this.#place;
    for (const { name } of Deno.readDirSync(work)) {
      if (name !== LOCK) Deno.removeSync(join(work, name), { recursive: true });
    }
  }
}

/** What is at an output's place before a run. */
interface Found {
  wanted: Manifest;
  /** The manifest of the outputs that are in their places. */
  published: Manifest | undefined;
  /** Whether that is of the wanted run. */
  isPublished: boolean;
  /** Whether there is unfinished work of another run. */
  hasBegunOther: boolean;
}

/** The file that a path stands for, whose place it takes when it is whole, and the folder of work on it. */
export function placeOfFile(file: string): { path: string; work: string } {
  const path = targetOf(file);
  return { path, work: join(dirname(path), `.${basename(path)}${WORK}`) };
}

/** Where a link points to, perhaps to nothing yet; any other path itself. */
function targetOf(file: string): string {
  try {
    if (!Deno.lstatSync(file).isSymlink) return file;
    return targetOf(resolve(dirname(file), Deno.readLinkSync(file)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return file;
    throw explainFileError(error, `write ${file}`);
  }
}

function refuseOthersFolder({ output, root }: Place, found: Found, overwrite: boolean): void {
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
      `Cannot write to ${output}: ${stage} with other inputs or options wrote to it, an empty folder was wanted; ` +
        "choose another --output or add --overwrite",
    );
  }
  throw new UserError(
    `Cannot write to ${output}: ${published ? `${published.stage} wrote to it` : "it holds other files"}, ` +
      `an empty folder or one of ${stage} was wanted; choose another --output, or delete the folder by hand`,
  );
}

function requireRegular(path: string): void {
  if (!exists(path) || Deno.statSync(path).isFile) return;
  throw new UserError(`Cannot write ${path}: it is no regular file; choose another --output`);
}

function refuseOthersFiles(
  { root }: Place,
  names: readonly string[],
  found: Found,
  overwrite: boolean,
): void {
  const { wanted: { stage }, published, isPublished } = found;
  const own = new Set(published?.stage === stage ? published.outputs.map(({ path }) => path) : []);
  for (const name of names) {
    const path = join(root, name);
    if (!exists(path)) continue;
    const fault = !own.has(name)
      ? `it is there already, and ${
        published ? `${published.stage} wrote it` : "no manifest says who wrote it"
      }; ` +
        "choose another --output, or delete it by hand"
      : !isPublished && !overwrite
      ? `${stage} with other inputs or options wrote it; choose another --output or add --overwrite`
      : undefined;
    if (fault !== undefined) throw new UserError(`Cannot write ${path}: ${fault}`);
  }
}

/** Moves the outputs of finished work to their places, if there is such work. */
function finishMoving({ root, work, manifestPath }: Place): void {
  const manifest = readManifest(join(work, MANIFEST));
  if (!manifest?.complete) return;
  try {
    const names = new Set(manifest.outputs.map(({ path }) => path));
    const replaced = readManifest(manifestPath);
    if (replaced?.stage === manifest.stage) {
      for (const { path } of replaced.outputs) if (!names.has(path)) removeOutput(root, path);
    }
    const folders = new Set([root]);
    for (const name of names) {
      const from = join(work, NEXT, name);
      if (!exists(from)) continue;
      const to = join(root, name);
      // The place of a file is there, and this process may not be allowed to make it.
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

/** Deletes a file, and the folders on the way to it that are empty then. */
function removeOutput(root: string, name: string): void {
  try {
    Deno.removeSync(join(root, name));
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
      Deno.removeSync(join(root, folder));
    }
  } catch { /* it is gone already, or the folder holds more */ }
}

/** The files of a folder, within it, those of its folders too. */
function filesIn(folder: string, within = ""): string[] {
  return [...Deno.readDirSync(join(folder, within))].flatMap(({ name, isDirectory }) => {
    const path = within === "" ? name : `${within}/${name}`;
    return isDirectory ? filesIn(folder, path) : [path];
  });
}
