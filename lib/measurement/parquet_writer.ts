/**
 * Measurements written as Parquet (design 02-formats, 2.1): row groups leave memory as they fill, the file
 * appears under its name only when it is whole.
 *
 * Pages are zstd frames with their checksum, so that a reader notices a flipped bit.
 *
 * @module
 */
import { constants, zstdCompressSync } from "node:zlib";
import type { SchemaElement } from "hyparquet";
import { ByteWriter, type ColumnSource, ParquetWriter } from "hyparquet-writer";
import { ensure } from "../errors.ts";
import { AtomicFile } from "../files/atomic.ts";
import { VERSION } from "../version.ts";
import type { MeasurementBatch } from "./batch.ts";

/** Rows of a row group: 2^17, about 3 MB compressed; a reader holds one group's needed columns at a time. */
export const ROW_GROUP_ROWS = 131_072;

const ZSTD_LEVEL = 3; // zstd's own default
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
    if (this.#group.numRows > 0) {
      const columnData = this.#group.columns(this.#optional ?? []);
      const pending = this.#open().write({ columnData, rowGroupSize: ROW_GROUP_ROWS });
      ensure(pending === undefined, "the Parquet writer did not write at once");
    }
    this.#group.clear();
  }

  #open(): ParquetWriter {
    this.#parquet ??= new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(this.#optional ?? []),
      codec: "ZSTD",
      compressors: { ZSTD: compressPage },
      createdBy: `ping-llm version ${VERSION}`,
    });
    return this.#parquet;
  }
}

function compressPage(page: Uint8Array): Uint8Array {
  const params = {
    [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
    [constants.ZSTD_c_checksumFlag]: 1,
  };
  return zstdCompressSync(page, { params });
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
  readonly #ipVersion = new Uint8Array(ROW_GROUP_ROWS);
  readonly #rttMs = new Float64Array(ROW_GROUP_ROWS);
  #srcAddr: string[] = [];
  #dstAddr: string[] = [];
  readonly #optional = new Map<OptionalColumn, Float64Array>();

  /** Copies rows of a batch until the group is full; returns how many. */
  fill(batch: MeasurementBatch, from: number): number {
    const at = this.numRows;
    const end = Math.min(batch.numRows, from + ROW_GROUP_ROWS - at);
    this.#eventTimeUs.set(batch.eventTimeUs.subarray(from, end), at);
    this.#ipVersion.set(batch.ipVersion.subarray(from, end), at);
    this.#rttMs.set(batch.rttMs.subarray(from, end), at);
    for (let row = from; row < end; row++) {
      this.#srcAddr.push(batch.srcAddr[row]);
      this.#dstAddr.push(batch.dstAddr[row]);
    }
    for (const { key } of OPTIONAL_COLUMNS) {
      const values = batch[key];
      if (values) this.#optionalColumn(key).set(values.subarray(from, end), at);
      else this.#optional.get(key)?.fill(NaN, at, at + end - from);
    }
    this.numRows += end - from;
    return end - from;
  }

  clear(): void {
    this.numRows = 0;
    this.#srcAddr = [];
    this.#dstAddr = [];
  }

  columns(optional: readonly OptionalColumn[]): ColumnSource[] {
    const { numRows } = this;
    const plain = { encoding: "PLAIN" } as const;
    return [
      { name: "event_time", data: toInt64(this.#eventTimeUs, numRows), ...plain },
      { name: "src_addr", data: this.#srcAddr },
      { name: "dst_addr", data: this.#dstAddr },
      { name: "ip_version", data: toInt64(this.#ipVersion, numRows) },
      { name: "rtt", data: this.#rttMs.subarray(0, numRows), ...plain },
      ...OPTIONAL_COLUMNS.filter(({ key }) => optional.includes(key)).map(({ key, name }) => ({
        name,
        data: toNullableInt64(this.#optionalColumn(key), numRows),
      })),
    ].sort(inFileOrder);
  }

  #optionalColumn(key: OptionalColumn): Float64Array {
    let column = this.#optional.get(key);
    if (!column) this.#optional.set(key, column = new Float64Array(ROW_GROUP_ROWS).fill(NaN));
    return column;
  }
}

function toInt64(values: Float64Array | Uint8Array, numRows: number): BigInt64Array {
  const integers = new BigInt64Array(numRows);
  for (let row = 0; row < numRows; row++) integers[row] = BigInt(values[row]);
  return integers;
}

function toNullableInt64(values: Float64Array, numRows: number): BigInt64Array | (bigint | null)[] {
  let hasNull = false;
  for (let row = 0; row < numRows && !hasNull; row++) hasNull = Number.isNaN(values[row]);
  if (!hasNull) return toInt64(values, numRows);
  return Array.from(
    values.subarray(0, numRows),
    (value) => Number.isNaN(value) ? null : BigInt(value),
  );
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
