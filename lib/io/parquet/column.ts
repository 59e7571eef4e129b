/**
 * Reads flat columns of numbers, times and texts in pieces of any size, in every encoding and compression
 * that current writers use. The pages of a row group's column are read in order; memory holds a single page,
 * however large the row group is. (hyparquet decodes whole column chunks, and a damaged run length makes it
 * fill the memory.)
 *
 * @module
 */
import { crc32 } from "node:zlib";
import type { CompressionCodec, SchemaElement } from "hyparquet";
import { FormatError, UserError } from "../../base/errors.ts";
import type { FileWindow } from "../files/byte_file.ts";
import { EncodingError } from "./byte_cursor.ts";
import {
  type ByteArrays,
  decodeNumbers,
  ENCODING,
  findPlainByteArrays,
  findTexts,
  type NumberKind,
} from "./encodings.ts";
import { decodeHybrid } from "./hybrid.ts";
import { checkPageSize, decompressPage, type PageHeader, readPageHeader, splitPage } from "./page.ts";
import { TextPool } from "./text_pool.ts";

const WINDOW_BYTES = 1 << 20;
const MAX_HEADER_BYTES = 1 << 24;
type ByteSource = Pick<FileWindow, "path" | "read">;

export interface ColumnChunkRange {
  name: string;
  element: SchemaElement;
  startBytes: number;
  endBytes: number;
  codec: CompressionCodec;
  numRows: number;
}

/** A piece of a column: values, and which of them are null (absent if there are no nulls). */
export interface Piece<T> {
  values: T;
  isNull: Uint8Array | undefined;
}

/** Reads a column chunk in order. A page's array has one element per row, with any value for null. */
abstract class ColumnCursor<A extends Float64Array | Int32Array> {
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

  protected abstract setDictionary(bytes: Uint8Array, header: PageHeader, chunk: ColumnChunkRange): void;
  /** Decodes a data page's values, without nulls. */
  protected abstract decode(
    bytes: Uint8Array,
    numValues: number,
    encoding: number,
    chunk: ColumnChunkRange,
  ): A;
  /** Moves the values to their rows if some rows are null. */
  protected abstract spread(values: A, isNull: Uint8Array): A;

  /** Calls `copy` for each page with some of the next rows, with values, from, end, and the first row. */
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

  /** Reads one page; undefined if it has no rows. */
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
      this.setDictionary(decompressPage(this.#chunk.codec, stored, uncompressedBytes), header, this.#chunk);
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
    const { codec, element } = this.#chunk;
    const isOptional = element.repetition_type !== "REQUIRED";
    const { levels, bytes } = splitPage(stored, header, { codec, isOptional });
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

  #readHeader(): PageHeader {
    const most = Math.min(MAX_HEADER_BYTES, this.#chunk.endBytes - this.#atBytes);
    for (let size = Math.min(most, 1024);; size = Math.min(most, size * 16)) {
      try {
        const { header, headerBytes } = readPageHeader(this.#peek(size));
        this.#atBytes += headerBytes;
        return header;
      } catch (error) {
        if (!(error instanceof EncodingError) || size === most) throw error;
      }
    }
  }

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

/** Longer texts are truncated. Addresses are shorter. */
const MAX_TEXT_BYTES = 64;

export interface TextPiece extends Piece<string[]> {
  /** The code of each value in the cursor's pool. */
  codes: Int32Array;
}

/** Reads a column of numbers or times. */
export class NumberCursor extends ColumnCursor<Float64Array> {
  #dictionary: Float64Array | undefined;

  constructor(source: ByteSource, chunk: ColumnChunkRange, readonly kind: NumberKind) {
    super(source, chunk);
  }

  /** Reads the next rows, with NaN for null. @throws {FormatError} If the column is damaged. */
  read(numRows: number): Piece<Float64Array> {
    const values = new Float64Array(numRows);
    const isNull = this.take(numRows, (page, from, end, at) => {
      values.set(page.subarray(from, end), at);
    });
    return { values, isNull };
  }

  protected override setDictionary(
    bytes: Uint8Array,
    { numValues }: PageHeader,
    chunk: ColumnChunkRange,
  ): void {
    const { element } = chunk;
    this.#dictionary = decodeNumbers(bytes, numValues, {
      element,
      encoding: ENCODING.plain,
      kind: this.kind,
    });
  }

  protected override decode(
    bytes: Uint8Array,
    numValues: number,
    encoding: number,
    chunk: ColumnChunkRange,
  ): Float64Array {
    const { element } = chunk;
    if (!isDictionary(encoding)) {
      return decodeNumbers(bytes, numValues, { element, encoding, kind: this.kind });
    }
    const dictionary = this.#dictionary ?? new Float64Array(0);
    const indexes = readIndexes(bytes, numValues, dictionary.length);
    const values = new Float64Array(numValues);
    for (let i = 0; i < numValues; i++) values[i] = dictionary[indexes[i]];
    return values;
  }

  protected override spread(values: Float64Array, isNull: Uint8Array): Float64Array {
    let next = 0;
    return Float64Array.from(isNull, (flag) => flag ? NaN : values[next++]);
  }
}

/** Reads a column of texts. Equal values are one string. Pages are kept as indexes into the texts' bytes. */
export class TextCursor extends ColumnCursor<Int32Array> {
  readonly #pool: TextPool;
  #dictionary: ByteArrays = { bytes: new Uint8Array(0), bounds: new Uint32Array(0) };
  /** The pool's codes for the dictionary's texts, and the pool generation for which they are valid. */
  #codes = new Int32Array(0);
  #generation = -1;
  /** The texts of the current page if it has no dictionary. */
  #plain: ByteArrays | undefined;

  constructor(source: ByteSource, chunk: ColumnChunkRange, pool: TextPool = new TextPool()) {
    super(source, chunk);
    this.#pool = pool;
  }

  /**
   * The next rows, with an empty text for null. Texts are truncated to {@link MAX_TEXT_BYTES}.
   *
   * @throws {FormatError} If the column is damaged.
   */
  read(numRows: number): TextPiece {
    const codes = new Int32Array(numRows);
    const isNull = this.take(numRows, (page, from, end, at) => {
      if (this.#plain) {
        for (let row = from; row < end; row++) codes[at++] = this.#codeOf(this.#plain, page[row]);
        return;
      }
      const codeOf = this.#dictionaryCodes();
      for (let row = from; row < end; row++) codes[at++] = codeOf[page[row]];
    });
    const { texts } = this.#pool;
    const values = new Array<string>(numRows);
    for (let row = 0; row < numRows; row++) values[row] = texts[codes[row]];
    return { values, codes, isNull };
  }

  protected override setDictionary(bytes: Uint8Array, { numValues }: PageHeader): void {
    this.#dictionary = findPlainByteArrays(bytes, numValues);
    this.#generation = -1;
  }

  protected override decode(bytes: Uint8Array, numValues: number, encoding: number): Int32Array {
    this.#plain = undefined;
    if (isDictionary(encoding)) return readIndexes(bytes, numValues, numTexts(this.#dictionary));
    this.#plain = findTexts(bytes, numValues, { encoding, maxLength: MAX_TEXT_BYTES });
    return Int32Array.from({ length: numValues }, (_, i) => i);
  }

  protected override spread(values: Int32Array, isNull: Uint8Array): Int32Array {
    let next = 0;
    const nullIndex = numTexts(this.#plain ?? this.#dictionary);
    const indexes = new Int32Array(isNull.length);
    for (let row = 0; row < indexes.length; row++) indexes[row] = isNull[row] ? nullIndex : values[next++];
    return indexes;
  }

  #dictionaryCodes(): Int32Array {
    if (this.#generation !== this.#pool.generation) {
      const size = numTexts(this.#dictionary);
      // The last code stands for null.
      this.#codes = new Int32Array(size + 1).fill(this.#pool.codeOf(""), size);
      for (let i = 0; i < size; i++) this.#codes[i] = this.#codeOf(this.#dictionary, i);
      this.#generation = this.#pool.generation;
    }
    return this.#codes;
  }

  /** The pool's code for a text. The index after the last text stands for null. */
  #codeOf({ bytes, bounds }: ByteArrays, index: number): number {
    if (2 * index === bounds.length) return this.#pool.codeOf("");
    const begin = bounds[2 * index];
    return this.#pool.codeOfUtf8(bytes, begin, Math.min(bounds[2 * index + 1], begin + MAX_TEXT_BYTES));
  }
}

function numTexts({ bounds }: ByteArrays): number {
  return bounds.length / 2;
}

function isDictionary(encoding: number): boolean {
  return encoding === ENCODING.rleDictionary || encoding === ENCODING.plainDictionary;
}

/** Reads the dictionary indexes of a data page: a byte with the bit width, followed by runs. */
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

/** Marks the null rows, from definition levels of 0 and 1; undefined if no row is null. */
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
