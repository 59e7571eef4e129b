/** Reads measurements as they arrive, from standard input or from files that grow. @module */
import { faultText, UserError } from "../../base/errors.ts";
import { giveTime, NoMeasurementsError, type ReadingOptions } from "../../data/formats/format.ts";
import { type Found, MeasurementReader, readStream } from "../../data/formats/reader.ts";
import {
  inOrderOfTime,
  isParquet,
  listMeasurementFiles,
  MEASUREMENT_EXTENSIONS,
} from "../../data/measurement_files/input_files.ts";
import { trueAdvice } from "../../data/measurement_files/rejects.ts";
import { openInput, STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { explained, isMissing, unlessMissing } from "../../io/files/file_errors.ts";
import { findFiles, infoOf } from "../../io/files/inputs.ts";
import { pause } from "../../io/threads/stage_hooks.ts";
import { chunksUntil } from "../text_lines.ts";
import { type FileMeasurement, MeasurementFiles } from "./measurement_files.ts";

/** Maximum number of unusable lines that are logged individually. */
const MAX_SHOWN_LINES = 20;
/** Time between polls once all input has been read, ms. */
const POLL_MS = 500;
/** Number of RTTs whose median decides whether their unit is plausible, unless the input ends earlier. */
const NUM_JUDGED_RTTS = 100;
const CHUNK_BYTES = 1 << 16;
/** Number of measurements of files at rest that are put in order of time: a table may list its losses last. */
const NUM_ORDERED = 1 << 15;
/** Maximum number of directory listings per poll; two in a row must agree. */
const MAX_LISTINGS = 20;

/** @internal A measurement with a known time, in fractional Unix seconds. */
export type TimedMeasurement = Omit<FileMeasurement, "eventTimeUs"> & { readonly timeS: number };

interface ArrivalOptions {
  /** Whether to wait for more lines and files until the signal aborts. */
  isFollowing: boolean;
  reading: ReadingOptions;
  signal: AbortSignal;
  /** Receives a line for each of the first unusable lines. */
  log(line: string): void;
}

interface Placed {
  measurement: FileMeasurement;
  path: string;
  line: number | undefined;
}

export class ArrivingMeasurements {
  readonly #files: MeasurementFiles;
  #numShown = 0;

  /** @param paths Files of any format, folders, or globs of these; or only `-`. */
  constructor(readonly paths: readonly string[], readonly options: ArrivalOptions) {
    this.#files = new MeasurementFiles(options.reading);
  }

  /** Number of unusable rows and results. */
  get numBad(): number {
    return this.#files.rejects.total;
  }

  get rejected(): Record<string, number> {
    return this.#files.rejects.counts;
  }

  /** A line with the file, location and reason of the first unusable one. */
  get firstRejected(): string | undefined {
    return this.#files.rejects.first;
  }

  /** Number of results that say nothing about a path, by kind. */
  get skipped(): Record<string, number> {
    return this.#files.skipped;
  }

  /**
   * Reads measurements with a time until the signal aborts or, unless following, the input ends.
   *
   * @throws {UserError} If a file cannot be read, or is Parquet and should be followed.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<TimedMeasurement> {
    const { scale } = this.#files;
    let isJudged = false;
    const judge = () => {
      isJudged = true;
      if (scale.advice) this.options.log(scale.advice);
    };
    for await (const { measurement: { eventTimeUs, ...rest }, path, line } of this.#placed()) {
      if (!isJudged && scale.numRtts >= NUM_JUDGED_RTTS) judge();
      if (Number.isNaN(eventTimeUs)) this.#reject(path, line);
      else yield { ...rest, timeS: eventTimeUs / 1e6 };
    }
    if (!isJudged) judge();
  }

  /** Reads all measurements, including those without a time. */
  async *measurements(): AsyncGenerator<FileMeasurement> {
    for await (const { measurement } of this.#placed()) yield measurement;
  }

  async *#placed(): AsyncGenerator<Placed> {
    const { paths, options: { isFollowing, signal, reading, log } } = this;
    if (paths.includes(STANDARD_INPUT)) {
      if (paths.length > 1) throw new UserError("Cannot read both - and files: give one or the other");
      const path = "standard input";
      const { chunks } = await openInput(STANDARD_INPUT, { raw: chunksUntil(signal, Deno.stdin.readable) });
      const found = readStream(chunks, path, reading);
      for await (const part of found) for (const each of part) yield* this.#take(each, path);
    } else if (isFollowing) {
      yield* this.#follow();
    } else {
      const files = await inOrderOfTime(listMeasurementFiles(paths, { log, reading }), reading);
      yield* this.#ordered(files);
    }
  }

  /** Reads files at rest, and sorts as many measurements at a time as {@link NUM_ORDERED}. */
  async *#ordered(paths: readonly string[]): AsyncGenerator<Placed> {
    let waiting: Placed[] = [];
    const sort = () =>
      waiting.sort(({ measurement: a }, { measurement: b }) => a.eventTimeUs - b.eventTimeUs);
    for (const path of paths) {
      for await (const measurement of this.#files.read(path)) {
        if (this.options.signal.aborted) return;
        const placed = { measurement, path, line: undefined };
        if (Number.isNaN(measurement.eventTimeUs)) yield placed;
        else if (waiting.push(placed) === 2 * NUM_ORDERED) {
          yield* sort().slice(0, NUM_ORDERED);
          waiting = waiting.slice(NUM_ORDERED);
        }
      }
    }
    yield* sort();
  }

  *#take(found: Found, path: string): Generator<Placed> {
    const { finding, line } = found;
    for (const measurement of this.#files.take(found, path)) yield { measurement, path, line };
    if (!("reason" in finding)) return;
    const fault = trueAdvice(finding, this.options.reading);
    this.#show(`${path}, line ${line}: ${finding.reason}, ${faultText(fault)}`);
  }

  #reject(path: string, line: number | undefined): void {
    const fault = { found: "the time is missing", advice: giveTime(this.options.reading) };
    this.#files.rejects.add("nullValue", path, (line ?? 1) - 1, fault);
    this.#show(`${path}${line === undefined ? "" : `, line ${line}`}: ${faultText(fault)}`);
  }

  #show(text: string): void {
    if (++this.#numShown <= MAX_SHOWN_LINES) this.options.log(`${text}; left out`);
  }

  /** Reads what is available of each file in turn, repeatedly. */
  async *#follow(): AsyncGenerator<Placed> {
    const { signal } = this.options;
    using followed = new FollowedFiles(this.paths, this.options);
    for (;;) {
      let isIdle = true;
      // A file that replaced another is opened once the other one has been read to its end.
      for (const files of [() => followed.known(), () => followed.openNew()]) {
        for (const file of await files()) {
          for await (const placed of this.#readFollowed(file)) {
            isIdle = false;
            if (signal.aborted) return;
            yield placed;
          }
        }
      }
      if (signal.aborted) return;
      if (isIdle) await pause(POLL_MS, signal);
    }
  }

  async *#readFollowed(file: FollowedFile): AsyncGenerator<Placed> {
    try {
      for await (const found of file.read()) yield* this.#take(found, file.path);
    } catch (error) {
      if (!(error instanceof NoMeasurementsError) || this.paths.includes(file.path)) throw error;
      this.options.log(`leaving out ${file.path}: ${error.fault?.found}`);
      file.isLeftOut = true;
    }
  }
}

/** The followed files by identity on disk, so that a renamed file is not read again. */
class FollowedFiles implements Disposable {
  readonly #files = new Map<string, FollowedFile>();
  /** Paths that were missing when last listed. */
  readonly #missing = new Set<string>();

  constructor(
    readonly paths: readonly string[],
    readonly options: Pick<ArrivalOptions, "reading" | "log">,
  ) {}

  /** The open files, oldest first. */
  known(): FollowedFile[] {
    for (const [id, file] of this.#files) {
      // While a file is open, its identity is not reused.
      if (!file.isOver || !file.isDeleted()) continue;
      file[Symbol.dispose]();
      this.#files.delete(id);
    }
    return [...this.#files.values()];
  }

  /** Opens new files. @returns The opened files, ordered by their first times. */
  async openNew(): Promise<FollowedFile[]> {
    let listed = this.#listNew();
    for (let attempt = 0; listed.size > 0 && attempt < MAX_LISTINGS; attempt++) {
      // A listing may miss a file that is renamed meanwhile.
      const again = this.#listNew();
      const isSame = listed.size === again.size &&
        listed.keys().every((id) => again.get(id) === listed.get(id));
      const opened = isSame ? this.#open(again) : undefined;
      if (!opened) {
        listed = again;
        continue;
      }
      const timed: [file: FollowedFile, timeUs: number][] = [];
      for (const file of opened) timed.push([file, await file.firstTimeUs()]);
      return timed.sort(([, a], [, b]) => a - b).map(([file]) => file);
    }
    return [];
  }

  /** Opens files; undefined if one has been renamed meanwhile. */
  #open(listed: ReadonlyMap<string, string>): FollowedFile[] | undefined {
    const opened: FollowedFile[] = [];
    for (const [id, path] of listed) {
      const file = FollowedFile.open(path, this.options.reading);
      if (file) opened.push(file);
      if (file?.id === id) continue;
      for (const each of opened) each[Symbol.dispose]();
      return undefined;
    }
    for (const file of opened) this.#files.set(file.id, file);
    return opened;
  }

  /** Paths of files that are not open, by identity. */
  #listNew(): Map<string, string> {
    const taken = new Set(this.#files.values().filter(({ isOver }) => !isOver).map(({ path }) => path));
    const found = new Map<string, string>();
    for (const path of this.paths.flatMap((each) => this.#list(each)).sort()) {
      if (taken.has(path)) continue;
      const id = identityAt(path)?.id;
      if (id !== undefined && !this.#files.has(id) && !found.has(id)) found.set(id, path);
    }
    return found;
  }

  /** The files of a path. A missing path may appear later. */
  #list(path: string): string[] {
    try {
      const found = [...findFiles(path, { extensions: MEASUREMENT_EXTENSIONS }).values()];
      this.#missing.delete(path);
      const parquet = found.find((each) => each.endsWith(".parquet") && isParquet(each));
      if (parquet === undefined) return found;
      throw new UserError(`Cannot follow ${parquet}: it is Parquet, expected text; leave out --follow`);
    } catch (error) {
      if (!(error instanceof UserError && isMissing(error.cause))) throw error;
      if (!this.#missing.has(path)) this.options.log(`${error.message}; waiting for it`);
      this.#missing.add(path);
      return [];
    }
  }

  [Symbol.dispose](): void {
    for (const file of this.#files.values()) file[Symbol.dispose]();
  }
}

/** A file's identity and size; undefined if the path does not exist. */
function identityAt(path: string): { id: string; size: number } | undefined {
  const info = infoOf(path);
  return info && { id: identityOf(info, path), size: info.size };
}

/** On Windows the path is the identity, since there are no inode numbers. */
function identityOf({ dev, ino }: Deno.FileInfo, path: string): string {
  return ino === null ? path : `${dev} ${ino}`;
}

class FollowedFile implements Disposable {
  readonly id: string;
  /** Whether it was read to its end after being replaced by another file. */
  isOver = false;
  isLeftOut = false;
  #reader: MeasurementReader;
  #found: Found[] = [];
  readonly #file: Deno.FsFile;
  #numBytes = 0;

  private constructor(readonly path: string, readonly reading: ReadingOptions) {
    this.#file = Deno.openSync(path);
    this.id = identityOf(this.#file.statSync(), path);
    this.#reader = this.#newReader();
  }

  #newReader(): MeasurementReader {
    return new MeasurementReader(this.path, this.reading, (finding, line) => {
      this.#found.push({ finding, line });
    });
  }

  /** Opens a file; undefined if it does not exist. */
  static open(path: string, reading: ReadingOptions): FollowedFile | undefined {
    return explained(`read ${path}`, () => unlessMissing(() => new FollowedFile(path, reading)));
  }

  /** Time of its first measurement, microseconds since 1970; 0 if unknown. To be called before `read`. */
  async firstTimeUs(): Promise<number> {
    try {
      await this.#readChunk();
    } catch (error) {
      if (error instanceof NoMeasurementsError) await this.#rewind();
      else throw error;
    }
    const timed = this.#found.find(({ finding }) => "eventTimeUs" in finding && finding.eventTimeUs > 0);
    return timed && "eventTimeUs" in timed.finding ? timed.finding.eventTimeUs : 0;
  }

  /**
   * Yields what was completed since the last call. A truncated file is read from its start; a file replaced
   * by a non-empty one is read to its end.
   */
  async *read(): AsyncGenerator<Found> {
    if (this.isOver || this.isLeftOut) return;
    yield* this.#readOn();
    const other = identityAt(this.path);
    if (other && other.id !== this.id && other.size > 0) {
      // Lines written before those of the new file.
      yield* this.#readOn();
      yield* this.#end();
      this.isOver = true;
    } else if (this.#file.statSync().size < this.#numBytes) {
      yield* this.#end();
      await this.#rewind();
      yield* this.#readOn();
    }
  }

  isDeleted(): boolean {
    return this.#file.statSync().nlink === 0;
  }

  /** Findings that only the end of the text reveals, such as losses that might have been late replies. */
  #end(): Found[] {
    try {
      this.#reader.end();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.#found.push({ finding: { reason: "invalidJson", found: error.message }, line: 0 });
    }
    return this.#found.splice(0);
  }

  async *#readOn(): AsyncGenerator<Found> {
    do yield* this.#found.splice(0); while (await this.#readChunk());
  }

  /** Reads the next chunk; false at the end of the file. */
  async #readChunk(): Promise<boolean> {
    const chunk = new Uint8Array(CHUNK_BYTES);
    const numRead = await this.#file.read(chunk);
    if (numRead === null) return false;
    this.#numBytes += numRead;
    this.#reader.push(chunk.subarray(0, numRead));
    return true;
  }

  async #rewind(): Promise<void> {
    await this.#file.seek(0, Deno.SeekMode.Start);
    this.#reader = this.#newReader();
    this.#found = [];
    this.#numBytes = 0;
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}
