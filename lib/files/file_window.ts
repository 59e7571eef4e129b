/**
 * A file read by position through one buffer: reads that follow each other cost one system call per window,
 * any other exactly what they ask for.
 *
 * @module
 */
import { explainFileError, FormatError } from "../errors.ts";
import { openRegularFile } from "./regular_file.ts";

// ASSUMPTION: a window large enough to make system calls rare, small against every memory limit.
const READ_AHEAD_BYTES = 1 << 18;

/** A file open for reading by position. */
export class FileWindow {
  readonly path: string;
  readonly sizeBytes: number;
  readonly #file: Deno.FsFile;
  #begin = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #isOpen = true;

  private constructor(path: string, file: Deno.FsFile, sizeBytes: number) {
    this.path = path;
    this.#file = file;
    this.sizeBytes = sizeBytes;
  }

  /** Opens a file. @throws {UserError} If that is not possible. */
  static open(path: string): FileWindow {
    const file = openRegularFile(path);
    return new FileWindow(path, file, file.statSync().size);
  }

  /**
   * Reads `lengthBytes` at `offsetBytes`.
   *
   * @returns A view of a buffer that is never written to again.
   * @throws {FormatError} If the file ends before.
   */
  read(offsetBytes: number, lengthBytes: number): Uint8Array {
    if (offsetBytes + lengthBytes > this.sizeBytes) throw this.#tooShort(this.sizeBytes);
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
    if (this.#isOpen) this.#file.close();
    this.#isOpen = false;
  }

  #fill(offsetBytes: number, wantedBytes: number): void {
    const bytes = new Uint8Array(Math.min(wantedBytes, this.sizeBytes - offsetBytes));
    try {
      this.#file.seekSync(offsetBytes, Deno.SeekMode.Start);
      for (let done = 0; done < bytes.length;) {
        const count = this.#file.readSync(bytes.subarray(done));
        if (count === null) throw this.#tooShort(offsetBytes + done);
        done += count;
      }
    } catch (error) {
      throw explainFileError(error, `read ${this.path}`);
    }
    this.#begin = offsetBytes;
    this.#bytes = bytes;
  }

  #tooShort(offsetBytes: number): FormatError {
    return new FormatError("the file ends here; it is truncated, fetch or make it again", {
      path: this.path,
      offsetBytes,
    });
  }
}
