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
import type { NumberKind } from "../../io/parquet/encodings.ts";
import { MeasurementParquetWriter, type OptionalColumn } from "../measurement_files/parquet_writer.ts";
import { RejectLog, type RejectReason } from "../measurement_files/rejects.ts";
import { ImportedNames } from "./imported_names.ts";
import { type MeasurementRow, type RowCounts, RowSink } from "./row_sink.ts";
import { fingerprint, type InputFingerprint } from "../../io/files/inputs.ts";
import type { Rejection } from "../measurement/atlas_result.ts";
import {
  FOUND,
  PieceReader,
  type PieceResults,
  PING,
  PING_NUMBERS,
  type ReadingOptions,
  type ReadPiece,
} from "./atlas_pieces.ts";
import { openInput, STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { type JsonMark, JsonObjectScanner, MAX_OBJECT_BYTES } from "../measurement/json_stream.ts";

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
/** Memory of a worker with its pieces. */
const WORKER_BYTES = 60e6;
/** This thread cuts and merges as fast as so many workers read. */
const MAX_WORKERS = 4;
/** The keys' share of the remaining memory limit, and their smallest share of the limit itself. */
const KEYS_SHARE = 0.7;
const LEAST_KEYS_SHARE = 0.1;
/** Smaller inputs are read before a worker has started. */
const PARALLEL_FROM_BYTES = 1 << 20;
/** The number of types of objects that are counted separately: the input may have any number of them. */
const MAX_COUNTED_TYPES = 100;
/** The name for all further types. */
const OTHER_TYPES = "other";
const OPTIONAL_COLUMNS = ["msmId", "prbId", "sizeBytes", "packetErrorCount"] as const;

/** Options of {@link importAtlas}. */
export interface ImportOptions extends ReadingOptions {
  /** The largest share of the ping results that may be rejected, 0 to 1. */
  maxRejectRatio: number;
  /** Bound on the memory, in bytes. */
  memoryLimitBytes: number;
  /** The path of the list of rejected results, written if there are any. */
  rejectsPath: string;
  /** The path of the names of addresses, see `ImportedNames` (none). */
  namesPath?: string;
  /** Threads that read results, this one included (1 by default); the output does not depend on it. */
  numThreads?: number;
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
  const numThreads = 1 + numWorkersFor(paths, options);
  const maxBytes = memoryForKeys(options.memoryLimitBytes - (numThreads - 1) * WORKER_BYTES);
  const duplicates = new DuplicateSet({ maxBytes });
  const importer = new Importer(new RowSink(writer), duplicates, options);
  using reader = new PieceReader({ ...options, numThreads });
  const take = async (pieces: AsyncIterable<ReadPiece>) => {
    for await (const piece of pieces) {
      importer.add(piece);
      options.onProgress?.({ bytes: piece.numBytes, rows: importer.numRows });
    }
  };
  let numBytes = 0;
  for (const path of paths) {
    const { compression, chunks } = await openInput(path, { onBytes: (count) => numBytes += count });
    const scanner = new JsonObjectScanner(path, { isCompressed: compression !== "none" });
    const file = { path };
    for await (const chunk of chunks) {
      options.signal?.throwIfAborted();
      await take(reader.read(file, numBytes, scanner.push(chunk)));
    }
    scanner.end();
  }
  await take(reader.rest());
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

/** As many workers as are wanted and of use, in half of the memory at most. */
function numWorkersFor(
  paths: readonly string[],
  { numThreads = 1, memoryLimitBytes }: ImportOptions,
): number {
  const sizeBytes = paths.reduce((sum, path) => sum + inputFingerprint(path).sizeBytes, 0);
  if (sizeBytes < PARALLEL_FROM_BYTES && !paths.includes(STANDARD_INPUT)) return 0;
  const numInMemory = Math.floor((memoryLimitBytes - RUNTIME_BYTES) / 2 / WORKER_BYTES);
  return Math.max(0, Math.min(numThreads - 1, MAX_WORKERS, numInMemory));
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
  #file = { path: "" };
  /** Number of the next ping result in the file, from 0. */
  #index = 0;
  #numPings = 0;
  /** Objects that may have been ping results. */
  #numDamaged = 0;
  #numDuplicates = 0;
  readonly names = new ImportedNames();
  /** The ids of Globalping's measurements so far. */
  readonly #measurementIds = new Set<string>();

  constructor(readonly sink: RowSink, readonly duplicates: DuplicateSet, readonly options: ImportOptions) {}

  get numRows(): number {
    return this.sink.numRows;
  }

  /** Receives the next piece. */
  add({ file, marks, results }: ReadPiece): void {
    if (file !== this.#file) {
      this.#file = file;
      this.#index = 0;
    }
    const { ends, kinds, pings, rejections, types, measurements } = results;
    for (const [index, name] of results.names) this.names.addName(results.addresses[index], name);
    const next = { result: 0, mark: 0, ping: 0, row: 0, rejection: 0, type: 0, measurement: 0 };
    let endOfRepeated = 0;
    for (let object = 0; object <= ends.length; object++) {
      for (; marks[next.mark]?.numBefore === object; next.mark++) this.#addMark(marks[next.mark]);
      for (; next.result < ends[object]; next.result++) {
        const kind = kinds[next.result];
        const isRepeated = next.result < endOfRepeated && kind !== FOUND.other;
        if (isRepeated) {
          this.#numResults++;
          this.#numDuplicates++;
        }
        if (kind === FOUND.measurement) {
          const { id, numResults } = measurements[next.measurement++];
          // Of measurements with the same id, the first counts.
          if (this.#measurementIds.has(id)) endOfRepeated = next.result + 1 + numResults;
          this.#measurementIds.add(id);
        } else if (kind === FOUND.ping) {
          if (!isRepeated) this.#addPing(results, next.ping, next.row);
          next.row += pings[next.ping + PING.numRows];
          next.ping += PING_NUMBERS;
        } else if (kind === FOUND.nothing) this.#skipped.add("notAResult");
        else if (kind === FOUND.other) {
          this.#numResults++;
          this.#skipped.add(types[next.type++]);
        } else {
          const rejection = rejections[next.rejection++];
          if (!isRepeated) this.#addRejection(rejection, kind === FOUND.rejected);
        }
      }
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

  /** Counts a damaged line, or an object that is too long to be parsed unless it contains results. */
  #addMark({ kind, offsetBytes }: JsonMark): void {
    if (kind === "damaged") this.#addDamaged("invalidJson", `at byte ${offsetBytes}`);
    else if (kind === "begin") this.#resultsBefore.push(this.#numResults);
    else if (this.#resultsBefore.pop() === this.#numResults) {
      this.#addDamaged("objectTooLong", `at byte ${offsetBytes}: more than ${MAX_OBJECT_BYTES} bytes`);
    }
  }

  #addDamaged(reason: RejectReason, detail: string): void {
    this.#addRejection({ reason, detail }, false);
  }

  #addRejection({ reason, detail }: Rejection, isPing: boolean): void {
    if (isPing) {
      this.#numPings++;
      this.#numResults++;
    } else this.#numDamaged++;
    this.#rejects.add(reason, this.#file.path, this.#index++, detail);
  }

  /** Receives a ping by its place in the columns. */
  #addPing({ pings, rows, addresses }: PieceResults, ping: number, firstRow: number): void {
    this.#numPings++;
    this.#numResults++;
    this.#index++;
    const row: MeasurementRow = {
      msmId: pings[ping + PING.msmId],
      prbId: pings[ping + PING.prbId],
      eventTimeUs: pings[ping + PING.eventTimeUs],
      sizeBytes: pings[ping + PING.sizeBytes],
      ipVersion: pings[ping + PING.ipVersion],
      srcAddr: addresses[pings[ping + PING.src]],
      dstAddr: addresses[pings[ping + PING.dst]],
      rttMs: NaN,
      packetErrorCount: NaN,
    };
    const hasKey = !Number.isNaN(row.msmId) && !Number.isNaN(row.prbId);
    if (hasKey && !this.duplicates.add(row)) {
      this.#numDuplicates++;
      return;
    }
    this.names.addRow(row);
    for (let i = firstRow; i < firstRow + pings[ping + PING.numRows]; i++) {
      row.rttMs = rows[2 * i];
      row.packetErrorCount = rows[2 * i + 1];
      this.sink.add(row);
    }
  }
}

/** Counts objects by the names of their types. */
class TypeCounts {
  readonly #counts = new Map<string, number>();

  add(type: string): void {
    const key = this.#counts.has(type) || this.#counts.size < MAX_COUNTED_TYPES ? type : OTHER_TYPES;
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
