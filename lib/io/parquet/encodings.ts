/**
 * Decoders of Parquet's encodings (https://parquet.apache.org/docs/file-format/data-pages/encodings/), for columns
 * that are not nested. All of them stop at the end of their bytes and write only as many values as requested, even if
 * the bytes are damaged.
 *
 * @module
 */

/** Thrown for bytes that violate their encoding. */
export class EncodingError extends Error {
  override name = "EncodingError";
}

const MINIBLOCK_MULTIPLE = 32;
/** The largest total size of a page's byte arrays; writers' pages have 1 MB. */
const MAX_JOINED_BYTES = 2 ** 26;

/**
 * Decodes the run-length and bit-packed hybrid.
 *
 * @param bytes The runs.
 * @param bitWidth Bits of a value, 0..32.
 * @param out Filled with values.
 * @throws {EncodingError} If there are fewer values than that.
 */
export function decodeHybrid(bytes: Uint8Array, bitWidth: number, out: Int32Array): void {
  if (bitWidth > 32) throw new EncodingError(`a bit width of ${bitWidth}`);
  if (bitWidth === 0) {
    out.fill(0);
    return;
  }
  const cursor = new ByteCursor(bytes);
  const valueBytes = (bitWidth + 7) >> 3;
  for (let at = 0; at < out.length;) {
    const head = cursor.varint();
    const isPacked = head % 2 === 1;
    const runLength = isPacked ? (head - 1) * 4 : head / 2;
    const end = Math.min(out.length, at + runLength);
    if (isPacked) {
      const numBytes = Math.min((head - 1) / 2 * bitWidth, cursor.left);
      if (numBytes * 8 < (end - at) * bitWidth) throw new EncodingError("a packed run ends too early");
      unpackBits(cursor.take(numBytes), bitWidth, out, at, end);
    } else {
      const value = cursor.take(valueBytes);
      let run = 0;
      for (let i = 0; i < valueBytes; i++) run |= value[i] << 8 * i;
      out.fill(run, at, end);
    }
    at = end;
  }
}

function unpackBits(bytes: Uint8Array, bitWidth: number, out: Int32Array, from: number, end: number): void {
  const numValues = end - from;
  // 17 bits that begin at any of a byte's 8 bits lie within three bytes. Bit numbers must stay below 2^31.
  const isFast = bitWidth <= 17 && bytes.length < 2 ** 28;
  const numFast = isFast ? Math.min(numValues, Math.floor((bytes.length - 2) * 8 / bitWidth) - 1) : 0;
  const mask = 2 ** bitWidth - 1;
  let bit = 0;
  for (let i = 0; i < numFast; i++, bit += bitWidth) {
    const at = bit >>> 3;
    const word = bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16;
    out[from + i] = word >>> (bit & 7) & mask;
  }
  for (let i = Math.max(0, numFast); i < numValues; i++) {
    out[from + i] = wideBitsAt(bytes, i * bitWidth, bitWidth);
  }
}

/** Reads `width` bits, 1 to 32, from a bit position. */
function wideBitsAt(bytes: Uint8Array, firstBit: number, width: number): number {
  const first = Math.floor(firstBit / 8);
  const last = Math.floor((firstBit + width - 1) / 8);
  let value = 0; // below 2^40: at most 32 wanted bits and 7 more
  for (let at = last; at >= first; at--) value = value * 256 + bytes[at];
  return Math.floor(value / 2 ** (firstBit % 8)) % 2 ** width;
}

/**
 * Decodes DELTA_BINARY_PACKED integers.
 *
 * @param bytes The encoded values, perhaps followed by other bytes.
 * @param numValues Number of values.
 * @returns The values and the number of bytes read.
 * @throws {EncodingError} If there are fewer values or the block sizes are impossible.
 */
export function decodeDelta(
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

/** The i-th value of `width` bits. */
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
  /** The begin and the end of each array, interleaved. */
  bounds: Uint32Array;
}

/**
 * Finds PLAIN byte arrays.
 *
 * @param bytes The encoded values.
 * @param numValues Number of values.
 * @throws {EncodingError} If they pass the end of the bytes.
 */
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

/** Finds DELTA_LENGTH_BYTE_ARRAY values; see {@link findPlainByteArrays}. */
export function findDeltaLengthByteArrays(bytes: Uint8Array, numValues: number): ByteArrays {
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
 * Joins DELTA_BYTE_ARRAY prefixes and suffixes.
 *
 * @param bytes The encoded values.
 * @param numValues Number of values.
 * @param maxLength Number of bytes of each value that are kept.
 * @throws {EncodingError} If they pass the end of the bytes.
 */
export function joinDeltaByteArrays(bytes: Uint8Array, numValues: number, maxLength: number): ByteArrays {
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

/** Undoes BYTE_STREAM_SPLIT: the values of `width` bytes one after another. */
export function decodeByteStreamSplit(bytes: Uint8Array, numValues: number, width: number): Uint8Array {
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

/** A cursor that never moves past the end of its bytes. */
class ByteCursor {
  #at = 0;

  constructor(readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.#at;
  }

  take(numBytes: number): Uint8Array {
    if (!(numBytes >= 0 && numBytes <= this.left)) throw new EncodingError("the values end too early");
    return this.bytes.subarray(this.#at, this.#at += numBytes);
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 128) {
      const byte = this.take(1)[0];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new EncodingError("a number of more than 10 bytes");
  }

  zigzag(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.take(1)[0];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value >> 1n ^ -(value & 1n);
    }
    throw new EncodingError("a number of more than 10 bytes");
  }
}
