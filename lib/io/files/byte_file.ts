/**
 * Open files with complete reads and writes, since Deno's own calls may transfer only a part of the bytes.
 * Only regular files are opened: a named pipe without a writer blocks forever, and a device never ends.
 *
 * @module
 */
import { dirname } from "@std/path";
import { FormatError, UserError } from "../../base/errors.ts";
import { signOfWork, whileFlushing } from "../threads/signs_of_work.ts";
import { explained, explainFileError, unlessMissing } from "./file_errors.ts";

const CHUNK_BYTES = 1 << 20;
/** Maximum size of one system call, to keep each call short; the system accepts at most 2 GiB at a time. */
const MAX_CALL_BYTES = 1 << 24;
// ASSUMPTION: large enough to make system calls rare, and small compared to every memory limit.
const READ_AHEAD_BYTES = 1 << 18;

/** A file open for reading or writing. Errors name the file and the byte. */
export class ByteFile implements Disposable {
  readonly #file: Deno.FsFile;
  #isOpen = true;

  private constructor(readonly path: string, file: Deno.FsFile) {
    this.#file = file;
  }

  /**
   * Opens a regular file for reading.
   *
   * @param action For errors; `read PATH` by default.
   * @throws {UserError} If it cannot be read or is not a regular file.
   */
  static open(path: string, action?: string): ByteFile {
    return new ByteFile(path, openRegularFile(path, action));
  }

  /**
   * Opens a regular file for writing, creating it and its folder if needed.
   *
   * @param mode `new`: empty; `append`: at the end; `update`: anywhere in the file, and for reading too.
   * @throws {UserError} If it cannot be written.
   */
  static write(path: string, mode: "new" | "append" | "update"): ByteFile {
    const options = {
      new: { write: true, create: true, truncate: true },
      append: { append: true, create: true },
      update: { read: true, write: true, create: true },
    };
    const open = () => new ByteFile(path, Deno.openSync(path, options[mode]));
    return explained(`write ${path}`, () => {
      // Checked before opening: a pipe without a reader would block.
      unlessMissing(() => requireRegular(Deno.statSync(path), `write ${path}`));
      const opened = unlessMissing(open);
      if (opened) return opened;
      Deno.mkdirSync(dirname(path), { recursive: true });
      return open();
    });
  }

  get sizeBytes(): number {
    return this.#file.statSync().size;
  }

  /** Fills `into` with the bytes from `offsetBytes` on. @throws {FormatError} If the file ends earlier. */
  readAt(offsetBytes: number, into: Uint8Array): void {
    const count = this.readAvailable(offsetBytes, into);
    if (count === into.length) return;
    throw new FormatError("the file ends here; it is truncated, make it again", {
      path: this.path,
      offsetBytes: offsetBytes + count,
    });
  }

  /** Like {@link readAt}, but stops at the end of the file. @returns Number of bytes read. */
  readAvailable(offsetBytes: number, into: Uint8Array): number {
    return explained(`read ${this.path}`, () => {
      this.#file.seekSync(offsetBytes, Deno.SeekMode.Start);
      let done = 0;
      while (done < into.length) {
        const count = this.#file.readSync(into.subarray(done, done + MAX_CALL_BYTES));
        if (count === null) break;
        done += count;
        signOfWork();
      }
      return done;
    });
  }

  /** All bytes from the beginning, in pieces, each of which is valid until the next. */
  *chunks(): Generator<Uint8Array> {
    const chunk = new Uint8Array(CHUNK_BYTES);
    let offsetBytes = 0;
    for (let count; (count = this.readAvailable(offsetBytes, chunk)) > 0; offsetBytes += count) {
      yield chunk.subarray(0, count);
    }
  }

  /** Writes all bytes after the last ones written. @throws {UserError} If the disk is full. */
  write(bytes: Uint8Array): void {
    explained(`write ${this.path}`, () => writeWhole(this.#file, bytes));
  }

  /** Writes all bytes at an offset. @throws {UserError} If the disk is full. */
  writeAt(offsetBytes: number, bytes: Uint8Array): void {
    explained(`write ${this.path}`, () => {
      this.#file.seekSync(offsetBytes, Deno.SeekMode.Start);
      writeWhole(this.#file, bytes);
    });
  }

  /** @param sizeBytes The new size, at most the current one. */
  truncate(sizeBytes: number): void {
    explained(`write ${this.path}`, () => this.#file.truncateSync(sizeBytes));
  }

  /** Makes the written bytes durable. */
  flush(): void {
    explained(`write ${this.path}`, () => whileFlushing(() => this.#file.syncSync()));
  }

  /** Closes the file. A second call does nothing. */
  [Symbol.dispose](): void {
    if (this.#isOpen) this.#file.close();
    this.#isOpen = false;
  }
}

/**
 * A file that is read by position through one buffer. Consecutive reads cost one system call per window; any
 * other read transfers exactly the requested bytes.
 */
export class FileWindow implements Disposable {
  readonly sizeBytes: number;
  readonly #file: ByteFile;
  #begin = 0;
  #bytes: Uint8Array = new Uint8Array(0);

  /** @throws {UserError} If the file cannot be opened. */
  constructor(readonly path: string) {
    this.#file = ByteFile.open(path);
    this.sizeBytes = this.#file.sizeBytes;
  }

  /**
   * @returns A view of a buffer that is not written to again.
   * @throws {FormatError} If the file ends earlier.
   */
  read(offsetBytes: number, lengthBytes: number): Uint8Array {
    if (offsetBytes + lengthBytes > this.sizeBytes) {
      throw new FormatError("the file ends here; it is truncated, fetch or make it again", {
        path: this.path,
        offsetBytes: this.sizeBytes,
      });
    }
    const end = this.#begin + this.#bytes.length;
    if (offsetBytes < this.#begin || offsetBytes + lengthBytes > end) {
      const isSequential = offsetBytes > this.#begin && offsetBytes <= end;
      this.#fill(offsetBytes, isSequential ? Math.max(lengthBytes, READ_AHEAD_BYTES) : lengthBytes);
    }
    const at = offsetBytes - this.#begin;
    return this.#bytes.subarray(at, at + lengthBytes);
  }

  /** Closes the file. A second call does nothing. */
  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }

  #fill(offsetBytes: number, wantedBytes: number): void {
    const bytes = new Uint8Array(Math.min(wantedBytes, this.sizeBytes - offsetBytes));
    this.#file.readAt(offsetBytes, bytes);
    this.#begin = offsetBytes;
    this.#bytes = bytes;
  }
}

/** Opens a regular file for reading. @throws {UserError} If it cannot be read or is not a regular file. */
export function openRegularFile(path: string, action = `read ${path}`): Deno.FsFile {
  return explained(action, () => {
    requireRegular(Deno.statSync(path), action);
    return Deno.openSync(path);
  });
}

/** Reads a regular file as text. @throws {UserError} If it is not regular. System errors are passed on. */
export function readRegularText(path: string): string {
  requireRegular(Deno.statSync(path), `read ${path}`);
  return Deno.readTextFileSync(path);
}

/** @throws {UserError} If it is not a regular file. */
export function requireRegular(info: Deno.FileInfo, action: string): void {
  if (info.isFile) return;
  const advice = info.isDirectory ? "name a file" : "name a regular file";
  throw new UserError(`Cannot ${action}: it is ${kindOf(info)}, expected a file; ${advice}`);
}

/** Rejects a link in a place where the program makes none. @throws {UserError} If the path is a link. */
export function refuseLink(path: string, action: string): void {
  let target: string | undefined;
  try {
    if (!Deno.lstatSync(path).isSymlink) return;
    target = Deno.readLinkSync(path);
    Deno.statSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw explainFileError(error, action);
    if (target === undefined) return;
    throw new UserError(
      `Cannot ${action}: ${path} is a link to ${target}, which does not exist; make that folder, or delete the link`,
    );
  }
  throw new UserError(
    `Cannot ${action}: ${path} is a link to ${target}, and links in output folders are not followed; ` +
      "move its target there, or choose another --output",
  );
}

function kindOf({ isDirectory, isFifo, isSocket }: Deno.FileInfo): string {
  if (isDirectory) return "a directory";
  if (isFifo) return "a named pipe";
  return isSocket ? "a socket" : "a device";
}

/** Writes all bytes to a writer that may accept them in pieces. */
export function writeWhole(writer: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) {
    done += writer.writeSync(bytes.subarray(done, done + MAX_CALL_BYTES));
    signOfWork();
  }
}
