/**
 * Reads measurements from Parquet, batch by batch. Memory holds one batch and a page of each needed column,
 * whatever the size of the row groups.
 *
 * Accepts `event_time` as a timestamp in ms, µs or ns, as INT96 or as integer epoch seconds; `rtt_avg` for
 * `rtt`; missing optional columns. A null, NaN or infinite RTT is no reply. `parquet_table.ts` reads the
 * Parquet files of other programs. A file that is not Parquet, is damaged or lacks a needed column fails at
 * once; unusable rows are counted in a {@link RejectLog}.
 *
 * @module
 */
import { ensure, FormatError, shortened } from "../../base/errors.ts";
import { isoTime } from "../../base/text.ts";
import { parseAddress } from "../addresses/ip.ts";
import { END_TIME_US, FAILED_RTT_MS, isRtt, type MeasurementBatch, MIN_TIME_US } from "../formats/batch.ts";
import { type Rejection, wrongRtt } from "../formats/format.ts";
import { NumberCursor, type Piece, TextCursor, type TextPiece } from "../../io/parquet/column.ts";
import { OPTIONAL_COLUMNS, type OptionalColumn } from "./parquet_writer.ts";
import type { RejectLog } from "./rejects.ts";
import { PerText, TextPool } from "../../io/parquet/text_pool.ts";
import type { SchemaElement } from "hyparquet";
import { ParquetFile, type RowGroupRange } from "../../io/parquet/file.ts";
import { type NumberKind, timeKind } from "../../io/parquet/encodings.ts";

const MICROSECONDS = 1e6;
/** Times from here on are in the future: clocks may be a day ahead. Equal for all rows of a process. */
const FUTURE_US = 1000 * (Date.now() + 86_400_000);

/** A batch whose addresses also have codes; equal texts have equal codes. */
interface CodedBatch extends MeasurementBatch {
  /** Maps codes to texts. When its generation changes, earlier codes become invalid. */
  pool: TextPool;
  srcCode: Int32Array;
  dstCode: Int32Array;
}

interface RowPieces {
  eventTimeUs: Piece<Float64Array>;
  rttMs: Piece<Float64Array>;
  srcAddr: TextPiece;
  dstAddr: TextPiece;
  ipVersion: Piece<Float64Array> | undefined;
  optional: { key: OptionalColumn; values: Float64Array }[];
}

/** IP versions by address code, since a file has few addresses and many rows. 0 if not an address. */
type Versions = PerText<Uint8Array>;

/** Selects rows with valid times, addresses, RTTs and numbers, and counts the others by reason. */
function selectRows(
  pieces: RowPieces,
  { path, firstRow, numRowsRead }: { path: string; firstRow: number; numRowsRead: number },
  { pool, versions, rejects, neverNull }: {
    pool: TextPool;
    versions: Versions;
    rejects: RejectLog;
    neverNull: readonly OptionalColumn[];
  },
): CodedBatch {
  const eventTimeUs = pieces.eventTimeUs.values;
  const rttMs = pieces.rttMs.values;
  for (let row = 0; row < numRowsRead; row++) {
    if (!Number.isFinite(rttMs[row])) rttMs[row] = FAILED_RTT_MS;
  }
  const srcAddr = pieces.srcAddr.values;
  const dstAddr = pieces.dstAddr.values;
  const ipVersion = pieces.ipVersion?.values;
  const srcCode = pieces.srcAddr.codes;
  const dstCode = pieces.dstAddr.codes;
  versions.of(pool, srcCode);
  const versionByCode = versions.of(pool, dstCode);
  const faulty = findFaulty(pieces, neverNull);
  const versionOf = new Uint8Array(numRowsRead);
  let numKept = 0;
  for (let row = 0; row < numRowsRead; row++) {
    const timeUs = eventTimeUs[row];
    const rtt = rttMs[row];
    const version = versionByCode[srcCode[row]];
    const isGood = isUsableTime(timeUs) &&
      (isRtt(rtt) || rtt === FAILED_RTT_MS) && version > 0 &&
      version === versionByCode[dstCode[row]] &&
      (!ipVersion || ipVersion[row] === version || Number.isNaN(ipVersion[row])) &&
      faulty?.[row] !== 1;
    if (isGood) {
      versionOf[row] = version;
      numKept++;
      continue;
    }
    const rejection = explainReject(pieces, row, neverNull);
    rejects.add(rejection.reason, path, firstRow + row, rejection);
  }
  const batch: CodedBatch = {
    numRows: numRowsRead,
    eventTimeUs,
    srcAddr,
    dstAddr,
    ipVersion: versionOf,
    rttMs,
    pool,
    srcCode,
    dstCode,
  };
  for (const { key, values } of pieces.optional) batch[key] = values;
  return numKept === numRowsRead ? batch : compact(batch, numKept);
}

/** Whether a time in µs since 1970 is plausible for a measurement: from 1990 to one day from now. */
export function isUsableTime(timeUs: number): boolean {
  return timeUs >= MIN_TIME_US && timeUs < END_TIME_US && timeUs < FUTURE_US;
}

/** Marks each row that has a fault in an optional column with 1; undefined if there is none. */
function findFaulty(
  { optional }: RowPieces,
  neverNull: readonly OptionalColumn[],
): Uint8Array | undefined {
  let faulty: Uint8Array | undefined;
  for (const { key, values } of optional) {
    const mayBeNull = !neverNull.includes(key);
    for (let row = 0; row < values.length; row++) {
      if (!isFault(values[row], mayBeNull)) continue;
      faulty ??= new Uint8Array(values.length);
      faulty[row] = 1;
    }
  }
  return faulty;
}

/** Whether a number is not a safe integer. NaN stands for null. */
function isFault(value: number, mayBeNull: boolean): boolean {
  return value === value ? !Number.isSafeInteger(value) : !mayBeNull;
}

/** Keeps only the rows that have an IP version. */
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
  neverNull: readonly OptionalColumn[],
): Rejection {
  const needed = [
    ["event_time", pieces.eventTimeUs],
    ["src_addr", pieces.srcAddr],
    ["dst_addr", pieces.dstAddr],
  ] as const;
  for (const [name, { isNull }] of needed) if (isNull?.[row]) return { reason: "nullValue", found: name };
  const timeUs = pieces.eventTimeUs.values[row];
  if (!(timeUs >= MIN_TIME_US && timeUs < END_TIME_US)) {
    return { reason: "timeOutOfRange", found: `event_time ${timeUs / MICROSECONDS} s` };
  }
  if (!isUsableTime(timeUs)) {
    return { reason: "timeInFuture", found: `event_time ${isoTime(timeUs / MICROSECONDS)}` };
  }
  const [srcAddr, dstAddr] = [pieces.srcAddr.values[row], pieces.dstAddr.values[row]];
  for (const address of [srcAddr, dstAddr]) {
    if (versionOfText(address) === 0) return { reason: "unparseableAddress", found: shortened(address) };
  }
  const src = versionOfText(srcAddr);
  const dst = versionOfText(dstAddr);
  if (src !== dst) return { reason: "versionMismatch", found: `src_addr is IPv${src}, dst_addr IPv${dst}` };
  const stated = pieces.ipVersion?.values[row] ?? NaN;
  if (!Number.isNaN(stated) && stated !== src) {
    return { reason: "versionMismatch", found: `ip_version is ${stated}, the addresses are IPv${src}` };
  }
  const rttMs = pieces.rttMs.values[row];
  if (!isRtt(rttMs) && rttMs !== FAILED_RTT_MS) return wrongRtt(rttMs, "rtt", String(rttMs));
  const fault = pieces.optional.find(({ key, values }) => isFault(values[row], !neverNull.includes(key)));
  ensure(fault, "a row was rejected without a reason");
  const name = OPTIONAL_COLUMNS.find(({ key }) => key === fault.key)?.name;
  const value = fault.values[row];
  return Number.isNaN(value)
    ? { reason: "nullValue", found: `${name}` }
    : { reason: "invalidInteger", found: `${name} ${value}` };
}

function versionOfText(address: string): number {
  const numBytes = parseAddress(address)?.length;
  return numBytes === 4 ? 4 : numBytes === 16 ? 6 : 0;
}

const DEFAULT_BATCH_ROWS = 65_536;
const MAX_CACHED_ADDRESSES = 1_000_000;

/** Options of {@link readMeasurements}. */
export interface ReadOptions {
  /** Counts rejected rows. */
  rejects: RejectLog;
  /** Optional columns to read if a file has them; all by default. */
  columns?: readonly OptionalColumn[];
  /** Optional columns that every file must have. */
  required?: readonly OptionalColumn[];
  /** Columns in which a missing value rejects the row, if the file has the column; none by default. */
  neverNull?: readonly OptionalColumn[];
  /** Advice to the user if a file lacks a required column. */
  ifMissing?: string;
  /** Maximum number of rows per batch; 65,536 by default. */
  batchRows?: number;
  /** Reads only the row groups whose first row, counted across all files, is in [`first`, `end`). */
  rowRange?: readonly [first: number, end: number] | undefined;
}

/** @internal A batch of usable rows and its origin. */
export interface SourcedBatch extends CodedBatch {
  path: string;
  /** The batch's first row in the file, from 0. Rejected rows leave no gap in the arrays. */
  firstRow: number;
  /** How many rows of the file the batch spans, including rejected ones. */
  numRowsRead: number;
}

/**
 * Reads the measurements of Parquet files, in the order of the files.
 *
 * @throws {FormatError} If a file is not Parquet, is damaged or lacks a needed column. The footers of all
 *   files are checked before the first batch.
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
  const versions: Versions = new PerText((length) => new Uint8Array(length), versionOfText);
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
        const selection = { pool, versions, rejects, neverNull };
        yield { ...selectRows(readNext(numRowsRead), where, selection), ...where };
      }
    }
  }
}

export interface InputSurvey {
  numRows: number;
  /** Optional columns that at least one file has. */
  columns: OptionalColumn[];
}

/** Reads the footers of Parquet files. @throws {FormatError} If a file is not Parquet or is damaged. */
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

/** Finds the time column and the unit of its numbers. @throws {FormatError} If it is missing. */
export function timeColumn(file: ParquetFile): { name: string; kind: NumberKind } {
  const name = needColumn(file, ["event_time"], isTime, "a timestamp or integer epoch seconds");
  const element = file.column(name);
  return { name, kind: (element && timeKind(element)) ?? "seconds" };
}

/** The columns to read, by their names in the file. */
interface ColumnPlan {
  eventTime: { name: string; kind: NumberKind };
  src: string;
  dst: string;
  rtt: string;
  ipVersion: string | undefined;
  optional: { key: OptionalColumn; name: string }[];
}

function planColumns(file: ParquetFile, options: ReadOptions): ColumnPlan {
  const ipVersion = file.column("ip_version") && needColumn(file, ["ip_version"], isNumber, "an integer");
  const wanted = new Set([
    ...(options.columns ?? OPTIONAL_COLUMNS.map(({ key }) => key)),
    ...options.required ?? [],
  ]);
  const optional = OPTIONAL_COLUMNS.filter(({ key, name }) =>
    wanted.has(key) && (options.required?.includes(key) || file.column(name))
  );
  for (const { name } of optional) needColumn(file, [name], isNumber, "an integer", options.ifMissing);
  return {
    eventTime: timeColumn(file),
    src: needColumn(file, ["src_addr"], isText, "a string"),
    dst: needColumn(file, ["dst_addr"], isText, "a string"),
    rtt: needColumn(file, ["rtt", "rtt_avg"], isNumber, "a number"),
    ipVersion,
    optional,
  };
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

export function isText({ type, logical_type, converted_type }: SchemaElement): boolean {
  return type === "BYTE_ARRAY" && (logical_type === undefined || logical_type.type === "STRING") &&
    (converted_type === undefined || converted_type === "UTF8");
}

export function isNumber({ type, logical_type, converted_type }: SchemaElement): boolean {
  const isPlain = logical_type === undefined || logical_type.type === "INTEGER";
  return isPlain && (type === "DOUBLE" || type === "FLOAT" || type === "INT32" || type === "INT64") &&
    (converted_type === undefined || /INT/.test(converted_type));
}

function isTime(element: SchemaElement): boolean {
  return timeKind(element) !== undefined || (isNumber(element) && /^INT/.test(element.type ?? ""));
}

/** Opens the needed columns of a row group. Each call of the result reads the next rows. */
function openGroup(
  file: ParquetFile,
  plan: ColumnPlan,
  { group, pool }: { group: RowGroupRange; pool: TextPool },
): (numRows: number) => RowPieces {
  const numbers = (name: string, kind: NumberKind = "number") =>
    new NumberCursor(file.source, file.chunk(name, group), kind);
  const texts = (name: string) => new TextCursor(file.source, file.chunk(name, group), pool);
  const eventTime = numbers(plan.eventTime.name, plan.eventTime.kind);
  const [src, dst, rtt] = [texts(plan.src), texts(plan.dst), numbers(plan.rtt)];
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
