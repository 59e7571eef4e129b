/**
 * Writes ArrayRecord files as read by Google's `array_record` and thus Grain; uncompressed files are
 * byte-identical to those of Google's writer. Layout: 64 bytes of signature, data chunks, a footer chunk with
 * the index, padding to a block boundary, and one block with the postscript, which contains the footer's
 * offset.
 *
 * @module
 */
import { concat } from "@std/bytes";
import { ensure } from "../../base/errors.ts";
import { AtomicFile } from "../files/atomic.ts";
import {
  CHUNK_HEADER_SIZE_BYTES,
  CHUNK_TYPES,
  chunkEnd,
  type ChunkEntry,
  type Compression,
  COMPRESSION_OPTION,
  encodeChunkHeader,
  encodeFooter,
  encodePostscript,
  encodeSimpleChunk,
  layOutChunk,
  loadRiegeliHash,
  remainingInBlock,
  type RiegeliHash,
  USABLE_BLOCK_SIZE_BYTES,
} from "./format.ts";

// Small chunks are buffered up to this size before being written.
const WRITE_BUFFER_BYTES = 1 << 20;
/** Size of the largest record. Riegeli's readers accept chunks up to 2 GiB, the decoders here up to 1 GiB. */
const MAX_RECORD_BYTES = 2 ** 30;

export interface ArrayRecordWriterOptions {
  /** zstd by default. */
  compression?: Compression;
  /** Records per chunk, 1 by default so that each record can be read alone. */
  groupSize?: number;
}

/** Writes one file, which only appears at its path on {@link ArrayRecordWriter.close}. */
export class ArrayRecordWriter {
  numRecords = 0;
  readonly #file: AtomicFile;
  readonly #hash: RiegeliHash;
  readonly #compression: Compression;
  readonly #groupSize: number;
  readonly #chunks: ChunkEntry[] = [];
  #group: Uint8Array[] = [];
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** The offset of the next chunk. */
  #position = 0;

  private constructor(file: AtomicFile, hash: RiegeliHash, options: ArrayRecordWriterOptions) {
    this.#file = file;
    this.#hash = hash;
    this.#compression = options.compression ?? "zstd";
    this.#groupSize = options.groupSize ?? 1;
    ensure(this.#groupSize >= 1 && Number.isInteger(this.#groupSize), "groupSize is not a positive integer");
    this.#writeChunk(CHUNK_TYPES.signature, new Uint8Array(0), { numRecords: 0, decodedSizeBytes: 0 });
  }

  /** Opens a writer. The file gets its final name when closed. @throws {UserError} If it cannot be made. */
  static async create(path: string, options: ArrayRecordWriterOptions = {}): Promise<ArrayRecordWriter> {
    const hash = await loadRiegeliHash();
    return new ArrayRecordWriter(AtomicFile.create(path), hash, options);
  }

  /**
   * Appends a record. The array may be reused afterwards.
   *
   * @throws {UserError} If the disk is full; the temporary file is then deleted.
   */
  write(record: Uint8Array): void {
    ensure(record.length <= MAX_RECORD_BYTES, `a record of ${record.length} bytes is too large`);
    this.#group.push(this.#groupSize === 1 ? record : record.slice());
    this.numRecords++;
    if (this.#group.length >= this.#groupSize) this.#flushGroup();
  }

  /**
   * Writes the index and renames the file to its final name.
   *
   * @returns Number of records and file size in bytes.
   * @throws {UserError} If the disk is full; the temporary file is then deleted.
   */
  close(): { numRecords: number; numBytes: number } {
    this.#flushGroup();
    const footerOffsetBytes = this.#position;
    const footer = encodeFooter({
      numRecords: this.numRecords,
      writerOptions: `group_size:${this.#groupSize},transpose:false,pad_to_block_boundary:false,` +
        `${COMPRESSION_OPTION[this.#compression]},max_parallelism:1`,
      chunks: this.#chunks,
    });
    this.#writeRecords(footer, this.#compression);
    this.#padToBlockBoundary();
    this.#writeRecords(encodePostscript(footerOffsetBytes), "none");
    this.#padToBlockBoundary();
    this.#flushPending();
    this.#file.commit();
    return { numRecords: this.numRecords, numBytes: this.#position };
  }

  /** Deletes the file if it has not been closed. */
  [Symbol.dispose](): void {
    this.#file.abort();
  }

  #flushGroup(): void {
    if (this.#group.length === 0) return;
    const offsetBytes = this.#position;
    const numRecords = this.#group.length;
    const decodedSizeBytes = this.#writeRecords(this.#group, this.#compression);
    this.#chunks.push({ offsetBytes, decodedSizeBytes, numRecords });
    this.#group = [];
  }

  #writeRecords(records: readonly Uint8Array[], compression: Compression): number {
    const decodedSizeBytes = records.reduce((sum, record) => sum + record.length, 0);
    const data = encodeSimpleChunk(records, compression);
    this.#writeChunk(CHUNK_TYPES.simple, data, { numRecords: records.length, decodedSizeBytes });
    return decodedSizeBytes;
  }

  /** Riegeli's `PadToBlockBoundary`: a chunk of zeros that ends with the block. */
  #padToBlockBoundary(): void {
    let length = remainingInBlock(this.#position);
    if (length === 0) return;
    // If the chunk's header does not fit, the padding spans the next block too.
    if (length < CHUNK_HEADER_SIZE_BYTES) length += USABLE_BLOCK_SIZE_BYTES;
    const zeros = new Uint8Array(length - CHUNK_HEADER_SIZE_BYTES);
    this.#writeChunk(CHUNK_TYPES.padding, zeros, { numRecords: 0, decodedSizeBytes: 0 });
    ensure(remainingInBlock(this.#position) === 0, "padding does not end with its block");
  }

  #writeChunk(
    type: number,
    data: Uint8Array,
    size: { numRecords: number; decodedSizeBytes: number },
  ): void {
    const header = encodeChunkHeader(this.#hash, data, { type, ...size });
    const end = chunkEnd(this.#position, data.length, size.numRecords);
    const bytes = layOutChunk(this.#hash, this.#position, end, [header, data]);
    this.#position = end;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes >= WRITE_BUFFER_BYTES) this.#flushPending();
  }

  #flushPending(): void {
    this.#file.writeSync(concat(this.#pending));
    this.#pending = [];
    this.#pendingBytes = 0;
  }
}
