/**
 * Rows of numbers on disk that are written in any order, and how far the work on them is: a run that was killed goes on from
 * there and repeats the writes after the last {@link NumberTable.commit}.
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
  /** How much of the work is saved, in its order. */
  numDone = 0;

  /** Opens the table of an earlier run, or a new one. @throws {UserError} If it cannot be made. */
  constructor(path: string, readonly width: number) {
    this.#progressPath = `${path}.json`;
    this.#file = ByteFile.write(path, "update");
    if (exists(this.#progressPath)) this.numDone = JSON.parse(readText(this.#progressPath)).numDone;
  }

  /**
   * Writes rows.
   *
   * @param first The number of the first.
   * @param numbers (rows, width).
   * @throws {UserError} If the disk is full.
   */
  write(first: number, numbers: Float64Array): void {
    this.#file.writeAt(
      this.#bytesOf(first),
      new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength),
    );
  }

  /** Saves all that was written. @param numDone How much of the work that is. */
  commit(numDone: number): void {
    if (numDone === this.numDone) return;
    this.#file.flush();
    writeJsonAtomic(this.#progressPath, { numDone });
    this.numDone = numDone;
  }

  /** Reads rows. @param first The number of the first. @returns (rows, width). */
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
