/**
 * The columns of a one-batch Arrow IPC stream as typed arrays, checked: present, of a usable type, without
 * nulls, as long as the batch says.
 *
 * apache-arrow reads lazily and believes lengths; records come from files, so they are checked here.
 *
 * @module
 */
import { type Data, DataType, type RecordBatch, RecordBatchReader, TimeUnit, Type } from "apache-arrow";
import { FormatError } from "../errors.ts";

const US_PER_UNIT: Record<TimeUnit, number> = {
  [TimeUnit.SECOND]: 1e6,
  [TimeUnit.MILLISECOND]: 1e3,
  [TimeUnit.MICROSECOND]: 1,
  [TimeUnit.NANOSECOND]: 1e-3,
};

type Where = { path: string; place?: string };
type IntegerArray = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

/** One decoded record batch. */
export class ArrowColumns {
  readonly #batch: RecordBatch | undefined;
  readonly #where: Where;

  private constructor(batch: RecordBatch | undefined, where: Where) {
    this.#batch = batch;
    this.#where = where;
  }

  /**
   * Opens a stream of at most one non-empty batch.
   *
   * @param bytes An Arrow IPC stream.
   * @param where The file and place, for error messages.
   * @throws {FormatError} If it is none.
   */
  static decode(bytes: Uint8Array, where: Where): ArrowColumns {
    let batches: RecordBatch[];
    try {
      batches = RecordBatchReader.from(bytes).readAll().filter((batch) => batch.numRows > 0);
    } catch (cause) {
      throw new FormatError("its bytes are no Arrow IPC stream; write it again", { ...where, cause });
    }
    if (batches.length > 1) {
      throw new FormatError(`its Arrow stream has ${batches.length} batches, 1 was wanted`, where);
    }
    return new ArrowColumns(batches[0], where);
  }

  /** Number of rows of the batch. */
  get numRows(): number {
    return this.#batch?.numRows ?? 0;
  }

  /** Timestamps of any unit as microseconds since 1970. @throws {FormatError} If the column is none. */
  timesUs(name: string): Float64Array {
    const data = this.#column(name);
    const { type } = data;
    if (!DataType.isTimestamp(type)) throw this.#wrongType(name, type, "timestamp");
    const values = this.#values(name, data) as BigInt64Array;
    const halves = new Int32Array(values.buffer, values.byteOffset, 2 * this.numRows);
    const factor = US_PER_UNIT[type.unit];
    const timesUs = new Float64Array(this.numRows);
    for (let i = 0; i < timesUs.length; i++) {
      timesUs[i] = halves[2 * i + 1] * 2 ** 32 + (halves[2 * i] >>> 0);
    }
    if (factor > 1) { for (let i = 0; i < timesUs.length; i++) timesUs[i] *= factor; }
    if (factor < 1) { for (let i = 0; i < timesUs.length; i++) timesUs[i] = Number(values[i] / 1000n); }
    return timesUs;
  }

  /** Strings, dictionary-encoded or plain. @throws {FormatError} If the column is none. */
  strings(name: string): { values: string[]; index: Int32Array } {
    const data = this.#column(name);
    const { type } = data;
    if (!DataType.isDictionary(type)) return this.#plainStrings(name, data);
    const dictionary = data.dictionary;
    if (!dictionary || !DataType.isUtf8(type.dictionary)) throw this.#wrongType(name, type, "utf8");
    const values: string[] = [];
    for (const chunk of dictionary.data) values.push(...this.#texts(name, chunk));
    const raw = this.#values(name, data) as IntegerArray;
    const index = raw instanceof Int32Array ? raw : Int32Array.from(raw);
    for (let i = 0; i < index.length; i++) {
      if (index[i] < 0 || index[i] >= values.length) {
        throw this.#error(`its column ${name} points outside its dictionary (row ${i})`);
      }
    }
    return { values, index };
  }

  /** An integer column as int8. @throws {FormatError} If it is none. */
  int8(name: string): Int8Array {
    const data = this.#column(name);
    if (!DataType.isInt(data.type)) throw this.#wrongType(name, data.type, "int8");
    const values = this.#values(name, data);
    if (values instanceof Int8Array) return values;
    return Int8Array.from(values as ArrayLike<number | bigint>, Number);
  }

  /** A floating-point column as float32. @throws {FormatError} If it is none. */
  float32(name: string): Float32Array {
    const data = this.#column(name);
    if (data.type.typeId !== Type.Float || data.values.BYTES_PER_ELEMENT < 4) {
      throw this.#wrongType(name, data.type, "float32");
    }
    const values = this.#values(name, data);
    return values instanceof Float32Array ? values : Float32Array.from(values as Float64Array);
  }

  /** The first value of a number column. @throws {FormatError} If it is none. */
  number(name: string): number {
    return Number(this.#scalar(name));
  }

  /** The first value of an integer column. @throws {FormatError} If it is none. */
  bigint(name: string): bigint {
    const value = this.#scalar(name);
    if (!Number.isInteger(Number(value))) throw this.#error(`its column ${name} is no integer`);
    return BigInt(value);
  }

  /** The first value of a binary column, a view. @throws {FormatError} If it is none. */
  binary(name: string): Uint8Array {
    const data = this.#column(name);
    if (!DataType.isBinary(data.type) && !DataType.isLargeBinary(data.type)) {
      throw this.#wrongType(name, data.type, "binary");
    }
    const begin = Number(data.valueOffsets[0]);
    const end = Number(data.valueOffsets[1]);
    if (!(begin >= 0 && begin <= end && end <= data.values.length)) {
      throw this.#error(`its column ${name} reaches outside the record`);
    }
    return data.values.subarray(begin, end) as Uint8Array;
  }

  #scalar(name: string): number | bigint {
    const data = this.#column(name);
    if (!DataType.isInt(data.type) && !DataType.isFloat(data.type)) {
      throw this.#wrongType(name, data.type, "number");
    }
    return (this.#values(name, data) as unknown as ArrayLike<number | bigint>)[0];
  }

  #plainStrings(name: string, data: Data): { values: string[]; index: Int32Array } {
    if (!DataType.isUtf8(data.type)) throw this.#wrongType(name, data.type, "utf8");
    const known = new Map<string, number>();
    const index = new Int32Array(this.numRows);
    this.#texts(name, data).forEach((text, row) => {
      const at = known.get(text) ?? known.size;
      known.set(text, at);
      index[row] = at;
    });
    return { values: [...known.keys()], index };
  }

  #texts(name: string, data: Data): string[] {
    const { values, valueOffsets, length } = data;
    if (data.nullCount > 0) throw this.#error(`its column ${name} has nulls`);
    const texts: string[] = new Array(length);
    const decoder = new TextDecoder();
    const whole = decoder.decode(values);
    const isAscii = whole.length === values.length;
    for (let i = 0; i < length; i++) {
      const begin = valueOffsets[i];
      const end = valueOffsets[i + 1];
      if (!(begin >= 0 && begin <= end && end <= values.length)) {
        throw this.#error(`its column ${name} reaches outside the record`);
      }
      texts[i] = isAscii ? whole.slice(begin, end) : decoder.decode(values.subarray(begin, end));
    }
    return texts;
  }

  #column(name: string): Data {
    const at = this.#batch?.schema.fields.findIndex((field) => field.name === name) ?? -1;
    const data = this.#batch?.data.children[at];
    if (!data) throw this.#error(`it has no column ${name}; its records are no probe rows`);
    if (data.nullCount > 0) throw this.#error(`its column ${name} has nulls`);
    if (data.length !== this.numRows) throw this.#error(`its column ${name} has ${data.length} rows`);
    return data;
  }

  #values(name: string, data: Data): ArrayLike<unknown> & ArrayBufferView {
    const values = data.values as (ArrayLike<unknown> & ArrayBufferView) & {
      subarray(begin: number, end: number): ArrayLike<unknown> & ArrayBufferView;
    };
    if (!values || values.length < this.numRows) throw this.#error(`its column ${name} is cut off`);
    return values.length === this.numRows ? values : values.subarray(0, this.numRows);
  }

  #wrongType(name: string, type: DataType, wanted: string): FormatError {
    return this.#error(`its column ${name} is ${type}, ${wanted} was wanted`);
  }

  #error(message: string): FormatError {
    return new FormatError(message, this.#where);
  }
}
