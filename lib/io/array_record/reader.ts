/**
 * Reads any record of an ArrayRecord file by its index, or all in order. Every checksum is verified. Opening
 * a file reads the index at its end; records are then read with one seek per chunk. Files written by Google's
 * `array_record` can be read with any group size and compression (none, zstd, brotli, snappy), except for
 * transposed chunks.
 *
 * @module
 */
import { equals } from "@std/bytes";
import { partitionPoint } from "../../base/collections.ts";
import { ensure, FormatError } from "../../base/errors.ts";
import { FileWindow } from "../files/byte_file.ts";
import { explainFileError } from "../files/file_errors.ts";
import {
  addWithOverhead,
  type ArrayRecordFooter,
  BLOCK_SIZE_BYTES,
  CHUNK_HEADER_SIZE_BYTES,
  CHUNK_TYPES,
  chunkEnd,
  ChunkError,
  type ChunkHeader,
  decodeChunkHeader,
  decodeFooter,
  decodePostscript,
  decodeSimpleChunk,
  encodeChunkHeader,
  isPossibleChunkBoundary,
  layOutChunk,
  loadRiegeliHash,
  type RiegeliHash,
  stripBlockHeaders,
} from "./format.ts";

/** Size of the signature, the first chunk of every Riegeli file. */
const SIGNATURE_SIZE_BYTES = 64;
const WRITE_AGAIN = "the file is damaged or truncated; recreate it";
// A longer chunk costs a second read. The limit bounds the work for a forged index.
const FIRST_READ_BYTES = 1 << 20;

interface ArrayRecordReaderOptions {
  /** Whether a damaged data chunk is an error (the default), or its records are skipped and counted. */
  onCorrupt?: "error" | "skip";
}

export class ArrayRecordReader implements Disposable, Iterable<Uint8Array> {
  readonly path: string;
  readonly sizeBytes: number;
  readonly #file: ChunkFile;
  readonly #onCorrupt: "error" | "skip";
  readonly #footer: ArrayRecordFooter;
  readonly #footerOffsetBytes: number;
  /** Number of records before each chunk, followed by the total. */
  readonly #firstRecord: Float64Array;
  readonly #corruptChunks = new Set<number>();
  #lastChunk = -1;
  #lastRecords: Uint8Array[] = [];

  private constructor(file: ChunkFile, onCorrupt: "error" | "skip") {
    this.#file = file;
    this.path = file.path;
    this.sizeBytes = file.sizeBytes;
    this.#onCorrupt = onCorrupt;
    file.checkSignature();
    this.#footerOffsetBytes = this.#readPostscript();
    this.#footer = this.#readFooter();
    const { chunks } = this.#footer;
    this.#firstRecord = new Float64Array(chunks.length + 1);
    chunks.forEach((chunk, i) => this.#firstRecord[i + 1] = this.#firstRecord[i] + chunk.numRecords);
  }

  /**
   * Opens a file and reads its index.
   *
   * @throws {FormatError} If it is not an ArrayRecord file or its index is damaged.
   * @throws {UserError} If it cannot be opened.
   */
  static async open(path: string, options: ArrayRecordReaderOptions = {}): Promise<ArrayRecordReader> {
    const hash = await loadRiegeliHash();
    const file = new ChunkFile(path, hash);
    try {
      return new ArrayRecordReader(file, options.onCorrupt ?? "error");
    } catch (error) {
      file[Symbol.dispose]();
      throw explainFileError(error, `read ${path}`);
    }
  }

  /** Number of records in the file, including damaged ones. */
  get numRecords(): number {
    return this.#footer.numRecords;
  }

  get numChunks(): number {
    return this.#footer.chunks.length;
  }

  /** The options recorded by the writer, for example `group_size:1,…,zstd:3`. */
  get writerOptions(): string {
    return this.#footer.writerOptions;
  }

  get decodedSizeBytes(): number {
    return this.#footer.chunks.reduce((sum, chunk) => sum + chunk.decodedSizeBytes, 0);
  }

  /** Number of damaged chunks found so far (with `onCorrupt: "skip"`). */
  get numCorruptChunks(): number {
    return this.#corruptChunks.size;
  }

  /**
   * Reads a record; its bytes stay valid.
   *
   * @throws {FormatError} If its chunk is damaged, even if `onCorrupt` is "skip".
   */
  read(index: number): Uint8Array {
    const chunk = this.#findChunk(index);
    return this.#readChunk(chunk)[index - this.#firstRecord[chunk]];
  }

  /** Like {@link read}, but returns undefined if the chunk is damaged and `onCorrupt` is "skip". */
  readOrSkip(index: number): Uint8Array | undefined {
    const chunk = this.#findChunk(index);
    return this.#readChunkOrSkip(chunk)?.[index - this.#firstRecord[chunk]];
  }

  /** Yields all records in order. @throws {FormatError} At a damaged chunk, unless `onCorrupt` is "skip". */
  *[Symbol.iterator](): Generator<Uint8Array> {
    for (let chunk = 0; chunk < this.numChunks; chunk++) {
      const records = this.#readChunkOrSkip(chunk);
      if (records) yield* records;
    }
  }

  /**
   * The unverified headers of the index and of at most `maxChunks` data chunks, evenly spread and including
   * the first and the last. Each contains a checksum of its chunk's data, so they distinguish files at a
   * fraction of the cost of reading the data.
   */
  *chunkHeaders(maxChunks: number): Generator<Uint8Array> {
    yield this.#file.rawHeader(this.#footerOffsetBytes);
    const count = Math.min(this.numChunks, maxChunks);
    for (let i = 0; i < count; i++) {
      const chunk = Math.floor(i * (this.numChunks - 1) / Math.max(1, count - 1));
      yield this.#file.rawHeader(this.#footer.chunks[chunk].offsetBytes);
    }
  }

  close(): void {
    this.#file[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #findChunk(index: number): number {
    ensure(
      Number.isInteger(index) && index >= 0 && index < this.numRecords,
      `record ${index} of ${this.numRecords} of ${this.path} was requested`,
    );
    return partitionPoint(this.numChunks, (chunk) => this.#firstRecord[chunk] > index) - 1;
  }

  #readChunkOrSkip(chunk: number): Uint8Array[] | undefined {
    if (this.#onCorrupt === "error") return this.#readChunk(chunk);
    if (this.#corruptChunks.has(chunk)) return undefined;
    try {
      return this.#readChunk(chunk);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#corruptChunks.add(chunk);
      return undefined;
    }
  }

  #readChunk(index: number): Uint8Array[] {
    if (index === this.#lastChunk) return this.#lastRecords;
    const entry = this.#footer.chunks[index];
    const next = this.#footer.chunks[index + 1]?.offsetBytes ?? this.#footerOffsetBytes;
    const remedy = "the file is damaged; recreate it, or skip the chunk with --on-corrupt skip";
    const chunk = this.#file.chunkAt(entry.offsetBytes, next, remedy);
    if (chunk.numRecords !== entry.numRecords || chunk.decodedSizeBytes !== entry.decodedSizeBytes) {
      throw this.#file.error(`a chunk's sizes differ from the index; ${remedy}`, entry.offsetBytes);
    }
    const records = this.#file.recordsOf(chunk, entry.offsetBytes, remedy);
    this.#lastChunk = index;
    this.#lastRecords = records;
    return records;
  }

  /** Reads the postscript in the last block. @returns The offset of the footer chunk. */
  #readPostscript(): number {
    const offset = this.sizeBytes - BLOCK_SIZE_BYTES;
    const remedy = `it does not end with an ArrayRecord postscript: ${WRITE_AGAIN}`;
    const records = this.#file.paddedRecords(offset, this.sizeBytes, remedy);
    try {
      const footerOffset = decodePostscript(records);
      if (footerOffset < SIGNATURE_SIZE_BYTES || footerOffset >= offset) {
        throw new Error("the index is outside the file");
      }
      return footerOffset;
    } catch (cause) {
      throw this.#file.error(`it has no ArrayRecord postscript; ${WRITE_AGAIN}`, offset, cause);
    }
  }

  #readFooter(): ArrayRecordFooter {
    const offset = this.#footerOffsetBytes;
    const remedy = `this is the file's index: ${WRITE_AGAIN}`;
    const records = this.#file.paddedRecords(offset, this.sizeBytes - BLOCK_SIZE_BYTES, remedy);
    try {
      const footer = decodeFooter(records);
      let earliest = SIGNATURE_SIZE_BYTES;
      for (const { offsetBytes } of footer.chunks) {
        if (offsetBytes < earliest || offsetBytes >= offset) throw new Error("an offset is wrong");
        earliest = addWithOverhead(offsetBytes, CHUNK_HEADER_SIZE_BYTES);
      }
      return footer;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw this.#file.error(`its index cannot be used (${reason}); ${WRITE_AGAIN}`, offset, cause);
    }
  }
}

/** A chunk with verified checksums. */
interface Chunk extends ChunkHeader {
  data: Uint8Array;
  endOffsetBytes: number;
}

/** A Riegeli file open for reading chunk by chunk. Every checksum is verified. */
class ChunkFile implements Disposable {
  readonly #file: FileWindow;
  readonly #hash: RiegeliHash;

  /** @throws {UserError} If the file cannot be opened. */
  constructor(path: string, hash: RiegeliHash) {
    this.#file = new FileWindow(path);
    this.#hash = hash;
  }

  get path(): string {
    return this.#file.path;
  }

  get sizeBytes(): number {
    return this.#file.sizeBytes;
  }

  /** Checks the first chunk and the file size. */
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
      throw this.error("it is empty, expected an ArrayRecord file; recreate it", 0);
    }
    if (!wanted.every((byte, i) => found[i] === byte)) {
      throw this.error("it does not start like an ArrayRecord file; check the path", 0);
    }
    if (this.sizeBytes < 2 * BLOCK_SIZE_BYTES || this.sizeBytes % BLOCK_SIZE_BYTES !== 0) {
      throw this.error(
        `its size of ${this.sizeBytes} bytes is not two or more blocks of ${BLOCK_SIZE_BYTES}; ${WRITE_AGAIN}`,
        this.sizeBytes,
      );
    }
  }

  /** Reads the records of the chunk at a position. Only padding chunks may follow it up to `limit`. */
  paddedRecords(begin: number, limit: number, remedy: string): Uint8Array[] {
    const chunk = this.chunkAt(begin, limit, remedy);
    const records = this.recordsOf(chunk, begin, remedy);
    for (let at = chunk.endOffsetBytes; at < limit;) {
      const { type, endOffsetBytes } = this.chunkAt(at, limit, WRITE_AGAIN);
      if (type !== CHUNK_TYPES.padding) throw this.error(`expected a padding chunk; ${WRITE_AGAIN}`, at);
      at = endOffsetBytes;
    }
    return records;
  }

  /** Reads the chunk at a position and verifies its checksums. The chunk must not extend past `limit`. */
  chunkAt(begin: number, limit: number, remedy: string): Chunk {
    const fail = (message: string, offsetBytes: number): never => {
      throw this.error(`${message}; ${remedy}`, offsetBytes);
    };
    if (!isPossibleChunkBoundary(begin)) fail("no chunk can begin here", begin);
    const headerEnd = addWithOverhead(begin, CHUNK_HEADER_SIZE_BYTES);
    if (headerEnd > limit) fail("a chunk is longer than its space", begin);
    // Usually the chunk extends to the limit, and this is the only read.
    const stretch = this.#file.read(begin, Math.min(limit - begin, FIRST_READ_BYTES));
    const header = this.#header(stretch.subarray(0, headerEnd - begin), begin, fail);
    const end = chunkEnd(begin, header.dataSizeBytes, header.numRecords);
    if (end > limit) fail("a chunk is longer than its space", begin);
    const raw = this.#file.read(begin, end - begin);
    const content = stripBlockHeaders(this.#hash, raw, { position: begin, begin, end }, fail);
    const dataEnd = CHUNK_HEADER_SIZE_BYTES + header.dataSizeBytes;
    const data = content.subarray(CHUNK_HEADER_SIZE_BYTES, dataEnd);
    if (!equals(header.dataHash, this.#hash(data))) {
      fail("a chunk's data has a wrong checksum", begin);
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

  /** Makes an error that names the file and the position. */
  error(message: string, offsetBytes: number, cause?: unknown): FormatError {
    return new FormatError(message, { path: this.path, offsetBytes, cause });
  }

  rawHeader(begin: number): Uint8Array {
    return this.#file.read(begin, addWithOverhead(begin, CHUNK_HEADER_SIZE_BYTES) - begin);
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
