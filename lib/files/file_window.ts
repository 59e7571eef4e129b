/**
 * A file read by position through one buffer: reads that follow each other cost one system call per window,
 * any other exactly what they ask for.
 *
 * @module
 */
import { FormatError } from "../errors.ts";
import { ByteFile } from "./byte_file.ts";

// ASSUMPTION: a window large enough to make system calls rare, small against every memory limit.
const READ_AHEAD_BYTES = 1 << 18;

/** A file open for reading by position. */
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
