/**
 * Reads measurements from CSV files and writes them as one Parquet file: a row for each record, in the files' order.
 *
 * Files are read one after another as streams; memory holds one row group and the distinct addresses, whatever the
 * size of the files.
 *
 * @module
 */
import { FormatError, shortened, UserError } from "../errors.ts";
import { readAddress } from "../addresses/address_book.ts";
import type { ImportOptions, ImportSummary } from "./atlas_import.ts";
import type { Rejection } from "../atlas/atlas_result.ts";
import { FAILED_RTT_MS, isRtt } from "../measurement/batch.ts";
import {
  columnsNamedIn,
  type CsvColumns,
  type CsvLayout,
  locateColumns,
  optionalColumnsOf,
} from "./csv_columns.ts";
import { type CsvRecord, CsvScanner } from "./csv_scanner.ts";
import { openInput } from "../compression/decompress.ts";
import { MeasurementParquetWriter } from "../measurement/parquet_writer.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { type MeasurementRow, RowSink } from "./row_sink.ts";
import { parseTimeUs } from "../measurement/time_text.ts";

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
