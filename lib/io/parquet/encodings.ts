/**
 * Decoders for Parquet's encodings of flat columns
 * (https://parquet.apache.org/docs/file-format/data-pages/encodings/). All of them stop at the end of their
 * bytes and write no more values than requested, even if the bytes are damaged.
 *
 * @module
 */
import type { ParquetType, SchemaElement } from "hyparquet";
import { ByteCursor, EncodingError } from "./byte_cursor.ts";

/** The meaning of a column's integers. All kinds except `number` are converted to microseconds since 1970. */
export type NumberKind = "number" | "seconds" | "millis" | "micros" | "nanos";

/** The format's Encoding enum. */
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

const MINIBLOCK_MULTIPLE = 32;
/** Maximum total size of a page's byte arrays. Pages of current writers have 1 MB. */
const MAX_JOINED_BYTES = 2 ** 26;

/**
 * Decodes DELTA_BINARY_PACKED integers, which may be followed by other bytes.
 *
 * @returns The values and the number of bytes read.
 * @throws {EncodingError} If there are fewer values or the block sizes are impossible.
 */
function decodeDelta(
  bytes: Uint8Array,
  numValues: number,
): { values: BigInt64Array; numBytes: number } {
  const cursor = new ByteCursor(bytes);
  const blockSize = cursor.varint();
  const numMiniblocks = cursor.varint();
  const total = cursor.varint();
  const miniblockSize = blockSize / numMiniblocks;
  if (total !== numValues) throw new EncodingError(`${total} deltas for ${numValues} values`);
  if (!(miniblockSize > 0 && miniblockSize % MINIBLOCK_MULTIPLE === 0)) {
    throw new EncodingError(`delta blocks of ${blockSize} values in ${numMiniblocks} parts`);
  }
  const values = new BigInt64Array(numValues);
  let value = cursor.zigzag();
  if (numValues > 0) values[0] = value;
  for (let at = 1; at < numValues;) {
    const minDelta = cursor.zigzag();
    const widths = cursor.take(numMiniblocks);
    for (let part = 0; part < numMiniblocks && at < numValues; part++) {
      const end = Math.min(numValues, at + miniblockSize);
      const packed = cursor.take(widths[part] * miniblockSize / 8);
      for (let i = 0; at < end; at++, i++) {
        value = BigInt.asIntN(64, value + minDelta + bitsAt(packed, i, widths[part]));
        values[at] = value;
      }
    }
  }
  return { values, numBytes: bytes.length - cursor.left };
}

function bitsAt(bytes: Uint8Array, i: number, width: number): bigint {
  if (width === 0) return 0n;
  if (width > 64) throw new EncodingError(`a bit width of ${width}`);
  const firstBit = i * width;
  let value = 0n;
  const lastByte = firstBit + width - 1 >> 3;
  if (width <= 24) { // at most 31 bits in four bytes
    let word = 0;
    for (let byte = lastByte; byte >= firstBit >> 3; byte--) word = (word << 8 | bytes[byte]) >>> 0;
    return BigInt((word >>> (firstBit & 7)) & (2 ** width - 1));
  }
  for (let byte = lastByte; byte >= firstBit >> 3; byte--) value = value << 8n | BigInt(bytes[byte]);
  return BigInt.asUintN(width, value >> BigInt(firstBit & 7));
}

/** Byte arrays within one buffer. */
export interface ByteArrays {
  bytes: Uint8Array;
  /** Start and end of each array, interleaved. */
  bounds: Uint32Array;
}

/** Finds PLAIN byte arrays. @throws {EncodingError} If they extend past the end of the bytes. */
export function findPlainByteArrays(bytes: Uint8Array, numValues: number): ByteArrays {
  const bounds = new Uint32Array(2 * checkCount(numValues, bytes.length / 4));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  for (let i = 0; i < bounds.length; i += 2) {
    const begin = at + 4;
    at = begin <= bytes.length ? begin + view.getUint32(at, true) : Infinity;
    if (at > bytes.length) throw new EncodingError("the values end too early");
    bounds[i] = begin;
    bounds[i + 1] = at;
  }
  return { bytes, bounds };
}

/** Finds DELTA_LENGTH_BYTE_ARRAY values, like {@link findPlainByteArrays}. */
function findDeltaLengthByteArrays(bytes: Uint8Array, numValues: number): ByteArrays {
  const { values: lengths, numBytes } = decodeDelta(bytes, numValues);
  const bounds = new Uint32Array(2 * numValues);
  let at = numBytes;
  for (let i = 0; i < numValues; i++) {
    const length = Number(lengths[i]);
    if (!(length >= 0 && length <= bytes.length - at)) throw new EncodingError("the values end too early");
    bounds[2 * i] = at;
    bounds[2 * i + 1] = at += length;
  }
  return { bytes, bounds };
}

/**
 * Joins DELTA_BYTE_ARRAY prefixes and suffixes, keeping `maxLength` bytes of each value.
 *
 * @throws {EncodingError} If they extend past the end of the bytes.
 */
function joinDeltaByteArrays(bytes: Uint8Array, numValues: number, maxLength: number): ByteArrays {
  const { values: prefixes, numBytes } = decodeDelta(bytes, numValues);
  const suffixes = findDeltaLengthByteArrays(bytes.subarray(numBytes), numValues);
  const bounds = new Uint32Array(2 * numValues);
  let joined = new Uint8Array(bytes.length);
  let begin = 0;
  let end = 0;
  let length = 0;
  for (let i = 0; i < numValues; i++) {
    const prefix = Number(prefixes[i]);
    if (!(prefix >= 0 && prefix <= length)) throw new EncodingError(`a prefix of ${prefix} bytes`);
    const [from, to] = suffixes.bounds.subarray(2 * i, 2 * i + 2);
    length = prefix + to - from;
    const kept = Math.min(prefix, maxLength);
    const suffix = suffixes.bytes.subarray(from, Math.min(to, from + maxLength - kept));
    if (end > MAX_JOINED_BYTES) throw new EncodingError(`byte arrays of more than ${MAX_JOINED_BYTES} bytes`);
    if (end + kept + suffix.length > joined.length) joined = enlarged(joined, end + maxLength);
    joined.copyWithin(end, begin, begin + kept);
    joined.set(suffix, end + kept);
    [begin, end] = [end, end + kept + suffix.length];
    bounds[2 * i] = begin;
    bounds[2 * i + 1] = end;
  }
  return { bytes: joined, bounds };
}

function enlarged(bytes: Uint8Array<ArrayBuffer>, leastLength: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(2 * bytes.length, leastLength));
  larger.set(bytes);
  return larger;
}

/** Reverses BYTE_STREAM_SPLIT, returning consecutive values of `width` bytes. */
function decodeByteStreamSplit(bytes: Uint8Array, numValues: number, width: number): Uint8Array {
  checkCount(numValues, bytes.length / width);
  const values = new Uint8Array(numValues * width);
  for (let part = 0; part < width; part++) {
    for (let i = 0; i < numValues; i++) values[i * width + part] = bytes[part * numValues + i];
  }
  return values;
}

function checkCount(numValues: number, most: number): number {
  if (numValues > most) throw new EncodingError(`${numValues} values where ${Math.floor(most)} fit`);
  return numValues;
}

/** The unit of a time column's values; undefined if the column contains no times. */
export function timeKind({ type, logical_type, converted_type }: SchemaElement): NumberKind | undefined {
  if (logical_type?.type === "TIMESTAMP") {
    return logical_type.unit === "MILLIS" ? "millis" : logical_type.unit === "MICROS" ? "micros" : "nanos";
  }
  if (converted_type === "TIMESTAMP_MILLIS") return "millis";
  if (converted_type === "TIMESTAMP_MICROS") return "micros";
  return type === "INT96" ? "nanos" : undefined;
}

function isUnsigned({ logical_type, converted_type }: SchemaElement): boolean {
  return logical_type?.type === "INTEGER" ? !logical_type.isSigned : /^UINT/.test(converted_type ?? "");
}

/**
 * Decodes the numbers of a page. Integers of 2^53 and above become unsafe integers.
 *
 * @param numValues Without nulls.
 * @param how `kind`: what the numbers mean.
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
 * @param maxLength Number of bytes needed of each text; more may be returned.
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

/** Computes floor(nanoseconds / 1000) exactly, for a 64-bit integer given as two halves. */
function nanosToMicros(high: number, low: number): number {
  return high * 4_294_967 + Math.floor((high * 296 + low) / 1000);
}

/** Decodes INT96, the old timestamps of Spark and Impala: nanoseconds of the day, then the Julian day. */
function int96Us(view: DataView, at: number): number {
  const dayUs = nanosToMicros(view.getInt32(at + 4, true), view.getUint32(at, true));
  return (view.getInt32(at + 8, true) - JULIAN_DAY_1970) * DAY_US + dayUs;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes UTF-8. Short ASCII, such as addresses, is decoded without the cost of calling the decoder. */
export function decodeUtf8(bytes: Uint8Array): string {
  if (bytes.length > 64) return decoder.decode(bytes);
  for (let i = 0; i < bytes.length; i++) if (bytes[i] > 127) return decoder.decode(bytes);
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}
