/**
 * Zstandard decompression (RFC 8878): of single frames, and of a stream of any number of frames (pzstd writes several).
 *
 * @module
 */
import { constants, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { FormatError, UserError } from "../../base/errors.ts";

/** The part of Node's internal handle that is used; `lib/internal/zlib.js` of Node calls it in the same way. */
interface Handle {
  reset(): void;
  writeSync(
    flush: number,
    input: Uint8Array,
    inputAt: number,
    inputBytes: number,
    output: Uint8Array,
    outputAt: number,
    outputBytes: number,
  ): void;
}

/**
 * A decoder that is called again and again, for input and output in pieces of any size; skippable frames are skipped.
 *
 * `node:zlib` has no such call, so this one uses the handle under its stream, as Node's own synchronous calls do.
 * Deno's stream silently stops after the first of several frames, accepts a truncated frame as complete, and throws
 * errors where nobody can catch them. `zstdDecompressSync` makes a decoder for every call: 20 µs for a record of 2 kB, of
 * which 4 µs are the decompression (Deno 2.9, processor time).
 */
export class ZstdDecoder {
  readonly #handle: Handle;
  /** Bytes of output and input left over by the last call. */
  readonly #left: Uint32Array;

  private constructor(handle: Handle, left: Uint32Array) {
    this.#handle = handle;
    this.#left = left;
  }

  /** Makes a decoder; undefined if the runtime has no handle of that form. */
  static open(): ZstdDecoder | undefined {
    const { _handle: handle, _writeState: left } = createZstdDecompress() as unknown as {
      _handle?: Partial<Handle>;
      _writeState?: unknown;
    };
    const isKnown = typeof handle?.writeSync === "function" && typeof handle.reset === "function";
    return isKnown && left instanceof Uint32Array ? new ZstdDecoder(handle as Handle, left) : undefined;
  }

  /** Clears the state that a damaged or truncated frame left. */
  reset(): void {
    this.#handle.reset();
  }

  /**
   * Decodes until the input is used up or the output is full.
   *
   * @returns The number of bytes of the input and of the output that are left over.
   * @throws {Error} If the input is damaged.
   */
  decode(input: Uint8Array, output: Uint8Array): { inputLeft: number; outputLeft: number } {
    this.#handle.writeSync(constants.ZSTD_e_continue, input, 0, input.length, output, 0, output.length);
    return { inputLeft: this.#left[1], outputLeft: this.#left[0] };
  }
}

const OUTPUT_BYTES = 1 << 17;
const LAST_BYTE = 7;

/** One per thread, made at the first frame; null if the runtime has none. */
let decoder: ZstdDecoder | null | undefined;

/**
 * Decompresses a frame.
 *
 * @param sizeBytes The stated size of the decompressed frame.
 * @returns The bytes, in a buffer of their own; fewer than stated if the frame has fewer or is truncated.
 * @throws {Error} If the frame cannot be decoded or has more bytes than stated.
 */
export function decompressZstdFrame(frame: Uint8Array, sizeBytes: number): Uint8Array {
  decoder ??= ZstdDecoder.open() ?? null;
  // The public call reports the fault.
  return (decoder && tryDecoder(decoder, frame, sizeBytes)) ?? decompressPublicly(frame, sizeBytes);
}

function tryDecoder(decoder: ZstdDecoder, frame: Uint8Array, sizeBytes: number): Uint8Array | undefined {
  const output = new Uint8Array(sizeBytes);
  // A truncated frame leaves the decoder inside the frame.
  decoder.reset();
  try {
    const { inputLeft, outputLeft } = decoder.decode(frame, output);
    return inputLeft === 0 && outputLeft === 0 ? output : undefined;
  } catch {
    return undefined;
  }
}

function decompressPublicly(frame: Uint8Array, sizeBytes: number): Uint8Array {
  // One output buffer of the right size; node:zlib needs at least 64 bytes.
  const options = { maxOutputLength: Math.max(1, sizeBytes), chunkSize: Math.max(64, sizeBytes) };
  const { buffer, byteOffset, byteLength } = zstdDecompressSync(frame, options);
  // A plain array: `slice` of a Buffer would not copy.
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * Decompresses Zstandard frames, which may be cut anywhere.
 *
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
      `Cannot read ${path}: this Deno has no Zstandard decoder for streams, expected one as in Deno 2.9; ` +
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

/** Whether the last frame is complete: only then does the decoder read another one. */
function isBetweenFrames(decoder: ZstdDecoder): boolean {
  const output = new Uint8Array(2);
  try {
    const { outputLeft } = decoder.decode(zstdCompressSync(Uint8Array.of(LAST_BYTE)), output);
    return outputLeft === 1 && output[0] === LAST_BYTE;
  } catch {
    return false;
  }
}
