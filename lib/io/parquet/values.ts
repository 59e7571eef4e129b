/**
 * Parquet's physical values turned into numbers, times and texts.
 *
 * @module
 */
import type { ParquetType, SchemaElement } from "hyparquet";
import {
  type ByteArrays,
  decodeByteStreamSplit,
  decodeDelta,
  EncodingError,
  findDeltaLengthByteArrays,
  findPlainByteArrays,
  joinDeltaByteArrays,
} from "./encodings.ts";

/** The meaning of a column's integers; all kinds but `number` are converted to microseconds since 1970. */
export type NumberKind = "number" | "seconds" | "millis" | "micros" | "nanos";

/** The numbers of the format's Encoding enum. */
export const ENCODING = {
  plain: 0,
  plainDictionary: 2,
  deltaBinaryPacked: 5,
  deltaLengthByteArray: 6,
  deltaByteArray: 7,
  rleDictionary: 8,
  byteStreamSplit: 9,
} as const;

const WIDTHS: Partial<Record<ParquetType, number>> = { INT32: 4, INT64: 8, INT96: 12, FLOAT: 4, DOUBLE: 8 };
const JULIAN_DAY_1970 = 2_440_588;
const TWO_32 = 2 ** 32;
const DAY_US = 86_400e6;

/** The unit of a time column's values, or undefined if the column holds no times. */
export function timeKind({ type, logical_type, converted_type }: SchemaElement): NumberKind | undefined {
  if (logical_type?.type === "TIMESTAMP") {
    return logical_type.unit === "MILLIS" ? "millis" : logical_type.unit === "MICROS" ? "micros" : "nanos";
  }
  if (converted_type === "TIMESTAMP_MILLIS") return "millis";
  if (converted_type === "TIMESTAMP_MICROS") return "micros";
  return type === "INT96" ? "nanos" : undefined;
}

/** Whether a column's integers have no sign. */
function isUnsigned({ logical_type, converted_type }: SchemaElement): boolean {
  return logical_type?.type === "INTEGER" ? !logical_type.isSigned : /^UINT/.test(converted_type ?? "");
}

/**
 * Decodes the numbers of a page; integers of 2^53 and more become unsafe integers.
 *
 * @param bytes The encoded values.
 * @param numValues Number of values, without nulls.
 * @param how `element`: the column; `encoding`: of the page; `kind`: what the numbers are.
 * @throws {EncodingError} If the bytes are damaged or the encoding does not fit the type.
 */
export function decodeNumbers(
  bytes: Uint8Array,
  numValues: number,
  { element, encoding, kind }: { element: SchemaElement; encoding: number; kind: NumberKind },
): Float64Array {
  const { type } = element;
  const width = type && WIDTHS[type];
  if (!width) throw new EncodingError(`numbers of type ${type}`);
  const plain = toPlain(bytes, numValues, { type, encoding, width });
  if (plain.length < numValues * width) throw new EncodingError("the values end too early");
  const view = new DataView(plain.buffer, plain.byteOffset, numValues * width);
  const numbers = new Float64Array(numValues);
  const lift = isUnsigned(element) ? TWO_32 : 0;
  const scale = kind === "seconds" ? 1e6 : kind === "millis" ? 1e3 : 1;
  for (let i = 0; i < numValues; i++) {
    const at = i * width;
    if (type === "DOUBLE") numbers[i] = view.getFloat64(at, true) * scale;
    else if (type === "FLOAT") numbers[i] = view.getFloat32(at, true) * scale;
    else if (type === "INT32") {
      const value = view.getInt32(at, true);
      numbers[i] = (value < 0 ? value + lift : value) * scale;
    } else if (type === "INT96") numbers[i] = int96Us(view, at);
    else {
      const low = view.getUint32(at, true);
      const signed = view.getInt32(at + 4, true);
      const high = signed < 0 ? signed + lift : signed;
      numbers[i] = kind === "nanos" ? nanosToMicros(high, low) : (high * TWO_32 + low) * scale;
    }
  }
  return numbers;
}

/**
 * Finds the texts of a page, as UTF-8.
 *
 * @param maxLength Number of bytes of each that are needed; there may be more.
 * @throws {EncodingError} If the bytes are damaged or the encoding is not for byte arrays.
 */
export function findTexts(
  bytes: Uint8Array,
  numValues: number,
  { encoding, maxLength }: { encoding: number; maxLength: number },
): ByteArrays {
  if (encoding === ENCODING.plain) return findPlainByteArrays(bytes, numValues);
  if (encoding === ENCODING.deltaLengthByteArray) return findDeltaLengthByteArrays(bytes, numValues);
  if (encoding === ENCODING.deltaByteArray) return joinDeltaByteArrays(bytes, numValues, maxLength);
  throw new EncodingError(`encoding ${encoding} of texts`);
}

function toPlain(
  bytes: Uint8Array,
  numValues: number,
  { type, encoding, width }: { type: ParquetType; encoding: number; width: number },
): Uint8Array {
  if (encoding === ENCODING.plain) return bytes;
  if (encoding === ENCODING.byteStreamSplit) return decodeByteStreamSplit(bytes, numValues, width);
  if (encoding !== ENCODING.deltaBinaryPacked || !type.startsWith("INT")) {
    throw new EncodingError(`encoding ${encoding} of ${type}`);
  }
  const { values } = decodeDelta(bytes, numValues);
  if (type === "INT64") return new Uint8Array(values.buffer);
  return new Uint8Array(Int32Array.from(values, (value) => Number(BigInt.asIntN(32, value))).buffer);
}

/** Exact floor(nanoseconds / 1000) of a 64-bit integer in two halves. */
function nanosToMicros(high: number, low: number): number {
  return high * 4_294_967 + Math.floor((high * 296 + low) / 1000);
}

/** INT96: nanoseconds of the day, then the Julian day; Spark's and Impala's old timestamps. */
function int96Us(view: DataView, at: number): number {
  const dayUs = nanosToMicros(view.getInt32(at + 4, true), view.getUint32(at, true));
  return (view.getInt32(at + 8, true) - JULIAN_DAY_1970) * DAY_US + dayUs;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** UTF-8 to text; short ASCII, such as addresses, without the cost of a call into the decoder. */
export function decodeUtf8(bytes: Uint8Array): string {
  if (bytes.length > 64) return decoder.decode(bytes);
  for (let i = 0; i < bytes.length; i++) if (bytes[i] > 127) return decoder.decode(bytes);
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}
