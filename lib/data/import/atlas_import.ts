/**
 * Reads RIPE Atlas ping results from JSON files and writes them as one Parquet file.
 *
 * Files are read one after another as streams; memory holds one row group, the distinct addresses and as many keys of
 * results as fit, whatever the size of the files. Rows first go to a separate file. If memory did not suffice to find
 * all duplicates while reading, the rows are copied without the remaining duplicates.
 *
 * @module
 */
import { dirname } from "@std/path";
import { ensure, shortened, UserError } from "../../base/errors.ts";
import { explainFileError } from "../../io/files/file_errors.ts";
import { syncDirectory } from "../../io/files/atomic.ts";
import type { MeasurementBatch } from "../measurement/batch.ts";
import { DuplicateSet, isSameResult, maxKeys, partOfKey, type ResultKey } from "./duplicate_set.ts";
import { NumberCursor } from "../../io/parquet/column.ts";
import { ParquetFile } from "../../io/parquet/file.ts";
import { readMeasurements } from "../measurement_files/parquet_reader.ts";
import type { NumberKind } from "../../io/parquet/values.ts";
import { MeasurementParquetWriter, type OptionalColumn } from "../measurement_files/parquet_writer.ts";
import { RejectLog } from "../measurement_files/rejects.ts";
import { globalpingRows, isGlobalping, NETWORK_SOURCE } from "./globalping.ts";
import { type MeasurementRow, type RowCounts, RowSink } from "./row_sink.ts";
import { fingerprint, type InputFingerprint } from "../../io/files/inputs.ts";
import {
  type AtlasObject,
  convertPing,
  type PingRow,
  type Rejection,
  resultType,
  type RttChoice,
  type SourceChoice,
} from "../measurement/atlas_result.ts";
import { openInput, STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { JsonObjectScanner, MAX_OBJECT_BYTES } from "../measurement/json_stream.ts";

// Copies the rows of a measurements file without those of duplicate results.
//
// The columns of the key are read in several passes, each for as many keys as memory holds: 100 M rows take five
// passes of some 10 s with 2 GB.

const MARKS_SHARE = 0.25; // of the memory, for a bit per row
const MAX_MARKS = 2 ** 32;
/** Parts of the keys differ in size. */
const ROOM_FOR_UNEVEN_PARTS = 1.25;

/** The results that {@link moveUniqueRows} left out, and the new counts of the rows if there are any. */
interface UniqueRows {
  /** Number of results left out. */
  numLeftOut: number;
  counts?: RowCounts;
}

/**
 * Moves rows.
 *
 * @param fromPath A file that has all the optional columns; it is deleted.
 * @param toPath The file to make.
 * @param options `isUnique`: no result is repeated. `maxBytes`: memory for keys.
 * @throws {UserError} If the disk is full.
 */
export async function moveUniqueRows(
  fromPath: string,
  toPath: string,
  options: { isUnique: boolean; maxBytes: number; optionalColumns: readonly OptionalColumn[] },
): Promise<UniqueRows> {
  if (!options.isUnique) {
    const marks = await RepeatedRows.find(fromPath, 0, options.maxBytes);
    if (marks.count > 0 || !marks.isLast) {
      return await copyUniqueRows(fromPath, toPath, { ...options, marks });
    }
  }
  try {
    Deno.renameSync(fromPath, toPath);
  } catch (error) {
    throw explainFileError(error, `write ${toPath}`);
  }
  syncDirectory(dirname(toPath));
  return { numLeftOut: 0 };
}

async function copyUniqueRows(
  fromPath: string,
  toPath: string,
  options: { marks: RepeatedRows; maxBytes: number; optionalColumns: readonly OptionalColumn[] },
): Promise<UniqueRows> {
  const { optionalColumns, maxBytes } = options;
  using writer = MeasurementParquetWriter.create(toPath, { optionalColumns });
  const sink = new RowSink(writer);
  const rejects = new RejectLog();
  let { marks } = options;
  let leftOut: ResultKey | undefined;
  let numLeftOut = 0;
  let at = 0;
  for await (const batch of readMeasurements([fromPath], { rejects, required: optionalColumns })) {
    for (const row of rowsOf(batch)) {
      if (at >= marks.end) marks = await RepeatedRows.find(fromPath, at, maxBytes);
      if (marks.has(at)) {
        numLeftOut++;
        leftOut = row;
      } else if (leftOut && !isSameResult(leftOut, row)) leftOut = undefined;
      if (!leftOut) sink.add(row);
      at++;
    }
  }
  ensure(rejects.total === 0, "written rows were rejected");
  const counts = sink.finish();
  writer.close();
  Deno.removeSync(fromPath);
  return { numLeftOut, counts };
}

/** The first row of each repeated result, among as many rows as memory has bits for. */
class RepeatedRows {
  count = 0;
  readonly #bits: Uint8Array;

  private constructor(readonly from: number, readonly end: number, readonly isLast: boolean) {
    this.#bits = new Uint8Array(Math.ceil((end - from) / 8));
  }

  /** Finds those from a given row on. */
  static async find(path: string, from: number, maxBytes: number): Promise<RepeatedRows> {
    using file = await ParquetFile.open(path);
    const { numRows } = file;
    const end = Math.min(numRows, from + Math.min(MAX_MARKS, Math.ceil(8 * MARKS_SHARE * maxBytes)));
    const marks = new RepeatedRows(from, end, end === numRows);
    const numParts = Math.ceil(ROOM_FOR_UNEVEN_PARTS * numRows / maxKeys((1 - MARKS_SHARE) * maxBytes));
    for (let part = 0; part < numParts; part++) {
      const keys = new DuplicateSet({ maxBytes: Infinity });
      for (const { row, key } of resultsOf(file)) {
        if (row >= end) break;
        if (partOfKey(key, numParts) === part && !keys.add(key) && row >= from) marks.#mark(row);
      }
    }
    return marks;
  }

  /** Whether the row is marked. */
  has(row: number): boolean {
    const index = row - this.from;
    return (this.#bits[Math.floor(index / 8)] >> index % 8 & 1) === 1;
  }

  #mark(row: number): void {
    const index = row - this.from;
    this.#bits[Math.floor(index / 8)] |= 1 << index % 8;
    this.count++;
  }
}

/** The key and the first row of each result that has a key. */
function* resultsOf(file: ParquetFile): Generator<{ row: number; key: ResultKey }> {
  let last: ResultKey = { msmId: NaN, prbId: NaN, eventTimeUs: NaN };
  for (const group of file.rowGroups) {
    const { numRows, firstRow } = group;
    const read = (name: string, kind: NumberKind) =>
      new NumberCursor(file.source, file.chunk(name, group), kind).read(numRows).values;
    const msmIds = read("msm_id", "number");
    const prbIds = read("prb_id", "number");
    const timesUs = read("event_time", "micros");
    for (let i = 0; i < numRows; i++) {
      const key = { msmId: msmIds[i], prbId: prbIds[i], eventTimeUs: timesUs[i] };
      const isFirst = !isSameResult(key, last);
      last = key;
      const hasKey = !Number.isNaN(key.msmId) && !Number.isNaN(key.prbId);
      if (isFirst && hasKey) yield { row: firstRow + i, key };
    }
  }
}

function* rowsOf(batch: MeasurementBatch): Generator<MeasurementRow> {
  for (let i = 0; i < batch.numRows; i++) {
    yield {
      eventTimeUs: batch.eventTimeUs[i],
      srcAddr: batch.srcAddr[i],
      dstAddr: batch.dstAddr[i],
      ipVersion: batch.ipVersion[i],
      rttMs: batch.rttMs[i],
      msmId: batch.msmId?.[i] ?? NaN,
      prbId: batch.prbId?.[i] ?? NaN,
      sizeBytes: batch.sizeBytes?.[i] ?? NaN,
      packetErrorCount: batch.packetErrorCount?.[i] ?? NaN,
    };
  }
}

/** The extensions of the files that are read from a directory. */
export const ATLAS_EXTENSIONS: string[] = [".json", ".jsonl", ".ndjson", ".txt"]
  .flatMap((extension) => ["", ".gz", ".bz2", ".zst"].map((suffix) => extension + suffix));

/** Resident memory without keys, measured with several GB of results. */
const RUNTIME_BYTES = 200e6;
/** The keys' share of the remaining memory limit, and their smallest share of the limit itself. */
const KEYS_SHARE = 0.7;
const LEAST_KEYS_SHARE = 0.1;
/** The number of types of objects that are counted separately: the input may have any number of them. */
const MAX_COUNTED_TYPES = 100;
/** The name for all further types. */
const OTHER_TYPES = "other";
const MAX_TYPE_LENGTH = 80;
/** The type of a measurement of Globalping, which has several results. */
const GLOBALPING = "globalping";
const OPTIONAL_COLUMNS = ["msmId", "prbId", "sizeBytes", "packetErrorCount"] as const;

/** Options of {@link importAtlas}. */
export interface ImportOptions {
  /** The choice of the source address; {@link NETWORK_SOURCE} for those that have none, else `auto`. */
  source: SourceChoice | "network";
  /** The choice of one RTT from a result's replies. */
  rtt: RttChoice;
  /** The largest share of the ping results that may be rejected, 0 to 1. */
  maxRejectRatio: number;
  /** Bound on the memory, in bytes. */
  memoryLimitBytes: number;
  /** The path of the list of rejected results, written if there are any. */
  rejectsPath: string;
  /** Ends the import when it is aborted. */
  signal?: AbortSignal;
  /** Called now and then with the number of (compressed) bytes read and of rows. */
  onProgress?: (done: { bytes: number; rows: number }) => void;
}

/** The counts of an import. */
export interface ImportSummary extends RowCounts {
  /** Repeated results (same measurement, probe and time). */
  duplicates: number;
  /** Objects other than ping results, by their type. */
  skippedByType: Record<string, number>;
  /** Rejected ping results, by reason. */
  rejected: Record<string, number>;
}

/** The fingerprint of an input, standard input included (which is never the same twice). */
export function inputFingerprint(path: string): InputFingerprint {
  return path === STANDARD_INPUT ? { path, sizeBytes: 0, mtimeMs: Date.now() } : fingerprint(path);
}

/**
 * Imports ping results.
 *
 * @param paths The files, `-` for standard input.
 * @param outputPath The Parquet file to write; a temporary file is made beside it.
 * @throws {FormatError} If a file is not JSON, is truncated or its compressed data is damaged.
 * @throws {UserError} If too many results are rejected, the memory is too small or the disk is full.
 */
export async function importAtlas(
  paths: readonly string[],
  outputPath: string,
  options: ImportOptions,
): Promise<ImportSummary> {
  const rowsPath = `${outputPath}.rows`;
  using writer = MeasurementParquetWriter.create(rowsPath, { optionalColumns: OPTIONAL_COLUMNS });
  const maxBytes = memoryForKeys(options.memoryLimitBytes);
  const duplicates = new DuplicateSet({ maxBytes });
  const importer = new Importer(new RowSink(writer), duplicates, options);
  let numBytes = 0;
  for (const path of paths) {
    const { compression, chunks } = await openInput(path, { onBytes: (count) => numBytes += count });
    const scanner = new JsonObjectScanner(path, {
      isCompressed: compression !== "none",
      onContainer: (event, offsetBytes) => importer.markContainer(event, offsetBytes),
    });
    importer.startFile(path);
    for await (const chunk of chunks) {
      options.signal?.throwIfAborted();
      for (const { value, offsetBytes } of scanner.push(chunk)) importer.add(value, offsetBytes);
      options.onProgress?.({ bytes: numBytes, rows: importer.numRows });
    }
    scanner.end();
  }
  const summary = importer.finish(paths);
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

function memoryForKeys(limitBytes: number): number {
  return Math.max(KEYS_SHARE * (limitBytes - RUNTIME_BYTES), LEAST_KEYS_SHARE * limitBytes);
}

/** Receives objects, passes rows to the sink and counts the others. */
class Importer {
  readonly #rejects = new RejectLog();
  readonly #skipped = new TypeCounts();
  /** For each open container, the number of results before it. */
  readonly #resultsBefore: number[] = [];
  #numResults = 0;
  #path = "";
  /** Number of the next ping result in the file, from 0. */
  #index = 0;
  #numPings = 0;
  /** Objects that may have been ping results. */
  #numDamaged = 0;
  #numDuplicates = 0;
  readonly #globalpingIds = new Set<string>();

  constructor(readonly sink: RowSink, readonly duplicates: DuplicateSet, readonly options: ImportOptions) {}

  get numRows(): number {
    return this.sink.numRows;
  }

  startFile(path: string): void {
    this.#path = path;
    this.#index = 0;
  }

  /** Receives an object of the file: a result, a container of results, or undefined for damaged JSON. */
  add(object: AtlasObject | undefined, offsetBytes: number): void {
    if (object === undefined) {
      this.#addDamaged("invalidJson", `at byte ${offsetBytes}`);
      return;
    }
    const numBefore = this.#numResults;
    const { source: asked, rtt } = this.options;
    const source = asked === NETWORK_SOURCE ? "auto" : asked;
    for (const { result, type } of findResults(object)) {
      if (type === "ping") this.#addPing(convertPing(result, { source, rtt }));
      else if (type === GLOBALPING) {
        this.#addGlobalping(result, { rtt, withNetworks: asked === NETWORK_SOURCE });
      } else {
        this.#numResults++;
        this.#skipped.add(type);
      }
    }
    if (this.#numResults === numBefore) this.#skipped.add("notAResult");
  }

  /** Counts an object that is too long to be parsed, unless it contains results: then it is a container. */
  markContainer(event: "begin" | "end", offsetBytes: number): void {
    if (event === "begin") this.#resultsBefore.push(this.#numResults);
    else if (this.#resultsBefore.pop() === this.#numResults) {
      this.#addDamaged("objectTooLong", `at byte ${offsetBytes}: more than ${MAX_OBJECT_BYTES} bytes`);
    }
  }

  /**
   * Returns the counts, after all rows have gone to the writer.
   *
   * @param paths The files, for errors.
   * @throws {UserError} If there were no ping results, or too many were rejected.
   */
  finish(paths: readonly string[]): ImportSummary {
    const { maxRejectRatio, rejectsPath } = this.options;
    if (this.#numPings === 0) throw noPings(paths, this.#skipped.counts);
    this.#rejects.write(rejectsPath);
    this.#rejects.check(this.#numPings + this.#numDamaged, maxRejectRatio);
    return {
      ...this.sink.finish(),
      duplicates: this.#numDuplicates,
      skippedByType: this.#skipped.counts,
      rejected: this.#rejects.counts,
    };
  }

  /** Receives a measurement of Globalping; of those with the same id, the first counts. */
  #addGlobalping(measurement: AtlasObject, options: Parameters<typeof globalpingRows>[1]): void {
    const id = String(measurement.id);
    const isRepeated = this.#globalpingIds.has(id);
    this.#globalpingIds.add(id);
    for (const row of globalpingRows(measurement, options)) {
      if (!("skipped" in row) && !isRepeated) {
        this.#addPing(row);
        continue;
      }
      this.#numResults++;
      if ("skipped" in row) this.#skipped.add(row.skipped);
      else this.#numDuplicates++;
    }
  }

  #addDamaged(reason: "invalidJson" | "objectTooLong", detail: string): void {
    this.#numDamaged++;
    this.#rejects.add(reason, this.#path, this.#index++, detail);
  }

  /** Receives a ping result, or the reason to reject it. */
  #addPing(row: PingRow | Rejection): void {
    this.#numPings++;
    this.#numResults++;
    const index = this.#index++;
    if ("reason" in row) {
      this.#rejects.add(row.reason, this.#path, index, row.detail);
      return;
    }
    const hasKey = !Number.isNaN(row.msmId) && !Number.isNaN(row.prbId);
    if (hasKey && !this.duplicates.add(row)) {
      this.#numDuplicates++;
      return;
    }
    for (let i = 0; i < row.rttsMs.length; i++) {
      this.sink.add({
        eventTimeUs: row.eventTimeUs,
        srcAddr: row.srcAddr,
        dstAddr: row.dstAddr,
        ipVersion: row.ipVersion,
        rttMs: row.rttsMs[i],
        msmId: row.msmId,
        prbId: row.prbId,
        sizeBytes: row.sizeBytes,
        packetErrorCount: row.numLost[i],
      });
    }
  }
}

/** Counts objects by the names of their types. */
class TypeCounts {
  readonly #counts = new Map<string, number>();

  add(type: string): void {
    const name = shortened(type, MAX_TYPE_LENGTH);
    const key = this.#counts.has(name) || this.#counts.size < MAX_COUNTED_TYPES ? name : OTHER_TYPES;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** In alphabetical order. */
  get counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

function noPings(paths: readonly string[], skipped: Record<string, number>): UserError {
  const others = paths.length > 1 ? ` and ${paths.length - 1} more` : "";
  const found = Object.entries(skipped).map(([type, count]) => `${type} ${count}`).join(", ");
  return new UserError(
    `Cannot import ${paths[0]}${others}: found no ping result ` +
      `(${
        shortened(found || "no object at all", 200)
      }), expected ping results of RIPE Atlas or Globalping; ` +
      "check --input",
  );
}

/** The results in an object, in order: itself, or those anywhere inside it. */
function* findResults(object: AtlasObject): Generator<{ result: AtlasObject; type: string }> {
  const pending: unknown[] = [object];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    const result = value as AtlasObject;
    const type = Array.isArray(value)
      ? undefined
      : resultType(result) ?? (isGlobalping(result) ? GLOBALPING : undefined);
    if (type === undefined) { for (const inner of Object.values(value).reverse()) pending.push(inner); }
    else yield { result, type };
  }
}
