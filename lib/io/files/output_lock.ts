/**
 * A lock on an output, so that only one process at a time writes it.
 *
 * It is a kernel lock (flock) on a file that stays open while the output is written. Thus it ends with its
 * process, and works through links and on network file systems that support locks.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { UserError } from "../../base/errors.ts";
import { refuseLink, requireRegular } from "./byte_file.ts";
import { explained, explainFileError, unlessMissing } from "./file_errors.ts";
import { exists } from "./inputs.ts";

export const LOCK = "lock";
/** The previous holder may remove the folder between two steps of the next holder, but not this often. */
const MAX_ATTEMPTS = 100;
/** How often the holder updates the lock file's time to show others that it is alive. */
const SIGN_EVERY_MS = 10_000;

/** A lock held until disposal. */
export class OutputLock implements Disposable {
  readonly #file: Deno.FsFile;
  readonly #timer: ReturnType<typeof setInterval>;

  private constructor(readonly folder: string, readonly output: string, file: Deno.FsFile) {
    this.#file = file;
    this.#timer = setInterval(() => signFile(file), SIGN_EVERY_MS);
    Deno.unrefTimer(this.#timer);
  }

  /**
   * @param folder The lock file's folder, created if needed.
   * @param options `output`: the locked path as the user named it; `stage`: the holder, for other processes'
   *   messages.
   * @throws {UserError} If another process, or another part of this one, holds the lock.
   */
  static acquire(folder: string, { output, stage }: { output: string; stage: string }): OutputLock {
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const file = openLock(folder);
        if (!file) continue;
        if (!file.tryLockSync(true)) {
          const holder = readText(file);
          file.close();
          throw new UserError(
            `Cannot write to ${output}: another process is writing to it${holder && ` (${holder})`}; ` +
              "wait for it or choose another place for the output",
          );
        }
        if (isStillThere(folder, file)) {
          try {
            writeHolder(file, stage);
          } catch (error) {
            file.close(); // otherwise nobody could release the lock
            throw error;
          }
          return new OutputLock(folder, output, file);
        }
        file.close();
      }
    } catch (error) {
      throw explainFileError(error, `lock ${output}`);
    }
    throw new UserError(`Cannot lock ${output}: ${folder} was removed repeatedly; run again`);
  }

  /**
   * Checks that the folder's path still leads to the locked folder, before something is written or deleted in
   * it.
   *
   * @throws {UserError} If the folder was moved, deleted, or replaced by another folder or a link.
   */
  requireHeld(): void {
    if (isStillThere(this.folder, this.#file)) return;
    throw new UserError(
      `Cannot write to ${this.output}: its folder was moved, deleted or replaced during the work; run again`,
    );
  }

  /** Deletes everything in the folder except the lock. @throws {UserError} As {@link requireHeld}. */
  clearFolder(): void {
    this.requireHeld();
    for (const { name } of Deno.readDirSync(this.folder)) {
      this.requireHeld();
      if (name !== LOCK) Deno.removeSync(join(this.folder, name), { recursive: true });
    }
  }

  /** Releases the lock, and removes the folder if it is empty. @throws {UserError} As {@link requireHeld}. */
  [Symbol.dispose](): void {
    using file = this.#file;
    clearInterval(this.#timer);
    try {
      this.requireHeld();
      try {
        Deno.removeSync(join(this.folder, LOCK));
        Deno.removeSync(this.folder);
      } catch { /* contains unfinished work, or already belongs to another process */ }
    } finally {
      // While another thread starts a process, that process holds a copy of the file, and thus the lock,
      // until it executes its program.
      file.unlockSync();
    }
  }
}

/**
 * Reads a lock file without taking the lock. The holder deletes the file, unless it is killed.
 *
 * @param folder The lock file's folder.
 * @returns `holder`: for example `shard, process 71, since …`, or empty if not written yet; `aliveMs`: the
 *   last sign of life, milliseconds since 1970. Undefined if the file does not exist.
 * @throws {UserError} If it cannot be read.
 */
export function readLock(folder: string): { holder: string; aliveMs: number } | undefined {
  const path = join(folder, LOCK);
  const read = () => {
    requireRegular(Deno.statSync(path), `read ${path}`);
    using file = Deno.openSync(path);
    return { holder: readText(file), aliveMs: file.statSync().mtime?.getTime() ?? 0 };
  };
  return explained(`read ${path}`, () => unlessMissing(read));
}

/** Opens the lock file; undefined if the folder was removed in the meantime. */
function openLock(folder: string): Deno.FsFile | undefined {
  for (const path of [dirname(folder), folder, join(folder, LOCK)]) {
    // The output folder may be a link, but its target must exist.
    if (path !== dirname(folder) || !exists(path)) refuseLink(path, `lock ${path}`);
  }
  try {
    Deno.mkdirSync(folder, { recursive: true });
    const path = join(folder, LOCK);
    const file = Deno.openSync(path, { read: true, write: true, create: true });
    try {
      requireRegular(file.statSync(), `lock ${path}`);
    } catch (error) {
      file.close();
      throw error;
    }
    return file;
  } catch (error) {
    // AlreadyExists: the folder existed when it was to be created, and has been removed since.
    const isGone = error instanceof Deno.errors.NotFound || error instanceof Deno.errors.AlreadyExists;
    if (isGone) return undefined;
    throw error;
  }
}

/** Whether the locked file is still at its path: the previous holder may have deleted it. */
function isStillThere(folder: string, file: Deno.FsFile): boolean {
  try {
    const named = Deno.statSync(join(folder, LOCK));
    const held = file.statSync();
    return named.ino === held.ino && named.dev === held.dev;
  } catch {
    return false; // missing, or a link to something that may not be read
  }
}

function writeHolder(file: Deno.FsFile, stage: string): void {
  file.truncateSync();
  file.writeSync(
    new TextEncoder().encode(`${stage}, process ${Deno.pid}, since ${new Date().toISOString()}\n`),
  );
}

/** Changes only the time of a lock file. */
function signFile(file: Deno.FsFile): void {
  try {
    const now = new Date();
    file.utimeSync(now, now);
  } catch {
    /* another user owns the file, or the disk is full: status may report the work as stopped */
  }
}

/** `shard, process 71, since …`, or empty if the holder has not written it yet. */
function readText(file: Deno.FsFile): string {
  const bytes = new Uint8Array(200);
  return new TextDecoder().decode(bytes.subarray(0, file.readSync(bytes) ?? 0)).trim();
}
