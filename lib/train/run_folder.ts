/**
 * The folder of a run; lib/train/CHECKPOINTS.md lists its files.
 *
 * A run that starts over (`--fresh`) moves the earlier run into `.work/replaced/` and deletes it when it has a checkpoint of
 * its own. If it ends before that, in whatever way, the earlier run is moved back.
 *
 * @module
 */
import { basename, dirname, join, relative } from "@std/path";
import { UserError } from "../base/errors.ts";
import { explainFileError } from "../io/files/file_errors.ts";
import { isTemporary, removeStaleTemporaries, writeJsonAtomic } from "../io/files/atomic.ts";
import { CHECKPOINTS, RUN_FILES } from "../io/files/checkpoint_folder.ts";
import { exists } from "../io/files/inputs.ts";
import { type Manifest, newManifest, readManifest, writeManifest } from "../io/files/manifest.ts";
import { OutputLock } from "../io/files/output_lock.ts";
import { WORK } from "../io/files/array_task.ts";
import { checkpointPaths, hasCheckpoints, isSetAside, SET_ASIDE } from "./checkpoint.ts";
import { EVENT_FILE, openEvents } from "./event_log.ts";
import type { RunPlaces } from "./run_places.ts";
import { openMetrics, type ScalarLog } from "./metrics.ts";

const STAGE = "train";

/** An open, locked run folder. */
export class RunFolder {
  readonly #lock: OutputLock;
  readonly #replaced: string;
  /** Where files wait while they are moved to {@link #replaced} or back. */
  readonly #moving: string;

  private constructor(readonly path: string, lock: OutputLock) {
    this.#lock = lock;
    [this.#replaced, this.#moving] = SET_ASIDE.map((name) => join(path, WORK, name));
  }

  // All these paths are refused (UserError) once the run was moved, deleted or replaced by a link.

  /** The folder of its checkpoints. */
  get checkpointsDir(): string {
    return this.#within(CHECKPOINTS);
  }

  get metricsPath(): string {
    return this.#within(RUN_FILES.metrics);
  }

  get eventsPath(): string {
    return join(this.#within(RUN_FILES.tensorboard), EVENT_FILE);
  }

  get reportPath(): string {
    return this.#within(RUN_FILES.report);
  }

  get profilePath(): string {
    return this.#within(RUN_FILES.profile);
  }

  get manifestPath(): string {
    return this.#within(RUN_FILES.manifest);
  }

  /** The places of addresses, see {@link writePlaces}. */
  get placesPath(): string {
    return this.#within(RUN_FILES.places);
  }

  /** Where the run may end, see `StepChoice`. */
  get choicePath(): string {
    return this.#within(RUN_FILES.choice);
  }

  #within(name: string): string {
    this.#lock.requireHeld();
    return join(this.path, name);
  }

  /**
   * Opens the folder, making it if needed.
   *
   * @param path The folder.
   * @throws {UserError} If it holds something else, or another process trains in it.
   */
  static open(path: string): RunFolder {
    checkOwn(path);
    const folder = new RunFolder(path, OutputLock.acquire(join(path, WORK), { output: path, stage: STAGE }));
    try {
      folder.#settleReplaced();
      for (const each of [path, folder.checkpointsDir]) removeStaleTemporaries(each);
    } catch (error) {
      folder.#lock[Symbol.dispose]();
      throw error;
    }
    return folder;
  }

  /**
   * Opens `metrics.jsonl` and the TensorBoard event file, both cut off after a step.
   *
   * @param lastStep The step that the run resumes after; 0 starts the files anew.
   * @throws {UserError} If one cannot be written.
   * @throws {FormatError} If a line of the metrics that is to stay is invalid.
   */
  openScalars(lastStep: number): ScalarLog {
    const metrics = openMetrics(this.metricsPath, lastStep);
    const logs: ScalarLog[] = [metrics];
    try {
      logs.push(openEvents(this.eventsPath, lastStep));
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

  /** Sets the earlier run aside. {@link dropReplaced} deletes it; without that it is put back. */
  replace(): void {
    this.#lock.requireHeld();
    moveRun(this.path, this.#moving);
    Deno.renameSync(this.#moving, this.#replaced);
  }

  /** Deletes the run that was set aside, if there is one. */
  dropReplaced(): void {
    this.#lock.requireHeld();
    if (exists(this.#replaced)) Deno.removeSync(this.#replaced, { recursive: true });
  }

  /** Writes what a run's files of places say of its addresses. @param files Their paths. */
  writePlaces({ numbers, ...found }: RunPlaces, files: readonly string[]): void {
    const names = files.map((path) => basename(path));
    writeJsonAtomic(this.placesPath, { files: names, tableBytes: numbers.byteLength, ...found });
  }

  /** Writes the manifest of a run that begins; it is not complete. */
  begin(start: Pick<Manifest, "inputs" | "options">): Manifest {
    const manifest = newManifest({ stage: STAGE, ...start });
    writeManifest(this.manifestPath, manifest);
    return manifest;
  }

  /** Writes the manifest of a finished run. */
  finish(manifest: Manifest, done: Pick<Manifest, "counts" | "outputs">): void {
    writeManifest(this.manifestPath, { ...manifest, ...done, complete: true });
  }

  /**
   * Finishes the manifest of a run that was killed between its last checkpoint and its end.
   *
   * @param describe Gives counts and outputs; called only if the manifest is not complete, or the run has changed.
   */
  async finishEarlier(
    describe: () => Promise<Pick<Manifest, "counts" | "outputs">>,
    isChanged = false,
  ): Promise<void> {
    const earlier = readManifest(this.manifestPath);
    if (!earlier || (earlier.complete && !isChanged)) return;
    const { inputs, options } = earlier;
    this.finish(newManifest({ stage: STAGE, inputs, options }), await describe());
  }

  [Symbol.dispose](): void {
    try {
      this.#lock.requireHeld();
      this.#settleReplaced();
    } finally {
      this.#lock[Symbol.dispose]();
    }
  }

  /** Deletes the run that was set aside if the new one has a checkpoint, else puts it back. */
  #settleReplaced(): void {
    if (exists(this.#replaced)) {
      if (hasCheckpoints(this.checkpointsDir)) return this.dropReplaced();
      for (const path of runPaths(this.path)) Deno.removeSync(path, { recursive: true });
      Deno.renameSync(this.#replaced, this.#moving);
    }
    if (!exists(this.#moving)) return;
    moveRun(this.#moving, this.path);
    Deno.removeSync(this.#moving, { recursive: true });
  }
}

/** The files of a run that exist. */
function runPaths(folder: string): string[] {
  const { metrics, tensorboard, report, profile, choice, manifest } = RUN_FILES;
  const files = [metrics, join(tensorboard, EVENT_FILE), report, profile, choice, manifest].map((name) =>
    join(folder, name)
  );
  return [...checkpointPaths(join(folder, CHECKPOINTS)), ...files.filter(exists)];
}

/** Moves a run to another folder, file by file. After a kill the rest is still in the old place. */
function moveRun(from: string, to: string): void {
  try {
    Deno.mkdirSync(to, { recursive: true });
    for (const path of runPaths(from)) {
      const target = join(to, relative(from, path));
      Deno.mkdirSync(dirname(target), { recursive: true });
      Deno.renameSync(path, target);
    }
  } catch (error) {
    throw explainFileError(error, `move ${from} to ${to}`);
  }
}

/** Refuses a folder that this stage did not make. */
function checkOwn(path: string): void {
  if (!exists(path)) return;
  try {
    const isOwn = (name: string) => name === WORK || isTemporary(name);
    if ([...Deno.readDirSync(path)].every(({ name }) => isOwn(name))) return;
    if (isSetAside(path)) return;
  } catch (error) {
    throw explainFileError(error, `write to ${path}`);
  }
  if (readManifest(join(path, RUN_FILES.manifest))?.stage === STAGE) return;
  throw new UserError(
    `Cannot train in ${path}: it holds other files, expected an empty folder or an earlier run; choose another --run`,
  );
}
