/**
 * The output of a stage. It is locked, built in a work folder, and published by its manifest, which alone
 * defines which files belong to it (README.md). The work folder is `DIR/.work/` in an output folder,
 * `DIR/.work-00002-of-00004/` for one of several tasks, and `.F.parquet.work/` next to an output file; the
 * program may delete everything in it. Elsewhere it deletes only files listed by a manifest of the same
 * stage, and an error leaves the result of an earlier run unchanged.
 *
 * @module
 */
import { basename, dirname, join } from "@std/path";
import { UsageError, UserError } from "../../base/errors.ts";
import { explainFileError } from "./file_errors.ts";
import { type ArrayTask, formatArrayTask, NEXT, ONLY_TASK } from "./array_task.ts";
import { syncDirectory } from "./atomic.ts";
import { exists, fingerprint, infoOf } from "./inputs.ts";
import {
  describeOutput,
  hashOfEnds,
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
  namesOf,
  type OutputPath,
  placeOfFile,
  refuseLinksIn,
  refuseLinksTo,
  refuseOtherDivision,
  refuseOthersFiles,
  refuseOthersFolder,
  requireFolderOrNothing,
  requireRegularPlaces,
} from "./output_place.ts";
import { manifestName, readBegun, workName } from "./task_manifests.ts";
import { refuseOverlap } from "./real_path.ts";
import { LOCK, OutputLock } from "./output_lock.ts";

/** The manifest of the work so far, in the work folder. */
const MANIFEST = manifestName(ONLY_TASK);
/** The manifest of the finished work, next to {@link MANIFEST} until it is moved into place. */
const COMPLETE = "complete.json";
/** Maximum share of the time spent on saving the manifest after each output, whatever its size. */
const SAVING_SHARE = 0.05;

/** The inputs and options that an output depends on. */
export interface OutputStart extends ManifestStart {
  /** Whether to replace the result of another run of the same stage instead of failing. */
  overwrite: boolean;
}

/** An output that only this process writes until it is disposed of. */
export class Output implements Disposable {
  readonly manifest: Manifest;
  readonly #place: OutputPath;
  readonly #lock: OutputLock;
  #isSaved = true;
  #nextSaveMs = 0;

  private constructor(place: OutputPath, lock: OutputLock, manifest: Manifest) {
    this.#place = place;
    this.#lock = lock;
    this.manifest = manifest;
  }

  /**
   * Opens an output folder, empty or with the work of an earlier run with the same inputs and options.
   *
   * @param folder The folder; it may not exist.
   * @param task This run's task among those that write to the folder.
   * @throws {UserError} If it contains other files or another run's output, or if another process is writing
   *   to it.
   */
  static openFolder(folder: string, start: OutputStart, task: ArrayTask = ONLY_TASK): Output {
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
    const output = Output.#open(place, start, (found) => refuseOthersFolder(place, task, found, overwrite));
    try {
      // If two runs start together, each checks after it has begun, so at least one detects the other.
      refuseOtherDivision(folder, task);
    } catch (error) {
      output.discard();
      output[Symbol.dispose]();
      throw error;
    }
    return output;
  }

  /**
   * Opens an output file, with its manifest next to it.
   *
   * @param file The file; if it may be a link, the result of {@link placeOfFile}.
   * @param start The inputs and options of the run, and `besides`: the other files in the same folder that
   *   the stage may write.
   * @throws {UserError} If one of the files belongs to another run, or another process is writing them.
   */
  static openFile(file: string, start: OutputStart & { besides: readonly string[] }): Output {
    const { work } = placeOfFile(file);
    const place = { output: file, root: dirname(file), work, manifestPath: manifestPathBeside(file) };
    const names = [file, ...start.besides].map((name) => basename(name));
    requireRegularPlaces(place, names);
    return Output.#open(
      place,
      start,
      (found) => refuseOthersFiles(place, names, found, start.overwrite),
    );
  }

  static #open(place: OutputPath, start: OutputStart, refuse: (found: Found) => void): Output {
    const { stage, inputs, inputManifests = [] } = start;
    refuseOverlap(place.output, [...inputs, ...inputManifests].map(({ path }) => path));
    const wanted = newManifest(start);
    const lock = OutputLock.acquire(place.work, { output: place.output, stage });
    try {
      refuseLinksIn(place.work, `write to ${place.output}`);
      const begun = readBegun(place.work);
      const published = readManifest(place.manifestPath);
      // A run that was killed while it cleared the folder left the rest.
      if (!begun && !published?.replaces) lock.clearFolder();
      const isSame = (manifest: Manifest | undefined) => manifest && isSameWork(manifest, wanted);
      const isPublished = isSame(published) ?? false;
      refuse({ wanted, published, isPublished, hasBegunOther: isSame(begun) === false });
      const earlier = isSame(begun) ? begun : isPublished ? published : undefined;
      const { replaces, ...manifest } = earlier ?? wanted;
      const output = new Output(place, lock, manifest);
      if (!earlier) output.#begin();
      else if (output.#resume(isPublished) && replaces) output.publish();
      return output;
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }

  get isComplete(): boolean {
    return this.manifest.complete;
  }

  /** The folder to write outputs to, under their final names. */
  get folder(): string {
    this.#lock.requireHeld();
    return join(this.#place.work, NEXT);
  }

  /** Path of a temporary file, which is deleted at the end. @param name Within the work folder. */
  workPath(name: string): string {
    this.#lock.requireHeld();
    return join(this.#place.work, name);
  }

  /** The manifest's entry of an output, if it is finished. */
  finished(name: string): ManifestOutput | undefined {
    return this.manifest.outputs.find(({ path }) => path === name);
  }

  /** The path of a finished output: in {@link folder}, or its final path. */
  pathOf(name: string): string {
    const made = join(this.folder, name);
    return exists(made) ? made : join(this.#place.root, name);
  }

  /** Adds a finished output in {@link folder} to the manifest. */
  async record(name: string, counts?: Record<string, number>): Promise<void> {
    this.add(await describeOutput(this.folder, name, counts));
  }

  /**
   * Like {@link record}, for an output that is already described. Saves the manifest if that takes a small
   * share of the time.
   */
  add(output: ManifestOutput): void {
    this.manifest.outputs = [...this.manifest.outputs.filter(({ path }) => path !== output.path), output];
    this.#isSaved = false;
    const startMs = performance.now();
    if (startMs < this.#nextSaveMs) return;
    this.save();
    const endMs = performance.now();
    this.#nextSaveMs = endMs + (endMs - startMs) / SAVING_SHARE;
  }

  save(): void {
    writeManifest(this.workPath(MANIFEST), this.manifest, () => this.#lock.requireHeld());
    this.#isSaved = true;
  }

  /** @throws {UserError} If an input has changed since the start. */
  checkInputs(): void {
    for (const { path, sizeBytes, mtimeMs } of this.manifest.inputs) {
      const now = fingerprint(path);
      if (now.sizeBytes === sizeBytes && now.mtimeMs === mtimeMs) continue;
      throw new UserError(
        `Cannot use ${path}: it changed while it was read (${sizeBytes} bytes at the start, ${now.sizeBytes} now), ` +
          `expected an unchanging file; when it is complete, ` +
          (basename(this.#place.work) === workName(ONLY_TASK)
            ? "run again with --overwrite"
            : "delete the output and run all tasks again"),
      );
    }
  }

  /**
   * Publishes all recorded outputs, and deletes those of the run that they replace.
   *
   * @throws {UserError} If another program's file has an output's path, or that path leads through a link
   *   (nothing is changed then), or a file cannot be moved.
   */
  publish(): void {
    const { manifest, folder } = this;
    const { root, manifestPath, work } = this.#place;
    manifest.outputs.sort((a, b) => (a.path < b.path ? -1 : 1));
    const names = new Set(manifest.outputs.map(({ path }) => path));
    const published = readManifest(manifestPath);
    const earlier = new Set(published?.stage === manifest.stage ? namesOf(published) : []);
    for (const name of [...names, ...earlier]) refuseLinksTo(root, name);
    for (const name of names) {
      if (!exists(join(folder, name)) || earlier.has(name) || !exists(join(root, name))) continue;
      throw new UserError(
        `Cannot write ${join(root, name)}: a file that ${manifest.stage} did not write exists already; ` +
          "move it away and run again",
      );
    }
    const replaces = [...earlier].filter((name) => !names.has(name));
    const prepare = (name: string, state: Partial<Manifest>) =>
      writeManifest(join(work, name), { ...manifest, ...state }, () => this.#lock.requireHeld());
    const put = (name: string) => {
      this.#move(join(work, name), manifestPath);
      syncDirectory(root);
    };
    // Both are written before anything changes, so that a full disk leaves everything unchanged.
    prepare(COMPLETE, { complete: true });
    prepare(MANIFEST, { complete: false, replaces });
    this.#isSaved = true;
    try {
      put(MANIFEST);
      const folders = new Set([root]);
      for (const name of names) {
        if (!exists(join(folder, name))) continue;
        const to = join(root, name);
        // The folder of a file exists, and this process may not have permission to make it.
        if (!folders.has(dirname(to))) Deno.mkdirSync(dirname(to), { recursive: true });
        folders.add(dirname(to));
        this.#move(join(folder, name), to);
      }
      for (const name of replaces) {
        this.#lock.requireHeld();
        removeOutput(root, name);
      }
      folders.forEach(syncDirectory);
      put(COMPLETE);
    } catch (error) {
      throw explainFileError(error, `write to ${root}`);
    }
    manifest.complete = true;
    this.discard();
  }

  /** Begins new outputs. Published ones are kept until the new ones are published. */
  begin(): void {
    Object.assign(this.manifest, { outputs: [], complete: false });
    this.#begin();
  }

  discard(): void {
    this.#lock.clearFolder();
  }

  /** Deletes the work of a run that failed before it completed an output. */
  discardIfEmpty(): void {
    if (this.manifest.outputs.length === 0) this.discard();
  }

  /** Releases the lock. Unfinished work is kept for the next run. */
  [Symbol.dispose](): void {
    try {
      this.#lock.requireHeld();
      const hasWork = filesIn(this.#place.work).some((name) => name !== LOCK && name !== MANIFEST);
      if (!hasWork) this.discard();
      else if (!this.#isSaved) this.save();
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }

  #begin(): void {
    this.discard();
    Deno.mkdirSync(this.folder, { recursive: true });
    this.save();
  }

  /**
   * Keeps the outputs that an earlier run recorded, and deletes its other files.
   *
   * @param isPublished Whether the published manifest describes the same work.
   * @returns Whether all outputs are left.
   */
  #resume(isPublished: boolean): boolean {
    const { manifest } = this;
    const left = manifest.outputs.filter((output) => this.#has(output, isPublished));
    const isWhole = left.length === manifest.outputs.length;
    if (manifest.complete && isWhole) return true;
    manifest.outputs = left;
    manifest.complete = false;
    Deno.mkdirSync(this.folder, { recursive: true });
    for (const path of filesIn(this.folder)) {
      if (!this.finished(path)) Deno.removeSync(join(this.folder, path));
    }
    this.save();
    return isWhole;
  }

  /** Whether an output is in the work folder or, if the same work published it, at its final path. */
  #has({ path, sizeBytes, endsSha256 }: ManifestOutput, isPublished: boolean): boolean {
    const isSize = (file: string) => infoOf(file)?.size === sizeBytes;
    if (isSize(join(this.folder, path))) return true;
    const file = join(this.#place.root, path);
    // A file that is being replaced may have the same size as its replacement.
    const isSame = () => this.manifest.complete || hashOfEnds(file) === endsSha256;
    return isPublished && isSize(file) && isSame();
  }

  #move(from: string, to: string): void {
    this.#lock.requireHeld();
    Deno.renameSync(from, to);
  }
}

/** Relative paths of the files in a folder and its subfolders. */
function filesIn(folder: string, within = ""): string[] {
  return [...Deno.readDirSync(join(folder, within))].flatMap(({ name, isDirectory }) => {
    const path = within === "" ? name : `${within}/${name}`;
    return isDirectory ? filesIn(folder, path) : [path];
  });
}

/** Deletes a file, then any folders on its path that are empty as a result. */
function removeOutput(root: string, name: string): void {
  try {
    // A run killed here may have deleted the file but not its folders.
    if (exists(join(root, name))) Deno.removeSync(join(root, name));
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder)) {
      Deno.removeSync(join(root, folder));
    }
  } catch { /* already gone, or not empty */ }
}
