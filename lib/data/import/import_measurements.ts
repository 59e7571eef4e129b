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
import {
  decompressWhole,
  type InputStream,
  openInput,
  STANDARD_INPUT,
} from "../../io/compression/decompress.ts";
import { fingerprint, type InputFingerprint } from "../../io/files/inputs.ts";
import { type Finding, giveTime, type ReadingOptions, type Rejection } from "../formats/format.ts";
import { MeasurementReader } from "../formats/reader.ts";
import { beginsAsJson, endResults, MIN_HEAD_CHARACTERS, NOT_A_RESULT } from "../formats/registry.ts";
import {
  type JsonMark,
  JsonObjectScanner,
  type JsonPiece,
  MAX_OBJECT_BYTES,
} from "../../io/text/json_stream.ts";
import { ToUtf8 } from "../../io/text/utf8.ts";
import { isArchive, isParquet, readMembers } from "../measurement_files/input_files.ts";
import { isUsableTime, readMeasurements } from "../measurement_files/parquet_reader.ts";
import { ownReading, readParquetTable } from "../measurement_files/parquet_table.ts";
import { MeasurementParquetWriter } from "../measurement_files/parquet_writer.ts";
import { KindCounts, listOfCounts, RejectLog, trueAdvice } from "../measurement_files/rejects.ts";
import { DuplicateSet, isSameResult, moveUniqueRows, type ResultKey, rowsOf } from "./duplicates.ts";
import { ImportedNames } from "./imported_names.ts";
import {
  FOUND,
  type JobResults,
  type PieceOptions,
  pieceOptions,
  PieceReader,
  type PieceResults,
  PING,
  PING_NUMBERS,
  type ReadPiece,
} from "./json_pieces.ts";
import { type MeasurementRow, type RowCounts, RowSink } from "./row_sink.ts";

/** Resident memory without keys, measured with several GB of results. */
const RUNTIME_BYTES = 200e6;
const WORKER_BYTES = 60e6; // including its pieces
/** Number of workers that one thread can keep busy, since it cuts the text and merges the results. */
const MAX_WORKERS = 4;
/** The keys' share of the remaining memory, and their minimum share of the whole memory limit. */
const KEYS_SHARE = 0.7;
const LEAST_KEYS_SHARE = 0.1;
/** Smaller inputs are read before a worker has even started. */
const PARALLEL_FROM_BYTES = 1 << 20;
/** Files up to this size are sent to a worker whole. */
const MAX_SMALL_BYTES = 1 << 20;
/** How much of a compressed file is used to recognise its format. */
const HEAD_BYTES = 512;
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
  /** Threads that read results, including this one; 1 by default. The output does not depend on it. */
  numThreads?: number;
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
  const numThreads = 1 + numWorkersFor(paths, options);
  const maxBytes = memoryForKeys(options.memoryLimitBytes - (numThreads - 1) * WORKER_BYTES);
  const duplicates = new DuplicateSet({ maxBytes });
  const importer = new Importer(new RowSink(writer), duplicates, options);
  using files = new FileReader(importer, numThreads, options);
  for (const path of paths) await files.read(path);
  await files.finish();
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

/** Reads files in order and passes their contents to an importer. */
class FileReader implements Disposable {
  readonly #reading: PieceOptions;
  readonly #pieces: PieceReader;
  #numBytes = 0;
  /** The file of JSON whose results were read last. */
  #file: { path: string } | undefined;

  constructor(readonly importer: Importer, numThreads: number, readonly options: ImportOptions) {
    this.#reading = pieceOptions(readingOf(options));
    const onFile = (file: { path: string }) => this.#beginFile(file);
    this.#pieces = new PieceReader(this.#reading, { numThreads, onFile, signal: options.signal });
  }

  /** Reads a file. Its last pieces are taken with the next file. @throws {UserError} If it cannot be read. */
  async read(path: string): Promise<void> {
    this.options.signal?.throwIfAborted();
    const onBytes = (count: number) => this.#numBytes += count;
    if (isArchive(path)) {
      const { options: { onNote }, options } = this;
      for await (const member of readMembers(path, { reading: readingOf(options), log: onNote, onBytes })) {
        await this.#readStream({ path: member.path }, this.#pieces, member);
      }
      return;
    }
    if (isParquet(path)) return await this.#readParquet(path);
    const isSmall = path !== STANDARD_INPUT && fingerprint(path).sizeBytes <= MAX_SMALL_BYTES;
    // Not readFileSync(), so that messages of workers are received between files.
    const whole = isSmall ? await Deno.readFile(path) : new Uint8Array(0);
    const head = decompressWhole(whole.subarray(0, HEAD_BYTES), MAX_SMALL_BYTES, { isHead: true });
    if (head && beginsWithJson(head, this.#reading)) {
      this.#numBytes += whole.length;
      await this.#take(this.#pieces.read({ path }, this.#numBytes, { whole }));
    } else await this.#readStream({ path }, this.#pieces, await openInput(path, { onBytes }));
  }

  async finish(): Promise<void> {
    await this.#take(this.#pieces.rest());
    this.#beginFile(undefined);
  }

  /** Ends the file before. @throws {FormatError} If its results contradict each other. */
  #beginFile(file: { path: string } | undefined): void {
    const last = this.#file;
    this.#file = file;
    if (!last || last === file) return;
    endResults(this.#reading, last.path, (finding) => this.importer.addFinding(last, finding, 0));
  }

  async #take(read: AsyncIterable<ReadPiece>): Promise<void> {
    for await (const { file, found, numBytes } of read) {
      if (found) this.importer.addPiece(file, found);
      else {
        // Read as a stream and in this thread, to keep the order of files.
        using here = new PieceReader(this.#reading, { ...this.#pieces.threads, numThreads: 1 });
        await this.#readStream(file, here, await openInput(file.path));
      }
      this.#report(numBytes);
    }
  }

  #report(bytes: number): void {
    this.options.onProgress?.({ bytes, rows: this.importer.numRows });
  }

  async #readParquet(path: string): Promise<void> {
    await this.finish();
    const file = { path };
    const reading = await ownReading(path, this.options);
    if (reading) {
      this.options.onReading?.(reading);
      for await (const batch of readMeasurements([path], { rejects: this.importer.rejects })) {
        this.options.signal?.throwIfAborted();
        this.importer.addRows(rowsOf(batch), batch.numRowsRead);
        this.#report(this.#numBytes);
      }
    }
    for await (const found of reading ? [] : readParquetTable(path, this.options)) {
      this.options.signal?.throwIfAborted();
      for (const { finding, line } of found) this.importer.addFinding(file, finding, line);
      this.#report(this.#numBytes);
    }
    this.#numBytes += fingerprint(path).sizeBytes;
  }

  /** Reads a file as a stream; JSON is cut into pieces. */
  async #readStream(
    file: { path: string },
    pieces: PieceReader,
    { compression, chunks }: InputStream,
  ): Promise<void> {
    const { path } = file;
    const { onReading } = this.options;
    const options = { ...this.#reading, onReading, isCompressed: compression !== "none" };
    const scanner = new JsonObjectScanner(path, { ...options, isLines: true });
    const cut: JsonPiece[] = [];
    const json = {
      push: (chunk: Uint8Array) => void cut.push(scanner.push(chunk)),
      end: () => scanner.end(),
    };
    const take = (finding: Finding, line: number) => this.importer.addFinding(file, finding, line);
    const reader = new MeasurementReader(path, options, take, json);
    const takeNext = async () => {
      for (const piece of cut.splice(0)) await this.#take(pieces.read(file, this.#numBytes, piece));
      if (reader.format !== "json") this.#report(this.#numBytes);
    };
    let isFirst = pieces === this.#pieces;
    for await (const chunk of chunks) {
      this.options.signal?.throwIfAborted();
      // Findings in text are taken at once, so pieces of earlier files have to be taken before.
      if (isFirst && !beginsWithJson(chunk, this.#reading)) await this.finish();
      isFirst = false;
      reader.push(chunk);
      await takeNext();
    }
    reader.end();
    await takeNext();
  }

  [Symbol.dispose](): void {
    this.#pieces[Symbol.dispose]();
  }
}

/** Whether a file that begins with `head` is certainly JSON. */
function beginsWithJson(head: Uint8Array, options: ReadingOptions): boolean {
  const text = new TextDecoder().decode(new ToUtf8().push(head));
  return text.trim().length >= MIN_HEAD_CHARACTERS && beginsAsJson(text, options);
}

/** Picks the reading options that can be sent to workers. */
function readingOf(options: ReadingOptions): ReadingOptions {
  const { source, rtt, format, columns, src, dst, noReply, addresses, startS, intervalS, zone } = options;
  return { source, rtt, format, columns, src, dst, noReply, addresses, startS, intervalS, zone };
}

/** Returns as many workers as requested and useful, using at most half of the memory. */
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

/** Passes rows to the sink and counts everything else. */
class Importer {
  readonly rejects = new RejectLog();
  readonly names = new ImportedNames();
  readonly #skipped = new KindCounts();
  /** Number of results before each open container. */
  readonly #resultsBefore: number[] = [];
  #file = { path: "" };
  /** Number of the next result in the file, from 0. */
  #index = 0;
  #numPings = 0;
  /** Number of results of any kind, including pings. */
  #numResults = 0;
  /** Number of objects and lines that may have been results. */
  #numDamaged = 0;
  #numDuplicates = 0;
  /** The key of the last result that had one, and whether it repeats an earlier result. */
  #lastKey: ResultKey | undefined;
  #isLastRepeated = false;
  /** Ids, seen so far, of objects with several results. */
  readonly #measurementIds = new Set<string>();

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

  addFinding(file: { path: string }, finding: Finding, line: number): void {
    this.#begin(file);
    if ("skipped" in finding) return this.#skipped.add(finding.skipped);
    if ("reason" in finding) {
      return this.#reject({ ...finding, found: `line ${line}: ${finding.found}` }, { isPing: true });
    }
    if (!this.#isNew(finding, { line })) return;
    const { rttsMs, numLost } = finding;
    for (let i = 0; i < rttsMs.length; i++) this.sink.add(finding, rttsMs[i], numLost[i]);
  }

  /** Takes the next piece of JSON, or a whole file. */
  addPiece(file: { path: string }, { marks, results }: NonNullable<JobResults>): void {
    this.#begin(file);
    const { ends, kinds, pings, rejections, skipped, measurements } = results;
    for (const reading of results.readings) this.options.onReading?.(reading);
    for (const [index, name] of results.names) this.names.addName(results.addresses[index], name);
    const next = { result: 0, mark: 0, ping: 0, row: 0, rejection: 0, skipped: 0, measurement: 0 };
    let endOfRepeated = 0;
    for (let object = 0; object <= ends.length; object++) {
      for (; marks[next.mark]?.numBefore === object; next.mark++) this.#addMark(marks[next.mark]);
      for (; next.result < ends[object]; next.result++) {
        const kind = kinds[next.result];
        const isRepeated = next.result < endOfRepeated && kind !== FOUND.skipped;
        if (isRepeated) {
          this.#numResults++;
          this.#numDuplicates++;
        }
        if (kind === FOUND.measurement) {
          const { id, numResults } = measurements[next.measurement++];
          // Only the first object with an id counts.
          if (this.#measurementIds.has(id)) endOfRepeated = next.result + 1 + numResults;
          this.#measurementIds.add(id);
        } else if (kind === FOUND.ping || kind === FOUND.record) {
          if (!isRepeated) this.#addPing(results, next, kind === FOUND.ping);
          next.row += pings[next.ping + PING.numRows];
          next.ping += PING_NUMBERS;
        } else if (kind === FOUND.nothing) this.#skipped.add(NOT_A_RESULT);
        else if (kind === FOUND.skipped) {
          this.#numResults++;
          this.#skipped.add(skipped[next.skipped++]);
        } else {
          const rejection = rejections[next.rejection++];
          if (!isRepeated) this.#reject(rejection, { isPing: kind === FOUND.rejected });
        }
      }
    }
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

  #begin(file: { path: string }): void {
    if (file === this.#file) return;
    this.#file = file;
    this.#index = 0;
  }

  /** Counts a damaged line, or an object that is too long to be parsed and contains no results. */
  #addMark({ kind, offsetBytes }: JsonMark): void {
    const place = `at byte ${offsetBytes}`;
    if (kind === "damaged") this.#reject({ reason: "invalidJson", found: place }, { isPing: false });
    else if (kind === "begin") this.#resultsBefore.push(this.#numResults);
    else if (this.#resultsBefore.pop() === this.#numResults) {
      const found = `${place}: more than ${MAX_OBJECT_BYTES} bytes`;
      this.#reject({ reason: "objectTooLong", found }, { isPing: false });
    }
  }

  #reject(rejection: Rejection, { isPing }: { isPing: boolean }): void {
    if (isPing) {
      this.#numPings++;
      this.#numResults++;
    } else this.#numDamaged++;
    this.#addReject(rejection, this.#index++);
  }

  /**
   * Counts a ping. @returns Whether its time is possible and it is not a duplicate. @param isResult Whether
   * it is a complete result.
   */
  #isNew(ping: ResultKey, { line, isResult = false }: { line?: number; isResult?: boolean }): boolean {
    this.#numPings++;
    this.#numResults++;
    this.#index++;
    if (!this.#hasTime(ping.eventTimeUs, line)) return false;
    // A complete result is a duplicate even directly after a result with the same key.
    if (isResult) this.#lastKey = undefined;
    return !this.#isRepeated(ping);
  }

  /** Rejects results with an impossible time. @param line The line, for the reason. */
  #hasTime(eventTimeUs: number, line?: number): boolean {
    if (isUsableTime(eventTimeUs)) return true;
    const place = line ? `line ${line}: ` : "";
    const rejection: Rejection = Number.isNaN(eventTimeUs)
      ? { reason: "nullValue", found: `${place}time`, advice: giveTime(this.options) }
      : { reason: "timeInFuture", found: place + new Date(eventTimeUs / 1000).toISOString() };
    this.#addReject(rejection, this.#index - 1);
    return false;
  }

  #addReject(rejection: Rejection, index: number): void {
    this.rejects.add(rejection.reason, this.#file.path, index, trueAdvice(rejection, this.options));
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

  /** Takes a ping at the given indexes of the columns. @param isResult Whether it is a complete result. */
  #addPing(
    { pings, rows, addresses }: PieceResults,
    { ping, row: firstRow }: { ping: number; row: number },
    isResult: boolean,
  ): void {
    const result = {
      msmId: pings[ping + PING.msmId],
      prbId: pings[ping + PING.prbId],
      eventTimeUs: pings[ping + PING.eventTimeUs],
      sizeBytes: pings[ping + PING.sizeBytes],
      ipVersion: pings[ping + PING.ipVersion],
      srcAddr: addresses[pings[ping + PING.src]],
      dstAddr: addresses[pings[ping + PING.dst]],
    };
    if (!this.#isNew(result, { isResult })) return;
    this.names.addRow(result);
    for (let i = firstRow; i < firstRow + pings[ping + PING.numRows]; i++) {
      this.sink.add(result, rows[2 * i], rows[2 * i + 1]);
    }
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
