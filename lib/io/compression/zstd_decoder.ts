/**
 * Zstandard decompression (RFC 8878) of single frames, and of streams with any number of frames (pzstd writes
 * several). `fzstd` 0.1.1 ignores checksums: for 3,061 of 3,526 flipped bits it returned wrong bytes.
 *
 * @module
 */
import { constants, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { FormatError, UserError } from "../../base/errors.ts";

/** The part of Node's internal handle that is used here, called as in Node's `lib/internal/zlib.js`. */
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
 * A decoder that takes input and output in pieces of any size over repeated calls. It skips skippable frames.
 *
 * `node:zlib` has no such call, so this class uses the handle below its stream, as Node's synchronous calls
 * do. Deno's stream silently stops after the first of several frames, accepts a truncated frame as complete,
 * and throws errors that cannot be caught. `zstdDecompressSync` makes a decoder for every call: 20 µs for a
 * record of 2 kB, of which 4 µs are the decompression (Deno 2.9, processor time).
 */
export class ZstdDecoder {
  readonly #handle: Handle;
  /** Number of output and input bytes left over by the last call. */
  readonly #left: Uint32Array;

  private constructor(handle: Handle, left: Uint32Array) {
    this.#handle = handle;
    this.#left = left;
  }

  /** Makes a decoder; undefined if the runtime has no compatible handle. */
  static open(): ZstdDecoder | undefined {
    const { _handle: handle, _writeState: left } = createZstdDecompress() as unknown as {
      _handle?: Partial<Handle>;
      _writeState?: unknown;
    };
    const isKnown = typeof handle?.writeSync === "function" && typeof handle.reset === "function";
    return isKnown && left instanceof Uint32Array ? new ZstdDecoder(handle as Handle, left) : undefined;
  }

  /** Clears the state that a damaged or truncated frame left behind. */
  reset(): void {
    this.#handle.reset();
  }

  /**
   * Decodes until the input is consumed or the output is full.
   *
   * @returns The number of input and output bytes left over.
   * @throws {Error} If the input is damaged.
   */
  decode(input: Uint8Array, output: Uint8Array): { inputLeft: number; outputLeft: number } {
    this.#handle.writeSync(constants.ZSTD_e_continue, input, 0, input.length, output, 0, output.length);
    return { inputLeft: this.#left[1], outputLeft: this.#left[0] };
  }
}

const OUTPUT_BYTES = 1 << 17;
const LAST_BYTE = 7;

/** One decoder per thread, made at the first frame; null if the runtime has no compatible handle. */
let decoder: ZstdDecoder | null | undefined;

/**
 * Decompresses a single frame.
 *
 * @param sizeBytes The stated size of the decompressed frame.
 * @returns The bytes, in a new buffer; fewer than stated if the frame has fewer or is truncated.
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
  // One output buffer of the right size. node:zlib needs at least 64 bytes.
  const options = { maxOutputLength: Math.max(1, sizeBytes), chunkSize: Math.max(64, sizeBytes) };
  const { buffer, byteOffset, byteLength } = zstdDecompressSync(frame, options);
  // A plain array, because `slice` of a Buffer would not copy.
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * Decompresses Zstandard frames, split into pieces anywhere.
 *
 * @param path The source file, for errors.
 * @throws {FormatError} If the bytes are damaged or end inside a frame.
 */
export async function* decompressZstd(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  const decoder = ZstdDecoder.open();
  if (!decoder) {
    throw new UserError(
      `Cannot read ${path}: this version of Deno cannot decompress Zstandard streams, expected 2.9 or newer; ` +
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

/** Whether the last frame is complete: only then does the decoder read another frame. */
function isBetweenFrames(decoder: ZstdDecoder): boolean {
  const output = new Uint8Array(2);
  try {
    const { outputLeft } = decoder.decode(zstdCompressSync(Uint8Array.of(LAST_BYTE)), output);
    return outputLeft === 1 && output[0] === LAST_BYTE;
  } catch {
    return false;
  }
}
