/**
 * The columns of an Arrow IPC stream as typed arrays, checked: present, of a usable type, without nulls, and as
 * long as the batch.
 *
 * @module
 */
import { FormatError } from "../../base/errors.ts";
import {
  ARROW_TYPES,
  type ArrowColumn,
  ArrowError,
  type ArrowStream,
  arrowTypeName,
  readArrowStream,
} from "./stream.ts";

/** Microseconds per TimeUnit of Schema.fbs; nanoseconds are divided exactly below. */
const US_PER_UNIT = [1e6, 1e3, 1];
const NANOSECONDS = 3;

type Where = { path: string; place?: string };
type NumberArray =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array;
type ArrayType<T> = {
  new (buffer: ArrayBufferLike, at: number, length: number): T;
  BYTES_PER_ELEMENT: number;
};

/** The arrays of integers by their width in bits. */
type IntegerArrays = Readonly<Record<number, ArrayType<NumberArray>>>;
const SIGNED: IntegerArrays = { 8: Int8Array, 16: Int16Array, 32: Int32Array, 64: BigInt64Array };
const UNSIGNED: IntegerArrays = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array, 64: BigInt64Array };

const decoder = new TextDecoder();

/** One decoded record batch. */
export class ArrowColumns {
  readonly #stream: ArrowStream;
  readonly #where: Where;

  private constructor(stream: ArrowStream, where: Where) {
    this.#stream = stream;
    this.#where = where;
  }

  /**
   * Opens a stream of at most one non-empty batch.
   *
   * @param bytes An Arrow IPC stream.
   * @param where The file and place, for error messages.
   * @throws {FormatError} If it is not such a stream.
   */
  static decode(bytes: Uint8Array, where: Where): ArrowColumns {
    try {
      return new ArrowColumns(readArrowStream(bytes), where);
    } catch (cause) {
      if (cause instanceof ArrowError) {
        throw new FormatError(`${cause.message}; its records are not probe rows, or damaged`, {
          ...where,
          cause,
        });
      }
      if (!(cause instanceof RangeError)) throw cause;
      throw new FormatError(
        "its bytes are not an Arrow IPC stream; its records are not probe rows, or damaged",
        {
          ...where,
          cause,
        },
      );
    }
  }

  /** Number of rows of the batch. */
  get numRows(): number {
    return this.#stream.numRows;
  }

  /** Timestamps of any unit as microseconds since 1970. @throws {FormatError} If the column has another type. */
  timesUs(name: string): Float64Array {
    const column = this.#column(name);
    const { type, timeUnit } = column.field;
    if (type !== ARROW_TYPES.timestamp) throw this.#wrongType(column, "timestamp");
    const halves = this.#view(column, Int32Array, 2 * column.length);
    const timesUs = new Float64Array(column.length);
    if (timeUnit === NANOSECONDS) {
      const timesNs = this.#view(column, BigInt64Array, column.length);
      return timesUs.map((_, i) => Number(timesNs[i] / 1000n));
    }
    const usPerUnit = US_PER_UNIT[timeUnit] ?? NaN;
    // Two 32-bit halves: a BigInt per element would cost ten times as much.
    for (let i = 0; i < timesUs.length; i++) {
      timesUs[i] = (halves[2 * i + 1] * 2 ** 32 + (halves[2 * i] >>> 0)) * usPerUnit;
    }
    return timesUs;
  }

  /** Strings, dictionary-encoded or plain. @throws {FormatError} If the column has another type. */
  strings(name: string): { values: string[]; index: Int32Array } {
    const column = this.#column(name);
    const { type, dictionaryId } = column.field;
    if (type !== ARROW_TYPES.utf8) throw this.#wrongType(column, "utf8");
    if (dictionaryId === undefined) return this.#plainStrings(column);
    const pieces = this.#stream.dictionaries.get(dictionaryId) ?? [];
    const values = pieces.flatMap((piece) => this.#texts(piece));
    const index = this.#integers(column, Int32Array);
    for (let i = 0; i < index.length; i++) {
      if (index[i] < 0 || index[i] >= values.length) {
        throw this.#error(`its column ${name} points outside its dictionary (measurement ${i})`);
      }
    }
    return { values, index };
  }

  /** An integer column as int8. @throws {FormatError} If it has another type. */
  int8(name: string): Int8Array {
    const column = this.#column(name);
    if (column.field.type !== ARROW_TYPES.int) throw this.#wrongType(column, "int8");
    return this.#integers(column, Int8Array);
  }

  /** A floating-point column as float32. @throws {FormatError} If it has another type. */
  float32(name: string): Float32Array {
    const column = this.#column(name);
    const { type, bitWidth } = column.field;
    if (type === ARROW_TYPES.float && bitWidth === 32) return this.#view(column, Float32Array, column.length);
    if (type === ARROW_TYPES.float && bitWidth === 64) {
      return Float32Array.from(this.#view(column, Float64Array, column.length));
    }
    throw this.#wrongType(column, "float32");
  }

  /** The first value of a number column. @throws {FormatError} If it has another type. */
  number(name: string): number {
    const column = this.#column(name);
    const { type, bitWidth } = column.field;
    if (type !== ARROW_TYPES.float) return Number(this.bigint(name));
    if (bitWidth !== 64) throw this.#wrongType(column, "float64");
    return this.#view(column, Float64Array, 1)[0];
  }

  /** The first value of an integer column. @throws {FormatError} If it has another type. */
  bigint(name: string): bigint {
    const column = this.#column(name);
    if (column.field.type !== ARROW_TYPES.int) throw this.#wrongType(column, "int64");
    return BigInt(this.#rawIntegers(column)[0]);
  }

  /** The first value of a binary column, a view. @throws {FormatError} If it has another type. */
  binary(name: string): Uint8Array {
    const column = this.#column(name);
    if (column.field.type !== ARROW_TYPES.binary) throw this.#wrongType(column, "binary");
    const [begin, end] = this.#offsets(column);
    return column.values.subarray(begin, end);
  }

  #plainStrings(column: ArrowColumn): { values: string[]; index: Int32Array } {
    const texts = this.#texts(column);
    const known = new Map<string, number>();
    const index = new Int32Array(texts.length);
    texts.forEach((text, row) => {
      const at = known.get(text) ?? known.size;
      known.set(text, at);
      index[row] = at;
    });
    return { values: [...known.keys()], index };
  }

  #texts(column: ArrowColumn): string[] {
    const { name } = column.field;
    if (column.numNulls > 0) throw this.#error(`its column ${name} has nulls`);
    const offsets = this.#offsets(column);
    const { values } = column;
    const whole = decoder.decode(values.subarray(0, offsets[column.length]));
    const isAscii = whole.length === offsets[column.length];
    const texts: string[] = [];
    for (let i = 0; i < column.length; i++) {
      const [begin, end] = [offsets[i], offsets[i + 1]];
      texts.push(isAscii ? whole.slice(begin, end) : decoder.decode(values.subarray(begin, end)));
    }
    return texts;
  }

  /** The offsets of variable-length values, ascending and within the values. */
  #offsets(column: ArrowColumn): Int32Array {
    const offsets = this.#view({ ...column, values: column.offsets }, Int32Array, column.length + 1);
    let last = 0;
    for (const offset of offsets) {
      if (offset < last || offset > column.values.length) {
        throw this.#error(`its column ${column.field.name} reaches outside the record`);
      }
      last = offset;
    }
    return offsets;
  }

  #integers<T extends Int8Array | Int32Array>(column: ArrowColumn, wanted: ArrayType<T>): T {
    const raw = this.#rawIntegers(column);
    if (raw instanceof wanted) return raw;
    const copy = new wanted(new ArrayBuffer(raw.length * wanted.BYTES_PER_ELEMENT), 0, raw.length);
    for (let i = 0; i < raw.length; i++) copy[i] = Number(raw[i]);
    return copy;
  }

  #rawIntegers(column: ArrowColumn): NumberArray {
    const { bitWidth, isSigned } = column.field;
    const type = (isSigned ? SIGNED : UNSIGNED)[bitWidth];
    if (!type) throw this.#wrongType(column, "an integer");
    return this.#view(column, type, column.length);
  }

  /** The values as a typed array: a view where the alignment allows, else a copy. */
  #view<T>(column: ArrowColumn, type: ArrayType<T>, length: number): T {
    const { values } = column;
    const sizeBytes = length * type.BYTES_PER_ELEMENT;
    if (values.length < sizeBytes) throw this.#error(`its column ${column.field.name} is truncated`);
    if (values.byteOffset % type.BYTES_PER_ELEMENT === 0) {
      return new type(values.buffer, values.byteOffset, length);
    }
    return new type(values.slice(0, sizeBytes).buffer, 0, length);
  }

  #column(name: string): ArrowColumn {
    const column = this.#stream.columns.find((candidate) => candidate.field.name === name);
    if (!column) throw this.#error(`it has no column ${name}; its records are not probe rows`);
    if (column.numNulls > 0) throw this.#error(`its column ${name} has nulls`);
    return column;
  }

  #wrongType(column: ArrowColumn, wanted: string): FormatError {
    return this.#error(
      `its column ${column.field.name} is ${arrowTypeName(column.field)}, expected ${wanted}`,
    );
  }

  #error(message: string): FormatError {
    return new FormatError(message, this.#where);
  }
}
