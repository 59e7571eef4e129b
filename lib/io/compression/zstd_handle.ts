/**
 * A Zstandard decoder that is called again and again, for input and output in pieces of any size.
 *
 * `node:zlib` has no such call, so this one uses the handle under its stream, as Node's own synchronous calls do.
 * Deno's stream silently stops after the first of several frames, accepts a truncated frame as complete, and throws
 * errors where nobody can catch them. `zstdDecompressSync` makes a decoder for every call: 20 µs for a record of 2 kB, of
 * which 4 µs are the decompression (Deno 2.9, processor time).
 *
 * @module
 */
import { constants, createZstdDecompress } from "node:zlib";

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

/** Decodes frames one after another; skippable ones are skipped. */
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
