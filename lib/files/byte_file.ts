/**
 * Open files whose bytes are read and written in whole: Deno's calls may take a part of what they are given.
 *
 * Only regular files are opened for reading: a named pipe without a writer blocks for ever, a device has no end.
 *
 * @module
 */
import { dirname } from "@std/path";
import { FormatError, UserError } from "../errors.ts";
import { explainFileError } from "./file_errors.ts";

const CHUNK_BYTES = 1 << 20;
/** Largest part of one call: the system takes no more than 2 GiB at a time. */
const MAX_CALL_BYTES = 1 << 24;
// ASSUMPTION: a window large enough to make system calls rare, small against every memory limit.
const READ_AHEAD_BYTES = 1 << 18;

/** A file open for reading or writing; errors name it and the byte. */
export class ByteFile implements Disposable {
  readonly #file: Deno.FsFile;
  #isOpen = true;

  private constructor(readonly path: string, file: Deno.FsFile) {
    this.#file = file;
  }

  /**
   * Opens a regular file for reading.
   *
   * @param action What is tried, for errors; `read PATH` by default.
   * @throws {UserError} If there is none that can be read.
   */
  static open(path: string, action?: string): ByteFile {
    return new ByteFile(path, openRegularFile(path, action));
  }

  /**
   * Opens a file for writing; it and its folder are made if needed.
   *
   * @param mode `new`: without what it held; `append`: at its end; `update`: anywhere in it, and for reading too.
   * @throws {UserError} If it cannot be written.
   */
  static write(path: string, mode: "new" | "append" | "update"): ByteFile {
    const options = {
      new: { write: true, create: true, truncate: true },
      append: { append: true, create: true },
      update: { read: true, write: true, create: true },
    };
    return explained(`write ${path}`, () => {
      Deno.mkdirSync(dirname(path), { recursive: true });
      return new ByteFile(path, Deno.openSync(path, options[mode]));
    });
  }

  /** The size now, in bytes. */
  get sizeBytes(): number {
    return this.#file.statSync().size;
  }

  /**
   * Fills `into` with the bytes from `offsetBytes` on.
   *
   * @throws {FormatError} If the file ends before.
   */
  readAt(offsetBytes: number, into: Uint8Array): void {
    const count = this.readAvailable(offsetBytes, into);
    if (count === into.length) return;
    throw new FormatError("the file ends here; it is truncated, make it again", {
      path: this.path,
      offsetBytes: offsetBytes + count,
    });
  }

  /** As {@link readAt}, as far as there are bytes. @returns How many there are. */
  readAvailable(offsetBytes: number, into: Uint8Array): number {
    return explained(`read ${this.path}`, () => {
      this.#file.seekSync(offsetBytes, Deno.SeekMode.Start);
      let done = 0;
      while (done < into.length) {
        const count = this.#file.readSync(into.subarray(done, done + MAX_CALL_BYTES));
        if (count === null) break;
        done += count;
      }
      return done;
    });
  }

  /** All bytes from the beginning, in pieces; a piece changes with the next one. */
  *chunks(): Generator<Uint8Array> {
    const chunk = new Uint8Array(CHUNK_BYTES);
    let offsetBytes = 0;
    for (let count; (count = this.readAvailable(offsetBytes, chunk)) > 0; offsetBytes += count) {
      yield chunk.subarray(0, count);
    }
  }

  /** Writes all the bytes behind those written last. @throws {UserError} If the disk is full. */
  write(bytes: Uint8Array): void {
    explained(`write ${this.path}`, () => writeWhole(this.#file, bytes));
  }

  /** Writes all the bytes at a place. @throws {UserError} If the disk is full. */
  writeAt(offsetBytes: number, bytes: Uint8Array): void {
    explained(`write ${this.path}`, () => {
      this.#file.seekSync(offsetBytes, Deno.SeekMode.Start);
      writeWhole(this.#file, bytes);
    });
  }

  /** Cuts the file off. @param sizeBytes What is left, at most the present size. */
  truncate(sizeBytes: number): void {
    explained(`write ${this.path}`, () => this.#file.truncateSync(sizeBytes));
  }

  /** Makes what was written durable. */
  flush(): void {
    explained(`write ${this.path}`, () => this.#file.syncSync());
  }

  /** Closes the file; a second call does nothing. */
  [Symbol.dispose](): void {
    if (this.#isOpen) this.#file.close();
    this.#isOpen = false;
  }
}

/**
 * A file read by position through one buffer: consecutive reads cost one system call per window, any other read
 * exactly the bytes that it asks for.
 */
export class FileWindow implements Disposable {
  readonly path: string;
  readonly sizeBytes: number;
  readonly #file: ByteFile;
  #begin = 0;
  #bytes: Uint8Array = new Uint8Array(0);

  /** Opens a file. @throws {UserError} If that is not possible. */
  constructor(path: string) {
    this.path = path;
    this.#file = ByteFile.open(path);
    this.sizeBytes = this.#file.sizeBytes;
  }

  /**
   * Reads `lengthBytes` at `offsetBytes`.
   *
   * @returns A view of a buffer that is never written to again.
   * @throws {FormatError} If the file ends before.
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

  /** Closes the file; a second call does nothing. */
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

/**
 * Opens a regular file for reading.
 *
 * @param path The file.
 * @param action What is tried, for errors; `read PATH` by default.
 * @throws {UserError} If there is none that can be read.
 */
export function openRegularFile(path: string, action = `read ${path}`): Deno.FsFile {
  try {
    requireRegular(Deno.statSync(path), action);
    return Deno.openSync(path);
  } catch (error) {
    throw explainFileError(error, action);
  }
}

/** Refuses what is no regular file. @param action What is tried. @throws {UserError} If it is another thing. */
export function requireRegular(info: Deno.FileInfo, action: string): void {
  if (info.isFile) return;
  const advice = info.isDirectory ? "name a file" : "name a regular file";
  throw new UserError(`Cannot ${action}: it is ${kindOf(info)}, a file was wanted; ${advice}`);
}

/** Refuses a link where the program makes none. @param action What is tried. @throws {UserError} If there is one. */
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
      `Cannot ${action}: ${path} is a link to ${target}, where nothing is; make that folder, or delete the link`,
    );
  }
  throw new UserError(
    `Cannot ${action}: ${path} is a link to ${target}, and links in output folders are not followed; ` +
      "move what it leads to there, or choose another --output",
  );
}

function kindOf({ isDirectory, isFifo, isSocket }: Deno.FileInfo): string {
  if (isDirectory) return "a directory";
  if (isFifo) return "a named pipe";
  return isSocket ? "a socket" : "a device";
}

/** Writes all the bytes to what takes them in pieces. */
export function writeWhole(writer: { writeSync(bytes: Uint8Array): number }, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writer.writeSync(bytes.subarray(done));
}

function explained<T>(action: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw explainFileError(error, action);
  }
}
