/**
 * Where the loader gets probe rows from.
 *
 * @module
 */
import { join } from "@std/path";
import { type CheckedOutputs, checkOutputs } from "../files/checked_outputs.ts";
import { fingerprint, type InputFingerprint, listInputs } from "../files/inputs.ts";
import { requireFinished } from "../files/task_manifests.ts";
import { ArrayRecordReader } from "../array_record/reader.ts";
import { decodeProbeRow, decodeProbeRowHeader, type ProbeRow } from "../probe_rows/probe_row.ts";

/** Probe rows that can be read by index, in any order. */
export interface ProbeRowSource {
  /** Number of rows. */
  readonly numRows: number;
  /** The file or folder, for error messages. */
  readonly path: string;
  /**
   * Reads a row.
   *
   * @param index 0..numRows - 1.
   */
  row(index: number): ProbeRow;
  /**
   * Number of measurements of a row, without decoding them.
   *
   * @param index 0..numRows - 1.
   */
  numMeasurements(index: number): number;
}

/** Rows that are in memory already. */
export class MemoryRowSource implements ProbeRowSource {
  readonly path = "memory";

  /** @param rows The rows. */
  constructor(readonly rows: readonly ProbeRow[]) {}

  get numRows(): number {
    return this.rows.length;
  }

  row(index: number): ProbeRow {
    return this.rows[index];
  }

  numMeasurements(index: number): number {
    return this.rows[index].rttMs.length;
  }
}

/** Which files rows are read from, and how: what another thread needs to read them too. */
export interface RowFiles {
  /** The file or folder, for error messages. */
  path: string;
  /** ArrayRecord files in their order. */
  files: string[];
  /** What a damaged chunk means: an error, or rows to leave out. */
  onCorrupt: "error" | "skip";
}

/** The rows of ArrayRecord files, one file after another. */
export class ArrayRecordRowSource implements ProbeRowSource, Disposable {
  /** Rows of all files. */
  readonly numRows: number;
  readonly #readers: readonly ArrayRecordReader[];
  readonly #onCorrupt: "error" | "skip";
  /** Number of rows before each file, and in all. */
  readonly #firstRow: number[] = [0];

  /**
   * Joins files that are open.
   *
   * @param path The folder, for error messages.
   * @param readers The open files; closed by {@link close}.
   * @param options `onCorrupt`: how the files were opened, an error by default.
   */
  constructor(
    readonly path: string,
    readers: readonly ArrayRecordReader[],
    options: { onCorrupt?: "error" | "skip" } = {},
  ) {
    this.#readers = readers;
    this.#onCorrupt = options.onCorrupt ?? "error";
    for (const reader of readers) {
      this.#firstRow.push(this.#firstRow[this.#firstRow.length - 1] + reader.numRecords);
    }
    this.numRows = this.#firstRow[readers.length];
  }

  /** The files, to tell a run's data from others. */
  get files(): InputFingerprint[] {
    return this.#readers.map((reader) => fingerprint(reader.path));
  }

  /** What {@link openRowFiles} needs to open the same rows once more. */
  get rowFiles(): RowFiles {
    return { path: this.path, files: this.#readers.map((reader) => reader.path), onCorrupt: this.#onCorrupt };
  }

  /** Number of damaged chunks that were skipped so far. */
  get numCorruptChunks(): number {
    return this.#readers.reduce((sum, reader) => sum + reader.numCorruptChunks, 0);
  }

  /**
   * Reads a row; one in a damaged chunk is empty if damaged chunks are to be skipped.
   *
   * @throws {FormatError} If the record is damaged or no probe row.
   */
  row(index: number): ProbeRow {
    const { bytes, where } = this.#read(index);
    return bytes ? decodeProbeRow(bytes, where) : EMPTY_ROW;
  }

  /** Number of measurements of a row, from its record's header; 0 for a row to be skipped. */
  numMeasurements(index: number): number {
    const { bytes, where } = this.#read(index);
    return bytes ? decodeProbeRowHeader(bytes, where).numMeasurements : 0;
  }

  /** Closes the files. */
  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  /** As {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #read(index: number): { bytes: Uint8Array | undefined; where: { path: string; place: string } } {
    const file = this.#firstRow.findLastIndex((firstRow) => firstRow <= index);
    const reader = this.#readers[file];
    const record = index - this.#firstRow[file];
    return { bytes: reader.readOrSkip(record), where: { path: reader.path, place: `record ${record}` } };
  }
}

/**
 * Opens the probe rows of a split.
 *
 * @param folder What `probe-rows` wrote: a folder with one folder per split.
 * @param split `train`, `val` or `test`.
 * @param options `onCorrupt`: what a damaged chunk means, an error (the default) or rows to leave out. `checked`: what
 *   the folder's manifests say, found out by default.
 * @throws {UserError} If there are no such rows, or what the folder's manifests list is not all there.
 * @throws {FormatError} If a file is no ArrayRecord file.
 */
export async function openProbeRows(
  folder: string,
  split: string,
  options: { onCorrupt?: "error" | "skip"; checked?: CheckedOutputs } = {},
): Promise<ArrayRecordRowSource> {
  requireFinished(folder);
  const { onCorrupt = "error" } = options;
  const checked = options.checked ?? await checkOutputs([folder], { onCorrupt });
  const path = join(folder, split);
  const files = listInputs([path], { extensions: [".arrayrecord"], wanted: "probe rows" });
  return await openRowFiles({ path, files, onCorrupt }, checked);
}

/**
 * Opens the rows of ArrayRecord files.
 *
 * @param rowFiles The files, and how to read them.
 * @param checked What manifests say of them.
 * @throws {UserError} If a file cannot be opened or has not as many records as its manifest says.
 * @throws {FormatError} If a file is no ArrayRecord file.
 */
export async function openRowFiles(
  { path, files, onCorrupt }: RowFiles,
  checked?: CheckedOutputs,
): Promise<ArrayRecordRowSource> {
  const readers: ArrayRecordReader[] = [];
  try {
    for (const file of files) {
      const reader = await ArrayRecordReader.open(file, { onCorrupt });
      readers.push(reader);
      checked?.requireRecords(file, reader.numRecords);
    }
  } catch (error) {
    for (const reader of readers) reader.close();
    throw error;
  }
  return new ArrayRecordRowSource(path, readers, { onCorrupt });
}

const EMPTY_ROW: ProbeRow = {
  srcId: 0n,
  eventTimeUs: new Float64Array(0),
  srcAddrs: [],
  srcIndex: new Int32Array(0),
  dstAddrs: [],
  dstIndex: new Int32Array(0),
  ipVersion: new Int8Array(0),
  rttMs: new Float32Array(0),
};
