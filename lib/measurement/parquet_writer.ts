/**
 * Measurements written as Parquet: row groups leave memory as they fill, the file
 * appears under its name only when it is whole.
 *
 * Schema and footer are `hyparquet-writer`'s, the column chunks our own (parquet_chunk_writer.ts says why).
 *
 * @module
 */
import type { ColumnChunk, SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { ensure } from "../errors.ts";
import { AtomicFile } from "../files/atomic.ts";
import { VERSION } from "../version.ts";
import type { MeasurementBatch } from "./batch.ts";
import { DictionaryColumn, NULL_INDEX } from "./column_dictionary.ts";
import { type ChunkSource, type IndexedValues, writeColumnChunk } from "./parquet_chunk_writer.ts";

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

/** The columns of measurements by their names in files, in their order there. */
export const MEASUREMENT_COLUMNS: readonly string[] = [
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
  return MEASUREMENT_COLUMNS.indexOf(a.name) - MEASUREMENT_COLUMNS.indexOf(b.name);
}

/** The rows of a row group; only the first `numRows` of each column count. */
export interface MeasurementColumns extends Partial<Record<OptionalColumn, IndexedValues>> {
  numRows: number;
  /** Microseconds since 1970. */
  eventTimeUs: Float64Array;
  srcAddr: IndexedValues;
  dstAddr: IndexedValues;
  ipVersion: IndexedValues;
  /** Milliseconds, or {@link FAILED_RTT_MS}. */
  rttMs: Float64Array;
  /** Further columns of numbers, after all others. */
  numbers?: readonly NumberColumn[];
}

/** A column of numbers that is no part of a measurement. */
export interface NumberColumn {
  /** In the file. */
  name: string;
  values: Float64Array;
}

/** A row group as it lies in a file; plain data, so that a worker can make it. */
export interface EncodedRowGroup {
  numRows: number;
  bytes: Uint8Array<ArrayBuffer>;
  /** The chunks' entries for the footer, with offsets from the beginning of `bytes`. */
  chunks: ColumnChunk[];
}

/**
 * Encodes a row group; {@link MeasurementParquetWriter.appendRowGroup} writes it.
 *
 * @param columns Its rows, at most {@link ROW_GROUP_ROWS}.
 * @param optional Which optional columns the file has.
 */
export function encodeRowGroup(
  columns: MeasurementColumns,
  optional: readonly OptionalColumn[],
): EncodedRowGroup {
  const { numRows } = columns;
  const sink = new ByteWriter(FLUSH_BYTES);
  const chunks = chunkSources(columns, optional).map((source) => writeColumnChunk(sink, source, numRows));
  return { numRows, bytes: new Uint8Array(sink.buffer, 0, sink.offset), chunks };
}

function chunkSources(columns: MeasurementColumns, optional: readonly OptionalColumn[]): ChunkSource[] {
  const integers = { type: "INT64", isOptional: false } as const;
  const texts = { type: "BYTE_ARRAY", isOptional: false } as const;
  const optionalSources = OPTIONAL_COLUMNS.flatMap(({ key, name }) => {
    const data = columns[key];
    return data && optional.includes(key) ? [{ name, data, ...integers, isOptional: true }] : [];
  });
  return [
    { name: "event_time", data: columns.eventTimeUs, ...integers },
    { name: "src_addr", data: columns.srcAddr, ...texts },
    { name: "dst_addr", data: columns.dstAddr, ...texts },
    { name: "ip_version", data: columns.ipVersion, ...integers },
    { name: "rtt", data: columns.rttMs, type: "DOUBLE" as const, isOptional: false },
    ...optionalSources,
  ].sort(inFileOrder).concat(
    (columns.numbers ?? []).map(({ name, values }) => ({
      name,
      data: values,
      type: "DOUBLE" as const,
      isOptional: false,
    })),
  );
}

/** Which columns a file has beside those of every measurement. */
export interface WriterOptions {
  /** Of the optional ones (default: those of the first batch). */
  optionalColumns?: readonly OptionalColumn[];
  /** Names of further columns of numbers, whose values are given with each batch; none by default. */
  numberColumns?: readonly string[];
}

/** Writes batches of measurements to one Parquet file. */
export class MeasurementParquetWriter {
  readonly #file: AtomicFile;
  readonly #bytes: AtomicByteWriter;
  readonly #group: RowGroup;
  readonly #numberNames: readonly string[];
  #optional: readonly OptionalColumn[] | undefined;
  #parquet: ParquetWriter | undefined;
  #numRows = 0;

  private constructor(path: string, { optionalColumns, numberColumns = [] }: WriterOptions) {
    this.#file = AtomicFile.create(path);
    this.#bytes = new AtomicByteWriter(this.#file);
    this.#group = new RowGroup(numberColumns);
    this.#numberNames = numberColumns;
    this.#optional = optionalColumns;
  }

  /**
   * Opens the file under its temporary name.
   *
   * @param path The Parquet file to write.
   * @throws {UserError} If the file cannot be made.
   */
  static create(path: string, options: WriterOptions = {}): MeasurementParquetWriter {
    return new MeasurementParquetWriter(path, options);
  }

  /** Rows appended so far. */
  get numRows(): number {
    return this.#numRows;
  }

  /**
   * Appends the rows of a batch; the batch may be reused afterwards.
   *
   * @param numbers The values of the file's `numberColumns`, in their order.
   * @throws {UserError} If the disk is full.
   */
  append(batch: MeasurementBatch, numbers: readonly Float64Array[] = []): void {
    ensure(numbers.length === this.#numberNames.length, `${numbers.length} columns of numbers`);
    this.#optional ??= OPTIONAL_COLUMNS.map(({ key }) => key).filter((key) => batch[key] !== undefined);
    for (let from = 0; from < batch.numRows;) {
      from += this.#group.fill(batch, from, numbers);
      if (this.#group.numRows === ROW_GROUP_ROWS) this.#flush();
    }
    this.#numRows += batch.numRows;
  }

  /**
   * Appends a row group after all rows so far, as its own; it has the file's optional columns.
   *
   * @internal
   * @throws {UserError} If the disk is full.
   */
  appendRowGroup(group: EncodedRowGroup): void {
    this.#flush();
    this.#write(group);
    this.#numRows += group.numRows;
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
    if (this.#group.numRows === 0) return;
    const optional = this.#optional ?? [];
    this.#write(encodeRowGroup(this.#group.columns(optional), optional));
    this.#group.clear();
  }

  #write({ numRows, bytes, chunks }: EncodedRowGroup): void {
    const parquet = this.#open();
    const columns = chunks.map((chunk) => movedBy(this.#bytes.offset, chunk));
    this.#bytes.appendBytes(bytes);
    parquet.row_groups.push({
      columns,
      num_rows: BigInt(numRows),
      total_byte_size: columns.reduce(
        (sum, chunk) => sum + (chunk.meta_data?.total_uncompressed_size ?? 0n),
        0n,
      ),
      total_compressed_size: BigInt(bytes.length),
    });
    parquet.num_rows += BigInt(numRows);
  }

  #open(): ParquetWriter {
    this.#parquet ??= new ParquetWriter({
      writer: this.#bytes,
      schema: schemaOf(this.#optional ?? [], this.#numberNames),
      createdBy: `ping-llm version ${VERSION}`,
    });
    return this.#parquet;
  }
}

/** The entry of a chunk that begins so many bytes later. */
function movedBy(numBytes: number, chunk: ColumnChunk): ColumnChunk {
  const { file_offset, meta_data } = chunk;
  if (!meta_data) return chunk;
  const by = BigInt(numBytes);
  const { data_page_offset, dictionary_page_offset } = meta_data;
  return {
    file_offset: file_offset + by,
    meta_data: {
      ...meta_data,
      data_page_offset: data_page_offset + by,
      ...(dictionary_page_offset === undefined
        ? {}
        : { dictionary_page_offset: dictionary_page_offset + by }),
    },
  };
}

function schemaOf(optional: readonly OptionalColumn[], numberNames: readonly string[]): SchemaElement[] {
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
  const numbers = numberNames.map((name): SchemaElement => ({ ...required, name, type: "DOUBLE" }));
  const numColumns = columns.length + numbers.length;
  return [{ name: "schema", num_children: numColumns }, ...columns.sort(inFileOrder), ...numbers];
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
  readonly #numbers: readonly NumberColumn[];

  /** @param numberNames Names of the further columns. */
  constructor(numberNames: readonly string[]) {
    this.#numbers = numberNames.map((name) => ({ name, values: new Float64Array(ROW_GROUP_ROWS) }));
  }

  /** Copies rows of a batch until the group is full; returns how many. */
  fill(batch: MeasurementBatch, from: number, numbers: readonly Float64Array[]): number {
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
    this.#numbers.forEach(({ values }, i) => values.set(numbers[i].subarray(from, end), at));
    this.numRows += end - from;
    return end - from;
  }

  clear(): void {
    this.numRows = 0;
    const columns = [this.#ipVersion, this.#srcAddr, this.#dstAddr, ...this.#optional.values()];
    for (const column of columns) column.clear();
  }

  columns(optional: readonly OptionalColumn[]): MeasurementColumns {
    return {
      numRows: this.numRows,
      eventTimeUs: this.#eventTimeUs,
      srcAddr: this.#srcAddr,
      dstAddr: this.#dstAddr,
      ipVersion: this.#ipVersion,
      rttMs: this.#rttMs,
      numbers: this.#numbers,
      ...Object.fromEntries(optional.map((key) => [key, this.#optionalColumn(key)])),
    };
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
