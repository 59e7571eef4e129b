/**
 * Reads RIPE Atlas ping results from JSON files and writes them as one Parquet file.
 *
 * Files are read one after another as streams; memory holds one row group, the distinct addresses and as many keys of
 * results as fit, whatever the size of the files. Rows first go to a separate file. If memory did not suffice to find
 * all duplicates while reading, the rows are copied without the remaining duplicates.
 *
 * @module
 */
import { shortened, UserError } from "../errors.ts";
import { fingerprint, type InputFingerprint } from "../files/inputs.ts";
import {
  convertPing,
  type PingRow,
  type Rejection,
  resultType,
  type RttChoice,
  type SourceChoice,
} from "../atlas/atlas_result.ts";
import { openInput, STANDARD_INPUT } from "../compression/decompress.ts";
import { DuplicateSet } from "./duplicate_set.ts";
import { JsonObjectScanner, MAX_OBJECT_BYTES } from "../atlas/json_stream.ts";
import { MeasurementParquetWriter } from "../measurement/parquet_writer.ts";
import type { AtlasObject } from "../atlas/ping_fields.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { type RowCounts, RowSink } from "./row_sink.ts";
import { moveUniqueRows } from "./unique_rows.ts";

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
const OPTIONAL_COLUMNS = ["msmId", "prbId", "sizeBytes", "packetErrorCount"] as const;

/** Options of {@link importAtlas}. */
export interface ImportOptions {
  /** The choice of the source address. */
  source: SourceChoice;
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
    for (const { result, type } of findResults(object)) {
      if (type === "ping") this.#addPing(convertPing(result, this.options));
      else {
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
      `(${shortened(found || "no object at all", 200)}), expected ping results of RIPE Atlas; check ` +
      "--input",
  );
}

/** The results in an object, in order: itself, or those anywhere inside it. */
function* findResults(object: AtlasObject): Generator<{ result: AtlasObject; type: string }> {
  const pending: unknown[] = [object];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    const result = value as AtlasObject;
    const type = Array.isArray(value) ? undefined : resultType(result);
    if (type === undefined) { for (const inner of Object.values(value).reverse()) pending.push(inner); }
    else yield { result, type };
  }
}
