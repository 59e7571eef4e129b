/**
 * Writes a Parquet file: each row group leaves memory when it is written, and the file gets its name only when it is
 * complete.
 *
 * Schema and footer are `hyparquet-writer`'s, the column chunks are our own (chunk_writer.ts gives the reason).
 *
 * @module
 */
import type { ColumnChunk, SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { AtomicFile } from "../files/atomic.ts";
import { VERSION } from "../../base/version.ts";
import { type ChunkSource, writeColumnChunk } from "./chunk_writer.ts";

/** An encoded row group; plain data, so that a worker can make it. */
export interface EncodedRowGroup {
  numRows: number;
  bytes: Uint8Array<ArrayBuffer>;
  /** The chunks' entries for the footer, with offsets from the beginning of `bytes`. */
  chunks: ColumnChunk[];
}

/** Encodes a row group; {@link ParquetOutput.write} writes it. */
export function encodeChunks(sources: readonly ChunkSource[], numRows: number): EncodedRowGroup {
  const sink = new ByteWriter();
  const chunks = sources.map((source) => writeColumnChunk(sink, source, numRows));
  return { numRows, bytes: new Uint8Array(sink.buffer, 0, sink.offset), chunks };
}

/** Writes one file. */
export class ParquetOutput {
  readonly #file: AtomicFile;
  readonly #bytes = new ByteWriter();
  readonly #parquet: ParquetWriter;

  /**
   * Opens the file under its temporary name.
   *
   * @param path The Parquet file to write.
   * @param metadata Texts for the footer, by key.
   * @throws {UserError} If the file cannot be made.
   */
  constructor(path: string, metadata?: Record<string, string>) {
    this.#file = AtomicFile.create(path);
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: [],
      createdBy: `ping-llm version ${VERSION}`,
      ...(metadata ? { kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })) } : {}),
    });
  }

  /** Writes a row group. @throws {UserError} If the disk is full. */
  write({ numRows, bytes, chunks }: EncodedRowGroup): void {
    const columns = chunks.map((chunk) => movedBy(this.#bytes.offset, chunk));
    this.#bytes.appendBytes(bytes);
    this.#parquet.row_groups.push({
      columns,
      num_rows: BigInt(numRows),
      total_byte_size: columns.reduce(
        (sum, chunk) => sum + (chunk.meta_data?.total_uncompressed_size ?? 0n),
        0n,
      ),
      total_compressed_size: BigInt(bytes.length),
    });
    this.#parquet.num_rows += BigInt(numRows);
    this.#flush();
  }

  /**
   * Writes the footer, flushes to the disk and gives the file its name.
   *
   * @returns The size of the file in bytes.
   * @throws {UserError} If the disk is full.
   */
  close(schema: SchemaElement[]): number {
    this.#parquet.schema = schema;
    this.#parquet.finish();
    this.#flush();
    const sizeBytes = this.#file.offsetBytes;
    this.#file.commit();
    return sizeBytes;
  }

  /** Deletes the temporary file; does nothing after {@link close}. */
  abort(): void {
    this.#file.abort();
  }

  #flush(): void {
    this.#file.writeSync(new Uint8Array(this.#bytes.buffer, 0, this.#bytes.index));
    this.#bytes.index = 0;
  }
}

/** A chunk's entry with its offsets moved by a number of bytes. */
function movedBy(numBytes: number, chunk: ColumnChunk): ColumnChunk {
  const { file_offset, meta_data } = chunk;
  if (!meta_data) return chunk;
  const by = BigInt(numBytes);
  const moved = { ...meta_data, data_page_offset: meta_data.data_page_offset + by };
  if (meta_data.dictionary_page_offset !== undefined) {
    moved.dictionary_page_offset = meta_data.dictionary_page_offset + by;
  }
  return { file_offset: file_offset + by, meta_data: moved };
}
