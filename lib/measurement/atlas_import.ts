/**
 * RIPE Atlas ping results read from JSON files and written as one Parquet file (design 02-formats, 2.2).
 *
 * Files are read one after another as streams; memory holds one row group, the set that finds duplicates and the
 * distinct addresses, whatever the size of the files.
 *
 * @module
 */
import type { InputFingerprint } from "../files/inputs.ts";
import {
  convertFields,
  convertPing,
  type PingRow,
  type Rejection,
  resultType,
  type RttChoice,
  type SourceChoice,
} from "./atlas_result.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "./batch.ts";
import { openInput, STANDARD_INPUT } from "./decompress.ts";
import { DuplicateSet } from "./duplicate_set.ts";
import { JsonObjectScanner, type ObjectTaker } from "./json_stream.ts";
import { MeasurementParquetWriter } from "./parquet_writer.ts";
import type { AtlasObject } from "./ping_fields.ts";
import { PingReader } from "./ping_reader.ts";
import { RejectLog } from "./rejects.ts";

/** Which files of a directory are read. */
export const ATLAS_EXTENSIONS: string[] = [".json", ".jsonl", ".ndjson", ".txt"]
  .flatMap((extension) => ["", ".gz", ".bz2", ".zst"].map((suffix) => extension + suffix));

/** Distinct addresses are counted exactly up to this many, about 150 MB. */
export const MAX_COUNTED_ADDRESSES = 1_000_000;

const BATCH_ROWS = 8192;
const DUPLICATE_SHARE = 0.5; // of the memory limit; the rest is for the runtime, a row group and the addresses

/** How {@link importAtlas} reads. */
export interface ImportOptions {
  /** Which address stands for the source. */
  source: SourceChoice;
  /** What becomes the RTT of a result's replies. */
  rtt: RttChoice;
  /** The largest share of the ping results that may be rejected, 0 to 1. */
  maxRejectRatio: number;
  /** Bound on the memory, in bytes. */
  memoryLimitBytes: number;
  /** Where the rejected results are listed, if there are any. */
  rejectsPath: string;
  /** Ends the import when it is aborted. */
  signal?: AbortSignal;
  /** Told now and then how many (compressed) bytes were read and how many rows there are. */
  onProgress?: (done: { bytes: number; rows: number }) => void;
}

/** What was read and written. */
export interface ImportSummary {
  /** Rows written. */
  rows: number;
  /** Rows without a reply. */
  failed: number;
  /** Results that were there before (same measurement, probe and time). */
  duplicates: number;
  /** Objects that are no ping results, by their type. */
  skippedByType: Record<string, number>;
  /** Ping results that could not be used, by reason. */
  rejected: Record<string, number>;
  /** Distinct source addresses; {@link MAX_COUNTED_ADDRESSES} stands for that many or more. */
  sources: number;
  /** Distinct destination addresses, likewise. */
  destinations: number;
  /** Earliest time of a row, seconds since 1970; absent if there is no row. */
  firstTimeS?: number;
  /** Latest time of a row, likewise. */
  lastTimeS?: number;
}

/** The fingerprint of an input, standard input included (which is never the same twice). */
export function inputFingerprint(path: string, ofFile: (path: string) => InputFingerprint): InputFingerprint {
  return path === STANDARD_INPUT ? { path, sizeBytes: 0, mtimeMs: Date.now() } : ofFile(path);
}

/**
 * Imports ping results.
 *
 * @param paths The files, `-` for standard input.
 * @param outputPath The Parquet file to write.
 * @throws {FormatError} If a file is no JSON, is truncated or its compressed data is damaged.
 * @throws {UserError} If too many results are rejected, the memory is too small or the disk is full.
 */
export async function importAtlas(
  paths: readonly string[],
  outputPath: string,
  options: ImportOptions,
): Promise<ImportSummary> {
  using writer = MeasurementParquetWriter.create(outputPath, {
    optionalColumns: ["msmId", "prbId", "sizeBytes", "packetErrorCount"],
  });
  const importer = new Importer(writer, options);
  const reader = new PingReader();
  const take: ObjectTaker = (bytes, start) => {
    const fields = reader.read(bytes, start);
    if (!fields) return 0;
    importer.addPing(convertFields(fields, options));
    return reader.end;
  };
  let numBytes = 0;
  for (const path of paths) {
    const { compression, chunks } = await openInput(path, { onBytes: (count) => numBytes += count });
    const scanner = new JsonObjectScanner(path, { isCompressed: compression !== "none", take });
    importer.startFile(path);
    for await (const chunk of chunks) {
      options.signal?.throwIfAborted();
      for (const { value, offsetBytes } of scanner.push(chunk)) importer.add(value, offsetBytes);
      options.onProgress?.({ bytes: numBytes, rows: importer.numRows });
    }
    scanner.end();
  }
  return importer.finish();
}

/** Takes objects, hands rows to the writer and counts. */
class Importer {
  readonly #rejects = new RejectLog();
  readonly #duplicates: DuplicateSet;
  readonly #skipped = new Map<string, number>();
  readonly #sources = new Set<string>();
  readonly #destinations = new Set<string>();
  #batch = emptyBatch();
  #path = "";
  /** Number of the next ping result in the file, from 0. */
  #index = 0;
  #numPings = 0;
  #numFailed = 0;
  #numDuplicates = 0;
  #firstTimeUs = Infinity;
  #lastTimeUs = -Infinity;

  constructor(readonly writer: MeasurementParquetWriter, readonly options: ImportOptions) {
    this.#duplicates = new DuplicateSet({ maxBytes: options.memoryLimitBytes * DUPLICATE_SHARE });
  }

  get numRows(): number {
    return this.writer.numRows + this.#batch.numRows;
  }

  startFile(path: string): void {
    this.#path = path;
    this.#index = 0;
  }

  /** Takes an object of the file: a result, a container of results, or undefined for damaged JSON. */
  add(object: AtlasObject | undefined, offsetBytes: number): void {
    if (object === undefined) {
      this.#numPings++;
      this.#rejects.add("invalidJson", this.#path, this.#index++, `at byte ${offsetBytes}`);
      return;
    }
    let numResults = 0;
    for (const { result, type } of findResults(object)) {
      numResults++;
      if (type === "ping") this.addPing(convertPing(result, this.options));
      else this.#skip(type);
    }
    if (numResults === 0) this.#skip("notAResult");
  }

  /** Writes what is left; see {@link ImportSummary}. */
  finish(): ImportSummary {
    const { maxRejectRatio, rejectsPath } = this.options;
    this.#rejects.write(rejectsPath);
    this.#rejects.check(this.#numPings, maxRejectRatio);
    this.#flush();
    const { rows } = this.writer.close();
    const toSeconds = (timeUs: number) => Math.floor(timeUs / 1e6);
    return {
      rows,
      failed: this.#numFailed,
      duplicates: this.#numDuplicates,
      skippedByType: Object.fromEntries([...this.#skipped].sort(([a], [b]) => (a < b ? -1 : 1))),
      rejected: this.#rejects.counts,
      sources: this.#sources.size,
      destinations: this.#destinations.size,
      ...(rows > 0
        ? { firstTimeS: toSeconds(this.#firstTimeUs), lastTimeS: toSeconds(this.#lastTimeUs) }
        : {}),
    };
  }

  #skip(type: string): void {
    this.#skipped.set(type, (this.#skipped.get(type) ?? 0) + 1);
  }

  /** Takes a ping result, or what is wrong with it. */
  addPing(row: PingRow | Rejection): void {
    this.#numPings++;
    const index = this.#index++;
    if ("reason" in row) {
      this.#rejects.add(row.reason, this.#path, index, row.detail);
      return;
    }
    const hasKey = !Number.isNaN(row.msmId) && !Number.isNaN(row.prbId);
    if (hasKey && !this.#duplicates.add(row.msmId, row.prbId, row.eventTimeUs / 1e6)) {
      this.#numDuplicates++;
      return;
    }
    this.#count(row);
    for (let i = 0; i < row.rttsMs.length; i++) this.#append(row, row.rttsMs[i], row.numLost[i]);
  }

  #count({ srcAddr, dstAddr, eventTimeUs }: PingRow): void {
    if (this.#sources.size < MAX_COUNTED_ADDRESSES) this.#sources.add(srcAddr);
    if (this.#destinations.size < MAX_COUNTED_ADDRESSES) this.#destinations.add(dstAddr);
    this.#firstTimeUs = Math.min(this.#firstTimeUs, eventTimeUs);
    this.#lastTimeUs = Math.max(this.#lastTimeUs, eventTimeUs);
  }

  #append(row: PingRow, rttMs: number, numLost: number): void {
    const batch = this.#batch;
    const at = batch.numRows++;
    batch.eventTimeUs[at] = row.eventTimeUs;
    batch.srcAddr.push(row.srcAddr);
    batch.dstAddr.push(row.dstAddr);
    batch.ipVersion[at] = row.ipVersion;
    batch.rttMs[at] = rttMs;
    batch.msmId[at] = row.msmId;
    batch.prbId[at] = row.prbId;
    batch.sizeBytes[at] = row.sizeBytes;
    batch.packetErrorCount[at] = numLost;
    if (rttMs === FAILED_RTT_MS) this.#numFailed++;
    if (batch.numRows === BATCH_ROWS) this.#flush();
  }

  #flush(): void {
    this.writer.append(this.#batch);
    this.#batch = emptyBatch();
  }
}

/** The results in an object, in order: itself, or those anywhere inside it. */
function* findResults(object: AtlasObject): Generator<{ result: AtlasObject; type: string }> {
  const pending: unknown[] = [object];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    const result = value as AtlasObject;
    const type = Array.isArray(value) ? undefined : resultType(result);
    if (type === undefined) pending.push(...Object.values(value).reverse());
    else yield { result, type };
  }
}

function emptyBatch(): Required<MeasurementBatch> {
  return {
    numRows: 0,
    eventTimeUs: new Float64Array(BATCH_ROWS),
    srcAddr: [],
    dstAddr: [],
    ipVersion: new Uint8Array(BATCH_ROWS),
    rttMs: new Float64Array(BATCH_ROWS),
    msmId: new Float64Array(BATCH_ROWS),
    prbId: new Float64Array(BATCH_ROWS),
    sizeBytes: new Float64Array(BATCH_ROWS),
    packetErrorCount: new Float64Array(BATCH_ROWS),
  };
}
