/**
 * Reads measurements from CSV files and writes them as one Parquet file: a row for each record, in the files' order.
 *
 * Files are read one after another as streams; memory holds one row group and the distinct addresses, whatever the
 * size of the files.
 *
 * @module
 */
import { FormatError, shortened, UsageError, UserError } from "../../base/errors.ts";
import {
  MeasurementParquetWriter,
  OPTIONAL_COLUMNS,
  type OptionalColumn,
} from "../measurement_files/parquet_writer.ts";
import { type CsvRecord, CsvScanner } from "../measurement/csv.ts";
import { parseTimeUs, type TimeUnit } from "../measurement/time_text.ts";
import { readAddress } from "../addresses/address_book.ts";
import type { ImportOptions, ImportSummary } from "./atlas_import.ts";
import type { Rejection } from "../measurement/atlas_result.ts";
import { FAILED_RTT_MS, isRtt } from "../measurement/batch.ts";
import { openInput } from "../../io/compression/decompress.ts";
import { RejectLog } from "../measurement_files/rejects.ts";
import { type MeasurementRow, RowSink } from "./row_sink.ts";

// Maps the columns of a CSV file to the fields of a measurement, by the user's option or by the names in the header.

/** The units of numbers in the columns of times. */
const TIME_UNITS: Record<string, TimeUnit> = {
  time: "seconds",
  time_ms: "milliseconds",
  time_us: "microseconds",
};
const TIME_KEYS = Object.keys(TIME_UNITS);
const OPTIONAL_KEYS = OPTIONAL_COLUMNS.map(({ name }) => name);
/** Keys with their names in measurements Parquet, if these differ. */
const OTHER_NAMES: Record<string, string> = { src: "src_addr", dst: "dst_addr", time: "event_time" };
const KEYS = ["src", "dst", ...TIME_KEYS, "rtt", ...OPTIONAL_KEYS];

/** The names of columns by key: `src`, `dst`, one of the times, `rtt`, perhaps optional columns of measurements. */
type CsvColumns = ReadonlyMap<string, string>;

/** The indexes of a measurement's fields in a record, from 0. */
interface CsvLayout {
  /** The names of all columns. */
  names: readonly string[];
  src: number;
  dst: number;
  time: number;
  timeUnit: TimeUnit;
  rtt: number;
  optional: readonly { key: OptionalColumn; name: string; field: number }[];
}

/** The extra columns that measurements get. */
function optionalColumnsOf(columns: CsvColumns): OptionalColumn[] {
  return OPTIONAL_COLUMNS.filter(({ name }) => columns.has(name)).map(({ key }) => key);
}

/**
 * Parses `src=from,dst=to,time=when,rtt=ms`.
 *
 * @throws {UsageError} If a key is unknown, missing or given twice.
 */
export function parseColumns(text: string): CsvColumns {
  const columns = new Map<string, string>();
  for (const part of text.split(",")) {
    const [key, ...name] = part.split("=");
    if (!KEYS.includes(key)) throw wrongColumns(text, `found the key ${shortened(key) || "''"}`);
    if (columns.has(key)) throw wrongColumns(text, `found ${key} twice`);
    columns.set(key, name.join("="));
    if (columns.get(key) === "") throw wrongColumns(text, `found no name for ${key}`);
  }
  const fault = faultOf(columns);
  if (fault) throw wrongColumns(text, fault);
  return columns;
}

function wrongColumns(text: string, fault: string): UsageError {
  return new UsageError(
    `Cannot use --columns ${shortened(text)}: ${fault}, expected KEY=NAME of src, dst, rtt, one of ` +
      `${TIME_KEYS.join(" ")} and perhaps ${OPTIONAL_KEYS.join(" ")}; separate them by commas`,
  );
}

function faultOf(columns: CsvColumns): string | undefined {
  const missing = ["src", "dst", "rtt"].find((key) => !columns.has(key));
  if (missing) return `found no ${missing}`;
  const numTimes = TIME_KEYS.filter((key) => columns.has(key)).length;
  return numTimes === 1 ? undefined : `found ${numTimes} times`;
}

/**
 * The columns of a header whose names are the keys, or their names in measurements Parquet.
 *
 * @throws {FormatError} If some are missing.
 */
function columnsNamedIn(names: readonly string[], path: string): CsvColumns {
  const columns = new Map<string, string>();
  for (const key of KEYS) {
    const name = [key, OTHER_NAMES[key]].find((candidate) => names.includes(candidate));
    if (name !== undefined) columns.set(key, name);
  }
  const fault = faultOf(columns);
  if (!fault) return columns;
  throw wrongHeader(
    names,
    "expected src, dst, time and rtt; name them, such as --columns src=FROM,dst=TO,time=WHEN,rtt=MS",
    path,
  );
}

/**
 * Finds columns in a header.
 *
 * @param names The header.
 * @param path The file, for errors.
 * @throws {FormatError} If one is missing or not unique.
 */
function locateColumns(columns: CsvColumns, names: readonly string[], path: string): CsvLayout {
  const fieldOf = (key: string): number => {
    const name = columns.get(key) ?? "";
    const field = names.indexOf(name);
    if (field >= 0 && names.lastIndexOf(name) === field) return field;
    const wanted = `expected one ${shortened(name)} for ${key}`;
    throw wrongHeader(names, `${wanted}; correct --columns or the header`, path);
  };
  const timeKey = TIME_KEYS.find((key) => columns.has(key)) ?? "time";
  const optional = OPTIONAL_COLUMNS.filter(({ name }) => columns.has(name));
  return {
    names,
    src: fieldOf("src"),
    dst: fieldOf("dst"),
    time: fieldOf(timeKey),
    timeUnit: TIME_UNITS[timeKey],
    rtt: fieldOf("rtt"),
    optional: optional.map(({ key, name }) => ({ key, name, field: fieldOf(name) })),
  };
}

function wrongHeader(names: readonly string[], rest: string, path: string): FormatError {
  return new FormatError(`found the columns ${shortened(names.join(", "), 200)}, ${rest}`, {
    path,
    place: "its header",
  });
}

/** The extensions of CSV files. */
export const CSV_EXTENSIONS: string[] = ["", ".gz", ".bz2", ".zst"].map((suffix) => `.csv${suffix}`);

/** Texts for the RTT of a measurement without a reply, besides nothing and -1. */
const NO_REPLY = "*";

/** Options of {@link importCsv}. */
export interface CsvImportOptions
  extends Pick<ImportOptions, "maxRejectRatio" | "rejectsPath" | "signal" | "onProgress"> {
  /** The columns; by default those of the first file's header. */
  columns?: CsvColumns | undefined;
}

/**
 * Imports measurements. Repeated rows are kept.
 *
 * @param paths The files, `-` for standard input, which needs `columns`.
 * @param outputPath The Parquet file to write.
 * @throws {FormatError} If a header lacks a column or compressed data is damaged.
 * @throws {UserError} If too many rows are rejected or the disk is full.
 */
export async function importCsv(
  paths: readonly string[],
  outputPath: string,
  options: CsvImportOptions,
): Promise<ImportSummary> {
  const columns = options.columns ?? columnsNamedIn(await readHeader(paths[0]), paths[0]);
  using writer = MeasurementParquetWriter.create(outputPath, { optionalColumns: optionalColumnsOf(columns) });
  const sink = new RowSink(writer);
  const rejects = new RejectLog();
  let bytes = 0;
  let numRead = 0;
  for (const path of paths) {
    let layout: CsvLayout | undefined;
    let row = 0;
    for await (const records of scan(path, (count) => bytes += count)) {
      options.signal?.throwIfAborted();
      for (const record of records) {
        if (!layout) {
          layout = locateColumns(columns, namesOf(record, path), path);
          continue;
        }
        const converted = convert(record, layout);
        if ("reason" in converted) rejects.add(converted.reason, path, row, converted.detail);
        else sink.add(converted);
        row++;
      }
      options.onProgress?.({ bytes, rows: sink.numRows });
    }
    if (!layout) throw noHeader(path);
    numRead += row;
  }
  if (numRead === 0) {
    throw new UserError(
      `Cannot import ${paths[0]}: found no row below the header, expected some; check --input`,
    );
  }
  rejects.write(options.rejectsPath);
  rejects.check(numRead, options.maxRejectRatio);
  const counts = sink.finish();
  writer.close();
  return { ...counts, duplicates: 0, skippedByType: {}, rejected: rejects.counts };
}

/** The records of each chunk of the file. */
async function* scan(
  path: string,
  onBytes?: (count: number) => void,
): AsyncGenerator<Generator<CsvRecord>> {
  const { chunks } = await openInput(path, onBytes ? { onBytes } : {});
  const scanner = new CsvScanner();
  for await (const chunk of chunks) yield scanner.push(chunk);
  yield scanner.push();
}

async function readHeader(path: string): Promise<string[]> {
  for await (const records of scan(path)) for (const record of records) return namesOf(record, path);
  throw noHeader(path);
}

function namesOf(record: CsvRecord, path: string): string[] {
  if (record.fault === undefined) return record.fields;
  throw new FormatError(`found ${record.fault}, expected the names of columns; check the file`, {
    path,
    place: "its header",
  });
}

function noHeader(path: string): FormatError {
  return new FormatError("it is empty, expected a header with the names of columns; check the file", {
    path,
  });
}

function convert(record: CsvRecord, layout: CsvLayout): MeasurementRow | Rejection {
  const { names, timeUnit, optional } = layout;
  if (record.fault !== undefined) return { reason: "invalidCsv", detail: record.fault };
  const { fields } = record;
  if (fields.length !== names.length) {
    return { reason: "invalidCsv", detail: `${fields.length} fields, ${names.length} in the header` };
  }
  const wrong = (reason: Rejection["reason"], field: number, why = ""): Rejection => {
    const text = fields[field];
    return text === ""
      ? { reason: "nullValue", detail: names[field] }
      : { reason, detail: `${names[field]} ${shortened(text)}${why}` };
  };
  const time = parseTimeUs(fields[layout.time], timeUnit);
  if ("fault" in time) return wrong("invalidTime", layout.time, `: ${time.fault}`);
  const src = readAddress(fields[layout.src]);
  const dst = readAddress(fields[layout.dst]);
  if (!src.bytes) return wrong("unparseableAddress", layout.src);
  if (!dst.bytes) return wrong("unparseableAddress", layout.dst);
  if (src.bytes.length !== dst.bytes.length) {
    return { reason: "versionMismatch", detail: `${src.text} and ${dst.text}` };
  }
  const rttText = fields[layout.rtt];
  const rttMs = rttText === "" || rttText === NO_REPLY ? FAILED_RTT_MS : Number(rttText);
  if (!isRtt(rttMs) && rttMs !== FAILED_RTT_MS) return wrong("invalidRtt", layout.rtt);
  const row: MeasurementRow = {
    eventTimeUs: time.timeUs,
    srcAddr: src.canonical,
    dstAddr: dst.canonical,
    ipVersion: src.bytes.length === 4 ? 4 : 6,
    rttMs,
    msmId: NaN,
    prbId: NaN,
    sizeBytes: NaN,
    packetErrorCount: NaN,
  };
  for (const { key, field } of optional) {
    const text = fields[field];
    if (text === "") continue;
    row[key] = Number(text);
    if (!Number.isSafeInteger(row[key]) || row[key] < 0) return wrong("invalidInteger", field);
  }
  return row;
}
