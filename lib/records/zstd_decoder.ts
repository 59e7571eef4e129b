/**
 * Decompresses Zstandard frames one by one with one decoder.
 *
 * `zstdDecompressSync` makes a decoder for every call: 20 µs for a record of 2 kB, of which 4 µs are the
 * decompression, and as much again in garbage collection (Deno 2.9, processor time). `node:zlib` has no public call
 * that uses a decoder again, so this one reaches the handle under a stream, as Node's own synchronous calls do; where
 * a handle of that form is missing, and for every frame that it does not decode at once, the public call is made.
 *
 * @module
 */
import { constants, createZstdDecompress, zstdDecompressSync } from "node:zlib";

/** The part of Node's internal handle that is used; `lib/internal/zlib.js` of Node calls it in the same way. */
interface Handle {
  reset(): void;
  onerror: (message: string, errno: number, code: string) => void;
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

/** A decoder, and where it says how many bytes of output and input it left over. */
interface Decoder {
  handle: Handle;
  left: Uint32Array;
}

/** One a thread, made when the first frame comes; null where there is none. */
let decoder: Decoder | null | undefined;
let hasFailed = false;

/**
 * Decompresses a frame.
 *
 * @param frame The compressed bytes.
 * @param sizeBytes How many bytes it is said to give.
 * @returns The bytes, in a buffer of their own; fewer than said where the frame has fewer or is cut off.
 * @throws {Error} If the frame cannot be decoded or gives more.
 */
export function decompressZstdFrame(frame: Uint8Array, sizeBytes: number): Uint8Array {
  decoder ??= openDecoder();
  return (decoder && tryDecoder(decoder, frame, sizeBytes)) ?? decompressPublicly(frame, sizeBytes);
}

function tryDecoder({ handle, left }: Decoder, frame: Uint8Array, sizeBytes: number): Uint8Array | undefined {
  const output = new Uint8Array(sizeBytes);
  hasFailed = false;
  // A frame that was cut off leaves the decoder inside of it.
  handle.reset();
  handle.writeSync(constants.ZSTD_e_end, frame, 0, frame.length, output, 0, sizeBytes);
  // Whatever is wrong, the public call says what it is.
  return !hasFailed && left[0] === 0 && left[1] === 0 ? output : undefined;
}

function openDecoder(): Decoder | null {
  const { _handle: handle, _writeState: left } = createZstdDecompress() as unknown as {
    _handle?: Partial<Handle>;
    _writeState?: Uint32Array;
  };
  const isKnown = typeof handle?.writeSync === "function" && typeof handle.reset === "function";
  if (!isKnown || !(left instanceof Uint32Array)) return null;
  handle.onerror = () => hasFailed = true;
  return { handle: handle as Handle, left };
}

function decompressPublicly(frame: Uint8Array, sizeBytes: number): Uint8Array {
  // One output buffer of the right size; node:zlib wants at least 64 bytes of it.
  const options = { maxOutputLength: Math.max(1, sizeBytes), chunkSize: Math.max(64, sizeBytes) };
  const { buffer, byteOffset, byteLength } = zstdDecompressSync(frame, options);
  // A plain array: `slice` of a Buffer would not copy.
  return new Uint8Array(buffer, byteOffset, byteLength);
}
