/**
 * The folder of a run: `checkpoints/`, `metrics.jsonl`, `tensorboard/`, `report.html`, `manifest.json`, perhaps
 * `profile.txt` and `autotune.json`, and a lock that keeps a second trainer out while the first runs.
 *
 * @module
 */
import { join } from "@std/path";
import { explainFileError, UserError } from "../errors.ts";
import { removeStaleTemporaries } from "../files/atomic.ts";
import { exists } from "../files/inputs.ts";
import { type Manifest, newManifest, readManifest, writeManifest } from "../files/manifest.ts";
import { EVENT_FILE } from "./event_log.ts";

const STAGE = "train";
const LOCK = "train.lock";

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
  readonly #lock: Deno.FsFile;

  private constructor(readonly path: string, lock: Deno.FsFile) {
    this.checkpointsDir = join(path, "checkpoints");
    this.metricsPath = join(path, "metrics.jsonl");
    this.tensorboardDir = join(path, "tensorboard");
    this.eventsPath = join(this.tensorboardDir, EVENT_FILE);
    this.reportPath = join(path, "report.html");
    this.profilePath = join(path, "profile.txt");
    this.autotunePath = join(path, "autotune.json");
    this.manifestPath = join(path, "manifest.json");
    this.#lock = lock;
  }

  /**
   * Opens the folder, making it if needed.
   *
   * @param path The folder.
   * @param options `fresh`: delete what an earlier run left.
   * @throws {UserError} If it holds something else, or another process trains in it.
   */
  static open(path: string, options: { fresh: boolean }): RunFolder {
    checkOwn(path);
    const folder = new RunFolder(path, lock(path));
    removeStaleTemporaries(path);
    if (options.fresh) folder.#clear();
    return folder;
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
    this.#lock.close();
  }

  #clear(): void {
    for (
      const path of [
        this.checkpointsDir,
        this.metricsPath,
        this.tensorboardDir,
        this.reportPath,
        this.profilePath,
        this.autotunePath,
        this.manifestPath,
      ]
    ) {
      try {
        if (exists(path)) Deno.removeSync(path, { recursive: true });
      } catch (error) {
        throw explainFileError(error, `delete ${path}`);
      }
    }
  }
}

/** A folder that this stage did not make is left alone. */
function checkOwn(path: string): void {
  if (!exists(path)) return;
  try {
    const names = [...Deno.readDirSync(path)].map(({ name }) => name);
    if (names.every((name) => name === LOCK || /\.tmp$/.test(name))) return;
  } catch (error) {
    throw explainFileError(error, `write to ${path}`);
  }
  if (readManifest(join(path, "manifest.json"))?.stage === STAGE) return;
  throw new UserError(
    `Cannot train in ${path}: it holds other files, an empty folder or an earlier run was wanted; choose another --run`,
  );
}

function lock(path: string): Deno.FsFile {
  try {
    Deno.mkdirSync(path, { recursive: true });
    const file = Deno.openSync(join(path, LOCK), { write: true, create: true });
    if (file.tryLockSync(true)) return file;
    file.close();
  } catch (error) {
    throw explainFileError(error, `write to ${path}`);
  }
  throw new UserError(
    `Cannot train in ${path}: another process is training in it; wait for it or choose another --run`,
  );
}
