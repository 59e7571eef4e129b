/**
 * Measurements read from Parquet (design 02-formats, 2.1), batch by batch; memory holds one batch and a page of each
 * needed column, whatever the size of the row groups.
 *
 * Accepts what other tools write: `event_time` as timestamp in ms, µs or ns, with or without zone, as INT96 or
 * as integer epoch seconds; `rtt_avg` for `rtt`; missing optional columns. A file that is no Parquet, is damaged
 * or lacks a needed column fails at once; rows that cannot be used are counted in a {@link RejectLog}.
 *
 * @module
 */
import type { SchemaElement } from "hyparquet";
import { FormatError } from "../errors.ts";
import { parseAddress } from "../tokens/ip.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "./batch.ts";
import { NumberCursor, type Piece, TextCursor, type TextPiece } from "./parquet_column.ts";
import { ParquetFile, type RowGroupRange } from "./parquet_file.ts";
import { type NumberKind, timeKind } from "./parquet_values.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "./parquet_writer.ts";
import type { RejectLog, RejectReason } from "./rejects.ts";
import { PerText, TextPool } from "./text_pool.ts";

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
  /**
   * Only the row groups whose first row, counted over all files, is from `first` on and before `end`. Ranges that
   * follow each other share out all rows.
   */
  rowRange?: readonly [first: number, end: number];
}

/** A batch whose addresses have numbers, equal ones of equal texts. */
export interface CodedBatch extends MeasurementBatch {
  /** Gives the codes their texts; codes are void when its generation changes. */
  pool: TextPool;
  /** The code of each source address. */
  srcCode: Int32Array;
  /** The code of each destination address. */
  dstCode: Int32Array;
}

/** A batch of good rows and where in the file they came from. */
export interface SourcedBatch extends CodedBatch {
  /** The file. */
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
        yield { ...selectRows(readNext(numRowsRead), where, versions, options.rejects), ...where };
      }
    }
  }
}

/** What the footers of Parquet files say. */
export interface InputSurvey {
  numRows: number;
  /** Optional columns that at least one file has. */
  columns: OptionalColumn[];
}

/**
 * Counts the rows of Parquet files and looks which columns they have, by their footers alone.
 *
 * @throws {FormatError} If a file is no Parquet or its footer is damaged.
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

/** As {@link surveyInputs}, the number of rows alone. */
export async function countRows(paths: readonly string[]): Promise<number> {
  return (await surveyInputs(paths)).numRows;
}

/**
 * The column of times and what its numbers are.
 *
 * @throws {FormatError} If there is none.
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

/** Some rows of the needed columns. */
interface RowPieces {
  eventTimeUs: Piece<Float64Array>;
  rttMs: Piece<Float64Array>;
  srcAddr: TextPiece;
  dstAddr: TextPiece;
  ipVersion: Piece<Float64Array> | undefined;
  optional: { key: OptionalColumn; values: Float64Array }[];
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

/** Keeps the rows that can be used. */
function selectRows(
  pieces: RowPieces,
  { path, firstRow, numRowsRead }: { path: string; firstRow: number; numRowsRead: number },
  versions: AddressVersions,
  rejects: RejectLog,
): CodedBatch {
  const eventTimeUs = pieces.eventTimeUs.values;
  const rttMs = pieces.rttMs.values;
  const srcAddr = pieces.srcAddr.values;
  const dstAddr = pieces.dstAddr.values;
  const ipVersion = pieces.ipVersion?.values;
  const srcCode = pieces.srcAddr.codes;
  const dstCode = pieces.dstAddr.codes;
  versions.byCode(srcCode);
  const versionByCode = versions.byCode(dstCode);
  const versionOf = new Uint8Array(numRowsRead);
  let numKept = 0;
  for (let row = 0; row < numRowsRead; row++) {
    const timeUs = eventTimeUs[row];
    const rtt = rttMs[row];
    const version = versionByCode[srcCode[row]];
    const isGood = timeUs >= MIN_TIME_US && timeUs < END_TIME_US &&
      (rtt >= 0 && rtt < Infinity || rtt === FAILED_RTT_MS) && version > 0 &&
      version === versionByCode[dstCode[row]] &&
      (!ipVersion || ipVersion[row] === version || Number.isNaN(ipVersion[row]));
    if (isGood) {
      versionOf[row] = version;
      numKept++;
      continue;
    }
    const { reason, detail } = explainReject(pieces, row);
    rejects.add(reason, path, firstRow + row, detail);
  }
  const batch: CodedBatch = {
    numRows: numRowsRead,
    eventTimeUs,
    srcAddr,
    dstAddr,
    ipVersion: versionOf,
    rttMs,
    pool: versions.pool,
    srcCode,
    dstCode,
  };
  for (const { key, values } of pieces.optional) batch[key] = values;
  return numKept === numRowsRead ? batch : compact(batch, numKept);
}

/** Moves the rows with an IP version to the front, in place, and leaves out the others. */
function compact(batch: CodedBatch, numKept: number): CodedBatch {
  const { ipVersion } = batch;
  const kept = new Int32Array(numKept);
  let next = 0;
  for (let row = 0; row < batch.numRows; row++) if (ipVersion[row] !== 0) kept[next++] = row;
  const pick = (values: Float64Array) => Float64Array.from(kept, (row) => values[row]);
  const short: CodedBatch = {
    pool: batch.pool,
    srcCode: Int32Array.from(kept, (row) => batch.srcCode[row]),
    dstCode: Int32Array.from(kept, (row) => batch.dstCode[row]),
    numRows: numKept,
    eventTimeUs: pick(batch.eventTimeUs),
    srcAddr: Array.from(kept, (row) => batch.srcAddr[row]),
    dstAddr: Array.from(kept, (row) => batch.dstAddr[row]),
    ipVersion: Uint8Array.from(kept, (row) => ipVersion[row]),
    rttMs: pick(batch.rttMs),
  };
  for (const { key } of OPTIONAL_COLUMNS) {
    const values = batch[key];
    if (values) short[key] = pick(values);
  }
  return short;
}

function explainReject(
  pieces: RowPieces,
  row: number,
): { reason: RejectReason; detail: string } {
  const needed = [
    ["event_time", pieces.eventTimeUs],
    ["src_addr", pieces.srcAddr],
    ["dst_addr", pieces.dstAddr],
    ["rtt", pieces.rttMs],
  ] as const;
  for (const [name, { isNull }] of needed) if (isNull?.[row]) return { reason: "nullValue", detail: name };
  const timeUs = pieces.eventTimeUs.values[row];
  if (!(timeUs >= MIN_TIME_US && timeUs < END_TIME_US)) {
    return { reason: "timeOutOfRange", detail: `event_time ${timeUs / MICROSECONDS} s` };
  }
  const [srcAddr, dstAddr] = [pieces.srcAddr.values[row], pieces.dstAddr.values[row]];
  for (const address of [srcAddr, dstAddr]) {
    if (versionOfText(address) === 0) return { reason: "unparseableAddress", detail: address.slice(0, 60) };
  }
  const src = versionOfText(srcAddr);
  const dst = versionOfText(dstAddr);
  if (src !== dst) return { reason: "versionMismatch", detail: `src_addr is IPv${src}, dst_addr IPv${dst}` };
  const stated = pieces.ipVersion?.values[row] ?? NaN;
  if (!Number.isNaN(stated) && stated !== src) {
    return { reason: "versionMismatch", detail: `ip_version is ${stated}, the addresses are IPv${src}` };
  }
  return { reason: "invalidRtt", detail: `rtt ${pieces.rttMs.values[row]}` };
}

/** The IP version of addresses, remembered: a file has few addresses and many rows. 0 is no address. */
class AddressVersions {
  readonly #perText = new PerText((length) => new Uint8Array(length), versionOfText);

  constructor(readonly pool: TextPool) {}

  /** By code, for all `codes` at least. */
  byCode(codes: Int32Array): Uint8Array {
    return this.#perText.of(this.pool, codes);
  }
}

function versionOfText(address: string): number {
  const numBytes = parseAddress(address)?.length;
  return numBytes === 4 ? 4 : numBytes === 16 ? 6 : 0;
}
