/**
 * Measurements as they come: from standard input, or from files that others append to.
 *
 * @module
 */
import { pause } from "../../io/threads/stage_hooks.ts";
import { UserError } from "../../base/errors.ts";
import type { RttChoice } from "../../data/measurement/atlas_result.ts";
import { readMeasurements } from "../../data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../data/measurement_files/rejects.ts";
import { openInput, STANDARD_INPUT } from "../../io/compression/decompress.ts";
import { explainFileError } from "../../io/files/file_errors.ts";
import { findFiles, isMissing } from "../../io/files/inputs.ts";
import { tokenMeasurementAt } from "../query_tokens.ts";
import { chunksUntil, linesOf, LineSplitter, type TextLine } from "../text_lines.ts";
import {
  type LineMeasurement,
  listMeasurementFiles,
  measurementOfLine,
  withIds,
} from "./measurement_files.ts";

/** The largest number of unusable lines that are logged one by one. */
const MAX_SHOWN_LINES = 20;
/** How long to wait for more once all was read, ms. */
const POLL_MS = 500;
const CHUNK_BYTES = 1 << 16;

/** A measurement whose time is known. */
export type TimedMeasurement = LineMeasurement & { readonly timeS: number };

/** How measurements are read. */
export interface ArrivalOptions {
  /** Whether to wait for more at the end of files, and for more files, until the signal. */
  isFollowing: boolean;
  /** The choice of one RTT from those of an Atlas result. */
  rtt: Exclude<RttChoice, "each">;
  signal: AbortSignal;
  /** Gets a line for each unusable one, for the first few. */
  log(line: string): void;
}

/** Measurements in the order in which they come. */
export class ArrivingMeasurements {
  /** The number of unusable lines. */
  numBad = 0;

  /** @param paths Parquet, JSON lines, folders or globs of these; or only `-`. */
  constructor(readonly paths: readonly string[], readonly options: ArrivalOptions) {}

  /**
   * Reads them. Ends at the signal, and without following at the end of the input.
   *
   * @throws {UserError} If a file cannot be read, or is Parquet and shall be followed.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<TimedMeasurement> {
    const { paths, options: { isFollowing, signal } } = this;
    if (paths.includes(STANDARD_INPUT)) {
      if (paths.length > 1) throw new UserError("Cannot read - and files: expected only one of them");
      yield* this.#measurementsOf(linesOf(chunksUntil(signal, Deno.stdin.readable)), "standard input");
    } else if (isFollowing) {
      yield* this.#follow();
    } else {
      for (const path of listMeasurementFiles(paths)) {
        if (path.endsWith(".parquet")) yield* this.#rowsOf(path);
        else yield* this.#measurementsOf(linesOf((await openInput(path)).chunks), path);
      }
    }
  }

  async *#rowsOf(path: string): AsyncGenerator<TimedMeasurement> {
    const columns = ["msmId", "prbId"] as const;
    for await (const batch of readMeasurements([path], { rejects: new RejectLog(), columns })) {
      if (this.options.signal.aborted) return;
      this.numBad += batch.numRowsRead - batch.numRows;
      for (let i = 0; i < batch.numRows; i++) {
        const [msmId, prbId] = columns.map((key) => batch[key]?.[i] ?? NaN);
        yield* timed(withIds(tokenMeasurementAt(batch, i), { msmId, prbId }));
      }
    }
  }

  async *#measurementsOf(lines: AsyncIterable<TextLine>, path: string): AsyncGenerator<TimedMeasurement> {
    let numLines = 0;
    for await (const line of lines) {
      if (this.options.signal.aborted) return;
      yield* this.#measurementOf(line, path, ++numLines);
    }
  }

  *#measurementOf(line: TextLine, path: string, number: number): Generator<TimedMeasurement> {
    try {
      const measurement = measurementOfLine(line, this.options.rtt);
      if (!measurement) return;
      if (measurement.timeS === null) throw new UserError("found no time, expected one");
      yield* timed(measurement);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      if (++this.numBad <= MAX_SHOWN_LINES) {
        this.options.log(`${path}, line ${number}: ${error.message}; left out`);
      }
    }
  }

  /** Reads what there is of each file in turn, again and again. */
  async *#follow(): AsyncGenerator<TimedMeasurement> {
    const { signal } = this.options;
    const followed = new Map<string, FollowedFile>();
    using files = new DisposableStack();
    files.defer(() => followed.forEach((file) => file[Symbol.dispose]()));
    for (;;) {
      let isIdle = true;
      for (const path of listFollowed(this.paths)) {
        const file = followed.get(path) ?? FollowedFile.open(path);
        if (!file) continue;
        followed.set(path, file);
        for await (const line of file.read()) {
          isIdle = false;
          if (signal.aborted) return;
          yield* this.#measurementOf(line, path, file.numLines);
        }
      }
      if (signal.aborted) return;
      if (isIdle) await pause(POLL_MS, signal);
    }
  }
}

function* timed(measurement: LineMeasurement): Generator<TimedMeasurement> {
  const { timeS } = measurement;
  if (timeS !== null) yield { ...measurement, timeS };
}

/** The files that there are of followed paths: of folders and globs there may be more later. */
function listFollowed(paths: readonly string[]): string[] {
  const found = paths.flatMap((path) => [...findFiles(path, { extensions: [".jsonl", ".ndjson"] }).values()]);
  const parquet = found.find((path) => path.endsWith(".parquet"));
  if (parquet === undefined) return [...new Set(found)].sort();
  throw new UserError(`Cannot follow ${parquet}: found Parquet, expected JSON lines; leave --follow out`);
}

/** A file that another process appends lines to. */
class FollowedFile implements Disposable {
  /** The number of lines that were read. */
  numLines = 0;
  #splitter = new LineSplitter();
  #file: Deno.FsFile;
  #numBytes = 0;

  private constructor(readonly path: string) {
    this.#file = Deno.openSync(path);
  }

  /** Opens a file; undefined if it is there no longer. */
  static open(path: string): FollowedFile | undefined {
    try {
      return new FollowedFile(path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw explainFileError(error, `read ${path}`);
    }
  }

  /** The lines that were completed since the last time. A file that was replaced or shortened is read from its start. */
  async *read(): AsyncGenerator<TextLine> {
    yield* this.#readOn();
    if (!this.#isReplaced()) return;
    this.#file.close();
    this.#file = Deno.openSync(this.path);
    this.#splitter = new LineSplitter();
    this.#numBytes = this.numLines = 0;
    yield* this.#readOn();
  }

  async *#readOn(): AsyncGenerator<TextLine> {
    for (;;) {
      const chunk = new Uint8Array(CHUNK_BYTES);
      const numRead = await this.#file.read(chunk);
      if (numRead === null) return;
      this.#numBytes += numRead;
      for (const line of this.#splitter.add(chunk.subarray(0, numRead))) {
        this.numLines++;
        yield line;
      }
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
