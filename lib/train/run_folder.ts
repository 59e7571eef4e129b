/**
 * The folder of a run: `checkpoints/`, `metrics.jsonl`, `tensorboard/`, `report.html`, `manifest.json`, perhaps
 * `profile.txt` and `autotune.json`, and while a process trains in it `.work/` with its lock.
 *
 * A run that starts over (`--fresh`) puts the one before aside, into `.work/replaced/`, and deletes it when it has a
 * checkpoint of its own. If it ends before, however it does, the one before is put back.
 *
 * @module
 */
import { dirname, join, relative } from "@std/path";
import { explainFileError, UserError } from "../errors.ts";
import { isTemporary, removeStaleTemporaries } from "../files/atomic.ts";
import { exists } from "../files/inputs.ts";
import { type Manifest, newManifest, readManifest, writeManifest } from "../files/manifest.ts";
import { OutputLock } from "../files/output_lock.ts";
import { WORK } from "../files/array_task.ts";
import { checkpointPaths, hasCheckpoints } from "./checkpoint.ts";
import { EVENT_FILE } from "./event_log.ts";

const STAGE = "train";
const AUTOTUNE = "autotune.json";
const [CHECKPOINTS, TENSORBOARD] = ["checkpoints", "tensorboard"];
const [METRICS, PROFILE, MANIFEST] = ["metrics.jsonl", "profile.txt", "manifest.json"];
/** The name of the page with a run's curves. */
export const REPORT = "report.html";

/** An open, locked run folder. */
export class RunFolder {
  readonly checkpointsDir: string;
  readonly metricsPath: string;
  /** What TensorBoard is pointed to; it holds {@link eventsPath}. */
  readonly tensorboardDir: string;
  readonly eventsPath: string;
  readonly reportPath: string;
  readonly profilePath: string;
  /** Which kernels are fastest here, where there is a choice. */
  readonly autotunePath: string;
  readonly manifestPath: string;
  readonly #lock: OutputLock;
  readonly #replaced: string;
  /** Where files are on the way to {@link #replaced} or back from it. */
  readonly #moving: string;

  private constructor(readonly path: string, lock: OutputLock) {
    this.checkpointsDir = join(path, CHECKPOINTS);
    this.metricsPath = join(path, METRICS);
    this.tensorboardDir = join(path, TENSORBOARD);
    this.eventsPath = join(this.tensorboardDir, EVENT_FILE);
    this.reportPath = join(path, REPORT);
    this.profilePath = join(path, PROFILE);
    this.autotunePath = join(path, AUTOTUNE);
    this.manifestPath = join(path, MANIFEST);
    this.#lock = lock;
    this.#replaced = join(path, WORK, "replaced");
    this.#moving = join(path, WORK, "moving");
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

  /** Puts the run that is there aside: it is deleted by {@link dropReplaced}, or else put back. */
  replace(): void {
    moveRun(this.path, this.#moving);
    Deno.renameSync(this.#moving, this.#replaced);
  }

  /** Deletes the run that was put aside, if there is one. */
  dropReplaced(): void {
    if (exists(this.#replaced)) Deno.removeSync(this.#replaced, { recursive: true });
  }

  /** Writes the manifest at the start of the work; it is not complete. */
  begin(start: Pick<Manifest, "inputs" | "options">): Manifest {
    const manifest = newManifest({ stage: STAGE, ...start });
    writeManifest(this.manifestPath, manifest);
    return manifest;
  }

  /** Writes the manifest of the finished run. */
  finish(manifest: Manifest, done: Pick<Manifest, "counts" | "outputs">): void {
    writeManifest(this.manifestPath, { ...manifest, ...done, complete: true });
  }

  /**
   * Finishes the manifest of a run that was killed between its last checkpoint and its end.
   *
   * @param describe What the run left; called only where it is needed.
   */
  async finishEarlier(describe: () => Promise<Pick<Manifest, "counts" | "outputs">>): Promise<void> {
    const earlier = readManifest(this.manifestPath);
    if (!earlier || earlier.complete) return;
    const { inputs, options } = earlier;
    this.finish(newManifest({ stage: STAGE, inputs, options }), await describe());
  }

  [Symbol.dispose](): void {
    this.#settleReplaced();
    this.#lock[Symbol.dispose]();
  }

  /** Deletes the run that was put aside if the new one has a checkpoint, else puts it back. */
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

/** What runs write that is there, but for autotune.json, which is true of every run on its GPU. */
function runPaths(folder: string): string[] {
  const files = [METRICS, join(TENSORBOARD, EVENT_FILE), REPORT, PROFILE, MANIFEST].map((name) =>
    join(folder, name)
  );
  return [...checkpointPaths(join(folder, CHECKPOINTS)), ...files.filter(exists)];
}

/** Moves a run to another folder; a kill on the way leaves the rest of it where it was. */
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

/** A folder that this stage did not make is left alone. */
function checkOwn(path: string): void {
  if (!exists(path)) return;
  try {
    const isOwn = (name: string) => name === WORK || name === AUTOTUNE || isTemporary(name);
    if ([...Deno.readDirSync(path)].every(({ name }) => isOwn(name))) return;
    if (["replaced", "moving"].some((name) => exists(join(path, WORK, name)))) return;
  } catch (error) {
    throw explainFileError(error, `write to ${path}`);
  }
  if (readManifest(join(path, MANIFEST))?.stage === STAGE) return;
  throw new UserError(
    `Cannot train in ${path}: it holds other files, an empty folder or an earlier run was wanted; choose another --run`,
  );
}
