/**
 * Zstandard decompression (RFC 8878): of single frames, and of a stream of any number of frames (pzstd writes several).
 *
 * @module
 */
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { FormatError, UserError } from "../errors.ts";
import { ZstdDecoder } from "../runtime/zstd_decoder.ts";

const OUTPUT_BYTES = 1 << 17;
const LAST_BYTE = 7;

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

/**
 * Decompresses Zstandard frames.
 *
 * @param chunks The compressed bytes, cut anywhere.
 * @param path The file they come from, for errors.
 * @throws {FormatError} If the bytes are damaged or end inside a frame.
 */
export async function* decompressZstd(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  const decoder = ZstdDecoder.open();
  if (!decoder) {
    throw new UserError(
      `Cannot read ${path}: this Deno has no Zstandard decoder for streams, one as in Deno 2.9 was wanted; ` +
        "decompress the file with zstd -d",
    );
  }
  let offsetBytes = 0;
  for await (const chunk of chunks) {
    let rest = chunk;
    let isFull = false;
    while (rest.length > 0 || isFull) {
      const output = new Uint8Array(OUTPUT_BYTES);
      const { inputLeft, outputLeft } = decode(decoder, rest, output, { path, offsetBytes });
      offsetBytes += rest.length - inputLeft;
      rest = rest.subarray(rest.length - inputLeft);
      isFull = outputLeft === 0;
      if (outputLeft < OUTPUT_BYTES) yield output.subarray(0, OUTPUT_BYTES - outputLeft);
    }
  }
  if (!isBetweenFrames(decoder)) {
    throw new FormatError("the zstd data ends too early, the file is truncated; fetch it again", {
      path,
      offsetBytes,
    });
  }
}

function decode(
  decoder: ZstdDecoder,
  input: Uint8Array,
  output: Uint8Array,
  where: { path: string; offsetBytes: number },
): { inputLeft: number; outputLeft: number } {
  try {
    return decoder.decode(input, output);
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new FormatError(`the zstd data is damaged (${what}); fetch the file again`, { ...where, cause });
  }
}

/** Whether the last frame is whole: only then does the decoder read another one. */
function isBetweenFrames(decoder: ZstdDecoder): boolean {
  const output = new Uint8Array(2);
  try {
    const { outputLeft } = decoder.decode(zstdCompressSync(Uint8Array.of(LAST_BYTE)), output);
    return outputLeft === 1 && output[0] === LAST_BYTE;
  } catch {
    return false;
  }
}
