/**
 * The scores on disk, in the order of the input, and how far the work is. A run that was killed goes on from here.
 *
 * @module
 */
import { writeJsonAtomic } from "../files/atomic.ts";
import { ByteFile } from "../files/byte_file.ts";
import { exists, readText } from "../files/inputs.ts";
import type { Score } from "./score_results.ts";

/** Two f64: the log-likelihood, the p-value. */
const SCORE_BYTES = 16;

/** The scores of the rows of an input. */
export class ScoreTable implements Disposable {
  readonly #file: ByteFile;
  readonly #progressPath: string;
  readonly #record = new Float64Array(2);
  #numDone = 0;

  /**
   * Opens the table of an earlier run, or a new one.
   *
   * @throws {UserError} If it cannot be made.
   */
  constructor(path: string) {
    this.#progressPath = `${path}.json`;
    this.#file = ByteFile.write(path, "update");
    if (exists(this.#progressPath)) this.#numDone = JSON.parse(readText(this.#progressPath)).numDone;
  }

  /** The number of rows, in the order of the work, whose scores are saved. */
  get numDone(): number {
    return this.#numDone;
  }

  /**
   * Writes the scores of some rows.
   *
   * @param numbers The rows' numbers in the input.
   * @throws {UserError} If the disk is full.
   */
  write(numbers: readonly number[], scores: readonly Score[]): void {
    numbers.forEach((number, i) => {
      this.#record[0] = scores[i].logLikelihood;
      this.#record[1] = scores[i].pValue;
      this.#file.writeAt(number * SCORE_BYTES, new Uint8Array(this.#record.buffer));
    });
  }

  /** Saves all scores that were written. @param numDone Their number, in the order of the work. */
  commit(numDone: number): void {
    if (numDone === this.#numDone) return;
    this.#file.flush();
    writeJsonAtomic(this.#progressPath, { numDone });
    this.#numDone = numDone;
  }

  /**
   * Reads the scores of consecutive rows.
   *
   * @param first The first row's number in the input.
   */
  read(first: number, numRows: number): { logLikelihood: Float64Array; pValue: Float64Array } {
    const records = new Float64Array(2 * numRows);
    this.#file.readAt(first * SCORE_BYTES, new Uint8Array(records.buffer));
    return {
      logLikelihood: records.filter((_, i) => i % 2 === 0),
      pValue: records.filter((_, i) => i % 2 === 1),
    };
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
