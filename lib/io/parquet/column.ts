/**
 * Reads columns of numbers, times and texts that are not nested, in pieces of any size and in every encoding and
 * compression that current writers use.
 *
 * @module
 */
import { type ByteArrays, decodeHybrid, EncodingError, findPlainByteArrays } from "./encodings.ts";
import type { PageHeader } from "./page_header.ts";
import { type ByteSource, type ColumnChunkRange, ColumnCursor, type Piece } from "./pages.ts";
import { decodeNumbers, ENCODING, findTexts, type NumberKind } from "./values.ts";
import { TextPool } from "./text_pool.ts";

/** Longer texts are truncated; an address is shorter. */
const MAX_TEXT_BYTES = 64;

/** A piece of a column of texts. */
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

  /** The next rows; NaN stands for null. @throws {FormatError} If the column is damaged. */
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

/** Reads a column of texts; equal values are one string. Pages are kept as indexes into the texts' bytes. */
export class TextCursor extends ColumnCursor<Int32Array> {
  readonly #pool: TextPool;
  #dictionary: ByteArrays = { bytes: new Uint8Array(0), bounds: new Uint32Array(0) };
  /** The codes of the dictionary's texts in the pool, and the pool's generation for which they are valid. */
  #codes = new Int32Array(0);
  #generation = -1;
  /** The texts of the current page, if it has no dictionary. */
  #plain: ByteArrays | undefined;

  constructor(source: ByteSource, chunk: ColumnChunkRange, pool: TextPool = new TextPool()) {
    super(source, chunk);
    this.#pool = pool;
  }

  /**
   * The next rows; an empty text stands for null, a longer text is cut to {@link MAX_TEXT_BYTES}.
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
      // The last code is that of null.
      this.#codes = new Int32Array(size + 1).fill(this.#pool.codeOf(""), size);
      for (let i = 0; i < size; i++) this.#codes[i] = this.#codeOf(this.#dictionary, i);
      this.#generation = this.#pool.generation;
    }
    return this.#codes;
  }

  /** The code of a text in the pool; the index after the last text means null. */
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
