/**
 * Files that appear complete or not at all. They are written under a temporary name in the same folder,
 * flushed to disk, and renamed. Temporary names are random, so that processes with equal ids (in containers)
 * never share one.
 *
 * @module
 */
import { dirname, join } from "@std/path";
import { explained, explainFileError, unlessMissing } from "./file_errors.ts";
import { whileFlushing } from "../threads/signs_of_work.ts";
import { writeWhole } from "./byte_file.ts";

/** Matches names from {@link temporaryName}, which a user would not choose. */
const TEMPORARY = /\.[0-9a-f]{16}\.tmp$/;

/** A unique name in the same folder as `path`. */
export function temporaryName(path: string): string {
  return `${path}.${crypto.getRandomValues(new BigUint64Array(1))[0].toString(16).padStart(16, "0")}.tmp`;
}

/** Whether a killed process may have left a file of this name. */
export function isTemporary(name: string): boolean {
  return TEMPORARY.test(name);
}

/** A file with a temporary name, which is renamed when committed. */
export class AtomicFile {
  offsetBytes = 0;
  #file: Deno.FsFile | undefined;

  private constructor(readonly path: string, readonly temporaryPath: string, file: Deno.FsFile) {
    this.#file = file;
  }

  /** Opens a temporary file next to `path`, in a new folder if needed. @throws {UserError} If that fails. */
  static create(path: string): AtomicFile {
    const temporaryPath = temporaryName(path);
    return explained(`write ${path}`, () => {
      Deno.mkdirSync(dirname(path), { recursive: true });
      const file = Deno.openSync(temporaryPath, { write: true, create: true, truncate: true });
      return new AtomicFile(path, temporaryPath, file);
    });
  }

  /** Appends all bytes. @throws {UserError} If the disk is full; the temporary file is then deleted. */
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

  /** Flushes the file to disk and renames it. @param path The final name; by default the original one. */
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
    } catch { /* already closed by the failure that led here */ }
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
 * @param check Called before the file gets its final name; may throw.
 * @throws {UserError} If the file cannot be written.
 */
export function writeFileAtomic(path: string, content: string | Uint8Array, check = () => {}): void {
  using file = AtomicFile.create(path);
  file.writeSync(typeof content === "string" ? new TextEncoder().encode(content) : content);
  check();
  file.commit();
}

/** Atomically writes a value as indented JSON with a newline. @param check See {@link writeFileAtomic}. */
export function writeJsonAtomic(path: string, value: unknown, check?: () => void): void {
  writeFileAtomic(path, JSON.stringify(value, null, 2) + "\n", check);
}

/** Makes the names in a folder durable; does nothing if the system cannot sync folders. */
export function syncDirectory(path: string): void {
  try {
    using folder = Deno.openSync(path);
    whileFlushing(() => folder.syncSync());
  } catch { /* Windows cannot open a folder; the rename is durable there anyway */ }
}

/**
 * Deletes the temporary files that a killed process left in a folder, if it exists. The caller must hold the
 * folder's lock.
 */
export function removeStaleTemporaries(folder: string): void {
  const clean = () => {
    for (const { name } of Deno.readDirSync(folder)) {
      if (isTemporary(name)) Deno.removeSync(join(folder, name), { recursive: true });
    }
  };
  explained(`clean ${folder}`, () => unlessMissing(clean));
}
