/**
 * Writes Parquet pages: a Thrift header in the compact protocol, then the page's bytes in a zstd frame with a
 * checksum, so that a reader detects a flipped bit.
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

/** The number of each kind in the format's PageType enum, and the field of PageHeader that holds its struct. */
const DICTIONARY_PAGE = { type: 2, field: 7 } as const;
const DATA_PAGE_V2 = { type: 3, field: 8 } as const;
const COMPACT_I32 = 5;
const COMPACT_STRUCT = 12;
const ZSTD_LEVEL = 3; // zstd's own default
const MAX_HEADER_BYTES = 128;

/** Takes the bytes of pages. */
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
  /** Number of values, nulls included: one for each row, or for each element of a column of lists. */
  numValues: number;
  numNulls: number;
  /** Definition levels in the hybrid encoding; empty for a required column. */
  definitionLevels: Uint8Array;
  /** Repetition levels in the hybrid encoding; empty for a column without lists. */
  repetitionLevels: Uint8Array;
}

/**
 * Writes the page of a dictionary.
 *
 * @param bytes The values, PLAIN.
 * @param numValues Number of values.
 * @returns Size with header before compression, bytes.
 */
export function writeDictionaryPage(sink: PageSink, bytes: Uint8Array, numValues: number): number {
  return writePage(sink, DICTIONARY_PAGE, {
    levels: [],
    bytes,
    numbers: [numValues, WRITTEN_ENCODING.PLAIN],
  });
}

/**
 * Writes a page of data.
 *
 * @returns Size with header before compression, bytes.
 */
export function writeDataPage(sink: PageSink, page: DataPage): number {
  const { bytes, encoding, definitionLevels, repetitionLevels } = page;
  const numbers = [
    page.numValues,
    page.numNulls,
    page.numRows,
    WRITTEN_ENCODING[encoding],
    definitionLevels.length,
    repetitionLevels.length,
  ];
  return writePage(sink, DATA_PAGE_V2, { levels: [repetitionLevels, definitionLevels], bytes, numbers });
}

const ZSTD_OPTIONS = {
  params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_checksumFlag]: 1 },
};

/**
 * Writes a page.
 *
 * @param content `levels`: stored uncompressed; `numbers`: the fields of the kind's struct in the header.
 */
function writePage(
  sink: PageSink,
  { type, field }: { type: number; field: number },
  { levels, bytes, numbers }: { levels: Uint8Array[]; bytes: Uint8Array; numbers: number[] },
): number {
  const compressed = zstdCompressSync(bytes, ZSTD_OPTIONS);
  const levelBytes = levels.reduce((sum, { length }) => sum + length, 0);
  const header = new Uint8Array(MAX_HEADER_BYTES);
  let at = 0;
  // Each is the next field, an i32 that is not negative, in zigzag form.
  const addNumbers = (values: readonly number[]) => {
    for (const value of values) {
      header[at++] = 1 << 4 | COMPACT_I32;
      at = writeVarint(header, at, value * 2);
    }
  };
  addNumbers([type, levelBytes + bytes.length, levelBytes + compressed.length]);
  header[at++] = (field - 3) << 4 | COMPACT_STRUCT; // field 3 came before
  addNumbers(numbers);
  at += 2; // zeros end the struct and the header
  for (const part of [header.subarray(0, at), ...levels, compressed]) sink.appendBytes(part);
  return at + levelBytes + bytes.length;
}
