/**
 * One column of one row group, read front to back in pieces of any size; memory holds one page and its dictionary,
 * however large the row group.
 *
 * Reads columns of numbers, times and texts that are not nested, in every encoding and compression that current
 * writers use. (hyparquet decodes whole column chunks, and a damaged run length makes it fill the memory.)
 *
 * @module
 */
import { crc32 } from "node:zlib";
import type { CompressionCodec, ParquetType, SchemaElement } from "hyparquet";
import { ensure, FormatError, UserError } from "../errors.ts";
import { decompressPage } from "./parquet_codecs.ts";
import { decodeHybrid, EncodingError, findPlainByteArrays } from "./parquet_encodings.ts";
import { type PageHeader, PageHeaderError, readPageHeader } from "./parquet_page_header.ts";
import { decodeNumbers, decodeTexts, ENCODING, type NumberKind } from "./parquet_values.ts";
import { TextPool } from "./text_pool.ts";

const WINDOW_BYTES = 1 << 20;
const MAX_HEADER_BYTES = 1 << 24;
const MAX_PAGE_BYTES = 2 ** 31 - 1; // the format's own bound: sizes are signed 32-bit integers

/** The bytes of a file. */
export interface ByteSource {
  readonly path: string;
  /** Bytes `start` to `end - 1`. @throws {UserError} If the file has not so many. */
  read(start: number, end: number): Uint8Array;
}

/** Where a column chunk lies and what is in it. */
export interface ColumnChunkRange {
  name: string;
  element: SchemaElement;
  startBytes: number;
  endBytes: number;
  codec: CompressionCodec;
  /** Rows of the row group. */
  numRows: number;
}

/** A piece of a column: values, and which of them are null (absent: none). */
export interface Piece<T> {
  values: T;
  isNull: Uint8Array | undefined;
}

/** A piece of a column of texts. */
export interface TextPiece extends Piece<string[]> {
  /** The values' numbers in the cursor's pool. */
  codes: Int32Array;
}

interface Page<T> {
  /** One value per row; what stands at a null does not matter. */
  values: T[] | Float64Array | Int32Array;
  isNull: Uint8Array | undefined;
}

/** Reads a column chunk front to back. */
abstract class ColumnCursor<T> {
  readonly #source: ByteSource;
  readonly #chunk: ColumnChunkRange;
  #atBytes: number;
  #window: Uint8Array = new Uint8Array(0);
  #windowBytes = 0;
  #rowsLeft: number;
  #page: Page<T> = { values: [], isNull: undefined };
  #pageAt = 0;

  constructor(source: ByteSource, chunk: ColumnChunkRange) {
    this.#source = source;
    this.#chunk = chunk;
    this.#rowsLeft = chunk.numRows;
    this.#atBytes = chunk.startBytes;
  }

  /** Takes the dictionary page's values. */
  protected abstract setDictionary(bytes: Uint8Array, header: PageHeader, chunk: ColumnChunkRange): void;
  /** Decodes a data page's values, nulls left out. */
  protected abstract decode(
    bytes: Uint8Array,
    numValues: number,
    encoding: number,
    chunk: ColumnChunkRange,
  ): Page<T>["values"];
  /** Spreads values over rows, of which some are null. */
  protected abstract spread(values: Page<T>["values"], isNull: Uint8Array): Page<T>["values"];

  /** Hands the next rows to `copy`, page by page: values, from, end, and where they belong. */
  protected take(
    numRows: number,
    copy: (values: Page<T>["values"], from: number, end: number, at: number) => void,
  ): Uint8Array | undefined {
    let isNull: Uint8Array | undefined;
    for (let at = 0; at < numRows;) {
      if (this.#pageAt === this.#page.values.length) this.#nextPage();
      const from = this.#pageAt;
      const end = Math.min(this.#page.values.length, from + numRows - at);
      copy(this.#page.values, from, end, at);
      if (this.#page.isNull) {
        isNull ??= new Uint8Array(numRows);
        isNull.set(this.#page.isNull.subarray(from, end), at);
      }
      this.#pageAt = end;
      at += end - from;
    }
    return isNull;
  }

  #nextPage(): void {
    const { name, numRows } = this.#chunk;
    const startBytes = this.#atBytes;
    try {
      do {
        if (this.#atBytes >= this.#chunk.endBytes) {
          throw new EncodingError(`${this.#rowsLeft} of ${numRows} rows are missing`);
        }
      } while (!this.#readPage());
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

  /** Reads one page; says whether it has rows. */
  #readPage(): boolean {
    const header = this.#readHeader();
    const { kind, compressedBytes, uncompressedBytes, numValues } = header;
    if (compressedBytes > this.#chunk.endBytes - this.#atBytes || uncompressedBytes > MAX_PAGE_BYTES) {
      throw new EncodingError(
        `a page of ${compressedBytes} bytes, ${this.#chunk.endBytes - this.#atBytes} are left`,
      );
    }
    const stored = this.#peek(compressedBytes);
    this.#atBytes += compressedBytes;
    if (header.crc !== undefined && crc32(stored) !== header.crc) {
      throw new EncodingError("a checksum does not match");
    }
    if (kind === "index") return false;
    if (kind === "dictionary") {
      this.setDictionary(this.#decompress(stored, uncompressedBytes), header, this.#chunk);
      return false;
    }
    if (numValues > this.#rowsLeft) throw new EncodingError(`${numValues} values for ${this.#rowsLeft} rows`);
    this.#page = this.#decodePage(stored, header);
    this.#pageAt = 0;
    this.#rowsLeft -= numValues;
    return numValues > 0;
  }

  #decodePage(stored: Uint8Array, header: PageHeader): Page<T> {
    const { numValues, encoding } = header;
    const isOptional = this.#chunk.element.repetition_type !== "REQUIRED";
    const { levels, bytes } = header.kind === "dataV2"
      ? this.#splitV2(stored, header)
      : splitV1(this.#decompress(stored, header.uncompressedBytes), isOptional);
    const isNull = isOptional ? readNulls(levels, numValues) : undefined;
    let numNulls = 0;
    if (isNull) { for (const flag of isNull) numNulls += flag; }
    if (numNulls !== (header.numNulls ?? numNulls)) {
      throw new EncodingError(`${numNulls} nulls, ${header.numNulls} were stated`);
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
        if (!(error instanceof PageHeaderError) || size === most) throw error;
      }
    }
  }

  /** The next bytes, which stay the next ones. */
  #peek(numBytes: number): Uint8Array {
    const from = this.#atBytes - this.#windowBytes;
    if (from < 0 || from + numBytes > this.#window.length) {
      const size = Math.min(this.#chunk.endBytes - this.#atBytes, Math.max(numBytes, WINDOW_BYTES));
      this.#window = this.#source.read(this.#atBytes, this.#atBytes + size);
      this.#windowBytes = this.#atBytes;
      return this.#window.subarray(0, numBytes);
    }
    return this.#window.subarray(from, from + numBytes);
  }
}

/** Reads a column of numbers or times. */
export class NumberCursor extends ColumnCursor<number> {
  #dictionary: Float64Array | undefined;

  constructor(source: ByteSource, chunk: ColumnChunkRange, readonly kind: NumberKind) {
    super(source, chunk);
  }

  /** The next rows; NaN stands for null. @throws {FormatError} If the column is damaged. */
  read(numRows: number): Piece<Float64Array> {
    const values = new Float64Array(numRows);
    const isNull = this.take(numRows, (page, from, end, at) => {
      if (page instanceof Float64Array) values.set(page.subarray(from, end), at);
      else ensure(from === end, "a page of numbers is an array of numbers");
    });
    return { values, isNull };
  }

  protected override setDictionary(
    bytes: Uint8Array,
    { numValues }: PageHeader,
    chunk: ColumnChunkRange,
  ): void {
    const type = physicalType(chunk);
    this.#dictionary = decodeNumbers(bytes, numValues, { type, encoding: ENCODING.plain, kind: this.kind });
  }

  protected override decode(
    bytes: Uint8Array,
    numValues: number,
    encoding: number,
    chunk: ColumnChunkRange,
  ): Float64Array {
    const type = physicalType(chunk);
    if (!isDictionary(encoding)) return decodeNumbers(bytes, numValues, { type, encoding, kind: this.kind });
    const dictionary = this.#dictionary ?? new Float64Array(0);
    const indexes = readIndexes(bytes, numValues, dictionary.length);
    const values = new Float64Array(numValues);
    for (let i = 0; i < numValues; i++) values[i] = dictionary[indexes[i]];
    return values;
  }

  protected override spread(values: ArrayLike<number>, isNull: Uint8Array): Float64Array {
    let next = 0;
    return Float64Array.from(isNull, (flag) => flag ? NaN : values[next++]);
  }
}

/** Reads a column of texts; equal values are one string. Pages with a dictionary are kept as its indexes. */
export class TextCursor extends ColumnCursor<string> {
  readonly #pool: TextPool;
  /** The dictionary page, and where its texts begin and end. */
  #dictionary: { bytes: Uint8Array; bounds: Uint32Array } = {
    bytes: new Uint8Array(0),
    bounds: new Uint32Array(0),
  };
  /** The dictionary's numbers in the pool, and which of its generations they are from. */
  #codes = new Int32Array(0);
  #generation = -1;

  constructor(source: ByteSource, chunk: ColumnChunkRange, pool: TextPool = new TextPool()) {
    super(source, chunk);
    this.#pool = pool;
  }

  /** The next rows; an empty text stands for null. @throws {FormatError} If the column is damaged. */
  read(numRows: number): TextPiece {
    const codes = new Int32Array(numRows);
    const isNull = this.take(numRows, (page, from, end, at) => {
      if (page instanceof Int32Array) {
        const codeOf = this.#dictionaryCodes();
        for (let row = from; row < end; row++) codes[at++] = codeOf[page[row]];
        return;
      }
      for (let row = from; row < end; row++) codes[at++] = this.#pool.codeOf(page[row] as string);
    });
    const { texts } = this.#pool;
    const values = new Array<string>(numRows);
    for (let row = 0; row < numRows; row++) values[row] = texts[codes[row]];
    return { values, codes, isNull };
  }

  protected override setDictionary(bytes: Uint8Array, { numValues }: PageHeader): void {
    this.#dictionary = { bytes, bounds: findPlainByteArrays(bytes, numValues) };
    this.#generation = -1;
  }

  protected override decode(bytes: Uint8Array, numValues: number, encoding: number): string[] | Int32Array {
    if (!isDictionary(encoding)) return decodeTexts(bytes, numValues, encoding);
    return readIndexes(bytes, numValues, this.#dictionary.bounds.length / 2);
  }

  protected override spread(values: string[] | Int32Array, isNull: Uint8Array): string[] | Int32Array {
    let next = 0;
    if (!(values instanceof Int32Array)) return Array.from(isNull, (flag) => flag ? "" : values[next++]);
    const nullIndex = this.#dictionary.bounds.length / 2;
    const indexes = new Int32Array(isNull.length);
    for (let row = 0; row < indexes.length; row++) indexes[row] = isNull[row] ? nullIndex : values[next++];
    return indexes;
  }

  #dictionaryCodes(): Int32Array {
    if (this.#generation !== this.#pool.generation) {
      const { bytes, bounds } = this.#dictionary;
      // One more text, for null.
      this.#codes = new Int32Array(bounds.length / 2 + 1).fill(this.#pool.codeOf(""), bounds.length / 2);
      for (let i = 0; i < bounds.length; i += 2) {
        this.#codes[i / 2] = this.#pool.codeOfUtf8(bytes, bounds[i], bounds[i + 1]);
      }
      this.#generation = this.#pool.generation;
    }
    return this.#codes;
  }
}

function physicalType({ element: { type } }: ColumnChunkRange): ParquetType {
  ensure(type, "a column without a type was opened");
  return type;
}

function isDictionary(encoding: number): boolean {
  return encoding === ENCODING.rleDictionary || encoding === ENCODING.plainDictionary;
}

/** The dictionary indexes of a data page: a byte for the bit width, then runs. */
function readIndexes(bytes: Uint8Array, numValues: number, dictionarySize: number): Int32Array {
  const indexes = new Int32Array(numValues);
  if (numValues === 0) return indexes;
  if (bytes.length === 0) throw new EncodingError("the values end too early");
  decodeHybrid(bytes.subarray(1), bytes[0], indexes);
  for (let i = 0; i < numValues; i++) {
    if (indexes[i] < 0 || indexes[i] >= dictionarySize) {
      throw new EncodingError(`index ${indexes[i]} into a dictionary of ${dictionarySize}`);
    }
  }
  return indexes;
}

/** Version 1 pages: definition levels with their length before them, then the values. */
function splitV1(page: Uint8Array, isOptional: boolean): { levels: Uint8Array; bytes: Uint8Array } {
  if (!isOptional) return { levels: new Uint8Array(0), bytes: page };
  if (page.length < 4) throw new EncodingError("the levels end too early");
  const numBytes = new DataView(page.buffer, page.byteOffset).getUint32(0, true);
  if (numBytes > page.length - 4) throw new EncodingError("the levels are longer than the page");
  return { levels: page.subarray(4, 4 + numBytes), bytes: page.subarray(4 + numBytes) };
}

/** Which rows are null, from definition levels of 0 and 1; undefined if none is. */
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
