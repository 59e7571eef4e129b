/**
 * `import`: converts measurements of any format to one Parquet file.
 *
 * Files are read one after another as streams. Whatever their size, memory holds one row group, the distinct
 * addresses and as many keys of results as fit. Rows first go to a separate file, from which the duplicates
 * that did not fit in memory are removed afterwards.
 *
 * @module
 */
import { shortened, UserError } from "../../base/errors.ts";
import { STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { fingerprint, type InputFingerprint } from "../../io/files/inputs.ts";
import { giveTime, type JsonResult, type ReadingOptions, type Rejection } from "../formats/format.ts";
import type { Found } from "../formats/reader.ts";
import { NOT_A_RESULT } from "../formats/registry.ts";
import { isArchive, isParquet, readFindings } from "../measurement_files/input_files.ts";
import { isUsableTime, readMeasurements } from "../measurement_files/parquet_reader.ts";
import { ownReading } from "../measurement_files/parquet_table.ts";
import { MeasurementParquetWriter } from "../measurement_files/parquet_writer.ts";
import {
  KindCounts,
  listOfCounts,
  RejectLog,
  type RejectReason,
  trueAdvice,
} from "../measurement_files/rejects.ts";
import { DuplicateSet, isSameResult, moveUniqueRows, type ResultKey, rowsOf } from "./duplicates.ts";
import { ImportedNames } from "./imported_names.ts";
import { type MeasurementRow, type RowCounts, RowSink } from "./row_sink.ts";

/** Resident memory without keys, measured with several GB of results. */
const RUNTIME_BYTES = 200e6;
/** The keys' share of the remaining memory, and their minimum share of the whole memory limit. */
const KEYS_SHARE = 0.7;
const LEAST_KEYS_SHARE = 0.1;
/** Reasons of damaged lines and objects, which may not have been results. */
const DAMAGE: readonly RejectReason[] = ["invalidJson", "objectTooLong"];
const OPTIONAL_COLUMNS = ["msmId", "prbId", "sizeBytes", "packetErrorCount"] as const;

/** Options of {@link importMeasurements}. */
export interface ImportOptions extends ReadingOptions {
  /** Maximum share of ping results that may be rejected, 0 to 1. */
  maxRejectRatio: number;
  /** Memory limit in bytes. */
  memoryLimitBytes: number;
  /** Where to list rejected results, if there are any; not listed by default. */
  rejectsPath?: string;
  /** Where to write the names of addresses (see `ImportedNames`); not written by default. */
  namesPath?: string;
  /** Aborts the import. */
  signal?: AbortSignal;
  /** Called with notes about the data for the user. */
  onNote?: (line: string) => void;
  /** Called from time to time with the number of (compressed) bytes and rows read. */
  onProgress?: (done: { bytes: number; rows: number }) => void;
}

/** What an import read and wrote. */
export interface ImportSummary extends RowCounts {
  /** Repeated results (same measurement, probe and time). */
  duplicates: number;
  /** Results and objects that say nothing about a path, by kind. */
  skippedByType: Record<string, number>;
  /** Rejected ping results, by reason. */
  rejected: Record<string, number>;
}

/** The fingerprint of an input. For standard input it is different each time. */
export function inputFingerprint(path: string): InputFingerprint {
  return path === STANDARD_INPUT ? { path, sizeBytes: 0, mtimeMs: Date.now() } : fingerprint(path);
}

/**
 * Imports measurements.
 *
 * @param paths The files, `-` for standard input.
 * @param outputPath The Parquet file to write; a temporary file is made beside it.
 * @throws {UserError} If the format of a file is unknown, a file is truncated, its compressed data is
 *   damaged, too many results are rejected, there is not enough memory, or the disk is full.
 */
export async function importMeasurements(
  paths: readonly string[],
  outputPath: string,
  options: ImportOptions,
): Promise<ImportSummary> {
  const rowsPath = `${outputPath}.rows`;
  using writer = MeasurementParquetWriter.create(rowsPath, { optionalColumns: OPTIONAL_COLUMNS });
  const maxBytes = memoryForKeys(options.memoryLimitBytes);
  const duplicates = new DuplicateSet({ maxBytes });
  const importer = new Importer(new RowSink(writer), duplicates, options);
  await readFiles(paths, importer, options);
  const summary = importer.finish(paths);
  if (options.namesPath !== undefined) importer.names.write(options.namesPath);
  writer.close();
  try {
    const { numLeftOut, counts } = await moveUniqueRows(rowsPath, outputPath, {
      isUnique: duplicates.numForgets === 0,
      maxBytes,
      optionalColumns: OPTIONAL_COLUMNS,
    });
    return { ...summary, ...counts, duplicates: summary.duplicates + numLeftOut };
  } catch (error) {
    Deno.removeSync(rowsPath);
    throw error;
  }
}

/** Passes the contents of files to an importer. @throws {UserError} If a file cannot be read. */
async function readFiles(
  paths: readonly string[],
  importer: Importer,
  options: ImportOptions,
): Promise<void> {
  let bytes = 0;
  const onBytes = (count: number) => void (bytes += count);
  const report = () => {
    options.signal?.throwIfAborted();
    options.onProgress?.({ bytes, rows: importer.numRows });
  };
  // Memory of chunks is freed between tasks.
  const pacer = new EventLoopPacer(options);
  for (const path of paths) {
    report();
    const reading = !isArchive(path) && isParquet(path) ? await ownReading(path, options) : undefined;
    if (reading) {
      options.onReading?.(reading);
      for await (const batch of readMeasurements([path], { rejects: importer.rejects })) {
        importer.addRows(rowsOf(batch), batch.numRowsRead);
        report();
      }
      onBytes(fingerprint(path).sizeBytes);
      continue;
    }
    let file: string | undefined;
    for await (const part of readFindings(path, options, { log: options.onNote, onBytes })) {
      if (part.path !== file) importer.beginFile(file = part.path);
      for (const found of part.found) importer.addFinding(found);
      report();
      await pacer.yieldToEventLoop();
    }
  }
}

function memoryForKeys(limitBytes: number): number {
  return Math.max(KEYS_SHARE * (limitBytes - RUNTIME_BYTES), LEAST_KEYS_SHARE * limitBytes);
}

/** Passes rows to the sink and counts everything else. */
class Importer {
  readonly rejects = new RejectLog();
  readonly names = new ImportedNames();
  readonly #skipped = new KindCounts();
  #path = "";
  /** Number of the next result in the file, from 0. */
  #index = 0;
  #numPings = 0;
  /** Number of objects and lines that may have been results. */
  #numDamaged = 0;
  #numDuplicates = 0;
  /** The key of the last result that had one, and whether it repeats an earlier result. */
  #lastKey: ResultKey | undefined;
  #isLastRepeated = false;
  /** Ids, seen so far, of objects with several results. */
  readonly #objectIds = new Set<string>();
  /** The object of the last finding in JSON, and whether it repeats an earlier one. */
  #lastObject: JsonResult | undefined;
  #isLastObjectRepeated = false;

  constructor(readonly sink: RowSink, readonly duplicates: DuplicateSet, readonly options: ImportOptions) {}

  get numRows(): number {
    return this.sink.numRows;
  }

  /** @param numRead Includes rejected rows. */
  addRows(rows: Iterable<MeasurementRow>, numRead: number): void {
    this.#numPings += numRead;
    for (const row of rows) {
      if (!this.#isRepeated(row)) this.sink.add(row, row.rttMs, row.packetErrorCount);
    }
  }

  beginFile(path: string): void {
    [this.#path, this.#index] = [path, 0];
  }

  addFinding({ finding, line, from }: Found): void {
    if ("skipped" in finding) return this.#skipped.add(finding.skipped);
    if (from && this.#isRepeatedObject(from)) {
      this.#numDuplicates++;
      return;
    }
    if ("reason" in finding) return this.#reject({ ...finding, found: `line ${line}: ${finding.found}` });
    this.#numPings++;
    this.#index++;
    if (!this.#hasTime(finding.eventTimeUs, line)) return;
    // A complete result is a duplicate even directly after a result with the same key.
    if (from?.hasKeys) this.#lastKey = undefined;
    if (this.#isRepeated(finding)) return;
    if (from) this.names.add(finding);
    const { rttsMs, numLost } = finding;
    for (let i = 0; i < rttsMs.length; i++) this.sink.add(finding, rttsMs[i], numLost[i]);
  }

  /**
   * Returns the counts once all rows have been added.
   *
   * @param paths The files, for errors.
   * @throws {UserError} If there is no usable result, or too many were rejected.
   */
  finish(paths: readonly string[]): ImportSummary {
    const { maxRejectRatio, rejectsPath, onNote } = this.options;
    if (this.#numPings === 0) throw noPings(paths, this.#skipped.counts, this.options);
    if (rejectsPath !== undefined) this.rejects.write(rejectsPath);
    const numRead = this.#numPings + this.#numDamaged;
    // An import without any row fails, whatever share may be rejected.
    this.rejects.check(numRead, this.numRows === 0 ? Math.min(maxRejectRatio, 0.99) : maxRejectRatio);
    const { advice } = this.sink.scale;
    if (advice) onNote?.(advice);
    return {
      ...this.sink.finish(),
      duplicates: this.#numDuplicates,
      skippedByType: this.#skipped.counts,
      rejected: this.rejects.counts,
    };
  }

  #reject(rejection: Rejection): void {
    if (DAMAGE.includes(rejection.reason)) this.#numDamaged++;
    else this.#numPings++;
    this.#addReject(rejection, this.#index++);
  }

  /** Whether an earlier object had the same id: only the first one counts. */
  #isRepeatedObject(object: JsonResult): boolean {
    if (object === this.#lastObject) return this.#isLastObjectRepeated;
    this.#lastObject = object;
    this.#isLastObjectRepeated = object.id !== undefined && this.#objectIds.has(object.id);
    if (object.id !== undefined) this.#objectIds.add(object.id);
    return this.#isLastObjectRepeated;
  }

  /** Rejects results with an impossible time. @param line For the reason. */
  #hasTime(eventTimeUs: number, line: number): boolean {
    if (isUsableTime(eventTimeUs)) return true;
    const rejection: Rejection = Number.isNaN(eventTimeUs)
      ? { reason: "nullValue", found: `line ${line}: time`, advice: giveTime(this.options) }
      : { reason: "timeInFuture", found: `line ${line}: ${new Date(eventTimeUs / 1000).toISOString()}` };
    this.#addReject(rejection, this.#index - 1);
    return false;
  }

  #addReject(rejection: Rejection, index: number): void {
    this.rejects.add(rejection.reason, this.#path, index, trueAdvice(rejection, this.options));
  }

  /** Whether a row repeats an earlier result. Adjacent rows with one key belong to one result. */
  #isRepeated(key: ResultKey): boolean {
    if (Number.isNaN(key.msmId) || Number.isNaN(key.prbId)) return false;
    if (!this.#lastKey || !isSameResult(key, this.#lastKey)) {
      this.#lastKey = key;
      this.#isLastRepeated = !this.duplicates.add(key);
      if (this.#isLastRepeated) this.#numDuplicates++;
    }
    return this.#isLastRepeated;
  }
}

function noPings(
  paths: readonly string[],
  skipped: Record<string, number>,
  { columns }: ReadingOptions,
): UserError {
  const others = paths.length > 1 ? ` and ${paths.length - 1} more` : "";
  const found = listOfCounts(skipped);
  const isOther = Object.keys(skipped).every((kind) => kind === NOT_A_RESULT) && found !== "";
  const fields = columns ? " and the names in --columns" : ", or name the fields with --columns";
  const advice = `check --input${isOther ? fields : ""}`;
  return new UserError(
    `Cannot import ${paths[0]}${others}: found no measurements ` +
      `(${shortened(found || "neither objects nor rows", 200)}); ${advice}`,
  );
}
