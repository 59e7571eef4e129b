/**
 * Reads an Arrow IPC stream of flat columns as typed arrays, checked to be present, of a usable type, without
 * nulls, and as long as the batch. The arrays are views of the bytes.
 *
 * A loader opens two such streams per probe row, and a row may have few measurements: this reader takes a few
 * microseconds where apache-arrow's takes 80 (26 measurements), and it checks every length before use.
 * Format: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format, Message.fbs, Schema.fbs.
 *
 * @module
 */
import { isSameBytes } from "../../base/collections.ts";
import { FormatError, shortened } from "../../base/errors.ts";
import { FlatTable } from "./flat_table.ts";

/** Column types, numbered as in the union `Type` of Schema.fbs. */
const ARROW_TYPES = { int: 2, float: 3, binary: 4, utf8: 5, timestamp: 10 } as const;
const TYPE_NAMES =
  "none null int float binary utf8 bool decimal date time timestamp interval list struct union"
    .split(" ");
// Types with a single fixed-width value buffer: int, float, bool, decimal, date, time, timestamp, interval.
const FIXED_WIDTH = new Set([2, 3, 6, 7, 8, 9, 10, 11]);
const MESSAGE = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;
/** Bits per value for FloatingPoint.precision HALF, SINGLE, DOUBLE. */
const FLOAT_BITS = [16, 32, 64];
/** A FieldNode is (length, null_count), a Buffer (offset, length): two 64-bit integers each. */
const PAIR_BYTES = 16;
const NONE = new Uint8Array(0);
// ASSUMPTION: no valid stream has more. The limit bounds the work for a forged stream.
const MAX_COLUMNS = 1000;

/** Thrown for a stream that violates the format; the caller adds the file and the location. */
class ArrowError extends Error {
  override name = "ArrowError";
}

/** Microseconds per TimeUnit of Schema.fbs. Nanoseconds are divided exactly, see below. */
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
   * Opens a stream with at most one non-empty batch.
   *
   * @param where The file and location, for error messages.
   * @throws {FormatError} If the bytes are not such a stream.
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

  get numRows(): number {
    return this.#stream.numRows;
  }

  /** Timestamps of any unit in µs since 1970. @throws {FormatError} If the column has another type. */
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
    // Two 32-bit halves: a BigInt per element would be ten times slower.
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

  /** The offsets of variable-length values, ascending and within bounds. */
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

  /** The values as a typed array: a view if the alignment allows it, else a copy. */
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

interface ArrowField {
  name: string;
  /** One of {@link ARROW_TYPES} or another number of Schema.fbs; of the values if dictionary-encoded. */
  type: number;
  /** Bit width of a number; of the index if dictionary-encoded. */
  bitWidth: number;
  isSigned: boolean;
  /** TimeUnit of Schema.fbs: 0 s, 1 ms, 2 µs, 3 ns. */
  timeUnit: number;
  /** Undefined if the column is plain. */
  dictionaryId: number | undefined;
}

/** The buffers of a column. */
interface ArrowColumn {
  field: ArrowField;
  length: number;
  numNulls: number;
  /** Offsets of variable-length values (int32); empty for other types. */
  offsets: Uint8Array;
  /** The values, or indexes into the dictionary. */
  values: Uint8Array;
}

interface ArrowStream {
  numRows: number;
  /** Empty if the stream has no rows. */
  columns: ArrowColumn[];
  fields: ArrowField[];
  /** The values of each dictionary, in pieces, by id. */
  dictionaries: Map<number, ArrowColumn[]>;
}

interface Message {
  type: number;
  metadata: Uint8Array;
  header: FlatTable;
  body: Uint8Array;
}

/** The name of a type for error messages. */
function arrowTypeName(field: ArrowField): string {
  const name = TYPE_NAMES[field.type] ?? `type ${field.type}`;
  return field.type === ARROW_TYPES.int || field.type === ARROW_TYPES.float
    ? name + field.bitWidth
    : field.dictionaryId === undefined
    ? name
    : `dictionary of ${name}`;
}

/**
 * Reads a stream with at most one non-empty record batch.
 *
 * @throws {ArrowError} If it is not such a stream.
 * @throws {RangeError} If metadata point outside the bytes.
 */
function readArrowStream(bytes: Uint8Array): ArrowStream {
  const stream: ArrowStream = { numRows: 0, columns: [], fields: [], dictionaries: new Map() };
  let numBatches = 0;
  let hasSchema = false;
  for (const { type, metadata, header, body } of readMessages(bytes)) {
    if (type === MESSAGE.schema) {
      stream.fields = knownSchema(metadata) ?? remember(metadata, readSchema(header));
      hasSchema = true;
    } else if (!hasSchema) {
      throw new ArrowError("its first Arrow message is not a schema");
    } else if (type === MESSAGE.dictionaryBatch) {
      readDictionary(stream, header, body);
    } else if (type === MESSAGE.recordBatch && header.int64(0) > 0) {
      if (++numBatches > 1) throw new ArrowError("its Arrow stream has several batches, expected 1");
      stream.numRows = header.int64(0);
      stream.columns = readBatch(header, body, stream.fields);
    }
  }
  if (!hasSchema) throw new ArrowError("it has no Arrow schema");
  return stream;
}

function* readMessages(bytes: Uint8Array): Generator<Message> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + 4 <= bytes.length) {
    // Since Arrow 0.15 a continuation marker precedes the length.
    if (view.getInt32(at, true) === -1) at += 4;
    const metadataLength = view.getUint32(at, true);
    at += 4;
    if (metadataLength === 0) return;
    const bodyAt = at + metadataLength;
    if (bodyAt > bytes.length) throw new ArrowError("an Arrow message passes the end of its stream");
    const message = FlatTable.root(new DataView(bytes.buffer, bytes.byteOffset + at, metadataLength));
    const header = message.table(2);
    const bodyEnd = bodyAt + message.int64(3);
    if (!header || bodyEnd < bodyAt || bodyEnd > bytes.length) {
      throw new ArrowError("an Arrow message passes the end of its stream");
    }
    yield {
      type: message.uint8(1),
      metadata: bytes.subarray(at, bodyAt),
      header,
      body: bytes.subarray(bodyAt, bodyEnd),
    };
    at = bodyEnd;
  }
}

/** Caches the fields of schemas by the bytes of their messages: the records of a file repeat two schemas. */
const knownSchemas: { metadata: Uint8Array; fields: ArrowField[] }[] = [];
const MAX_KNOWN_SCHEMAS = 4;

function knownSchema(metadata: Uint8Array): ArrowField[] | undefined {
  return knownSchemas.find((known) => isSameBytes(known.metadata, metadata))?.fields;
}

function remember(metadata: Uint8Array, fields: ArrowField[]): ArrowField[] {
  if (knownSchemas.length === MAX_KNOWN_SCHEMAS) knownSchemas.shift();
  // A copy, because the bytes are a view of a whole record.
  knownSchemas.push({ metadata: metadata.slice(), fields });
  return fields;
}

function readSchema(schema: FlatTable): ArrowField[] {
  const numColumns = schema.vectorPosition(1, 4).length;
  if (numColumns > MAX_COLUMNS) throw new ArrowError(`it has ${numColumns} columns`);
  const fields = schema.tables(1);
  if (schema.int16(0) !== 0) throw new ArrowError("its Arrow stream is big-endian, which is not supported");
  return fields.map((field) => {
    const type = field.uint8(2);
    const detail = field.table(3);
    const dictionary = field.table(4);
    // A dictionary's index is a signed int32 by default.
    const integer = dictionary ? dictionary.table(1) : type === ARROW_TYPES.int ? detail : undefined;
    const bitWidth = integer?.int32(0) ??
      (dictionary ? 32 : type === ARROW_TYPES.float ? FLOAT_BITS[detail?.int16(0) ?? 0] ?? 0 : 64);
    return {
      name: field.text(0),
      type,
      bitWidth,
      isSigned: integer ? integer.uint8(1) !== 0 : true,
      timeUnit: type === ARROW_TYPES.timestamp ? detail?.int16(0) ?? 0 : 0,
      dictionaryId: dictionary?.int64(0),
    };
  });
}

function readDictionary(stream: ArrowStream, header: FlatTable, body: Uint8Array): void {
  const id = header.int64(0);
  const field = stream.fields.find((candidate) => candidate.dictionaryId === id);
  const batch = header.table(1);
  if (!field || !batch) throw new ArrowError("a dictionary belongs to no column");
  const [column] = readBatch(batch, body, [{ ...field, dictionaryId: undefined }]);
  const isDelta = header.uint8(2) !== 0;
  stream.dictionaries.set(id, isDelta ? [...stream.dictionaries.get(id) ?? [], column] : [column]);
}

function readBatch(batch: FlatTable, body: Uint8Array, fields: readonly ArrowField[]): ArrowColumn[] {
  if (batch.table(3)) throw new ArrowError("its Arrow buffers are compressed, which is not supported");
  const nodes = batch.vectorPosition(1, PAIR_BYTES);
  const buffers = batch.vectorPosition(2, PAIR_BYTES);
  const numRows = batch.int64(0);
  let nextBuffer = 0;
  const takeBuffer = () => {
    const at = buffers.at + PAIR_BYTES * nextBuffer;
    const offset = nextBuffer++ < buffers.length ? batch.int64At(at) : -1;
    const length = offset < 0 ? 0 : batch.int64At(at + 8);
    if (!(offset >= 0 && length >= 0 && offset + length <= body.length)) {
      throw new ArrowError("an Arrow buffer passes the end of its message");
    }
    return body.subarray(offset, offset + length);
  };
  return fields.map((field, i) => {
    const at = nodes.at + PAIR_BYTES * i;
    const length = i < nodes.length ? batch.int64At(at) : -1;
    if (length !== numRows || length < 0) {
      throw new ArrowError(`its column ${shortened(field.name)} has ${length} rows`);
    }
    const numNulls = batch.int64At(at + 8);
    const isFixed = field.dictionaryId !== undefined || FIXED_WIDTH.has(field.type);
    if (!isFixed && field.type !== ARROW_TYPES.utf8 && field.type !== ARROW_TYPES.binary) {
      throw new ArrowError(
        `its column ${shortened(field.name)} is ${arrowTypeName(field)}, which is not supported`,
      );
    }
    takeBuffer(); // validity: columns with nulls are rejected on reading
    const offsets = isFixed ? NONE : takeBuffer();
    return { field, length, numNulls, offsets, values: takeBuffer() };
  });
}
