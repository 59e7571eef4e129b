/**
 * Arrow IPC streams of one record batch with flat columns, read and written by apache-arrow.
 *
 * The package trusts the lengths in a message's metadata: a forged one makes it loop or allocate without
 * limit. Therefore all metadata are checked first. Format:
 * https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format, Message.fbs, Schema.fbs.
 *
 * @module
 */
import {
  type Data,
  DataType,
  makeData,
  MessageHeader,
  Precision,
  RecordBatch,
  RecordBatchReader,
  RecordBatchStreamWriter,
  type Schema,
  Struct,
  type Timestamp,
  TimeUnit,
  vectorFromArray,
} from "apache-arrow";
import { DictionaryBatch as DictionaryTable } from "apache-arrow/fb/dictionary-batch";
import { Endianness } from "apache-arrow/fb/endianness";
import { Message as MessageTable } from "apache-arrow/fb/message";
import { RecordBatch as BatchTable } from "apache-arrow/fb/record-batch";
import { Schema as SchemaTable } from "apache-arrow/fb/schema";
import { ByteBuffer } from "flatbuffers";
import { FormatError, shortened } from "../base/errors.ts";

// ASSUMPTION: streams with one batch need no more. Their product bounds the work for a forged stream, in
// which all fields can share one name as long as the metadata.
const MAX_METADATA_BYTES = 2 ** 16;
const MAX_ELEMENTS = 1000;

/** Microseconds per {@link TimeUnit}. Nanoseconds are divided exactly; see below. */
const US_PER_UNIT = [1e6, 1e3, 1];

type Where = { path: string; place?: string };

const decoder = new TextDecoder();

/** Encodes a batch as a stream. @param children The columns in the schema's order, without nulls. */
export function encodeBatch(schema: Schema, length: number, children: Data[]): Uint8Array {
  const data = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  const writer = new StreamWriter(schema);
  writer.write(new RecordBatch(schema, data));
  return writer.finish().toUint8Array(true);
}

/** Messages of schemas. Each is encoded once, because that takes a fifth of the time of a small batch. */
const schemaMessages = new Map<Schema, Uint8Array>();

class StreamWriter extends RecordBatchStreamWriter {
  constructor(readonly schema: Schema) {
    super();
  }

  protected override _writeSchema(schema: Schema): this {
    const known = schemaMessages.get(this.schema);
    if (known) return this._write(known);
    super._writeSchema(schema);
    schemaMessages.set(this.schema, this.toUint8Array(true));
    return this;
  }
}

/** The columns of a batch. Those that are read must have no nulls. Arrays are views of the stream's bytes. */
export class ArrowColumns {
  readonly #batch: RecordBatch;
  readonly #where: Where;

  private constructor(batch: RecordBatch, where: Where) {
    this.#batch = batch;
    this.#where = where;
  }

  /**
   * Opens a stream with exactly one batch that has rows.
   *
   * @param where The file and location, for error messages.
   * @throws {FormatError} If the bytes are not such a stream.
   */
  static decode(bytes: Uint8Array, where: Where): ArrowColumns {
    let batches: RecordBatch[];
    try {
      checkMetadata(bytes);
      batches = [...RecordBatchReader.from(bytes)].filter(({ numRows }) => numRows > 0);
    } catch (cause) {
      const found = cause instanceof ArrowError ? cause.message : "its bytes are not an Arrow IPC stream";
      throw new FormatError(`${found}; its records are not probe rows, or are damaged`, { ...where, cause });
    }
    if (batches.length === 1) return new ArrowColumns(batches[0], where);
    throw new FormatError(
      `its Arrow stream has ${batches.length} batches, expected 1; write it again`,
      where,
    );
  }

  get numRows(): number {
    return this.#batch.numRows;
  }

  has(name: string): boolean {
    return this.#batch.schema.fields.some((field) => field.name === name);
  }

  /** Timestamps of any unit in µs since 1970. @throws {FormatError} If the column has another type. */
  timesUs(name: string): Float64Array {
    const { type, values, length } = this.#column(name, DataType.isTimestamp, "timestamp");
    const { unit } = type as Timestamp;
    const timesUs = new Float64Array(length);
    if (unit === TimeUnit.NANOSECOND) return timesUs.map((_, i) => Number(values[i] / 1000n));
    // Two 32-bit halves: a BigInt per element would be ten times slower.
    const halves = new Int32Array(values.buffer, values.byteOffset, 2 * length);
    const usPerUnit = US_PER_UNIT[unit];
    for (let i = 0; i < length; i++) {
      timesUs[i] = (halves[2 * i + 1] * 2 ** 32 + (halves[2 * i] >>> 0)) * usPerUnit;
    }
    return timesUs;
  }

  /** Texts, dictionary-encoded or plain. @throws {FormatError} If the column has another type. */
  texts(name: string): { values: string[]; index: Int32Array } {
    const found = this.#column(name, isText, "utf8");
    const isPlain = DataType.isUtf8(found.type);
    // The package makes a dictionary of an array of texts.
    const column: Data = isPlain ? vectorFromArray(this.#textsOf(name, found)).data[0] : found;
    const values = (column.dictionary?.data ?? []).flatMap((piece) => this.#textsOf(name, piece));
    const index = integers(column, Int32Array);
    const outside = index.findIndex((at) => !(at >= 0 && at < values.length));
    if (outside < 0) return { values, index };
    throw this.#error(`its column ${name} points outside its dictionary (measurement ${outside})`);
  }

  /** An integer column as int8. @throws {FormatError} If it has another type. */
  int8(name: string): Int8Array {
    return integers(this.#column(name, DataType.isInt, "int8"), Int8Array);
  }

  /** A floating-point column as float32. @throws {FormatError} If it has another type. */
  float32(name: string): Float32Array {
    const { values, length } = this.#column(name, isFloat, "float32");
    const floats = values.subarray(0, length);
    return floats instanceof Float32Array ? floats : Float32Array.from(floats);
  }

  /** The first value of an integer column. @throws {FormatError} If it has another type. */
  bigint(name: string): bigint {
    return BigInt(this.#column(name, DataType.isInt, "int64").values[0]);
  }

  /** The first value of a binary column, a view. @throws {FormatError} If it has another type. */
  binary(name: string): Uint8Array {
    const column = this.#column(name, DataType.isBinary, "binary");
    const [begin, end] = this.#offsets(name, column);
    return column.values.subarray(begin, end);
  }

  #column(name: string, isWanted: (type: DataType) => boolean, wanted: string): Data {
    const { schema: { fields }, data: { children } } = this.#batch;
    const column = children[fields.findIndex((field) => field.name === name)];
    if (!column) throw this.#error(`it has no column ${name}; its records are not probe rows`);
    if (!isWanted(column.type)) {
      throw this.#error(`its column ${name} is ${shortened(String(column.type))}, expected ${wanted}`);
    }
    if (column.nullCount > 0) throw this.#error(`its column ${name} has nulls`);
    const { valueOffsets, values, length } = column;
    if (valueOffsets || values.length >= length) return column;
    throw this.#error(`its column ${name} is truncated`);
  }

  #textsOf(name: string, column: Data): string[] {
    if (column.nullCount > 0) throw this.#error(`its column ${name} has nulls`);
    const { values, length } = column;
    const offsets = this.#offsets(name, column);
    const whole = decoder.decode(values.subarray(0, offsets[length]));
    const isAscii = whole.length === offsets[length];
    return Array.from({ length }, (_, i) => {
      const [begin, end] = [offsets[i], offsets[i + 1]];
      return isAscii ? whole.slice(begin, end) : decoder.decode(values.subarray(begin, end));
    });
  }

  /** The offsets of variable-length values, ascending and within bounds. */
  #offsets(name: string, { valueOffsets, values, length }: Data): Int32Array {
    if (valueOffsets.length <= length) throw this.#error(`its column ${name} is truncated`);
    for (let i = 0; i <= length; i++) {
      if (valueOffsets[i] < (valueOffsets[i - 1] ?? 0) || valueOffsets[i] > values.length) {
        throw this.#error(`its column ${name} reaches outside the record`);
      }
    }
    return valueOffsets;
  }

  #error(message: string): FormatError {
    return new FormatError(message, this.#where);
  }
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(DataType.isDictionary(type) ? type.dictionary : type);
}

function isFloat(type: DataType): boolean {
  return DataType.isFloat(type) && type.precision !== Precision.HALF;
}

/** Returns a column's values, converted if they have another width. */
function integers<A extends Int8Array | Int32Array>(
  { values, length }: Data,
  array: { new (length: number): A; from(values: Iterable<number | bigint>, map: typeof Number): A },
): A {
  const found = values.subarray(0, length);
  return found instanceof array ? found : array.from(found, Number);
}

/** Thrown for a stream that violates the format; the caller adds the file and the location. */
class ArrowError extends Error {
  override name = "ArrowError";
}

/**
 * Checks that the messages are within the bytes and that their metadata are small and flat.
 *
 * @throws {ArrowError} If they are not.
 */
function checkMetadata(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let numElements = 0;
  for (let at = 0, isFirst = true; at + 4 <= bytes.length; isFirst = false) {
    // Since Arrow 0.15 a continuation marker precedes the length.
    if (view.getInt32(at, true) === -1) at += 4;
    const sizeBytes = view.getInt32(at, true);
    if (sizeBytes === 0) return;
    const bodyAt = at + 4 + sizeBytes;
    if (sizeBytes < 0 || sizeBytes > MAX_METADATA_BYTES) {
      throw new ArrowError(`an Arrow message has ${sizeBytes} bytes of metadata`);
    }
    const message = MessageTable.getRootAsMessage(new ByteBuffer(bytes.subarray(at + 4, bodyAt)));
    at = bodyAt + Number(message.bodyLength());
    if (!(at >= bodyAt && at <= bytes.length)) {
      throw new ArrowError("an Arrow message extends past the end of its stream");
    }
    const isSchema = message.headerType() === MessageHeader.Schema;
    if (isSchema !== isFirst) throw new ArrowError("its Arrow schema is not the first message");
    for (const length of isSchema ? lengthsInSchema(message) : lengthsInBatch(message)) {
      numElements += length;
      if (!(length >= 0 && numElements <= MAX_ELEMENTS)) {
        throw new ArrowError(`its metadata have a list of ${length} elements`);
      }
    }
  }
}

/** Yields the lengths of all lists in the message, each before those of its elements. */
function* lengthsInSchema(message: MessageTable): Generator<number> {
  const schema: SchemaTable = message.header(new SchemaTable());
  if (schema.endianness() !== Endianness.Little) throw new ArrowError("its Arrow stream is big-endian");
  if (message.bodyLength() !== 0n) throw new ArrowError("its Arrow schema has a body");
  yield message.customMetadataLength();
  yield schema.customMetadataLength();
  yield schema.fieldsLength();
  for (let i = 0; i < schema.fieldsLength(); i++) {
    const field = schema.fields(i);
    yield field?.customMetadataLength() ?? 0;
    if (field?.childrenLength()) throw new ArrowError("its Arrow columns are nested, which is not supported");
  }
}

/** Like {@link lengthsInSchema}. */
function* lengthsInBatch(message: MessageTable): Generator<number> {
  const type = message.headerType();
  const isDictionary = type === MessageHeader.DictionaryBatch;
  if (!isDictionary && type !== MessageHeader.RecordBatch) throw new ArrowError("it has Arrow tensors");
  const batch: BatchTable = isDictionary
    ? message.header(new DictionaryTable()).data()
    : message.header(new BatchTable());
  if (batch.compression()) throw new ArrowError("its Arrow buffers are compressed, which is not supported");
  yield message.customMetadataLength();
  yield batch.buffersLength();
  yield batch.variadicBufferCountsLength();
  yield batch.nodesLength();
  for (let i = 0; i < batch.nodesLength(); i++) {
    const length = batch.nodes(i)?.length();
    if (length !== batch.length()) throw new ArrowError(`an Arrow column has ${length} rows`);
  }
}
