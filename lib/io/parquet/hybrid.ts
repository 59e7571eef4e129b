/**
 * Parquet's hybrid of run-length encoding and bit packing, used for dictionary indexes and levels
 * (https://parquet.apache.org/docs/file-format/data-pages/encodings/, "Run Length Encoding / Bit-Packing
 * Hybrid").
 *
 * `hyparquet-writer` takes 2 to 26 times as long for the same bytes (1 to 17 bits, 2 x86 cores, 2026-11).
 *
 * @module
 */
import { ByteCursor, EncodingError } from "./byte_cursor.ts";

/** Number of values packed together. The length of a packed run is a multiple of it. */
const GROUP = 8;

/** Decodes values of `bitWidth` bits, 0 to 32, to fill `out`. @throws {EncodingError} If there are fewer. */
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
  // 17 bits that start at any bit of a byte lie within three bytes. Bit offsets must stay below 2^31.
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

/** Reads `width` bits, 1 to 32, at a bit offset. */
function wideBitsAt(bytes: Uint8Array, firstBit: number, width: number): number {
  const first = Math.floor(firstBit / 8);
  const last = Math.floor((firstBit + width - 1) / 8);
  let value = 0; // below 2^40: at most 32 bits of the value and 7 more
  for (let at = last; at >= first; at--) value = value * 256 + bytes[at];
  return Math.floor(value / 2 ** (firstBit % 8)) % 2 ** width;
}

/**
 * @param values Each below 2^bitWidth.
 * @param bitWidth Bits per value, 1..24.
 * @param head Bytes that precede the result.
 */
export function encodeHybrid(values: Int32Array, bitWidth: number, head: readonly number[] = []): Uint8Array {
  // The values of a run of 8 or more take no more bytes than if packed; the run's header has up to 5 bytes.
  const out = new Uint8Array(head.length + Math.ceil(values.length / GROUP) * (bitWidth + 10) + 16);
  out.set(head);
  let at = head.length;
  let packedFrom = 0;
  let row = 0;
  while (row < values.length) {
    const value = values[row];
    let runEnd = row + 1;
    while (runEnd < values.length && values[runEnd] === value) runEnd++;
    if (runEnd - row < GROUP) {
      row += GROUP;
      continue;
    }
    at = packRun(values, packedFrom, row, { bitWidth, out, at });
    at = writeVarint(out, at, (runEnd - row) * 2);
    for (let shift = 0; shift < bitWidth; shift += 8) out[at++] = value >> shift;
    row = packedFrom = runEnd;
  }
  return out.subarray(0, packRun(values, packedFrom, values.length, { bitWidth, out, at }));
}

/** Packs `values[from..end - 1]`, padding the last group with zeros. Writes nothing if there are none. */
function packRun(
  values: Int32Array,
  from: number,
  end: number,
  { bitWidth, out, at }: { bitWidth: number; out: Uint8Array; at: number },
): number {
  if (from === end) return at;
  const numGroups = Math.ceil((end - from) / GROUP);
  at = writeVarint(out, at, numGroups * 2 + 1);
  const packedEnd = at + numGroups * bitWidth;
  let bits = 0; // at most 7 bits left and 24 more
  let numBits = 0;
  for (let row = from; row < end; row++) {
    bits |= values[row] << numBits;
    numBits += bitWidth;
    while (numBits >= 8) {
      out[at++] = bits;
      bits >>>= 8;
      numBits -= 8;
    }
  }
  if (numBits > 0) out[at++] = bits;
  out.fill(0, at, packedEnd);
  return packedEnd;
}

/** Writes an unsigned LEB128 number below 2^31 at an index. @returns The index after it. */
function writeVarint(out: Uint8Array, at: number, value: number): number {
  while (value >= 128) {
    out[at++] = value | 128;
    value >>>= 7;
  }
  out[at++] = value;
  return at;
}
