/**
 * Divides numbered sequences among Parquet files with equal numbers of sequences.
 *
 * The file of a sequence depends only on the sequence's number. So a rerun skips the sequences of finished
 * files without making their tokens, and writes the others exactly as an uninterrupted run would.
 *
 * @module
 */
import { join } from "@std/path";
import type { SchemaElement } from "hyparquet";
import { ensure } from "../../../base/errors.ts";
import type { Output } from "../../../io/files/output.ts";
import { type ChunkSource, encodeChunks, ParquetOutput } from "../../../io/parquet/writer.ts";

interface TokenShardsOptions extends TokenParquetOptions {
  /** Folder within the output folder; undefined for files at the top. */
  split: string | undefined;
  /** Number of sequences per file. The last file may have fewer. */
  sequencesPerFile: number;
}

export class TokenShards implements Disposable {
  readonly #output: Output;
  readonly #options: TokenShardsOptions;
  #file = 0;
  #numInFile = 0;
  #isFinished: boolean;
  #writer: TokenParquetWriter | undefined;

  constructor(output: Output, options: TokenShardsOptions) {
    this.#output = output;
    this.#options = options;
    this.#isFinished = this.#isFileFinished();
  }

  /** Whether the next sequence must be made. If not, call {@link skip}. */
  get isWanted(): boolean {
    return !this.#isFinished;
  }

  /** Counts a sequence whose file is already finished. */
  skip(): Promise<void> | undefined {
    return this.#count();
  }

  /** Adds a sequence; the array may be reused afterwards. */
  append(tokens: Uint16Array): Promise<void> | undefined {
    this.#writer ??= new TokenParquetWriter(join(this.#output.folder, this.#name), this.#options);
    this.#writer.append(tokens);
    return this.#count();
  }

  /** Deletes the unfinished file. */
  [Symbol.dispose](): void {
    this.#writer?.[Symbol.dispose]();
  }

  /** For example `train/tokens-00000.parquet`. */
  get #name(): string {
    const { split } = this.#options;
    return `${split === undefined ? "" : `${split}/`}tokens-${String(this.#file).padStart(5, "0")}.parquet`;
  }

  #isFileFinished(): boolean {
    return this.#output.finished(this.#name) !== undefined;
  }

  /** Returns a promise only at the end of a file, because there are millions of sequences. */
  #count(): Promise<void> | undefined {
    if (++this.#numInFile < this.#options.sequencesPerFile) return undefined;
    return this.close();
  }

  async close(): Promise<void> {
    if (this.#writer) await this.#output.record(this.#name, this.#writer.close());
    this.#writer = undefined;
    this.#file++;
    this.#numInFile = 0;
    this.#isFinished = this.#isFileFinished();
  }
}

/** Number of tokens per row group, which takes about 2 MB in a reader's memory. */
const ROW_GROUP_TOKENS = 1 << 20;

/**
 * `tokens` list<uint16> (https://github.com/apache/parquet-format/blob/master/LogicalTypes.md) and `length`,
 * the number of tokens. The element has no logical type, because hyparquet-writer 0.17.0 writes the bit width
 * of INTEGER as a number of the wrong size, and Arrow's reader then rejects the file.
 */
const SCHEMA: SchemaElement[] = [
  { name: "schema", num_children: 2 },
  {
    name: "tokens",
    repetition_type: "REQUIRED",
    num_children: 1,
    converted_type: "LIST",
    logical_type: { type: "LIST" },
  },
  { name: "list", repetition_type: "REPEATED", num_children: 1 },
  // Optional although no element is missing, because elements of Arrow's list<uint16> may be missing.
  { name: "element", repetition_type: "OPTIONAL", type: "INT32", converted_type: "UINT_16" },
  { name: "length", repetition_type: "REQUIRED", type: "INT64" },
];

interface TokenParquetOptions {
  vocabSize: number;
  /** Texts by key, written to the file's footer. */
  metadata: Record<string, string>;
}

/**
 * Writes sequences of tokens to one Parquet file, which appears when it is complete.
 *
 * Tokens are already dictionary indexes: the dictionary is the vocabulary, 0, 1, 2, …, and a token takes 9
 * bits before zstd. (`hyparquet-writer` writes lists value by value, at 3.5 M tokens/s on 2 shared x86 cores
 * in 2026, compared with more than 12 M here.)
 */
export class TokenParquetWriter {
  #numSequences = 0;
  #numTokens = 0;
  readonly #output: ParquetOutput;
  readonly #vocabulary: number[];
  /** The row group being filled. */
  readonly #tokens = new Int32Array(ROW_GROUP_TOKENS);
  /** 0 at the start of a row, 1 elsewhere. */
  readonly #repetition = new Int32Array(ROW_GROUP_TOKENS);
  #numGroupTokens = 0;
  #lengths: number[] = [];

  constructor(path: string, { vocabSize, metadata }: TokenParquetOptions) {
    this.#vocabulary = Array.from({ length: vocabSize }, (_, token) => token);
    this.#output = new ParquetOutput(path, metadata);
  }

  /**
   * Appends a sequence; the array may be reused afterwards.
   *
   * @param tokens At least one token, each below the vocabulary's size.
   */
  append(tokens: Uint16Array): void {
    ensure(tokens.length > 0, "a sequence has no tokens");
    if (this.#numGroupTokens + tokens.length > ROW_GROUP_TOKENS) this.#flush();
    const start = this.#numGroupTokens;
    this.#tokens.set(tokens, start);
    this.#repetition.fill(1, start, start + tokens.length);
    this.#repetition[start] = 0;
    this.#numGroupTokens += tokens.length;
    this.#lengths.push(tokens.length);
    this.#numSequences++;
    this.#numTokens += tokens.length;
  }

  /** Writes the remaining rows and the footer, flushes the file to disk and renames it to its final name. */
  close(): { sequences: number; tokens: number } {
    this.#flush();
    this.#output.close(SCHEMA);
    return { sequences: this.#numSequences, tokens: this.#numTokens };
  }

  /** Deletes the temporary file; does nothing after {@link close}. */
  [Symbol.dispose](): void {
    this.#output.abort();
  }

  #flush(): void {
    if (this.#lengths.length === 0) return;
    const tokens: ChunkSource = {
      name: "tokens",
      type: "INT32",
      isOptional: true,
      data: { values: this.#vocabulary, indexes: this.#tokens.subarray(0, this.#numGroupTokens) },
      repetition: this.#repetition.subarray(0, this.#numGroupTokens),
    };
    const lengths: ChunkSource = {
      name: "length",
      type: "INT64",
      isOptional: false,
      data: Float64Array.from(this.#lengths),
    };
    this.#output.write(encodeChunks([tokens, lengths], this.#lengths.length));
    this.#numGroupTokens = 0;
    this.#lengths = [];
  }
}
