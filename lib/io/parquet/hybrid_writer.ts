/**
 * Writes Parquet's hybrid of run-length encoding and bit packing, in which dictionary indexes and definition levels
 * are stored (https://parquet.apache.org/docs/file-format/data-pages/encodings/, "Run Length Encoding / Bit-Packing
 * Hybrid").
 *
 * @module
 */

/** Values that are packed together; a packed run has a multiple of this. */
const GROUP = 8;

/** The largest number of bytes that {@link encodeHybrid} writes. */
export function maxHybridBytes(numValues: number, bitWidth: number): number {
  // The values of a run of 8 or more take no more bytes than if they were packed; its header has up to 5 bytes.
  return Math.ceil(numValues / GROUP) * (bitWidth + 10) + 16;
}

/**
 * Encodes values.
 *
 * @param values The values, each below 2^bitWidth.
 * @param numValues The number of values to encode.
 * @param bitWidth Bits of a value, 1..24.
 * @param out Takes the bytes; {@link maxHybridBytes} of them must fit.
 * @param at The index in `out` to begin at.
 * @returns The end of the bytes.
 */
export function encodeHybrid(
  values: Int32Array,
  numValues: number,
  { bitWidth, out, at }: { bitWidth: number; out: Uint8Array; at: number },
): number {
  let packedFrom = 0;
  let row = 0;
  while (row < numValues) {
    const value = values[row];
    let runEnd = row + 1;
    while (runEnd < numValues && values[runEnd] === value) runEnd++;
    if (runEnd - row < GROUP) {
      row += GROUP;
      continue;
    }
    at = packRun(values, packedFrom, row, { bitWidth, out, at });
    at = writeVarint(out, at, (runEnd - row) * 2);
    for (let shift = 0; shift < bitWidth; shift += 8) out[at++] = value >> shift;
    row = packedFrom = runEnd;
  }
  return packRun(values, packedFrom, numValues, { bitWidth, out, at });
}

/** Packs `values[from..end - 1]`, the last group filled up with zeros; writes nothing for no values. */
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

/**
 * Writes an unsigned LEB128 number.
 *
 * @param out Takes the bytes.
 * @param at The index to begin at.
 * @param value 0..2^31 - 1.
 * @returns The end of the bytes.
 */
export function writeVarint(out: Uint8Array, at: number, value: number): number {
  while (value >= 128) {
    out[at++] = value | 128;
    value >>>= 7;
  }
  out[at++] = value;
  return at;
}
