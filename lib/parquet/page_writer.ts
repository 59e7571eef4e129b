/**
 * Parquet pages, written: a Thrift header in the compact protocol, then the page's bytes in a zstd frame with its
 * checksum, so that a reader notices a flipped bit.
 *
 * Formats: https://parquet.apache.org/docs/file-format/data-pages/ and
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md .
 *
 * @module
 */
import { constants, zstdCompressSync } from "node:zlib";
import { writeVarint } from "./hybrid_writer.ts";

/** The encodings we write, with their numbers in the format's Encoding enum. */
const WRITTEN_ENCODING = { PLAIN: 0, RLE_DICTIONARY: 8 } as const;

const PAGE_TYPE = { dictionary: 2, dataV2: 3 } as const;
/** Field ids of PageHeader in parquet.thrift. */
const HEADER_FIELD = { dictionary: 7, dataV2: 8 } as const;
const COMPACT_I32 = 5;
const COMPACT_STRUCT = 12;
const ZSTD_LEVEL = 3; // zstd's own default
const MAX_HEADER_BYTES = 128;

/** Where pages go to. */
export interface PageSink {
  /** Bytes taken so far. */
  readonly offset: number;
  /** Takes a copy of the bytes. */
  appendBytes(bytes: Uint8Array): void;
}

/** A page of data, version 2. */
export interface DataPage {
  /** The encoded values. */
  bytes: Uint8Array;
  encoding: keyof typeof WRITTEN_ENCODING;
  numRows: number;
  /** As many as rows, but in a column of lists; nulls are some of them. */
  numValues: number;
  numNulls: number;
  /** In the hybrid encoding; empty for a column that is required. */
  definitionLevels: Uint8Array;
  /** In the hybrid encoding; empty for a column without lists. */
  repetitionLevels: Uint8Array;
}

/**
 * Writes the page of a dictionary.
 *
 * @param sink Where to.
 * @param bytes The values, PLAIN.
 * @param numValues How many there are.
 * @returns Size with header before compression, bytes.
 */
export function writeDictionaryPage(sink: PageSink, bytes: Uint8Array, numValues: number): number {
  const compressed = compress(bytes);
  const header = new HeaderWriter(PAGE_TYPE.dictionary, bytes.length, compressed.length);
  const headerBytes = header.end(HEADER_FIELD.dictionary, [numValues, WRITTEN_ENCODING.PLAIN]);
  sink.appendBytes(headerBytes);
  sink.appendBytes(compressed);
  return headerBytes.length + bytes.length;
}

/**
 * Writes a page of data.
 *
 * @returns Size with header before compression, bytes.
 */
export function writeDataPage(sink: PageSink, page: DataPage): number {
  const { bytes, encoding, definitionLevels, repetitionLevels } = page;
  const levelBytes = repetitionLevels.length + definitionLevels.length;
  const compressed = compress(bytes);
  const header = new HeaderWriter(
    PAGE_TYPE.dataV2,
    levelBytes + bytes.length,
    levelBytes + compressed.length,
  );
  const headerBytes = header.end(HEADER_FIELD.dataV2, [
    page.numValues,
    page.numNulls,
    page.numRows,
    WRITTEN_ENCODING[encoding],
    definitionLevels.length,
    repetitionLevels.length,
  ]);
  sink.appendBytes(headerBytes);
  sink.appendBytes(repetitionLevels);
  sink.appendBytes(definitionLevels);
  sink.appendBytes(compressed);
  return headerBytes.length + levelBytes + bytes.length;
}

const ZSTD_OPTIONS = {
  params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
};

function compress(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, ZSTD_OPTIONS);
}

/** Writes a PageHeader: three i32, then a struct of i32. */
class HeaderWriter {
  readonly #bytes = new Uint8Array(MAX_HEADER_BYTES);
  #at = 0;

  constructor(pageType: number, uncompressedBytes: number, compressedBytes: number) {
    for (const value of [pageType, uncompressedBytes, compressedBytes]) this.#int32(value);
  }

  /** Adds the struct of the page's own kind and ends the header. */
  end(fieldId: number, values: readonly number[]): Uint8Array {
    this.#bytes[this.#at++] = (fieldId - 3) << 4 | COMPACT_STRUCT; // field 3 came before
    for (const value of values) this.#int32(value);
    this.#bytes[this.#at++] = 0; // the struct's end
    this.#bytes[this.#at++] = 0; // the header's end
    return this.#bytes.subarray(0, this.#at);
  }

  /** The next field, an i32 that is not negative, in zigzag form. */
  #int32(value: number): void {
    this.#bytes[this.#at++] = 1 << 4 | COMPACT_I32;
    this.#at = writeVarint(this.#bytes, this.#at, value * 2);
  }
}
