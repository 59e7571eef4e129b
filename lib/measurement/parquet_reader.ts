/**
 * Measurements read from Parquet, batch by batch; memory holds one batch and a page of each
 * needed column, whatever the size of the row groups.
 *
 * Accepts what other tools write: `event_time` as timestamp in ms, µs or ns, with or without zone, as INT96 or
 * as integer epoch seconds; `rtt_avg` for `rtt`; missing optional columns. A file that is not Parquet, is damaged
 * or lacks a needed column fails at once; unusable rows are counted in a {@link RejectLog}.
 *
 * @module
 */
import type { SchemaElement } from "hyparquet";
import { FormatError, shortened } from "../errors.ts";
import { NumberCursor, TextCursor } from "../parquet/column.ts";
import { ParquetFile, type RowGroupRange } from "../parquet/file.ts";
import { type NumberKind, timeKind } from "../parquet/values.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "./parquet_writer.ts";
import type { RejectLog } from "./rejects.ts";
import { AddressVersions, type CodedBatch, type RowPieces, selectRows } from "./row_selection.ts";
import { TextPool } from "../parquet/text_pool.ts";

export type { CodedBatch } from "./row_selection.ts";

const DEFAULT_BATCH_ROWS = 65_536;
const MAX_CACHED_ADDRESSES = 1_000_000;

/** Options of {@link readMeasurements}. */
export interface ReadOptions {
  /** Counts rejected rows. */
  rejects: RejectLog;
  /** The optional columns that are read if a file has them (default: all). */
  columns?: readonly OptionalColumn[];
  /** The optional columns that every file must have. */
  required?: readonly OptionalColumn[];
  /** Rows without a value in one of these are rejected, where a file has the column; none by default. */
  neverNull?: readonly OptionalColumn[];
  /** Advice to the user if a file lacks a required one. */
  ifMissing?: string;
  /** Largest number of rows of a batch (default 65,536). */
  batchRows?: number;
  /**
   * Reads only the row groups whose first row, counted over all files, is in [`first`, `end`). Adjacent ranges together
   * cover all rows.
   */
  rowRange?: readonly [first: number, end: number] | undefined;
}

/** A batch of usable rows and their origin in the file. */
export interface SourcedBatch extends CodedBatch {
  /** The file. */
  path: string;
  /** The first row of the file, from 0, in this batch; rejected rows leave no gap in the arrays. */
  firstRow: number;
  /** Number of the file's rows in this batch, rejected ones included. */
  numRowsRead: number;
}

/**
 * Reads the measurements of Parquet files, in the files' order.
 *
 * @param paths The files.
 * @param options The columns and rows to read, and the log of rejected rows.
 * @throws {FormatError} If a file is not Parquet, is damaged or lacks a needed column; no batch is yielded before
 *   the footers of all files were checked.
 */
export async function* readMeasurements(
  paths: readonly string[],
  options: ReadOptions,
): AsyncGenerator<SourcedBatch> {
  const firstRows: number[] = [];
  let numRows = 0;
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    planColumns(file, options);
    firstRows.push(numRows);
    numRows += file.numRows;
  }
  const pool = new TextPool();
  const versions = new AddressVersions(pool);
  const { rejects, neverNull = [] } = options;
  const [first, end] = options.rowRange ?? [0, numRows];
  for (const [i, path] of paths.entries()) {
    if (firstRows[i] >= end || (firstRows[i + 1] ?? numRows) <= first) continue;
    using file = await ParquetFile.open(path);
    const plan = planColumns(file, options);
    for (const group of file.rowGroups) {
      const row = firstRows[i] + group.firstRow;
      if (row < first || row >= end) continue;
      const readNext = openGroup(file, plan, { group, pool });
      const batchRows = options.batchRows ?? DEFAULT_BATCH_ROWS;
      for (let from = 0; from < group.numRows; from += batchRows) {
        const numRowsRead = Math.min(batchRows, group.numRows - from);
        pool.trim(MAX_CACHED_ADDRESSES);
        const where = { path, firstRow: group.firstRow + from, numRowsRead };
        const selection = { versions, rejects, neverNull };
        yield { ...selectRows(readNext(numRowsRead), where, selection), ...where };
      }
    }
  }
}

/** The facts in the footers of Parquet files. */
export interface InputSurvey {
  numRows: number;
  /** Optional columns that at least one file has. */
  columns: OptionalColumn[];
}

/**
 * Counts the rows of Parquet files and finds their columns, from the footers alone.
 *
 * @throws {FormatError} If a file is not Parquet or its footer is damaged.
 */
export async function surveyInputs(paths: readonly string[]): Promise<InputSurvey> {
  let numRows = 0;
  const columns = new Set<OptionalColumn>();
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    numRows += file.numRows;
    for (const { key, name } of OPTIONAL_COLUMNS) if (file.column(name)) columns.add(key);
  }
  return { numRows, columns: [...columns] };
}

/**
 * The column of times and the meaning of its numbers.
 *
 * @throws {FormatError} If it is missing.
 */
export function timeColumn(file: ParquetFile): { name: string; kind: NumberKind } {
  const name = needColumn(file, ["event_time"], isTime, "a timestamp or integer epoch seconds");
  const element = file.column(name);
  return { name, kind: (element && timeKind(element)) ?? "seconds" };
}

/** The columns of a file that are read, by their names in the file. */
interface ColumnPlan {
  eventTime: { name: string; kind: NumberKind };
  rtt: string;
  ipVersion: string | undefined;
  optional: { key: OptionalColumn; name: string }[];
}

function planColumns(file: ParquetFile, options: ReadOptions): ColumnPlan {
  const eventTime = timeColumn(file);
  needColumn(file, ["src_addr"], isText, "a string");
  needColumn(file, ["dst_addr"], isText, "a string");
  const rtt = needColumn(file, ["rtt", "rtt_avg"], isNumber, "a number");
  const ipVersion = file.column("ip_version") && needColumn(file, ["ip_version"], isNumber, "an integer");
  const wanted = new Set([
    ...(options.columns ?? OPTIONAL_COLUMNS.map(({ key }) => key)),
    ...options.required ?? [],
  ]);
  const optional = OPTIONAL_COLUMNS.filter(({ key, name }) =>
    wanted.has(key) && (options.required?.includes(key) || file.column(name))
  );
  for (const { name } of optional) needColumn(file, [name], isNumber, "an integer", options.ifMissing);
  return { eventTime, rtt, ipVersion, optional };
}

function needColumn(
  file: ParquetFile,
  names: string[],
  isType: (element: SchemaElement) => boolean,
  wanted: string,
  ifMissing = "rename or add the column, see the README for the measurement columns",
): string {
  const name = names.find((candidate) => file.column(candidate));
  const element = name === undefined ? undefined : file.column(name);
  if (name === undefined || !element) {
    throw new FormatError(
      `column ${names[0]} is missing (it has ${shortened(file.columnNames.join(", "))}); ${ifMissing}`,
      { path: file.path },
    );
  }
  if (isType(element)) return name;
  const found = element.logical_type?.type ?? element.converted_type ?? element.type;
  throw new FormatError(`column ${name} is of type ${found}, expected ${wanted}; convert the column`, {
    path: file.path,
  });
}

function isText({ type, logical_type, converted_type }: SchemaElement): boolean {
  return type === "BYTE_ARRAY" && (logical_type === undefined || logical_type.type === "STRING") &&
    (converted_type === undefined || converted_type === "UTF8");
}

function isNumber({ type, logical_type, converted_type }: SchemaElement): boolean {
  const isPlain = logical_type === undefined || logical_type.type === "INTEGER";
  return isPlain && (type === "DOUBLE" || type === "FLOAT" || type === "INT32" || type === "INT64") &&
    (converted_type === undefined || /INT/.test(converted_type));
}

function isTime(element: SchemaElement): boolean {
  return timeKind(element) !== undefined || (isNumber(element) && /^INT/.test(element.type ?? ""));
}

/** Opens the needed columns of a row group; each call of the result reads the next rows. */
function openGroup(
  file: ParquetFile,
  plan: ColumnPlan,
  { group, pool }: { group: RowGroupRange; pool: TextPool },
): (numRows: number) => RowPieces {
  const numbers = (name: string, kind: NumberKind = "number") =>
    new NumberCursor(file.source, file.chunk(name, group), kind);
  const texts = (name: string) => new TextCursor(file.source, file.chunk(name, group), pool);
  const eventTime = numbers(plan.eventTime.name, plan.eventTime.kind);
  const [src, dst, rtt] = [texts("src_addr"), texts("dst_addr"), numbers(plan.rtt)];
  const ipVersion = plan.ipVersion ? numbers(plan.ipVersion) : undefined;
  const optional = plan.optional.map(({ key, name }) => ({ key, cursor: numbers(name) }));
  return (numRows) => ({
    eventTimeUs: eventTime.read(numRows),
    rttMs: rtt.read(numRows),
    srcAddr: src.read(numRows),
    dstAddr: dst.read(numRows),
    ipVersion: ipVersion?.read(numRows),
    optional: optional.map(({ key, cursor }) => ({ key, values: cursor.read(numRows).values })),
  });
}
