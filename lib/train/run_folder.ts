/**
 * The folder of a run; lib/train/CHECKPOINTS.md lists its files.
 *
 * A run that starts over (`--fresh`) writes to `.work/next/` until it has a checkpoint, and then replaces the
 * earlier run. If it ends before that, the earlier run is unchanged. The manifest records that a run is being
 * replaced (`replaces`), so after a kill the next run finishes the replacement.
 *
 * @module
 */
import { basename, dirname, join, relative } from "@std/path";
import { ensure, UserError } from "../base/errors.ts";
import { explained } from "../io/files/file_errors.ts";
import { isTemporary, removeStaleTemporaries, writeJsonAtomic } from "../io/files/atomic.ts";
import { CHECKPOINTS, RUN_FILES } from "../io/files/checkpoint_folder.ts";
import { exists } from "../io/files/inputs.ts";
import { type Manifest, newManifest, readManifest, writeManifest } from "../io/files/manifest.ts";
import { OutputLock } from "../io/files/output_lock.ts";
import { NEXT, WORK } from "../io/files/array_task.ts";
import { checkpointPaths, removeWhole } from "./checkpoint.ts";
import { EVENT_FILE, openEvents } from "./event_log.ts";
import type { RunPlaces } from "./run_places.ts";
import { openMetrics, type ScalarLog } from "./metrics.ts";

const STAGE = "train";

/** An open, locked run folder. */
export class RunFolder {
  readonly #lock: OutputLock;
  /** Where a run that starts over writes until it has a checkpoint. */
  readonly #next: string;
  /** Where the run's files are: {@link path} or {@link #next}. */
  #place: string;

  private constructor(readonly path: string, lock: OutputLock) {
    this.#lock = lock;
    this.#next = join(path, WORK, NEXT);
    this.#place = path;
  }

  /** The path of a run file. @throws {UserError} If the run was moved, deleted or replaced by a link. */
  at(name: keyof typeof RUN_FILES): string {
    return this.#within(RUN_FILES[name]);
  }

  /** @throws {UserError} As {@link at}. */
  get checkpointsDir(): string {
    return this.#within(CHECKPOINTS);
  }

  #within(name: string): string {
    this.#lock.requireHeld();
    return join(this.#place, name);
  }

  /**
   * Opens the folder, creating it if needed.
   *
   * @throws {UserError} If it contains other files, or another process is training in it.
   */
  static open(path: string): RunFolder {
    checkOwn(path);
    const folder = new RunFolder(path, OutputLock.acquire(join(path, WORK), { output: path, stage: STAGE }));
    try {
      const manifest = readManifest(folder.at("manifest"));
      if (manifest?.replaces) folder.#finishReplacing(manifest);
      folder.#removeNext();
      [path, folder.checkpointsDir, folder.at("tensorboard")].forEach(removeStaleTemporaries);
    } catch (error) {
      folder.#lock[Symbol.dispose]();
      throw error;
    }
    return folder;
  }

  /**
   * Opens `metrics.jsonl` and the TensorBoard event file, both cut off after a step.
   *
   * @param lastStep The step that the run resumes after; 0 empties the files.
   * @throws {UserError} If one cannot be written.
   * @throws {FormatError} If a line of the metrics to be kept is invalid.
   */
  openScalars(lastStep: number): ScalarLog {
    const metrics = openMetrics(this.at("metrics"), lastStep);
    const logs: ScalarLog[] = [metrics];
    try {
      logs.push(openEvents(join(this.at("tensorboard"), EVENT_FILE), lastStep));
    } catch (error) {
      metrics[Symbol.dispose]();
      throw error;
    }
    return {
      append: (record) => logs.forEach((log) => log.append(record)),
      flush: () => logs.forEach((log) => log.flush()),
      [Symbol.dispose]: () => logs.forEach((log) => log[Symbol.dispose]()),
    };
  }

  /** Starts over. The earlier run, if there is one, stays until {@link takePlace}. */
  startOver(): void {
    this.#lock.requireHeld();
    if (runPaths(this.path).length > 0) this.#place = this.#next;
  }

  /** Replaces the earlier run after a fresh start, once the new run has a checkpoint. */
  takePlace(): void {
    if (this.#place === this.path) return;
    const manifest = readManifest(this.at("manifest"));
    ensure(manifest, "a run that has a checkpoint has begun");
    this.#place = this.path;
    const earlier = runPaths(this.path).filter((path) => path !== this.at("manifest"));
    // From here on readers reject the run, until the manifest is written again.
    this.#finishReplacing({ ...manifest, replaces: earlier.map((path) => relative(this.path, path)) });
  }

  /** Deletes the earlier run, then moves the new one. If killed, the manifest lists what is left to do. */
  #finishReplacing({ replaces = [], ...manifest }: Manifest): void {
    writeManifest(this.at("manifest"), { ...manifest, replaces });
    explained(`write to ${this.path}`, () => {
      const names = runPaths(this.path).map((path) => relative(this.path, path));
      for (const name of names) if (replaces.includes(name)) removeWhole(this.#within(name));
      writeManifest(this.at("manifest"), { ...manifest, replaces: [] });
      for (const path of runPaths(this.#next)) {
        const target = this.#within(relative(this.#next, path));
        Deno.mkdirSync(dirname(target), { recursive: true });
        if (target !== this.at("manifest")) Deno.renameSync(path, target);
      }
    });
    writeManifest(this.at("manifest"), manifest);
    this.#removeNext();
  }

  #removeNext(): void {
    this.#lock.requireHeld();
    if (exists(this.#next)) Deno.removeSync(this.#next, { recursive: true });
  }

  /** Writes what the files of places say about a run's addresses. @param files Their paths. */
  writePlaces({ table, ...found }: RunPlaces, files: readonly string[]): void {
    const names = files.map((path) => basename(path));
    writeJsonAtomic(this.at("places"), { files: names, tableBytes: table.length, ...found });
  }

  /** Writes the manifest of a run that begins, marked as incomplete. */
  begin(start: Pick<Manifest, "inputs" | "options">): Manifest {
    const manifest = newManifest({ stage: STAGE, ...start });
    writeManifest(this.at("manifest"), manifest);
    return manifest;
  }

  finish(manifest: Manifest, done: Pick<Manifest, "counts" | "outputs">): void {
    writeManifest(this.at("manifest"), { ...manifest, ...done, complete: true });
  }

  /**
   * Completes the manifest of a run that was killed between its last checkpoint and its end.
   *
   * @param describe Returns counts and outputs; called only if the manifest is incomplete or the run has
   *   changed.
   */
  async finishEarlier(
    describe: () => Promise<Pick<Manifest, "counts" | "outputs">>,
    isChanged = false,
  ): Promise<void> {
    const earlier = readManifest(this.at("manifest"));
    if (!earlier || (earlier.complete && !isChanged)) return;
    const { inputs, options } = earlier;
    this.finish(newManifest({ stage: STAGE, inputs, options }), await describe());
  }

  [Symbol.dispose](): void {
    try {
      this.#removeNext();
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }
}

/** Lists the existing files of a run: its checkpoints, the latest last, then the others. */
function runPaths(folder: string): string[] {
  const { tensorboard, ...names } = RUN_FILES;
  const files = [...Object.values(names), join(tensorboard, EVENT_FILE)].map((name) => join(folder, name));
  return [...checkpointPaths(join(folder, CHECKPOINTS)), ...files.filter(exists)];
}

/** Rejects a folder that this stage did not create. */
function checkOwn(path: string): void {
  if (!exists(path)) return;
  const entries = explained(`write to ${path}`, () => [...Deno.readDirSync(path)]);
  if (entries.every(({ name }) => name === WORK || isTemporary(name))) return;
  if (readManifest(join(path, RUN_FILES.manifest))?.stage === STAGE) return;
  throw new UserError(
    `Cannot train in ${path}: it contains other files, expected an empty folder or an earlier run; choose another --run`,
  );
}
