/**
 * Measurements as they come: from standard input, or from files that others append to.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { NoMeasurementsError, type ReadingOptions } from "../../data/formats/format.ts";
import { type Found, MeasurementReader, readStream } from "../../data/formats/reader.ts";
import {
  inOrderOfTime,
  isParquet,
  listMeasurementFiles,
  MEASUREMENT_EXTENSIONS,
} from "../../data/measurement_files/input_files.ts";
import { openInput, STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { explainFileError } from "../../io/files/file_errors.ts";
import { findFiles, isMissing } from "../../io/files/inputs.ts";
import { pause } from "../../io/threads/stage_hooks.ts";
import { chunksUntil } from "../text_lines.ts";
import { type FileMeasurement, MeasurementFiles } from "./measurement_files.ts";

/** The largest number of unusable lines that are logged one by one. */
const MAX_SHOWN_LINES = 20;
/** How long to wait for more once all was read, ms. */
const POLL_MS = 500;
/** The RTTs whose median says whether their unit is plausible, if no end comes before. */
const NUM_JUDGED_RTTS = 100;
const CHUNK_BYTES = 1 << 16;

/** A measurement whose time is known, in Unix seconds with decimals. */
export type TimedMeasurement = Omit<FileMeasurement, "eventTimeUs"> & { readonly timeS: number };

/** How measurements are read. */
export interface ArrivalOptions {
  /** Whether to wait for more at the end of files, and for more files, until the signal. */
  isFollowing: boolean;
  reading: ReadingOptions;
  signal: AbortSignal;
  /** Gets a line for each unusable one, for the first few. */
  log(line: string): void;
}

/** A measurement and where it is. */
interface Placed {
  measurement: FileMeasurement;
  path: string;
  line: number | undefined;
}

/** Measurements in the order in which they come. */
export class ArrivingMeasurements {
  readonly #files: MeasurementFiles;
  #numShown = 0;

  /** @param paths Files of any format, folders or globs of these; or only `-`. */
  constructor(readonly paths: readonly string[], readonly options: ArrivalOptions) {
    this.#files = new MeasurementFiles(options.reading);
  }

  /** The number of rows and results that cannot be used. */
  get numBad(): number {
    return this.#files.rejects.total;
  }

  /** Those by reason. */
  get rejected(): Record<string, number> {
    return this.#files.rejects.counts;
  }

  /** The first of those: its file, place and reason, in a line. */
  get firstRejected(): string | undefined {
    return this.#files.rejects.first;
  }

  /** Results that say nothing about a path, by their kind. */
  get skipped(): Record<string, number> {
    return this.#files.skipped;
  }

  /**
   * Reads those that have a time. Ends at the signal, and without following at the end of the input.
   *
   * @throws {UserError} If a file cannot be read, or is Parquet and shall be followed.
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

  /** Reads all, also those without a time. @throws {UserError} As above. */
  async *measurements(): AsyncGenerator<FileMeasurement> {
    for await (const { measurement } of this.#placed()) yield measurement;
  }

  async *#placed(): AsyncGenerator<Placed> {
    const { paths, options: { isFollowing, signal, reading, log } } = this;
    if (paths.includes(STANDARD_INPUT)) {
      if (paths.length > 1) throw new UserError("Cannot read - and files: expected only one of them");
      const path = "standard input";
      const { chunks } = await openInput(STANDARD_INPUT, { raw: chunksUntil(signal, Deno.stdin.readable) });
      const found = readStream(chunks, path, reading);
      for await (const each of found) yield* this.#take(each, path);
    } else if (isFollowing) {
      yield* this.#follow();
    } else {
      for (const path of await inOrderOfTime(listMeasurementFiles(paths, { log, reading }), reading)) {
        for await (const measurement of this.#files.read(path)) {
          if (signal.aborted) return;
          yield { measurement, path, line: undefined };
        }
      }
    }
  }

  *#take(found: Found, path: string): Generator<Placed> {
    const { finding, line } = found;
    for (const measurement of this.#files.take(found, path)) yield { measurement, path, line };
    if ("reason" in finding) this.#show(`${path}, line ${line}: ${finding.reason}, ${finding.detail}`);
  }

  #reject(path: string, line: number | undefined): void {
    const detail = "found no time, expected one; give it with --start TIME and --interval SECONDS";
    this.#files.rejects.add("nullValue", path, (line ?? 1) - 1, detail);
    this.#show(`${path}${line === undefined ? "" : `, line ${line}`}: ${detail}`);
  }

  #show(text: string): void {
    if (++this.#numShown <= MAX_SHOWN_LINES) this.options.log(`${text}; left out`);
  }

  /** Reads what there is of each file in turn, again and again. */
  async *#follow(): AsyncGenerator<Placed> {
    const { signal, reading } = this.options;
    const followed = new Map<string, FollowedFile>();
    const leftOut = new Set<string>();
    using files = new DisposableStack();
    files.defer(() => followed.forEach((file) => file[Symbol.dispose]()));
    for (;;) {
      let isIdle = true;
      for (const path of listFollowed(this.paths)) {
        if (leftOut.has(path)) continue;
        const file = followed.get(path) ?? FollowedFile.open(path, reading);
        if (!file) continue;
        followed.set(path, file);
        try {
          for await (const found of file.read()) {
            isIdle = false;
            if (signal.aborted) return;
            yield* this.#take(found, path);
          }
        } catch (error) {
          if (!(error instanceof NoMeasurementsError) || this.paths.includes(path)) throw error;
          this.options.log(`leaving out ${path}: ${error.found}`);
          leftOut.add(path);
        }
      }
      if (signal.aborted) return;
      if (isIdle) await pause(POLL_MS, signal);
    }
  }
}

/** The files that there are of followed paths: of folders and globs there may be more later. */
function listFollowed(paths: readonly string[]): string[] {
  const extensions = MEASUREMENT_EXTENSIONS;
  const found = paths.flatMap((path) => [...findFiles(path, { extensions }).values()]);
  const parquet = found.find((path) => path.endsWith(".parquet") && isParquet(path));
  if (parquet === undefined) return [...new Set(found)].sort();
  throw new UserError(`Cannot follow ${parquet}: found Parquet, expected text; leave --follow out`);
}

/** A file that another process appends to. */
class FollowedFile implements Disposable {
  #reader: MeasurementReader;
  #found: Found[] = [];
  #file: Deno.FsFile;
  #numBytes = 0;

  private constructor(readonly path: string, readonly reading: ReadingOptions) {
    this.#file = Deno.openSync(path);
    this.#reader = this.#newReader();
  }

  #newReader(): MeasurementReader {
    this.#found = [];
    return new MeasurementReader(this.path, this.reading, (finding, line) => {
      this.#found.push({ finding, line });
    });
  }

  /** Opens a file; undefined if it is there no longer. */
  static open(path: string, reading: ReadingOptions): FollowedFile | undefined {
    try {
      return new FollowedFile(path, reading);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw explainFileError(error, `read ${path}`);
    }
  }

  /** What was completed since the last time. A file that was replaced or shortened is read from its start. */
  async *read(): AsyncGenerator<Found> {
    yield* this.#readOn();
    if (!this.#isReplaced()) return;
    const next = FollowedFile.open(this.path, this.reading);
    if (!next) return;
    yield* this.#end();
    this.#file.close();
    this.#file = next.#file;
    this.#reader = this.#newReader();
    this.#numBytes = 0;
    yield* this.#readOn();
  }

  /** What the text has at its end, such as losses that might have been late replies. */
  #end(): Found[] {
    try {
      this.#reader.end();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.#found.push({ finding: { reason: "invalidJson", detail: error.message }, line: 0 });
    }
    return this.#found.splice(0);
  }

  async *#readOn(): AsyncGenerator<Found> {
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const numRead = await this.#file.read(chunk);
      if (numRead === null) return;
      this.#numBytes += numRead;
      this.#reader.push(chunk.subarray(0, numRead));
      yield* this.#found.splice(0);
    }
  }

  #isReplaced(): boolean {
    try {
      const { ino, size } = Deno.statSync(this.path);
      return ino !== this.#file.statSync().ino || size < this.#numBytes;
    } catch (error) {
      if (isMissing(error)) return false;
      throw explainFileError(error, `read ${this.path}`);
    }
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}
