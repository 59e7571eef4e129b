/**
 * TFRecord framing: u64 length, its masked CRC-32C, the data, the data's masked CRC-32C, little-endian.
 * https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
 *
 * @module
 */

/** The polynomial of CRC-32C (Castagnoli), bits reversed: RFC 3720, appendix B.4. */
const POLYNOMIAL = 0x82f63b78;
/** Added to a rotated checksum, so that data with checksums in it do not weaken their own: tsl/lib/hash/crc32c.h. */
const MASK_DELTA = 0xa282ead8;
const HEADER_BYTES = 12;
const FOOTER_BYTES = 4;

/** One record of a file. */
export interface TfRecord {
  data: Uint8Array;
  /** The end of the record in the file. */
  endBytes: number;
}

/** Puts data into its frame. */
export function encodeTfRecord(data: Uint8Array): Uint8Array<ArrayBuffer> {
  const record = new Uint8Array(HEADER_BYTES + data.length + FOOTER_BYTES);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedCrc32c(record.subarray(0, 8)), true);
  record.set(data, HEADER_BYTES);
  view.setUint32(HEADER_BYTES + data.length, maskedCrc32c(data), true);
  return record;
}

/** The records of a file from its beginning, up to the first that is truncated or damaged. */
export function* decodeTfRecords(bytes: Uint8Array): Generator<TfRecord> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + HEADER_BYTES + FOOTER_BYTES <= bytes.length;) {
    if (view.getUint32(at + 8, true) !== maskedCrc32c(bytes.subarray(at, at + 8))) return;
    const dataEnd = at + HEADER_BYTES + Number(view.getBigUint64(at, true));
    if (dataEnd + FOOTER_BYTES > bytes.length) return;
    const data = bytes.subarray(at + HEADER_BYTES, dataEnd);
    if (view.getUint32(dataEnd, true) !== maskedCrc32c(data)) return;
    at = dataEnd + FOOTER_BYTES;
    yield { data, endBytes: at };
  }
}

/** The CRC-32C of bytes, rotated by 15 bits and offset, as TFRecord stores it. */
function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

/** CRC-32C: RFC 3720, appendix B.4. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  return crc;
});
