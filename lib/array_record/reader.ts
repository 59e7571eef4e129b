/**
 * Reads ArrayRecord files: any record by its index, or all in order; every checksum is verified.
 *
 * Opening reads the index at the end; records are then read with one seek a chunk. Format: see
 * writer.ts. Files of Google's `array_record` are read with any group size and compression
 * (none, zstd, brotli, snappy); transposed chunks are not.
 *
 * @module
 */
import { partitionPoint } from "../collections/partition_point.ts";
import { ensure, FormatError } from "../errors.ts";
import { explainFileError } from "../files/file_errors.ts";
import { ChunkFile, SIGNATURE_SIZE_BYTES, WRITE_AGAIN } from "./chunk_file.ts";
import { type ArrayRecordFooter, decodeFooter, decodePostscript } from "./footer.ts";
import { addWithOverhead, BLOCK_SIZE_BYTES, CHUNK_HEADER_SIZE_BYTES } from "./riegeli_blocks.ts";
import { loadRiegeliHash } from "./riegeli_hash.ts";

/** Options of a reader. */
export interface ArrayRecordReaderOptions {
  /** The effect of a damaged data chunk: an error (the default), or its records are skipped and counted. */
  onCorrupt?: "error" | "skip";
}

/** A file open for reading. */
export class ArrayRecordReader implements Disposable, Iterable<Uint8Array> {
  /** The file, as it was opened. */
  readonly path: string;
  /** Size of the file, bytes. */
  readonly sizeBytes: number;
  readonly #file: ChunkFile;
  readonly #onCorrupt: "error" | "skip";
  readonly #footer: ArrayRecordFooter;
  readonly #footerOffsetBytes: number;
  /** Number of records before each chunk, and in total. */
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

  /** Number of records of the file, damaged ones included. */
  get numRecords(): number {
    return this.#footer.numRecords;
  }

  /** Number of data chunks. */
  get numChunks(): number {
    return this.#footer.chunks.length;
  }

  /** The options that the writer recorded, such as `group_size:1,…,zstd:3`. */
  get writerOptions(): string {
    return this.#footer.writerOptions;
  }

  /** Sum of the lengths of the records, bytes. */
  get decodedSizeBytes(): number {
    return this.#footer.chunks.reduce((sum, chunk) => sum + chunk.decodedSizeBytes, 0);
  }

  /** Number of damaged chunks found so far (with `onCorrupt: "skip"`). */
  get numCorruptChunks(): number {
    return this.#corruptChunks.size;
  }

  /**
   * Reads a record.
   *
   * @param index 0 to {@link numRecords} - 1.
   * @returns The record; it stays valid.
   * @throws {FormatError} If its chunk is damaged, whatever `onCorrupt` is.
   */
  read(index: number): Uint8Array {
    const chunk = this.#findChunk(index);
    return this.#readChunk(chunk)[index - this.#firstRecord[chunk]];
  }

  /**
   * Reads a record, or nothing if its chunk is damaged and `onCorrupt` is "skip".
   *
   * @throws {FormatError} If its chunk is damaged and `onCorrupt` is "error".
   */
  readOrSkip(index: number): Uint8Array | undefined {
    const chunk = this.#findChunk(index);
    return this.#readChunkOrSkip(chunk)?.[index - this.#firstRecord[chunk]];
  }

  /** All records in order. @throws {FormatError} At a damaged chunk, unless `onCorrupt` is "skip". */
  *[Symbol.iterator](): Generator<Uint8Array> {
    for (let chunk = 0; chunk < this.numChunks; chunk++) {
      const records = this.#readChunkOrSkip(chunk);
      if (records) yield* records;
    }
  }

  /**
   * Chunk headers, unverified. Each has a checksum of its chunk's data, so they tell files apart at a small part of
   * the cost of reading the data.
   *
   * @param maxChunks The largest number of data chunks; of a file with more, evenly spread ones with the first and
   *   the last.
   * @returns First the header of the index, then those of data chunks.
   */
  *chunkHeaders(maxChunks: number): Generator<Uint8Array> {
    yield this.#file.rawHeader(this.#footerOffsetBytes);
    const count = Math.min(this.numChunks, maxChunks);
    for (let i = 0; i < count; i++) {
      const chunk = Math.floor(i * (this.numChunks - 1) / Math.max(1, count - 1));
      yield this.#file.rawHeader(this.#footer.chunks[chunk].offsetBytes);
    }
  }

  /** Closes the file. */
  close(): void {
    this.#file[Symbol.dispose]();
  }

  /** As {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #findChunk(index: number): number {
    ensure(
      Number.isInteger(index) && index >= 0 && index < this.numRecords,
      `record ${index} of ${this.numRecords} of ${this.path} was asked for`,
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
    const remedy = "the file is damaged; write it again, or skip the chunk with --on-corrupt skip";
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
    const chunk = this.#file.chunkAt(offset, this.sizeBytes, remedy);
    const records = this.#file.recordsOf(chunk, offset, remedy);
    this.#file.checkPadding(chunk.endOffsetBytes, this.sizeBytes);
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
    const postscriptOffset = this.sizeBytes - BLOCK_SIZE_BYTES;
    const remedy = `this is the file's index: ${WRITE_AGAIN}`;
    const chunk = this.#file.chunkAt(offset, postscriptOffset, remedy);
    const records = this.#file.recordsOf(chunk, offset, remedy);
    this.#file.checkPadding(chunk.endOffsetBytes, postscriptOffset);
    try {
      const footer = decodeFooter(records);
      let earliest = SIGNATURE_SIZE_BYTES;
      for (const entry of footer.chunks) {
        if (entry.offsetBytes < earliest || entry.offsetBytes >= offset) {
          throw new Error("an offset is wrong");
        }
        earliest = addWithOverhead(entry.offsetBytes, CHUNK_HEADER_SIZE_BYTES);
      }
      return footer;
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw this.#file.error(`its index cannot be used (${reason}); ${WRITE_AGAIN}`, offset, cause);
    }
  }
}
