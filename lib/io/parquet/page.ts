/**
 * Pages of a column chunk: their headers (https://parquet.apache.org/docs/file-format/data-pages/), their
 * compression (…/data-pages/compression/), and the parts of a data page.
 *
 * @module
 */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { CompressionCodec } from "hyparquet";
import { compressors, decompressLz4, decompressLz4Raw } from "hyparquet-compressors";
import { ensure } from "../../base/errors.ts";
import { ByteCursor, EncodingError } from "./byte_cursor.ts";
import { CompactReader, type ThriftStruct } from "./thrift_reader.ts";

// A few compressed bytes can decode to a page of any size, so sizes are limited. Arrow's C++ library writes
// pages and dictionaries of 1 MB, which contain up to a few million values if these are equal.
const MAX_PAGE_VALUES = 2 ** 23;
const MAX_PAGE_BYTES = 8 * MAX_PAGE_VALUES;
const MAX_DICTIONARY_VALUES = 2 ** 20;

type PageKind = "data" | "dictionary" | "dataV2" | "index";

/** Sizes are in bytes. */
export interface PageHeader {
  kind: PageKind;
  uncompressedBytes: number;
  compressedBytes: number;
  /** CRC-32 of the page as stored; undefined if the writer omitted it. */
  crc: number | undefined;
  numValues: number;
  /** Number of nulls in a version 2 data page; undefined for other pages. */
  numNulls: number | undefined;
  /** From the format's Encoding enum. */
  encoding: number;
  /** Size of the repetition levels in a version 2 data page; 0 for other pages. */
  repetitionBytes: number;
  /** Size of the definition levels in a version 2 data page; 0 for other pages. */
  definitionBytes: number;
  /** Whether the values of a version 2 data page are compressed; true for other pages. */
  isCompressed: boolean;
}

const KINDS: readonly PageKind[] = ["data", "index", "dictionary", "dataV2"];

/**
 * Reads the page header at the beginning of the bytes, and its length.
 *
 * @throws {EncodingError} If the bytes are not a page header or end inside it.
 */
export function readPageHeader(bytes: Uint8Array): { header: PageHeader; headerBytes: number } {
  const reader = new CompactReader(bytes);
  const fields = reader.struct();
  const kind = KINDS[numberOf(fields, 1)];
  if (!kind) throw new EncodingError(`page type ${fields.get(1)}`);
  const detail = structOf(
    fields,
    kind === "data" ? 5 : kind === "dictionary" ? 7 : kind === "dataV2" ? 8 : 6,
  );
  const isV2 = kind === "dataV2";
  const header: PageHeader = {
    kind,
    uncompressedBytes: numberOf(fields, 2),
    compressedBytes: numberOf(fields, 3),
    crc: fields.has(4) ? numberOf(fields, 4) >>> 0 : undefined,
    numValues: kind === "index" ? 0 : numberOf(detail, 1),
    numNulls: isV2 ? numberOf(detail, 2) : undefined,
    encoding: kind === "index" ? 0 : numberOf(detail, isV2 ? 4 : 2),
    definitionBytes: isV2 ? numberOf(detail, 5) : 0,
    repetitionBytes: isV2 ? numberOf(detail, 6) : 0,
    isCompressed: isV2 ? detail.get(7) !== false : true,
  };
  const sizes = [
    header.uncompressedBytes,
    header.compressedBytes,
    header.numValues,
    header.definitionBytes,
    header.repetitionBytes,
  ];
  if (sizes.some((size) => size < 0)) throw new EncodingError("a negative size");
  return { header, headerBytes: reader.at };
}

function numberOf(fields: ThriftStruct, id: number): number {
  const value = fields.get(id);
  if (typeof value !== "number") throw new EncodingError(`field ${id} is missing`);
  return value;
}

function structOf(fields: ThriftStruct, id: number): ThriftStruct {
  const value = fields.get(id);
  if (!(value instanceof Map)) throw new EncodingError(`field ${id} is missing`);
  return value;
}

interface PageParts {
  /** Hybrid-encoded definition levels; empty for a required column. */
  levels: Uint8Array;
  bytes: Uint8Array;
}

/**
 * @param stored The page as it is in the file.
 * @param isOptional Whether the column may have nulls.
 * @throws {Error} If the bytes are damaged.
 */
export function splitPage(
  stored: Uint8Array,
  header: PageHeader,
  { codec, isOptional }: { codec: CompressionCodec; isOptional: boolean },
): PageParts {
  const { kind, repetitionBytes, definitionBytes, uncompressedBytes, isCompressed } = header;
  if (kind !== "dataV2") return splitV1(decompressPage(codec, stored, uncompressedBytes), isOptional);
  const levelBytes = repetitionBytes + definitionBytes;
  if (levelBytes > stored.length) throw new EncodingError("the levels are longer than the page");
  const rest = stored.subarray(levelBytes);
  return {
    levels: stored.subarray(repetitionBytes, levelBytes),
    bytes: isCompressed ? decompressPage(codec, rest, uncompressedBytes - levelBytes) : rest,
  };
}

/** Version 1 pages: the length of the definition levels, the levels, then the values. */
function splitV1(page: Uint8Array, isOptional: boolean): PageParts {
  if (!isOptional) return { levels: new Uint8Array(0), bytes: page };
  if (page.length < 4) throw new EncodingError("the levels end too early");
  const numBytes = new DataView(page.buffer, page.byteOffset).getUint32(0, true);
  if (numBytes > page.length - 4) throw new EncodingError("the levels are longer than the page");
  return { levels: page.subarray(4, 4 + numBytes), bytes: page.subarray(4 + numBytes) };
}

type Decompress = (page: Uint8Array, numBytes: number) => Uint8Array;

const DECOMPRESS: Partial<Record<CompressionCodec, Decompress>> = {
  UNCOMPRESSED: (page) => page,
  SNAPPY: decompressSnappy,
  GZIP: (page, numBytes) => gunzipSync(page, { maxOutputLength: numBytes }),
  BROTLI: (page, numBytes) => brotliDecompressSync(page, { maxOutputLength: numBytes }),
  ZSTD: (page, numBytes) => zstdDecompressSync(page, { maxOutputLength: numBytes }),
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
};

/** All pages share one WebAssembly instance: more would use up the memory mappings of the process. */
function decompressSnappy(page: Uint8Array, numBytes: number): Uint8Array {
  const stated = new ByteCursor(page).varint();
  if (stated !== numBytes) throw new EncodingError(`a page of ${stated} bytes, expected ${numBytes}`);
  ensure(compressors.SNAPPY, "hyparquet-compressors has Snappy");
  return compressors.SNAPPY(page, numBytes);
}

/** Decompresses a page of `numBytes`. @throws {Error} If the bytes are damaged or the codec is unknown. */
export function decompressPage(codec: CompressionCodec, page: Uint8Array, numBytes: number): Uint8Array {
  const decompress = DECOMPRESS[codec];
  if (!decompress) throw new EncodingError(`compression ${codec} is not supported`);
  if (numBytes === 0) return new Uint8Array(0);
  const bytes = decompress(page, numBytes);
  if (bytes.length !== numBytes) {
    throw new EncodingError(`a page of ${bytes.length} bytes, expected ${numBytes}`);
  }
  return bytes;
}

/** Rejects a page that is too large before anything is allocated for it. @throws {EncodingError} */
export function checkPageSize({ kind, compressedBytes, uncompressedBytes, numValues }: PageHeader): void {
  const numBytes = Math.max(compressedBytes, uncompressedBytes);
  const maxValues = kind === "dictionary" ? MAX_DICTIONARY_VALUES : MAX_PAGE_VALUES;
  if (numBytes <= MAX_PAGE_BYTES && numValues <= maxValues) return;
  throw new EncodingError(
    `a page of ${numBytes} bytes and ${numValues} values, expected at most ${MAX_PAGE_BYTES} and ${maxValues}`,
  );
}
