/**
 * Divides numbered sequences over Parquet files of equal numbers of sequences.
 *
 * The file of a sequence depends only on the sequence's number. So a rerun skips the sequences of finished files
 * without making their tokens, and writes the others like an undisturbed run.
 *
 * @module
 */
import { join } from "@std/path";
import type { OutputRun } from "../preprocess/output_run.ts";
import { type TokenParquetOptions, TokenParquetWriter } from "./token_parquet_writer.ts";

/** The destination of the sequences. */
export interface TokenShardsOptions extends TokenParquetOptions {
  /** Folder within the output folder; none for files at its top. */
  split: string | undefined;
  /** Sequences of a file; the last can have fewer. */
  sequencesPerFile: number;
}

/** Receives sequences one after another. */
export class TokenShards implements Disposable {
  readonly #run: OutputRun;
  readonly #options: TokenShardsOptions;
  #file = 0;
  #numInFile = 0;
  #isFinished: boolean;
  #writer: TokenParquetWriter | undefined;

  /** @param run The output folder. @param options The destination of the sequences. */
  constructor(run: OutputRun, options: TokenShardsOptions) {
    this.#run = run;
    this.#options = options;
    this.#isFinished = this.#isFileFinished();
  }

  /** Whether the next sequence has to be made; if not, {@link skip} it. */
  get isWanted(): boolean {
    return !this.#isFinished;
  }

  /** Counts a sequence whose file is already finished. */
  skip(): Promise<void> | undefined {
    return this.#count();
  }

  /**
   * Adds a sequence; the array may be reused afterwards.
   *
   * @throws {UserError} If the disk is full.
   */
  append(tokens: Uint16Array): Promise<void> | undefined {
    this.#writer ??= new TokenParquetWriter(join(this.#run.output.folder, this.#name), this.#options);
    this.#writer.append(tokens);
    return this.#count();
  }

  /** Deletes the unfinished file. */
  [Symbol.dispose](): void {
    this.#writer?.[Symbol.dispose]();
  }

  /** `train/tokens-00000.parquet`. */
  get #name(): string {
    const { split } = this.#options;
    return `${split === undefined ? "" : `${split}/`}tokens-${String(this.#file).padStart(5, "0")}.parquet`;
  }

  #isFileFinished(): boolean {
    return this.#run.output.finished(this.#name) !== undefined;
  }

  /** Returns a promise only at the end of a file, because there are millions of sequences. */
  #count(): Promise<void> | undefined {
    if (++this.#numInFile < this.#options.sequencesPerFile) return undefined;
    return this.close();
  }

  /** Finishes the file that is being written. */
  async close(): Promise<void> {
    if (this.#writer) await this.#run.record(this.#name, this.#writer.close());
    this.#writer = undefined;
    this.#file++;
    this.#numInFile = 0;
    this.#isFinished = this.#isFileFinished();
  }
}
