/**
 * Writes measurements as Parquet. README.md lists the columns.
 *
 * @module
 */
import type { SchemaElement } from "hyparquet";
import { getOrMake } from "../../base/collections.ts";
import { ensure } from "../../base/errors.ts";
import type { MeasurementBatch } from "../formats/batch.ts";
import {
  type ChunkSource,
  DictionaryColumn,
  encodeChunks,
  type EncodedRowGroup,
  type IndexedValues,
  NULL_INDEX,
  ParquetOutput,
} from "../../io/parquet/writer.ts";

/** 2^17 rows take about 3 MB compressed. Readers hold the needed columns of one group at a time. */
export const ROW_GROUP_ROWS = 131_072;

/** @internal A column that a file may lack. */
export type OptionalColumn = "msmId" | "prbId" | "sizeBytes" | "packetErrorCount";

/** The optional columns with their names in files. */
export const OPTIONAL_COLUMNS: readonly { key: OptionalColumn; name: string }[] = [
  { key: "msmId", name: "msm_id" },
  { key: "prbId", name: "prb_id" },
  { key: "sizeBytes", name: "size" },
  { key: "packetErrorCount", name: "packet_error_count" },
];

/** The rows of a row group. Only the first `numRows` values of each column are used. */
interface MeasurementColumns
  extends
    Record<"srcAddr" | "dstAddr" | "ipVersion", IndexedValues>,
    Partial<Record<OptionalColumn, IndexedValues>> {
  numRows: number;
  /** Microseconds since 1970. */
  eventTimeUs: Float64Array;
  /** Milliseconds, or {@link FAILED_RTT_MS}. */
  rttMs: Float64Array;
  /** Further columns, written after all others. */
  numbers?: readonly NumberColumn[];
}

/** A numeric column that is not part of a measurement. */
interface NumberColumn {
  name: string;
  values: Float64Array;
}

const TEXT = { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } } as const;
const MICROSECONDS = {
  type: "INT64",
  converted_type: "TIMESTAMP_MICROS",
  logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
} as const;

/** In file order. */
const COLUMNS: readonly (
  & Pick<SchemaElement, "name" | "converted_type" | "logical_type">
  & Pick<ChunkSource, "type">
  & { key: Exclude<keyof MeasurementColumns, "numRows" | "numbers"> }
)[] = [
  { key: "msmId", name: "msm_id", type: "INT64" },
  { key: "eventTimeUs", name: "event_time", ...MICROSECONDS },
  { key: "srcAddr", name: "src_addr", ...TEXT },
  { key: "dstAddr", name: "dst_addr", ...TEXT },
  { key: "ipVersion", name: "ip_version", type: "INT64" },
  { key: "rttMs", name: "rtt", type: "DOUBLE" },
  { key: "sizeBytes", name: "size", type: "INT64" },
  { key: "packetErrorCount", name: "packet_error_count", type: "INT64" },
  { key: "prbId", name: "prb_id", type: "INT64" },
];

/** Names in files, in file order. */
export const MEASUREMENT_COLUMNS: readonly string[] = COLUMNS.map(({ name }) => name);

function columnsWith(optional: readonly OptionalColumn[]) {
  return COLUMNS.map((column) => ({
    ...column,
    isOptional: OPTIONAL_COLUMNS.some(({ key }) => key === column.key),
  })).filter(({ key, isOptional }) => !isOptional || optional.some((each) => each === key));
}

/**
 * Encodes a row group for {@link MeasurementParquetWriter.appendRowGroup}.
 *
 * @param columns At most {@link ROW_GROUP_ROWS} rows.
 * @param optional The optional columns of the file.
 */
export function encodeRowGroup(
  columns: MeasurementColumns,
  optional: readonly OptionalColumn[],
): EncodedRowGroup {
  const sources = columnsWith(optional).flatMap(({ key, name, type, isOptional }): ChunkSource[] => {
    const data = columns[key];
    return data ? [{ name, data, type, isOptional }] : [];
  });
  for (const { name, values } of columns.numbers ?? []) {
    sources.push({ name, data: values, type: "DOUBLE", isOptional: false });
  }
  return encodeChunks(sources, columns.numRows);
}

function schemaOf(optional: readonly OptionalColumn[], numberNames: readonly string[]): SchemaElement[] {
  const columns = [
    ...columnsWith(optional).map(({ key: _, isOptional, ...element }): SchemaElement => (
      { ...element, repetition_type: isOptional ? "OPTIONAL" : "REQUIRED" }
    )),
    ...numberNames.map((name): SchemaElement => ({ name, type: "DOUBLE", repetition_type: "REQUIRED" })),
  ];
  return [{ name: "schema", num_children: columns.length }, ...columns];
}

/** The columns that a file has in addition to those of every measurement. */
interface WriterOptions {
  /** The optional columns; by default those of the first batch. */
  optionalColumns?: readonly OptionalColumn[];
  /** Names of further numeric columns, whose values are passed with each batch; none by default. */
  numberColumns?: readonly string[];
}

/** Writes batches of measurements to one Parquet file. */
export class MeasurementParquetWriter {
  /** Rows appended so far. */
  numRows = 0;
  readonly #output: ParquetOutput;
  readonly #group: RowGroup;
  readonly #numberNames: readonly string[];
  #optional: readonly OptionalColumn[] | undefined;

  private constructor(path: string, { optionalColumns, numberColumns = [] }: WriterOptions) {
    this.#output = new ParquetOutput(path);
    this.#group = new RowGroup(numberColumns);
    this.#numberNames = numberColumns;
    this.#optional = optionalColumns;
  }

  /** Opens a file under a temporary name. @throws {UserError} If the file cannot be created. */
  static create(path: string, options: WriterOptions = {}): MeasurementParquetWriter {
    return new MeasurementParquetWriter(path, options);
  }

  /**
   * Appends the rows of a batch, which may be reused afterwards.
   *
   * @param numbers The values of the file's `numberColumns`, in order.
   * @throws {UserError} If the disk is full.
   */
  append(batch: MeasurementBatch, numbers: readonly Float64Array[] = []): void {
    ensure(numbers.length === this.#numberNames.length, `${numbers.length} columns of numbers`);
    this.#optional ??= OPTIONAL_COLUMNS.map(({ key }) => key).filter((key) => batch[key] !== undefined);
    for (let from = 0; from < batch.numRows;) {
      from += this.#group.fill(batch, from, numbers);
      if (this.#group.numRows === ROW_GROUP_ROWS) this.#flush();
    }
    this.numRows += batch.numRows;
  }

  /**
   * Appends an encoded row group, which must have the file's optional columns.
   *
   * @internal
   * @throws {UserError} If the disk is full.
   */
  appendRowGroup(group: EncodedRowGroup): void {
    this.#flush();
    this.#output.write(group);
    this.numRows += group.numRows;
  }

  /**
   * Writes the remaining rows and the footer, flushes to disk and renames the file to its final name.
   *
   * @returns The number of rows and the file size in bytes.
   * @throws {UserError} If the disk is full.
   */
  close(): { rows: number; sizeBytes: number } {
    this.#flush();
    const sizeBytes = this.#output.close(schemaOf(this.#optional ?? [], this.#numberNames));
    return { rows: this.numRows, sizeBytes };
  }

  /** Deletes the temporary file; does nothing after {@link close}. */
  [Symbol.dispose](): void {
    this.#output.abort();
  }

  #flush(): void {
    if (this.#group.numRows === 0) return;
    const optional = this.#optional ?? [];
    this.#output.write(encodeRowGroup(this.#group.columns(optional), optional));
    this.#group.clear();
  }
}

/** The row group being filled, in columns of fixed size. */
class RowGroup {
  numRows = 0;
  readonly #eventTimeUs = new Float64Array(ROW_GROUP_ROWS);
  readonly #rttMs = new Float64Array(ROW_GROUP_ROWS);
  readonly #srcAddr = new DictionaryColumn<string>(ROW_GROUP_ROWS);
  readonly #dstAddr = new DictionaryColumn<string>(ROW_GROUP_ROWS);
  readonly #integers = new Map<"ipVersion" | OptionalColumn, DictionaryColumn<number>>();
  readonly #numbers: readonly NumberColumn[];

  constructor(numberNames: readonly string[]) {
    this.#numbers = numberNames.map((name) => ({ name, values: new Float64Array(ROW_GROUP_ROWS) }));
  }

  /** Copies rows of a batch until the group is full. @returns The number of rows copied. */
  fill(batch: MeasurementBatch, from: number, numbers: readonly Float64Array[]): number {
    const at = this.numRows;
    const end = Math.min(batch.numRows, from + ROW_GROUP_ROWS - at);
    this.#eventTimeUs.set(batch.eventTimeUs.subarray(from, end), at);
    this.#rttMs.set(batch.rttMs.subarray(from, end), at);
    const rows = { from, end, at };
    this.#srcAddr.set(batch.srcAddr, rows);
    this.#dstAddr.set(batch.dstAddr, rows);
    this.#column("ipVersion").set(batch.ipVersion, rows);
    for (const { key } of OPTIONAL_COLUMNS) {
      const values = batch[key];
      if (values) this.#column(key).set(values, rows);
      else this.#integers.get(key)?.indexes.fill(NULL_INDEX, at, at + end - from);
    }
    this.#numbers.forEach(({ values }, i) => values.set(numbers[i].subarray(from, end), at));
    this.numRows += end - from;
    return end - from;
  }

  clear(): void {
    this.numRows = 0;
    for (const column of [this.#srcAddr, this.#dstAddr, ...this.#integers.values()]) column.clear();
  }

  columns(optional: readonly OptionalColumn[]): MeasurementColumns {
    return {
      numRows: this.numRows,
      eventTimeUs: this.#eventTimeUs,
      srcAddr: this.#srcAddr,
      dstAddr: this.#dstAddr,
      ipVersion: this.#column("ipVersion"),
      rttMs: this.#rttMs,
      numbers: this.#numbers,
      ...Object.fromEntries(optional.map((key) => [key, this.#column(key)])),
    };
  }

  #column(key: "ipVersion" | OptionalColumn): DictionaryColumn<number> {
    return getOrMake(this.#integers, key, () => {
      const column = new DictionaryColumn<number>(ROW_GROUP_ROWS);
      column.indexes.fill(NULL_INDEX); // for the earlier rows
      return column;
    });
  }
}
