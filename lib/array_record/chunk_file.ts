/**
 * Reads the chunks of a Riegeli file by position and verifies every checksum.
 *
 * @module
 */
import { FormatError } from "../errors.ts";
import { FileWindow } from "../files/byte_file.ts";
import {
  addWithOverhead,
  BLOCK_SIZE_BYTES,
  CHUNK_HEADER_SIZE_BYTES,
  chunkEnd,
  isPossibleChunkBoundary,
  layOutChunk,
  stripBlockHeaders,
} from "./riegeli_blocks.ts";
import {
  CHUNK_TYPES,
  ChunkError,
  type ChunkHeader,
  decodeChunkHeader,
  decodeSimpleChunk,
  encodeChunkHeader,
} from "./riegeli_chunks.ts";
import { isSameHash, type RiegeliHash } from "./riegeli_hash.ts";

/** Bytes of the signature, the first chunk of every Riegeli file. */
export const SIGNATURE_SIZE_BYTES = 64;
/** The advice for a damaged file. */
export const WRITE_AGAIN = "the file is damaged or truncated; write it again";
// A chunk longer than this costs a second read; the limit bounds the work for a forged index.
const FIRST_READ_BYTES = 1 << 20;

/** A chunk with verified checksums. */
export interface Chunk extends ChunkHeader {
  data: Uint8Array;
  endOffsetBytes: number;
}

/** A file of chunks, open for reading. */
export class ChunkFile implements Disposable {
  readonly #file: FileWindow;
  readonly #hash: RiegeliHash;

  /** Opens a file. @throws {UserError} If it cannot be opened. */
  constructor(path: string, hash: RiegeliHash) {
    this.#file = new FileWindow(path);
    this.#hash = hash;
  }

  /** The file, as it was opened. */
  get path(): string {
    return this.#file.path;
  }

  /** Size of the file, bytes. */
  get sizeBytes(): number {
    return this.#file.sizeBytes;
  }

  /** Checks the first chunk and the size of the file. */
  checkSignature(): void {
    const empty = new Uint8Array(0);
    const { signature } = CHUNK_TYPES;
    const header = encodeChunkHeader(this.#hash, empty, {
      type: signature,
      numRecords: 0,
      decodedSizeBytes: 0,
    });
    const wanted = layOutChunk(this.#hash, 0, SIGNATURE_SIZE_BYTES, [header]);
    const found = this.#file.read(0, Math.min(SIGNATURE_SIZE_BYTES, this.sizeBytes));
    if (this.sizeBytes === 0) {
      throw this.error("it is empty, expected an ArrayRecord file; write it again", 0);
    }
    if (!wanted.every((byte, i) => found[i] === byte)) {
      throw this.error("it does not begin like an ArrayRecord file; check the path", 0);
    }
    if (this.sizeBytes < 2 * BLOCK_SIZE_BYTES || this.sizeBytes % BLOCK_SIZE_BYTES !== 0) {
      throw this.error(
        `its size of ${this.sizeBytes} bytes is not a multiple of ${BLOCK_SIZE_BYTES} from two on; ${WRITE_AGAIN}`,
        this.sizeBytes,
      );
    }
  }

  /** Checks that only padding chunks lie between two positions. */
  checkPadding(begin: number, end: number): void {
    while (begin < end) {
      const chunk = this.chunkAt(begin, end, WRITE_AGAIN);
      if (chunk.type !== CHUNK_TYPES.padding) {
        throw this.error(`expected a padding chunk; ${WRITE_AGAIN}`, begin);
      }
      begin = chunk.endOffsetBytes;
    }
  }

  /** Reads the chunk at a position and verifies its checksums; it must end at `limit` or before. */
  chunkAt(begin: number, limit: number, remedy: string): Chunk {
    const fail = (message: string, offsetBytes: number): never => {
      throw this.error(`${message}; ${remedy}`, offsetBytes);
    };
    if (!isPossibleChunkBoundary(begin)) fail("no chunk can begin here", begin);
    const headerEnd = addWithOverhead(begin, CHUNK_HEADER_SIZE_BYTES);
    if (headerEnd > limit) fail("a chunk is longer than its space", begin);
    // Usually the chunk extends up to the limit: then this is the only read.
    const stretch = this.#file.read(begin, Math.min(limit - begin, FIRST_READ_BYTES));
    const header = this.#header(stretch.subarray(0, headerEnd - begin), begin, fail);
    const end = chunkEnd(begin, header.dataSizeBytes, header.numRecords);
    if (end > limit) fail("a chunk is longer than its space", begin);
    const raw = this.#file.read(begin, end - begin);
    const content = stripBlockHeaders(this.#hash, raw, { position: begin, begin, end }, fail);
    const dataEnd = CHUNK_HEADER_SIZE_BYTES + header.dataSizeBytes;
    const data = content.subarray(CHUNK_HEADER_SIZE_BYTES, dataEnd);
    if (!isSameHash(header.dataHash, 0, this.#hash(data))) {
      fail("the data of a chunk have a wrong checksum", begin);
    }
    if (content.subarray(dataEnd).some((byte) => byte !== 0)) {
      fail("the padding of a chunk is not zero", begin);
    }
    return { ...header, data, endOffsetBytes: end };
  }

  #header(
    raw: Uint8Array,
    begin: number,
    fail: (message: string, offsetBytes: number) => never,
  ): ChunkHeader {
    const content = stripBlockHeaders(this.#hash, raw, { position: begin, begin }, fail);
    try {
      return decodeChunkHeader(this.#hash, content);
    } catch (error) {
      if (error instanceof ChunkError) return fail(error.message, begin);
      throw error;
    }
  }

  /** The records of a chunk. */
  recordsOf(chunk: Chunk, offsetBytes: number, remedy: string): Uint8Array[] {
    if (chunk.type === CHUNK_TYPES.transposed) {
      throw this.error(
        "its chunks are transposed, which is not supported; write it with transpose:false",
        offsetBytes,
      );
    }
    if (chunk.type !== CHUNK_TYPES.simple) {
      throw this.error(
        `found a chunk of type ${chunk.type}, expected records; ${remedy}`,
        offsetBytes,
      );
    }
    try {
      return decodeSimpleChunk(chunk.data, chunk);
    } catch (cause) {
      if (!(cause instanceof ChunkError)) throw cause;
      throw this.error(`${cause.message}; ${remedy}`, offsetBytes, cause);
    }
  }

  /** An error that names the file and the position. */
  error(message: string, offsetBytes: number, cause?: unknown): FormatError {
    return new FormatError(message, { path: this.path, offsetBytes, cause });
  }

  /** A chunk's header, unverified. */
  rawHeader(begin: number): Uint8Array {
    return this.#file.read(begin, addWithOverhead(begin, CHUNK_HEADER_SIZE_BYTES) - begin);
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
