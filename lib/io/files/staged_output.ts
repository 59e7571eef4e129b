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
import { basename, dirname, join } from "@std/path";
import { UsageError, UserError } from "../../base/errors.ts";
import { type ArrayTask, formatArrayTask, ONLY_TASK } from "./array_task.ts";
import { exists } from "./inputs.ts";
import { refuseLink } from "./byte_file.ts";
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
import { refuseOverlap } from "./output_guard.ts";
import { LOCK, OutputLock } from "./output_lock.ts";
import {
  finishMoving,
  type Found,
  MANIFEST,
  NEXT,
  type OutputPath,
  placeOfFile,
  refuseLinksTo,
  refuseOthersFiles,
  refuseOthersFolder,
  requireRegularPlaces,
} from "./output_place.ts";
import { manifestName, refuseOtherDivision, refuseOtherTasks, workName } from "./task_manifests.ts";

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
      finishMoving(place);
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
    return join(this.#place.work, NEXT);
  }

  /** The path of a temporary file; it is deleted at the end. @param name Within the work folder. */
  workPath(name: string): string {
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
    writeManifest(this.workPath(MANIFEST), this.manifest);
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
    finishMoving(this.#place);
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
