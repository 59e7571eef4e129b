/**
 * Decompresses Zstandard frames one by one with one decoder.
 *
 * @module
 */
import { zstdDecompressSync } from "node:zlib";
import { ZstdDecoder } from "../runtime/zstd_decoder.ts";

/** One a thread, made when the first frame comes; null where there is none. */
let decoder: ZstdDecoder | null | undefined;

/**
 * Decompresses a frame.
 *
 * @param frame The compressed bytes.
 * @param sizeBytes How many bytes it is said to give.
 * @returns The bytes, in a buffer of their own; fewer than said where the frame has fewer or is cut off.
 * @throws {Error} If the frame cannot be decoded or gives more.
 */
export function decompressZstdFrame(frame: Uint8Array, sizeBytes: number): Uint8Array {
  decoder ??= ZstdDecoder.open() ?? null;
  // Whatever is wrong, the public call says what it is.
  return (decoder && tryDecoder(decoder, frame, sizeBytes)) ?? decompressPublicly(frame, sizeBytes);
}

function tryDecoder(decoder: ZstdDecoder, frame: Uint8Array, sizeBytes: number): Uint8Array | undefined {
  const output = new Uint8Array(sizeBytes);
  // A frame that was cut off leaves the decoder inside of it.
  decoder.reset();
  try {
    const { inputLeft, outputLeft } = decoder.decode(frame, output);
    return inputLeft === 0 && outputLeft === 0 ? output : undefined;
  } catch {
    return undefined;
  }
}

function decompressPublicly(frame: Uint8Array, sizeBytes: number): Uint8Array {
  // One output buffer of the right size; node:zlib wants at least 64 bytes of it.
  const options = { maxOutputLength: Math.max(1, sizeBytes), chunkSize: Math.max(64, sizeBytes) };
  const { buffer, byteOffset, byteLength } = zstdDecompressSync(frame, options);
  // A plain array: `slice` of a Buffer would not copy.
  return new Uint8Array(buffer, byteOffset, byteLength);
}
