/**
 * Files that appear complete or not at all: they are written under a temporary name in the same folder, flushed to the disk and
 * renamed. Temporary names are random, so that processes with equal ids (in containers) do not share one.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { explainFileError } from "./file_errors.ts";
import { whileFlushing } from "../threads/signs_of_work.ts";
import { writeWhole } from "./byte_file.ts";

/** Matches names made by {@link temporaryName}, which no user would choose. */
const TEMPORARY = /\.[0-9a-f]{16}\.tmp$/;

/** A unique name beside `path`. */
export function temporaryName(path: string): string {
  return `${path}.${crypto.getRandomValues(new BigUint64Array(1))[0].toString(16).padStart(16, "0")}.tmp`;
}

/** Whether a name is one that a killed process may have left. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name);
}

/** A file under a temporary name, renamed to its own name when committed. */
export class AtomicFile {
  /** The number of bytes written so far. */
  offsetBytes = 0;
  #file: Deno.FsFile | undefined;

  private constructor(readonly path: string, readonly temporaryPath: string, file: Deno.FsFile) {
    this.#file = file;
  }

  /** Opens a temporary file beside `path`, making the folder if needed. @throws {UserError} If it cannot be made. */
  static create(path: string): AtomicFile {
    const temporaryPath = temporaryName(path);
    try {
      Deno.mkdirSync(dirname(path), { recursive: true });
      return new AtomicFile(
        path,
        temporaryPath,
        Deno.openSync(temporaryPath, { write: true, create: true, truncate: true }),
      );
    } catch (error) {
      throw explainFileError(error, `write ${path}`);
    }
  }

  /** Appends all the bytes. @throws {UserError} If the disk is full; the temporary file is then deleted. */
  writeSync(bytes: Uint8Array): void {
    const file = this.#open();
    try {
      writeWhole(file, bytes);
    } catch (error) {
      this.abort();
      throw explainFileError(error, `write ${this.path}`);
    }
    this.offsetBytes += bytes.length;
  }

  /** Flushes to the disk and gives the file its name. @param path The name, if it is not the one given first. */
  commit(path: string = this.path): void {
    const file = this.#open();
    try {
      whileFlushing(() => file.syncSync());
      file.close();
      this.#file = undefined;
      Deno.renameSync(this.temporaryPath, path);
      syncDirectory(dirname(path));
    } catch (error) {
      this.abort();
      throw explainFileError(error, `write ${path}`);
    }
  }

  /** Deletes the temporary file; does nothing after a commit. */
  abort(): void {
    if (!this.#file) return;
    try {
      this.#file.close();
    } catch { /* closed already by the failure that led here */ }
    this.#file = undefined;
    try {
      Deno.removeSync(this.temporaryPath);
    } catch { /* it may never have been made */ }
  }

  [Symbol.dispose](): void {
    this.abort();
  }

  #open(): Deno.FsFile {
    if (!this.#file) throw new Error(`Internal error: ${this.path} is closed`);
    return this.#file;
  }
}

/**
 * Writes a whole file atomically, text as UTF-8.
 *
 * @param check Called before the file gets its name, may throw.
 * @throws {UserError} If the file cannot be written.
 */
export function writeFileAtomic(path: string, content: string | Uint8Array, check = () => {}): void {
  using file = AtomicFile.create(path);
  file.writeSync(typeof content === "string" ? new TextEncoder().encode(content) : content);
  check();
  file.commit();
}

/** Writes a value as indented JSON with a final newline, atomically. @param check See {@link writeFileAtomic}. */
export function writeJsonAtomic(path: string, value: unknown, check?: () => void): void {
  writeFileAtomic(path, JSON.stringify(value, null, 2) + "\n", check);
}

/** Makes the names in a folder durable; does nothing where the system cannot sync a folder. */
export function syncDirectory(path: string): void {
  try {
    using folder = Deno.openSync(path);
    whileFlushing(() => folder.syncSync());
  } catch { /* Windows cannot open a folder; the rename is durable there without */ }
}

/** Deletes files that a killed process left under temporary names in a folder, if it exists. The caller must hold its lock. */
export function removeStaleTemporaries(folder: string): void {
  try {
    for (const { name } of Deno.readDirSync(folder)) {
      if (isTemporary(name)) Deno.removeSync(join(folder, name), { recursive: true });
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw explainFileError(error, `clean ${folder}`);
  }
}
