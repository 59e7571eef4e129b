/**
 * Reads the pages of one column of one row group, front to back; memory holds one page, however large the row group.
 *
 * (hyparquet decodes whole column chunks, and a damaged run length makes it fill the memory.)
 *
 * @module
 */
import { brotliDecompressSync, crc32, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { CompressionCodec, SchemaElement } from "hyparquet";
import { compressors, decompressLz4, decompressLz4Raw } from "hyparquet-compressors";
import { ensure, FormatError, UserError } from "../../base/errors.ts";
import { decodeHybrid, EncodingError } from "./encodings.ts";
import { CompactReader, ThriftError } from "./thrift_reader.ts";
import type { FileWindow } from "../files/byte_file.ts";
import { type PageHeader, readPageHeader } from "./page_header.ts";

// Decompression of Parquet pages (https://parquet.apache.org/docs/file-format/data-pages/compression/).

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

/** All pages share one WebAssembly instance: one per page would use up the mappings that a process may have. */
function decompressSnappy(page: Uint8Array, numBytes: number): Uint8Array {
  const stated = new CompactReader(page).varint(); // Snappy's lengths are LEB128 numbers as Thrift's are
  if (stated !== numBytes) throw new EncodingError(`a page of ${stated} bytes, expected ${numBytes}`);
  ensure(compressors.SNAPPY, "hyparquet-compressors has Snappy");
  return compressors.SNAPPY(page, numBytes);
}

/**
 * Decompresses a page.
 *
 * @param codec The column chunk's compression.
 * @param page The compressed bytes.
 * @param numBytes The expected size of the page.
 * @throws {Error} If the bytes are damaged or the codec is unknown.
 */
function decompressPage(codec: CompressionCodec, page: Uint8Array, numBytes: number): Uint8Array {
  const decompress = DECOMPRESS[codec];
  if (!decompress) throw new EncodingError(`compression ${codec} is not supported`);
  if (numBytes === 0) return new Uint8Array(0);
  const bytes = decompress(page, numBytes);
  if (bytes.length !== numBytes) {
    throw new EncodingError(`a page of ${bytes.length} bytes, expected ${numBytes}`);
  }
  return bytes;
}

const WINDOW_BYTES = 1 << 20;
const MAX_HEADER_BYTES = 1 << 24;
// A few compressed bytes can decode to a page of any size, so sizes are limited. Arrow's C++ library writes pages and
// dictionaries of 1 MB, which hold up to some million values if these are equal.
const MAX_PAGE_VALUES = 2 ** 23;
const MAX_PAGE_BYTES = 8 * MAX_PAGE_VALUES;
const MAX_DICTIONARY_VALUES = 2 ** 20;

export type ByteSource = Pick<FileWindow, "path" | "read">;

/** The range and the type of a column chunk. */
export interface ColumnChunkRange {
  name: string;
  element: SchemaElement;
  startBytes: number;
  endBytes: number;
  codec: CompressionCodec;
  /** Rows of the row group. */
  numRows: number;
}

/** A piece of a column: values, and which of them are null (absent if there are no nulls). */
export interface Piece<T> {
  values: T;
  isNull: Uint8Array | undefined;
}

/** Reads a column chunk front to back; a page's array has one element per row, of any value at a null. */
export abstract class ColumnCursor<A extends Float64Array | Int32Array> {
  readonly #source: ByteSource;
  readonly #chunk: ColumnChunkRange;
  #atBytes: number;
  #window: Uint8Array = new Uint8Array(0);
  #windowBytes = 0;
  #rowsLeft: number;
  #page: Piece<A> | undefined;
  #pageAt = 0;

  constructor(source: ByteSource, chunk: ColumnChunkRange) {
    this.#source = source;
    this.#chunk = chunk;
    this.#rowsLeft = chunk.numRows;
    this.#atBytes = chunk.startBytes;
  }

  /** Takes the values of the dictionary page. */
  protected abstract setDictionary(bytes: Uint8Array, header: PageHeader, chunk: ColumnChunkRange): void;
  /** Decodes a data page's values, without nulls. */
  protected abstract decode(
    bytes: Uint8Array,
    numValues: number,
    encoding: number,
    chunk: ColumnChunkRange,
  ): A;
  /** Moves the values to their rows, where some rows are null. */
  protected abstract spread(values: A, isNull: Uint8Array): A;

  /** Calls `copy` for each page that has some of the next rows: with values, from, end, and the index of the first row. */
  protected take(
    numRows: number,
    copy: (values: A, from: number, end: number, at: number) => void,
  ): Uint8Array | undefined {
    let isNull: Uint8Array | undefined;
    for (let at = 0; at < numRows;) {
      let page = this.#page;
      if (!page || this.#pageAt === page.values.length) page = this.#nextPage();
      const from = this.#pageAt;
      const end = Math.min(page.values.length, from + numRows - at);
      copy(page.values, from, end, at);
      if (page.isNull) {
        isNull ??= new Uint8Array(numRows);
        isNull.set(page.isNull.subarray(from, end), at);
      }
      this.#pageAt = end;
      at += end - from;
    }
    return isNull;
  }

  #nextPage(): Piece<A> {
    const { name, numRows } = this.#chunk;
    const startBytes = this.#atBytes;
    try {
      while (true) {
        if (this.#atBytes >= this.#chunk.endBytes) {
          throw new EncodingError(`${this.#rowsLeft} of ${numRows} rows are missing`);
        }
        const page = this.#readPage();
        if (page) return this.#page = page;
      }
    } catch (error) {
      if (error instanceof UserError) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new FormatError(`column ${name} is damaged (${message}); fetch or make the file again`, {
        path: this.#source.path,
        offsetBytes: startBytes,
        cause: error,
      });
    }
  }

  /** Reads one page; returns it if it has rows. */
  #readPage(): Piece<A> | undefined {
    const header = this.#readHeader();
    const { kind, compressedBytes, uncompressedBytes, numValues } = header;
    if (compressedBytes > this.#chunk.endBytes - this.#atBytes) {
      throw new EncodingError(
        `a page of ${compressedBytes} bytes where ${this.#chunk.endBytes - this.#atBytes} are left`,
      );
    }
    checkPageSize(header);
    const stored = this.#peek(compressedBytes);
    this.#atBytes += compressedBytes;
    if (header.crc !== undefined && crc32(stored) !== header.crc) {
      throw new EncodingError("a checksum does not match");
    }
    if (kind === "index") return undefined;
    if (kind === "dictionary") {
      this.setDictionary(this.#decompress(stored, uncompressedBytes), header, this.#chunk);
      return undefined;
    }
    if (numValues > this.#rowsLeft) throw new EncodingError(`${numValues} values for ${this.#rowsLeft} rows`);
    const page = this.#decodePage(stored, header);
    this.#pageAt = 0;
    this.#rowsLeft -= numValues;
    return numValues > 0 ? page : undefined;
  }

  #decodePage(stored: Uint8Array, header: PageHeader): Piece<A> {
    const { numValues, encoding } = header;
    const isOptional = this.#chunk.element.repetition_type !== "REQUIRED";
    const { levels, bytes } = header.kind === "dataV2"
      ? this.#splitV2(stored, header)
      : splitV1(this.#decompress(stored, header.uncompressedBytes), isOptional);
    const isNull = isOptional ? readNulls(levels, numValues) : undefined;
    let numNulls = 0;
    if (isNull) { for (const flag of isNull) numNulls += flag; }
    if (numNulls !== (header.numNulls ?? numNulls)) {
      throw new EncodingError(`${numNulls} nulls, expected ${header.numNulls}`);
    }
    if (!isNull) return { values: this.decode(bytes, numValues, encoding, this.#chunk), isNull };
    const values = this.decode(bytes, numValues - numNulls, encoding, this.#chunk);
    return { values: this.spread(values, isNull), isNull };
  }

  #splitV2(stored: Uint8Array, header: PageHeader): { levels: Uint8Array; bytes: Uint8Array } {
    const { repetitionBytes, definitionBytes, uncompressedBytes, isCompressed } = header;
    const levelBytes = repetitionBytes + definitionBytes;
    if (levelBytes > stored.length) throw new EncodingError("the levels are longer than the page");
    const rest = stored.subarray(levelBytes);
    return {
      levels: stored.subarray(repetitionBytes, levelBytes),
      bytes: isCompressed ? this.#decompress(rest, uncompressedBytes - levelBytes) : rest,
    };
  }

  #decompress(page: Uint8Array, numBytes: number): Uint8Array {
    return decompressPage(this.#chunk.codec, page, numBytes);
  }

  #readHeader(): PageHeader {
    const most = Math.min(MAX_HEADER_BYTES, this.#chunk.endBytes - this.#atBytes);
    for (let size = Math.min(most, 1024);; size = Math.min(most, size * 16)) {
      try {
        const { header, headerBytes } = readPageHeader(this.#peek(size));
        this.#atBytes += headerBytes;
        return header;
      } catch (error) {
        if (!(error instanceof ThriftError) || size === most) throw error;
      }
    }
  }

  /** Returns the next bytes without moving past them. */
  #peek(numBytes: number): Uint8Array {
    const from = this.#atBytes - this.#windowBytes;
    if (from < 0 || from + numBytes > this.#window.length) {
      const size = Math.min(this.#chunk.endBytes - this.#atBytes, Math.max(numBytes, WINDOW_BYTES));
      this.#window = this.#source.read(this.#atBytes, size);
      this.#windowBytes = this.#atBytes;
      return this.#window.subarray(0, numBytes);
    }
    return this.#window.subarray(from, from + numBytes);
  }
}

/** Refuses a page that is too large, before anything is allocated for it. @throws {EncodingError} */
function checkPageSize({ kind, compressedBytes, uncompressedBytes, numValues }: PageHeader): void {
  const numBytes = Math.max(compressedBytes, uncompressedBytes);
  const maxValues = kind === "dictionary" ? MAX_DICTIONARY_VALUES : MAX_PAGE_VALUES;
  if (numBytes <= MAX_PAGE_BYTES && numValues <= maxValues) return;
  throw new EncodingError(
    `a page of ${numBytes} bytes and ${numValues} values, expected at most ${MAX_PAGE_BYTES} and ${maxValues}`,
  );
}

/** Version 1 pages: the length of the definition levels, the levels, then the values. */
function splitV1(page: Uint8Array, isOptional: boolean): { levels: Uint8Array; bytes: Uint8Array } {
  if (!isOptional) return { levels: new Uint8Array(0), bytes: page };
  if (page.length < 4) throw new EncodingError("the levels end too early");
  const numBytes = new DataView(page.buffer, page.byteOffset).getUint32(0, true);
  if (numBytes > page.length - 4) throw new EncodingError("the levels are longer than the page");
  return { levels: page.subarray(4, 4 + numBytes), bytes: page.subarray(4 + numBytes) };
}

/** Marks the rows that are null, from definition levels of 0 and 1; undefined if no row is null. */
function readNulls(levels: Uint8Array, numValues: number): Uint8Array | undefined {
  const present = new Int32Array(numValues);
  decodeHybrid(levels, 1, present);
  let isNull: Uint8Array | undefined;
  for (let row = 0; row < numValues; row++) {
    if (present[row] === 1) continue;
    isNull ??= new Uint8Array(numValues);
    isNull[row] = 1;
  }
  return isNull;
}
