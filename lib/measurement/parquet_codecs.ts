/**
 * Decompression of Parquet pages (https://parquet.apache.org/docs/file-format/data-pages/compression/).
 *
 * @module
 */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { CompressionCodec } from "hyparquet";
import { decompressLz4, decompressLz4Raw, decompressSnappy } from "hyparquet-compressors";
import { EncodingError } from "./parquet_encodings.ts";

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

/**
 * Decompresses a page.
 *
 * @param codec The column chunk's compression.
 * @param page The compressed bytes.
 * @param numBytes How many bytes must come out.
 * @throws {Error} If the bytes are damaged or the codec is not known.
 */
export function decompressPage(codec: CompressionCodec, page: Uint8Array, numBytes: number): Uint8Array {
  const decompress = DECOMPRESS[codec];
  if (!decompress) throw new EncodingError(`compression ${codec} is not supported`);
  if (numBytes === 0) return new Uint8Array(0);
  const bytes = decompress(page, numBytes);
  if (bytes.length !== numBytes) {
    throw new EncodingError(`a page of ${bytes.length} bytes, ${numBytes} were stated`);
  }
  return bytes;
}
