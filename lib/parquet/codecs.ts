/**
 * Decompression of Parquet pages (https://parquet.apache.org/docs/file-format/data-pages/compression/).
 *
 * @module
 */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { CompressionCodec } from "hyparquet";
import { compressors, decompressLz4, decompressLz4Raw } from "hyparquet-compressors";
import { ensure } from "../errors.ts";
import { EncodingError } from "./encodings.ts";
import { CompactReader } from "./thrift_reader.ts";

type Decompress = (page: Uint8Array, numBytes: number) => Uint8Array;

const DECOMPRESS: Partial<Record<CompressionCodec, Decompress>> = {
  UNCOMPRESSED: (page) => page,
  SNAPPY: decompressSnappy,
  GZIP: (page, numBytes) => gunzipSync(page, { maxOutputLength: numBytes }),
  BROTLI: (page, numBytes) => brotliDecompressSync(page, { maxOutputLength: numBytes }),
  ZSTD: (page, numBytes) => zstdDecompressSync(page, { maxOutputLength: numBytes }),
  LZ4: decompressLz4,
  LZ4_RAW: decompressLz4Raw,
};

/** All pages share one WebAssembly instance: one per page would use up the mappings that a process may have. */
function decompressSnappy(page: Uint8Array, numBytes: number): Uint8Array {
  const stated = new CompactReader(page).varint(); // Snappy's lengths are LEB128 numbers as Thrift's are
  if (stated !== numBytes) throw new EncodingError(`a page of ${stated} bytes, expected ${numBytes}`);
  ensure(compressors.SNAPPY, "hyparquet-compressors has Snappy");
  return compressors.SNAPPY(page, numBytes);
}

/**
 * Decompresses a page.
 *
 * @param codec The column chunk's compression.
 * @param page The compressed bytes.
 * @param numBytes The expected size of the page.
 * @throws {Error} If the bytes are damaged or the codec is unknown.
 */
export function decompressPage(codec: CompressionCodec, page: Uint8Array, numBytes: number): Uint8Array {
  const decompress = DECOMPRESS[codec];
  if (!decompress) throw new EncodingError(`compression ${codec} is not supported`);
  if (numBytes === 0) return new Uint8Array(0);
  const bytes = decompress(page, numBytes);
  if (bytes.length !== numBytes) {
    throw new EncodingError(`a page of ${bytes.length} bytes, expected ${numBytes}`);
  }
  return bytes;
}
