/**
 * Decompresses bzip2 streams of any length, one block at a time
 * (https://en.wikipedia.org/wiki/Bzip2#File_format; there is no specification apart from the source of bzip2
 * 1.0.8).
 *
 * unbzip2-stream decodes the blocks. Its own stream decodes all blocks of its input at once, and a few
 * hundred bytes can expand to gigabytes; here memory holds one block and its text, at most 46 MB.
 *
 * @module
 */
import untypedReader from "unbzip2-stream/lib/bit_iterator.js";
import untypedDecoder from "unbzip2-stream/lib/bzip2.js";
import { FormatError } from "../../base/errors.ts";

/** Reads bits, most significant first within a byte; `null` skips to the next whole byte. */
interface BitReader {
  (numBits: number | null): number;
  /** Number of bytes of which at least one bit was read. */
  readonly bytesRead: number;
}

/** The block decoder. All streams share its state, which `header` resets. It throws at invalid bytes. */
interface BlockDecoder {
  /** Reads a stream's header. @returns The level: a block has up to `100000 * level` bytes. */
  header(bits: BitReader): number;
  /**
   * Decodes a block.
   *
   * @param put Receives each decoded byte.
   * @param buffer `100000 * level` numbers of any value.
   * @param checksum The checksum of the stream's blocks so far.
   * @returns The new checksum; null at the end of the stream.
   */
  decompress(
    bits: BitReader,
    put: (byte: number) => void,
    buffer: Int32Array,
    bufferLength: number,
    checksum: number,
  ): number | null;
}

/** Reads the bits of consecutive buffers. It requests the first buffer immediately. */
const bitReader: (nextBuffer: () => Uint8Array) => BitReader = untypedReader;
const blockDecoder: BlockDecoder = untypedDecoder;

const BLOCK_BYTES_PER_LEVEL = 100_000;
const FIRST_TEXT_BYTES = 1 << 20;
const PIECE_BYTES = 1 << 18;
// Enough bytes for any block: at most 900,000 symbols of 20 bits (bzip2.c), selectors and code tables.
const LONGEST_BLOCK_BYTES = 900_000 * 20 / 8 + 25_000;

/**
 * Decompresses consecutive bzip2 streams, split into pieces anywhere.
 *
 * @param path The source file, for errors.
 * @throws {FormatError} If the bytes are damaged or end inside a stream.
 */
export async function* decompressBzip2(
  chunks: AsyncGenerator<Uint8Array>,
  path: string,
): AsyncGenerator<Uint8Array> {
  const input = new BlockInput(chunks, path);
  const text = new Text();
  while (await input.fill()) {
    const level = input.decode((bits) => blockDecoder.header(bits));
    const block = new Int32Array(BLOCK_BYTES_PER_LEVEL * level);
    let checksum: number | null = 0;
    while (checksum !== null) {
      await input.fill();
      text.length = 0;
      const before: number = checksum;
      checksum = input.decode((bits) => blockDecoder.decompress(bits, text.put, block, block.length, before));
      yield* text.pieces();
    }
  }
}

/** Compressed bytes. Before each block, it is filled with enough bytes for any block. */
class BlockInput {
  readonly #chunks: AsyncGenerator<Uint8Array>;
  readonly #queue: Uint8Array[] = [];
  readonly #bits: BitReader;
  #numBytes = 0;
  #isAtEnd = false;
  #ranOut = false;

  constructor(chunks: AsyncGenerator<Uint8Array>, readonly path: string) {
    this.#chunks = chunks;
    // The bit reader requests its first buffer immediately, before anything was read.
    this.#queue.push(new Uint8Array(0));
    this.#bits = bitReader(() => this.#nextBuffer());
  }

  /** Reads more bytes. @returns Whether bytes are left. @throws The errors of the reader. */
  async fill(): Promise<boolean> {
    while (!this.#isAtEnd && this.#numBytes - this.#bits.bytesRead < LONGEST_BLOCK_BYTES) {
      const { done, value } = await this.#chunks.next();
      if (done) this.#isAtEnd = true;
      else if (value.length > 0) {
        this.#queue.push(value);
        this.#numBytes += value.length;
      }
    }
    return this.#numBytes > this.#bits.bytesRead;
  }

  /** Decodes a header or a block. @throws {FormatError} If it is damaged or truncated. */
  decode<T>(part: (bits: BitReader) => T): T {
    const offsetBytes = this.#bits.bytesRead;
    try {
      return part(this.#bits);
    } catch (cause) {
      const what = this.#ranOut && this.#isAtEnd
        ? "the bzip2 data ends too early, the file is truncated"
        : `the bzip2 data is damaged (${reasonOf(cause)})`;
      throw new FormatError(`${what}; fetch the file again`, { path: this.path, offsetBytes, cause });
    }
  }

  #nextBuffer(): Uint8Array {
    const next = this.#queue.shift();
    if (next) return next;
    this.#ranOut = true;
    throw new RangeError("a block has no end");
  }
}

/** Explains the decoder's fault in plain words; its own messages are jokes. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : "";
  if (/crc32/.test(message)) return "a block has a wrong checksum";
  if (/magic|archive|not valid/.test(message)) return "no bzip2 stream or block starts here";
  return "a block cannot be decoded";
}

/** A buffer filled byte by byte and reused for each block. */
class Text {
  length = 0;
  #bytes = new Uint8Array(FIRST_TEXT_BYTES);

  readonly put = (byte: number): void => {
    if (this.length === this.#bytes.length) {
      const longer = new Uint8Array(2 * this.length);
      longer.set(this.#bytes);
      this.#bytes = longer;
    }
    this.#bytes[this.length++] = byte;
  };

  /** Copies of the bytes, in pieces. */
  *pieces(): Generator<Uint8Array> {
    for (let from = 0; from < this.length; from += PIECE_BYTES) {
      yield this.#bytes.slice(from, Math.min(this.length, from + PIECE_BYTES));
    }
  }
}
