/**
 * A table of numbers on disk, written in any order, with the progress of its computation. An interrupted run
 * resumes after the last {@link NumberTable.commit}.
 *
 * @module
 */
import { writeJsonAtomic } from "../../io/files/atomic.ts";
import { ByteFile } from "../../io/files/byte_file.ts";
import { exists, readText } from "../../io/files/inputs.ts";

/** A table of f64, (rows, width). */
export class NumberTable implements Disposable {
  readonly #file: ByteFile;
  readonly #progressPath: string;
  /** The amount of work that is saved. */
  numDone = 0;

  /** Opens the table of an earlier run or creates one. */
  constructor(path: string, readonly width: number) {
    this.#progressPath = `${path}.json`;
    this.#file = ByteFile.write(path, "update");
    if (exists(this.#progressPath)) this.numDone = JSON.parse(readText(this.#progressPath)).numDone;
  }

  /** Writes consecutive rows starting at `first`, (rows, width). @throws {UserError} If the disk is full. */
  write(first: number, numbers: Float64Array): void {
    this.#file.writeAt(
      this.#bytesOf(first),
      new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength),
    );
  }

  /** Saves everything written. @param numDone The amount of work done. */
  commit(numDone: number): void {
    if (numDone === this.numDone) return;
    this.#file.flush();
    writeJsonAtomic(this.#progressPath, { numDone });
    this.numDone = numDone;
  }

  /** Reads consecutive rows starting at `first`, (rows, width). */
  read(first: number, numRows: number): Float64Array {
    const numbers = new Float64Array(this.width * numRows);
    this.#file.readAt(this.#bytesOf(first), new Uint8Array(numbers.buffer));
    return numbers;
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }

  #bytesOf(row: number): number {
    return row * this.width * Float64Array.BYTES_PER_ELEMENT;
  }
}
