/**
 * Measurements read from Parquet (design 02-formats, 2.1), batch by batch, with memory bounded by the needed
 * columns of one row group.
 *
 * Accepts what other tools write: `event_time` as timestamp in ms, µs or ns, with or without zone, as INT96 or
 * as integer epoch seconds; `rtt_avg` for `rtt`; missing optional columns. A file that is no Parquet, is damaged
 * or lacks a needed column fails at once; rows that cannot be used are counted in a {@link RejectLog}.
 *
 * @module
 */
import type { DecodedArray, SchemaElement } from "hyparquet";
import { FormatError } from "../errors.ts";
import { parseAddress } from "../tokens/ip.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "./batch.ts";
import { ParquetFile, type RowGroupRange } from "./parquet_file.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "./parquet_writer.ts";
import type { RejectLog, RejectReason } from "./rejects.ts";

/** Earliest time that is accepted: 1990-01-01, in microseconds since 1970. */
export const MIN_TIME_US = Date.UTC(1990, 0, 1) * 1000;
/** First time that is too late: 2100-01-01, in microseconds since 1970. */
export const END_TIME_US = Date.UTC(2100, 0, 1) * 1000;

const DEFAULT_BATCH_ROWS = 65_536;
const MAX_CACHED_ADDRESSES = 1_000_000;
const MICROSECONDS = 1e6;

/** How {@link readMeasurements} reads. */
export interface ReadOptions {
  /** Where rejected rows are counted. */
  rejects: RejectLog;
  /** Which optional columns are read where a file has them (default: all). */
  columns?: readonly OptionalColumn[];
  /** Which of them every file must have. */
  required?: readonly OptionalColumn[];
  /** Largest number of rows of a batch (default 65,536). */
  batchRows?: number;
}

/** A batch of good rows and where in the file they came from. */
export interface SourcedBatch extends MeasurementBatch {
  path: string;
  /** The first row of the file, from 0, that this batch was made of; rejected rows leave no gap in the arrays. */
  firstRow: number;
  /** How many rows of the file the batch was made of, rejected ones included. */
  numRowsRead: number;
}

/**
 * Reads the measurements of Parquet files, in the files' order.
 *
 * @param paths The files.
 * @param options What to read and where to count rejected rows.
 * @throws {FormatError} If a file is no Parquet, is damaged or lacks a needed column; no batch is yielded before
 *   the footers of all files were checked.
 */
export async function* readMeasurements(
  paths: readonly string[],
  options: ReadOptions,
): AsyncGenerator<SourcedBatch> {
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    planColumns(file, options);
  }
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    const plan = planColumns(file, options);
    const versions = new AddressVersions();
    for (const group of file.rowGroups) {
      const columns = await readGroup(file, plan, group);
      const batchRows = options.batchRows ?? DEFAULT_BATCH_ROWS;
      for (let from = 0; from < group.numRows; from += batchRows) {
        const end = Math.min(from + batchRows, group.numRows);
        const batch = selectRows(
          columns,
          { from, end, path, firstRow: group.firstRow },
          versions,
          options.rejects,
        );
        yield { ...batch, path, firstRow: group.firstRow + from, numRowsRead: end - from };
      }
    }
  }
}

/**
 * Counts the rows of Parquet files by their footers alone.
 *
 * @throws {FormatError} If a file is no Parquet or its footer is damaged.
 */
export async function countRows(paths: readonly string[]): Promise<number> {
  let numRows = 0;
  for (const path of paths) {
    using file = await ParquetFile.open(path);
    numRows += file.numRows;
  }
  return numRows;
}

/** The columns of a file that are read, by their names in the file. */
interface ColumnPlan {
  eventTime: string;
  rtt: string;
  ipVersion: string | undefined;
  optional: { key: OptionalColumn; name: string }[];
}

/** A row group's needed columns; `raw` keeps nulls, the numbers have NaN for them. */
interface GroupColumns {
  rawTime: DecodedArray;
  rawRtt: DecodedArray;
  eventTimeUs: Float64Array;
  rttMs: Float64Array;
  srcAddr: DecodedArray;
  dstAddr: DecodedArray;
  ipVersion: Float64Array | undefined;
  optional: { key: OptionalColumn; values: Float64Array }[];
}

function planColumns(file: ParquetFile, options: ReadOptions): ColumnPlan {
  const eventTime = needColumn(file, ["event_time"], isTime, "a timestamp or integer epoch seconds");
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
  for (const { name } of optional) needColumn(file, [name], isNumber, "an integer");
  return { eventTime, rtt, ipVersion, optional };
}

function needColumn(
  file: ParquetFile,
  names: string[],
  isType: (element: SchemaElement) => boolean,
  wanted: string,
): string {
  const name = names.find((candidate) => file.column(candidate));
  const element = name === undefined ? undefined : file.column(name);
  if (name === undefined || !element) {
    throw new FormatError(
      `column ${names[0]} is missing (it has ${file.columnNames.join(", ")}); ` +
        `rename or add the column, see the README for the measurement columns`,
      { path: file.path },
    );
  }
  if (isType(element)) return name;
  const found = element.logical_type?.type ?? element.converted_type ?? element.type;
  throw new FormatError(`column ${name} is of type ${found}, ${wanted} was wanted; convert the column`, {
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

function isTimestamp({ type, logical_type, converted_type }: SchemaElement): boolean {
  return type === "INT96" || logical_type?.type === "TIMESTAMP" || /^TIMESTAMP_/.test(converted_type ?? "");
}

function isTime(element: SchemaElement): boolean {
  return isTimestamp(element) || (isNumber(element) && /^INT/.test(element.type ?? ""));
}

async function readGroup(file: ParquetFile, plan: ColumnPlan, group: RowGroupRange): Promise<GroupColumns> {
  const rawTime = await file.readColumn(plan.eventTime, group);
  const rawRtt = await file.readColumn(plan.rtt, group);
  const timeElement = file.column(plan.eventTime);
  const scale = timeElement && isTimestamp(timeElement) ? 1 : MICROSECONDS;
  const optional = [];
  for (const { key, name } of plan.optional) {
    optional.push({ key, values: toNumbers(await file.readColumn(name, group)) });
  }
  return {
    rawTime,
    rawRtt,
    eventTimeUs: toNumbers(rawTime, scale),
    rttMs: toNumbers(rawRtt),
    srcAddr: await file.readColumn("src_addr", group),
    dstAddr: await file.readColumn("dst_addr", group),
    ipVersion: plan.ipVersion ? toNumbers(await file.readColumn(plan.ipVersion, group)) : undefined,
    optional,
  };
}

function toNumbers(values: DecodedArray, scale = 1): Float64Array {
  if (values instanceof Float64Array && scale === 1) return values;
  const numbers = new Float64Array(values.length);
  for (let row = 0; row < values.length; row++) {
    const value: unknown = values[row];
    numbers[row] = value === null || value === undefined ? NaN : Number(value) * scale;
  }
  return numbers;
}

interface RowRange {
  /** First row, within the group. */
  from: number;
  /** Row after the last, within the group. */
  end: number;
  path: string;
  /** The group's first row in the file. */
  firstRow: number;
}

/** Copies the rows of a range that can be used. */
function selectRows(
  columns: GroupColumns,
  { from, end, path, firstRow }: RowRange,
  versions: AddressVersions,
  rejects: RejectLog,
): MeasurementBatch {
  const batch = emptyBatch(end - from, columns.optional.map(({ key }) => key));
  const optional = columns.optional.map(({ key, values }) => ({
    values,
    into: batch[key] ?? new Float64Array(0),
  }));
  const { eventTimeUs, rttMs, srcAddr, dstAddr, ipVersion } = columns;
  let at = 0;
  for (let row = from; row < end; row++) {
    const timeUs = eventTimeUs[row];
    const rtt = rttMs[row];
    const version = versions.of(srcAddr[row]);
    const isGood = timeUs >= MIN_TIME_US && timeUs < END_TIME_US &&
      (rtt >= 0 && rtt < Infinity || rtt === FAILED_RTT_MS) &&
      version > 0 && version === versions.of(dstAddr[row]) &&
      (!ipVersion || ipVersion[row] === version || Number.isNaN(ipVersion[row]));
    if (!isGood) {
      const { reason, detail } = explainReject(columns, row, versions);
      rejects.add(reason, path, firstRow + row, detail);
      continue;
    }
    batch.eventTimeUs[at] = timeUs;
    batch.srcAddr.push(srcAddr[row]);
    batch.dstAddr.push(dstAddr[row]);
    batch.ipVersion[at] = version;
    batch.rttMs[at] = rtt;
    for (const { values, into } of optional) into[at] = values[row];
    at++;
  }
  return truncateBatch(batch, at);
}

function emptyBatch(numRows: number, optional: OptionalColumn[]): MeasurementBatch {
  const batch: MeasurementBatch = {
    numRows,
    eventTimeUs: new Float64Array(numRows),
    srcAddr: [],
    dstAddr: [],
    ipVersion: new Uint8Array(numRows),
    rttMs: new Float64Array(numRows),
  };
  for (const key of optional) batch[key] = new Float64Array(numRows);
  return batch;
}

function truncateBatch(batch: MeasurementBatch, numRows: number): MeasurementBatch {
  if (batch.numRows === numRows) return batch;
  const short: MeasurementBatch = {
    ...batch,
    numRows,
    eventTimeUs: batch.eventTimeUs.subarray(0, numRows),
    ipVersion: batch.ipVersion.subarray(0, numRows),
    rttMs: batch.rttMs.subarray(0, numRows),
  };
  for (const { key } of OPTIONAL_COLUMNS) {
    const values = batch[key];
    if (values) short[key] = values.subarray(0, numRows);
  }
  return short;
}

function explainReject(
  columns: GroupColumns,
  row: number,
  versions: AddressVersions,
): { reason: RejectReason; detail: string } {
  const needed: [string, unknown][] = [
    ["event_time", columns.rawTime[row]],
    ["src_addr", columns.srcAddr[row]],
    ["dst_addr", columns.dstAddr[row]],
    ["rtt", columns.rawRtt[row]],
  ];
  for (const [name, value] of needed) {
    if (value === null || value === undefined) return { reason: "nullValue", detail: name };
  }
  const timeUs = columns.eventTimeUs[row];
  if (!(timeUs >= MIN_TIME_US && timeUs < END_TIME_US)) {
    return { reason: "timeOutOfRange", detail: `event_time ${timeUs / MICROSECONDS} s` };
  }
  for (const name of ["srcAddr", "dstAddr"] as const) {
    const address: unknown = columns[name][row];
    if (versions.of(address) === 0) {
      return { reason: "unparseableAddress", detail: String(address).slice(0, 60) };
    }
  }
  const src = versions.of(columns.srcAddr[row]);
  const dst = versions.of(columns.dstAddr[row]);
  if (src !== dst) return { reason: "versionMismatch", detail: `src_addr is IPv${src}, dst_addr IPv${dst}` };
  const stated = columns.ipVersion?.[row] ?? NaN;
  if (!Number.isNaN(stated) && stated !== src) {
    return { reason: "versionMismatch", detail: `ip_version is ${stated}, the addresses are IPv${src}` };
  }
  return { reason: "invalidRtt", detail: `rtt ${columns.rttMs[row]}` };
}

/** The IP version of addresses as text, remembered: a file has few addresses and many rows. */
class AddressVersions {
  readonly #known = new Map<string, number>();

  /** 4, 6, or 0 for what is no address. */
  of(address: unknown): number {
    if (typeof address !== "string") return 0;
    let version = this.#known.get(address);
    if (version === undefined) {
      const numBytes = parseAddress(address)?.length;
      version = numBytes === 4 ? 4 : numBytes === 16 ? 6 : 0;
      if (this.#known.size >= MAX_CACHED_ADDRESSES) this.#known.clear();
      this.#known.set(address, version);
    }
    return version;
  }
}
