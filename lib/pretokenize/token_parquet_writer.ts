/**
 * Token sequences written as Parquet, for other trainers: `tokens` list<uint16>, and `length`, how many a row has.
 *
 * Tokens are dictionary indexes already: the dictionary is the vocabulary, 0, 1, 2, …, and a token takes 9 bits
 * before zstd. So the column is packed here (`hyparquet-writer` writes lists, value by value, at 3.5 M tokens/s on
 * 2 shared x86 cores in 2026); it writes the schema and the footer. The element has the converted type UINT_16
 * and no logical type, because 0.17.0 writes the bit width of INTEGER as a number of another size, and Arrow's
 * reader then refuses the file. Lists: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md .
 *
 * @module
 */
import type { ColumnChunk, SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { ensure } from "../errors.ts";
import { AtomicFile } from "../files/atomic.ts";
import { writeColumnChunk } from "../measurement/parquet_chunk_writer.ts";
import { encodeHybrid, maxHybridBytes } from "../measurement/parquet_hybrid_writer.ts";
import { writeDataPage, writeDictionaryPage } from "../measurement/parquet_page_writer.ts";
import { VERSION } from "../version.ts";

/** Tokens of a row group: some 2 MB as a reader holds them. */
const ROW_GROUP_TOKENS = 1 << 20;
/** Bits of a token; both vocabularies have fewer than 512. */
const TOKEN_BITS = 9;
const INT32_BYTES = 4;
const MAX_DEFINITION_LEVEL = 2; // a list, an element

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
  // Optional, though none is missing: list<uint16> in Arrow has elements that may be.
  { name: "element", repetition_type: "OPTIONAL", type: "INT32", converted_type: "UINT_16" },
  { name: "length", repetition_type: "REQUIRED", type: "INT64" },
];

/** What {@link TokenParquetWriter.create} needs. */
export interface TokenParquetOptions {
  /** Tokens of the vocabulary, at most 512. */
  vocabSize: number;
  /** Texts for the file's footer, by key. */
  metadata: Record<string, string>;
}

/** Writes sequences of tokens to one Parquet file, which appears when it is whole. */
export class TokenParquetWriter {
  /** Sequences so far. */
  numSequences = 0;
  /** Tokens so far. */
  numTokens = 0;
  readonly #file: AtomicFile;
  readonly #bytes = new ByteWriter();
  readonly #parquet: ParquetWriter;
  readonly #vocabSize: number;
  readonly #group = new TokenRowGroup();

  private constructor(path: string, { vocabSize, metadata }: TokenParquetOptions) {
    this.#vocabSize = vocabSize;
    this.#file = AtomicFile.create(path);
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: SCHEMA,
      createdBy: `ping-llm version ${VERSION}`,
      kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    });
  }

  /**
   * Opens the file under its temporary name.
   *
   * @throws {UserError} If the file cannot be made.
   */
  static create(path: string, options: TokenParquetOptions): TokenParquetWriter {
    ensure(options.vocabSize <= 1 << TOKEN_BITS, `${options.vocabSize} tokens do not fit ${TOKEN_BITS} bits`);
    return new TokenParquetWriter(path, options);
  }

  /**
   * Appends a sequence; the array may be reused afterwards.
   *
   * @param tokens At least one token, each below the vocabulary's size.
   * @throws {UserError} If the disk is full.
   */
  append(tokens: Uint16Array): void {
    ensure(tokens.length > 0, "a sequence has no tokens");
    if (!this.#group.hasRoom(tokens.length)) this.#flush();
    this.#group.append(tokens);
    this.numSequences++;
    this.numTokens += tokens.length;
  }

  /**
   * Writes what is left and the footer, flushes to the disk and gives the file its name.
   *
   * @returns What the file has.
   * @throws {UserError} If the disk is full.
   */
  close(): { sequences: number; tokens: number } {
    this.#flush();
    this.#parquet.finish();
    this.#handOver();
    this.#file.commit();
    return { sequences: this.numSequences, tokens: this.numTokens };
  }

  /** Deletes the temporary file; does nothing after {@link close}. */
  abort(): void {
    this.#file.abort();
  }

  /** Does what {@link abort} does. */
  [Symbol.dispose](): void {
    this.abort();
  }

  #flush(): void {
    if (this.#group.numRows === 0) return;
    const offsetBytes = this.#bytes.offset;
    const columns = this.#group.write(this.#bytes, this.#vocabSize);
    this.#parquet.row_groups.push({
      columns,
      num_rows: BigInt(this.#group.numRows),
      total_byte_size: columns.reduce(
        (sum, chunk) => sum + (chunk.meta_data?.total_uncompressed_size ?? 0n),
        0n,
      ),
      total_compressed_size: BigInt(this.#bytes.offset - offsetBytes),
    });
    this.#parquet.num_rows += BigInt(this.#group.numRows);
    this.#group.clear();
    this.#handOver();
  }

  #handOver(): void {
    this.#file.writeSync(new Uint8Array(this.#bytes.buffer, 0, this.#bytes.index));
    this.#bytes.index = 0;
  }
}

/** The sequences of the row group that is being filled. */
class TokenRowGroup {
  numRows = 0;
  #numTokens = 0;
  readonly #tokens = new Int32Array(ROW_GROUP_TOKENS);
  /** 0 where a row begins, 1 elsewhere. */
  readonly #repetition = new Int32Array(ROW_GROUP_TOKENS);
  #lengths = new Float64Array(1024);

  hasRoom(numTokens: number): boolean {
    return this.#numTokens + numTokens <= ROW_GROUP_TOKENS;
  }

  append(tokens: Uint16Array): void {
    const start = this.#numTokens;
    this.#tokens.set(tokens, start);
    this.#repetition.fill(1, start, start + tokens.length);
    this.#repetition[start] = 0;
    this.#numTokens += tokens.length;
    if (this.numRows === this.#lengths.length) {
      const longer = new Float64Array(2 * this.numRows);
      longer.set(this.#lengths);
      this.#lengths = longer;
    }
    this.#lengths[this.numRows++] = tokens.length;
  }

  clear(): void {
    this.numRows = 0;
    this.#numTokens = 0;
  }

  write(sink: ByteWriter, vocabSize: number): ColumnChunk[] {
    const lengths = { name: "length", type: "INT64", isOptional: false, data: this.#lengths } as const;
    return [this.#writeTokens(sink, vocabSize), writeColumnChunk(sink, lengths, this.numRows)];
  }

  #writeTokens(sink: ByteWriter, vocabSize: number): ColumnChunk {
    const numTokens = this.#numTokens;
    const offsetBytes = sink.offset;
    const vocabulary = new Uint8Array(INT32_BYTES * vocabSize);
    const view = new DataView(vocabulary.buffer);
    for (let token = 0; token < vocabSize; token++) view.setInt32(INT32_BYTES * token, token, true);
    const dictionarySize = writeDictionaryPage(sink, vocabulary, vocabSize);
    const dataOffsetBytes = sink.offset;
    const definition = new Int32Array(numTokens).fill(MAX_DEFINITION_LEVEL);
    const dataSize = writeDataPage(sink, {
      bytes: hybrid(this.#tokens, numTokens, { bitWidth: TOKEN_BITS, head: [TOKEN_BITS] }),
      encoding: "RLE_DICTIONARY",
      numRows: this.numRows,
      numNulls: 0,
      levels: hybrid(definition, numTokens, { bitWidth: 2 }),
      lists: {
        numValues: numTokens,
        repetitionLevels: hybrid(this.#repetition, numTokens, { bitWidth: 1 }),
      },
    });
    return {
      file_offset: BigInt(offsetBytes),
      meta_data: {
        type: "INT32",
        encodings: ["PLAIN", "RLE", "RLE_DICTIONARY"],
        path_in_schema: ["tokens", "list", "element"],
        codec: "ZSTD",
        num_values: BigInt(numTokens),
        total_uncompressed_size: BigInt(dictionarySize + dataSize),
        total_compressed_size: BigInt(sink.offset - offsetBytes),
        data_page_offset: BigInt(dataOffsetBytes),
        dictionary_page_offset: BigInt(offsetBytes),
      },
    };
  }
}

/** Values in Parquet's hybrid encoding, after the bytes of `head`. */
function hybrid(
  values: Int32Array,
  numValues: number,
  { bitWidth, head = [] }: { bitWidth: number; head?: readonly number[] },
): Uint8Array {
  const out = new Uint8Array(head.length + maxHybridBytes(numValues, bitWidth));
  out.set(head);
  return out.subarray(0, encodeHybrid(values, numValues, { bitWidth, out, at: head.length }));
}
