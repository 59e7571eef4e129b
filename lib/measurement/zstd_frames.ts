/**
 * Zstandard decompression of a stream of any length, one block at a time (RFC 8878, section 3).
 *
 * `node:zlib` decodes the blocks. The frames are cut here, because Deno's stream stops after the first frame
 * without a word (pzstd and `cat a.zst b.zst` write several) and takes a truncated one for whole.
 *
 * @module
 */
import { createZstdDecompress } from "node:zlib";
import { FormatError } from "../errors.ts";

const FRAME_MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50; // the low four bits are free (section 3.1.2)
const BLOCK_HEADER_BYTES = 3;
const RLE_BLOCK = 1;
const RESERVED_BLOCK = 3;
const CHECKSUM_BYTES = 4;
const OUTPUT_BYTES = 1 << 17; // the largest block (section 3.1.1.2.4)

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
  const input = new PieceReader(chunks, path);
  while (!await input.isAtEnd()) {
    const magic = toUint32(await input.take(4));
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) {
      await input.skip(toUint32(await input.take(4)));
      continue;
    }
    if (magic !== FRAME_MAGIC) throw input.damaged("no Zstandard frame starts here");
    yield* decompressFrame(input);
  }
}

async function* decompressFrame(input: PieceReader): AsyncGenerator<Uint8Array> {
  using decoder = new FrameDecoder(input);
  await decoder.write(fromUint32(FRAME_MAGIC));
  const descriptor = await input.take(1);
  await decoder.write(descriptor);
  const numHeaderBytes = headerBytesAfter(descriptor[0]);
  if (numHeaderBytes > 0) await decoder.write(await input.take(numHeaderBytes));
  for (let isLast = false; !isLast;) {
    const header = await input.take(BLOCK_HEADER_BYTES);
    const bits = header[0] | header[1] << 8 | header[2] << 16;
    isLast = (bits & 1) === 1;
    const type = bits >> 1 & 3;
    if (type === RESERVED_BLOCK) throw input.damaged("a block is of the reserved type");
    const numBytes = type === RLE_BLOCK ? 1 : bits >>> 3;
    await decoder.write(header);
    if (numBytes > 0) await decoder.write(await input.take(numBytes));
    yield* decoder.takeOutput();
  }
  if (descriptor[0] >> 2 & 1) await decoder.write(await input.take(CHECKSUM_BYTES));
  await decoder.end();
  yield* decoder.takeOutput();
}

/**
 * A node:zlib decoder of one frame whose errors can be caught: Deno throws them out of a timer, where they end the
 * program unless the global `error` event is listened to.
 */
class FrameDecoder {
  readonly #stream = createZstdDecompress({ chunkSize: OUTPUT_BYTES });
  readonly #input: PieceReader;
  #output: Uint8Array[] = [];
  #fail: ((error: unknown) => void) | undefined;

  constructor(input: PieceReader) {
    this.#input = input;
    this.#stream.on("data", (bytes: Uint8Array) => this.#output.push(bytes));
    this.#stream.on("error", (error: unknown) => this.#fail?.(error));
    globalThis.addEventListener("error", this.#onUncaught);
  }

  /** Decodes bytes of the frame. @throws {FormatError} If they are damaged. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#run((done) => this.#stream.write(bytes, done));
  }

  /** Waits for the last output. @throws {FormatError} If the frame is damaged. */
  end(): Promise<void> {
    return this.#run((done) => {
      this.#stream.on("end", () => done());
      this.#stream.end();
    });
  }

  /** The output since the last call. */
  takeOutput(): Uint8Array[] {
    const output = this.#output;
    this.#output = [];
    return output;
  }

  [Symbol.dispose](): void {
    globalThis.removeEventListener("error", this.#onUncaught);
    this.#stream.destroy();
  }

  readonly #onUncaught = (event: ErrorEvent) => {
    if (!this.#fail || !(event.error instanceof Error) || !/zstd/i.test(event.error.message)) return;
    event.preventDefault();
    this.#fail(event.error);
  };

  async #run(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#fail = reject;
        start((error) => error ? reject(error) : resolve());
      });
    } catch (error) {
      throw this.#input.damaged(error instanceof Error ? error.message : String(error), error);
    } finally {
      this.#fail = undefined;
    }
  }
}

/** How many bytes of the frame header follow its descriptor (section 3.1.1.1). */
function headerBytesAfter(descriptor: number): number {
  const isSingleSegment = (descriptor >> 5 & 1) === 1;
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3];
  const contentSizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6];
  return (isSingleSegment ? 0 : 1) + dictionaryIdBytes + contentSizeBytes;
}

function toUint32(bytes: Uint8Array): number {
  return (bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24) >>> 0;
}

function fromUint32(value: number): Uint8Array {
  return Uint8Array.of(value & 255, value >>> 8 & 255, value >>> 16 & 255, value >>> 24);
}

/** Hands out exact numbers of bytes of a chunked stream. */
class PieceReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk = new Uint8Array(0);
  #at = 0;
  #offsetBytes = 0;

  constructor(chunks: AsyncIterable<Uint8Array>, readonly path: string) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#at === this.#chunk.length) {
      const next = await this.#chunks.next();
      if (next.done) return true;
      this.#chunk = new Uint8Array(next.value);
      this.#at = 0;
    }
    return false;
  }

  async take(numBytes: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(numBytes);
    for (let done = 0; done < numBytes;) {
      const part = await this.#next(numBytes - done);
      bytes.set(part, done);
      done += part.length;
    }
    return bytes;
  }

  async skip(numBytes: number): Promise<void> {
    for (let left = numBytes; left > 0;) left -= (await this.#next(left)).length;
  }

  damaged(what: string, cause?: unknown): FormatError {
    return new FormatError(`the zstd data is damaged (${what}); fetch the file again`, {
      path: this.path,
      offsetBytes: this.#offsetBytes,
      cause,
    });
  }

  async #next(maxBytes: number): Promise<Uint8Array> {
    if (await this.isAtEnd()) {
      throw new FormatError("the zstd data ends too early, the file is truncated; fetch it again", {
        path: this.path,
        offsetBytes: this.#offsetBytes,
      });
    }
    const part = this.#chunk.subarray(this.#at, this.#at + maxBytes);
    this.#at += part.length;
    this.#offsetBytes += part.length;
    return part;
  }
}
