/**
 * Measurements written as Parquet (design 02-formats, 2.1): row groups leave memory as they fill, the file
 * appears under its name only when it is whole.
 *
 * Schema and footer are `hyparquet-writer`'s, the column chunks our own (parquet_chunk_writer.ts says why).
 *
 * @module
 */
import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { AtomicFile } from "../files/atomic.ts";
import { VERSION } from "../version.ts";
import type { MeasurementBatch } from "./batch.ts";
import { DictionaryColumn, NULL_INDEX } from "./column_dictionary.ts";
import { type ChunkSource, writeColumnChunk } from "./parquet_chunk_writer.ts";

/** Rows of a row group: 2^17, about 3 MB compressed; a reader holds one group's needed columns at a time. */
export const ROW_GROUP_ROWS = 131_072;

const FLUSH_BYTES = 1 << 20;

/** A column of a measurement that a file may lack. */
export type OptionalColumn = "msmId" | "prbId" | "sizeBytes" | "packetErrorCount";

/** The optional columns with their names in files. */
export const OPTIONAL_COLUMNS: readonly { key: OptionalColumn; name: string }[] = [
  { key: "msmId", name: "msm_id" },
  { key: "prbId", name: "prb_id" },
  { key: "sizeBytes", name: "size" },
  { key: "packetErrorCount", name: "packet_error_count" },
];

/** The order of the columns in a file (design 02-formats, 2.1). */
const COLUMN_ORDER = [
  "msm_id",
  "event_time",
  "src_addr",
  "dst_addr",
  "ip_version",
  "rtt",
  "size",
  "packet_error_count",
  "prb_id",
];

function inFileOrder(a: { name: string }, b: { name: string }): number {
  return COLUMN_ORDER.indexOf(a.name) - COLUMN_ORDER.indexOf(b.name);
}

/** Writes batches of measurements to one Parquet file. */
export class MeasurementParquetWriter {
  readonly #file: AtomicFile;
  readonly #bytes: AtomicByteWriter;
  readonly #group = new RowGroup();
  #optional: readonly OptionalColumn[] | undefined;
  #parquet: ParquetWriter | undefined;
  #numRows = 0;

  private constructor(path: string, optional: readonly OptionalColumn[] | undefined) {
    this.#file = AtomicFile.create(path);
    this.#bytes = new AtomicByteWriter(this.#file);
    this.#optional = optional;
  }

  /**
   * Opens the file under its temporary name.
   *
   * @param path The Parquet file to write.
   * @param options `optionalColumns`: which optional columns the file has (default: those of the first batch).
   * @throws {UserError} If the file cannot be made.
   */
  static create(
    path: string,
    options: { optionalColumns?: readonly OptionalColumn[] } = {},
  ): MeasurementParquetWriter {
    return new MeasurementParquetWriter(path, options.optionalColumns);
  }

  /** Rows appended so far. */
  get numRows(): number {
    return this.#numRows;
  }

  /**
   * Appends the rows of a batch; the batch may be reused afterwards.
   *
   * @throws {UserError} If the disk is full.
   */
  append(batch: MeasurementBatch): void {
    this.#optional ??= OPTIONAL_COLUMNS.map(({ key }) => key).filter((key) => batch[key] !== undefined);
    for (let from = 0; from < batch.numRows;) {
      from += this.#group.fill(batch, from);
      if (this.#group.numRows === ROW_GROUP_ROWS) this.#flush();
    }
    this.#numRows += batch.numRows;
  }

  /**
   * Writes what is left and the footer, flushes to the disk and gives the file its name.
   *
   * @returns The number of rows and the size of the file in bytes.
   * @throws {UserError} If the disk is full.
   */
  close(): { rows: number; sizeBytes: number } {
    this.#flush();
    this.#open().finish();
    this.#bytes.flush();
    const sizeBytes = this.#file.offsetBytes;
    this.#file.commit();
    return { rows: this.#numRows, sizeBytes };
  }

  /** Deletes the temporary file; does nothing after {@link close}. */
  abort(): void {
    this.#file.abort();
  }

  /** Does what {@link abort} does. */
  [Symbol.dispose](): void {
    this.abort();
  }

  #flush(): void {
    const { numRows } = this.#group;
    if (numRows === 0) return;
    const parquet = this.#open();
    const offsetBytes = this.#bytes.offset;
    const columns = this.#group.columns(this.#optional ?? []).map((column) =>
      writeColumnChunk(this.#bytes, column, numRows)
    );
    parquet.row_groups.push({
      columns,
      num_rows: BigInt(numRows),
      total_byte_size: columns.reduce(
        (sum, chunk) => sum + (chunk.meta_data?.total_uncompressed_size ?? 0n),
        0n,
      ),
      total_compressed_size: BigInt(this.#bytes.offset - offsetBytes),
    });
    parquet.num_rows += BigInt(numRows);
    this.#group.clear();
  }

  #open(): ParquetWriter {
    this.#parquet ??= new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(this.#optional ?? []),
      createdBy: `ping-llm version ${VERSION}`,
    });
    return this.#parquet;
  }
}

function schemaOf(optional: readonly OptionalColumn[]): SchemaElement[] {
  const required = { repetition_type: "REQUIRED" } as const;
  const text = { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } } as const;
  const columns: SchemaElement[] = [
    {
      ...required,
      name: "event_time",
      type: "INT64",
      converted_type: "TIMESTAMP_MICROS",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    },
    { ...required, name: "src_addr", ...text },
    { ...required, name: "dst_addr", ...text },
    { ...required, name: "ip_version", type: "INT64" },
    { ...required, name: "rtt", type: "DOUBLE" },
  ];
  for (const { key, name } of OPTIONAL_COLUMNS) {
    if (optional.includes(key)) columns.push({ name, type: "INT64", repetition_type: "OPTIONAL" });
  }
  return [{ name: "schema", num_children: columns.length }, ...columns.sort(inFileOrder)];
}

/** The rows of the row group that is being filled, in columns of fixed size. */
class RowGroup {
  numRows = 0;
  readonly #eventTimeUs = new Float64Array(ROW_GROUP_ROWS);
  readonly #rttMs = new Float64Array(ROW_GROUP_ROWS);
  readonly #ipVersion = new DictionaryColumn<number>(ROW_GROUP_ROWS);
  readonly #srcAddr = new DictionaryColumn<string>(ROW_GROUP_ROWS);
  readonly #dstAddr = new DictionaryColumn<string>(ROW_GROUP_ROWS);
  readonly #optional = new Map<OptionalColumn, DictionaryColumn<number>>();

  /** Copies rows of a batch until the group is full; returns how many. */
  fill(batch: MeasurementBatch, from: number): number {
    const at = this.numRows;
    const end = Math.min(batch.numRows, from + ROW_GROUP_ROWS - at);
    const rows = { from, end, at };
    this.#eventTimeUs.set(batch.eventTimeUs.subarray(from, end), at);
    this.#rttMs.set(batch.rttMs.subarray(from, end), at);
    this.#ipVersion.set(batch.ipVersion, rows);
    this.#srcAddr.set(batch.srcAddr, rows);
    this.#dstAddr.set(batch.dstAddr, rows);
    for (const { key } of OPTIONAL_COLUMNS) {
      const values = batch[key];
      if (values) this.#optionalColumn(key).set(values, rows);
      else this.#optional.get(key)?.indexes.fill(NULL_INDEX, at, at + end - from);
    }
    this.numRows += end - from;
    return end - from;
  }

  clear(): void {
    this.numRows = 0;
    const columns = [this.#ipVersion, this.#srcAddr, this.#dstAddr, ...this.#optional.values()];
    for (const column of columns) column.clear();
  }

  columns(optional: readonly OptionalColumn[]): ChunkSource[] {
    const integers = { type: "INT64", isOptional: false } as const;
    const texts = { type: "BYTE_ARRAY", isOptional: false } as const;
    return [
      { name: "event_time", data: this.#eventTimeUs, ...integers },
      { name: "src_addr", data: this.#srcAddr, ...texts },
      { name: "dst_addr", data: this.#dstAddr, ...texts },
      { name: "ip_version", data: this.#ipVersion, ...integers },
      { name: "rtt", data: this.#rttMs, type: "DOUBLE" as const, isOptional: false },
      ...OPTIONAL_COLUMNS.filter(({ key }) => optional.includes(key)).map(({ key, name }) => ({
        name,
        data: this.#optionalColumn(key),
        ...integers,
        isOptional: true,
      })),
    ].sort(inFileOrder);
  }

  #optionalColumn(key: OptionalColumn): DictionaryColumn<number> {
    let column = this.#optional.get(key);
    if (!column) {
      column = new DictionaryColumn<number>(ROW_GROUP_ROWS);
      column.indexes.fill(NULL_INDEX); // for the rows before
      this.#optional.set(key, column);
    }
    return column;
  }
}

/** The byte sink of hyparquet-writer over an {@link AtomicFile}: memory holds about 1 MB. */
class AtomicByteWriter extends ByteWriter {
  readonly #file: AtomicFile;

  constructor(file: AtomicFile) {
    super(FLUSH_BYTES);
    this.#file = file;
  }

  override ensure(size: number): void {
    if (this.index >= FLUSH_BYTES) this.flush();
    super.ensure(size);
  }

  /** Hands all bytes to the file. */
  flush(): void {
    this.#file.writeSync(new Uint8Array(this.buffer, 0, this.index));
    this.index = 0;
  }
}
