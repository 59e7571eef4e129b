/**
 * Sources of probe rows for the loader.
 *
 * @module
 */
import { join } from "@std/path";
import { type CheckedOutputs, checkOutputs } from "../../io/files/checked_outputs.ts";
import { fingerprint, type InputFingerprint, listInputs } from "../../io/files/inputs.ts";
import { requireFinished } from "../../io/files/task_manifests.ts";
import { ArrayRecordReader } from "../../io/array_record/reader.ts";
import { decodeProbeRow, decodeProbeRowHeader, type ProbeRow } from "../probe_rows/probe_row.ts";

/** Probe rows that can be read by index, in any order. */
export interface ProbeRowSource {
  readonly numRows: number;
  /** The file or folder, for error messages. */
  readonly path: string;
  /** The first row of each campaign, ascending; one campaign by default. */
  readonly campaigns?: readonly number[];
  row(index: number): ProbeRow;
  /** The number of measurements in a row, without decoding them. */
  numMeasurements(index: number): number;
}

/** The files of rows and how to read them, with which another thread can read the same rows. */
export interface RowFiles {
  /** The file or folder, for error messages. */
  path: string;
  /** ArrayRecord files, in order. */
  files: string[];
  /** Index of the first file of each campaign; one campaign by default. */
  campaigns?: number[];
  /** Whether a damaged chunk is an error or its rows are skipped. */
  onCorrupt: "error" | "skip";
}

/** The rows of several ArrayRecord files, one file after another. */
export class ArrayRecordRowSource implements ProbeRowSource, Disposable {
  readonly numRows: number;
  /** Number of rows before each file, followed by the total. */
  readonly #firstRow: number[] = [0];

  /** @param readers The open files; closed by {@link close}. */
  constructor(readonly rowFiles: RowFiles, readonly readers: readonly ArrayRecordReader[]) {
    for (const reader of readers) {
      this.#firstRow.push(this.#firstRow[this.#firstRow.length - 1] + reader.numRecords);
    }
    this.numRows = this.#firstRow[readers.length];
  }

  get path(): string {
    return this.rowFiles.path;
  }

  get campaigns(): readonly number[] {
    return (this.rowFiles.campaigns ?? [0]).map((file) => this.#firstRow[file]);
  }

  /** Identifies the files, to distinguish a run's data from others. */
  get files(): InputFingerprint[] {
    return this.readers.map((reader) => fingerprint(reader.path));
  }

  get numCorruptChunks(): number {
    return this.readers.reduce((sum, reader) => sum + reader.numCorruptChunks, 0);
  }

  /**
   * Reads a row. A row in a damaged chunk is empty if damaged chunks are skipped.
   *
   * @throws {FormatError} If the record is damaged or not a probe row.
   */
  row(index: number): ProbeRow {
    const { bytes, where } = this.#read(index);
    return bytes ? decodeProbeRow(bytes, where) : EMPTY_ROW;
  }

  /** The number of measurements in a row, from its record's header; 0 for a skipped row. */
  numMeasurements(index: number): number {
    const { bytes, where } = this.#read(index);
    return bytes ? decodeProbeRowHeader(bytes, where).numMeasurements : 0;
  }

  close(): void {
    for (const reader of this.readers) reader.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #read(index: number): { bytes: Uint8Array | undefined; where: { path: string; place: string } } {
    const file = this.#firstRow.findLastIndex((firstRow) => firstRow <= index);
    const reader = this.readers[file];
    const record = index - this.#firstRow[file];
    return { bytes: reader.readOrSkip(record), where: { path: reader.path, place: `record ${record}` } };
  }
}

/**
 * Opens the probe rows of a split.
 *
 * @param folder The output of `probe-rows`: a folder with one folder per split; or one such folder per
 *   campaign.
 * @param options `onCorrupt`: whether a damaged chunk is an error (the default) or its rows are skipped.
 *   `checked`: contents of the folder's manifests, read from it by default.
 * @throws {UserError} If there are no such rows, or if files listed in the folder's manifests are missing.
 */
export async function openProbeRows(
  folder: string | readonly string[],
  split: string,
  options: { onCorrupt?: "error" | "skip"; checked?: CheckedOutputs } = {},
): Promise<ArrayRecordRowSource> {
  const folders = [folder].flat();
  for (const each of folders) requireFinished(each);
  const { onCorrupt = "error" } = options;
  const checked = options.checked ?? await checkOutputs(folders, { onCorrupt });
  const paths = folders.map((each) => join(each, split));
  const files: string[] = [];
  const campaigns: number[] = [];
  for (const path of paths) {
    campaigns.push(files.length);
    files.push(...listInputs([path], { extensions: [".arrayrecord"], wanted: "probe rows" }));
  }
  return await openRowFiles({ path: paths.join(", "), files, campaigns, onCorrupt }, checked);
}

/** @throws {UserError} If a file cannot be opened or its number of records differs from its manifest. */
export async function openRowFiles(
  rowFiles: RowFiles,
  checked?: CheckedOutputs,
): Promise<ArrayRecordRowSource> {
  const readers: ArrayRecordReader[] = [];
  try {
    for (const file of rowFiles.files) {
      const reader = await ArrayRecordReader.open(file, rowFiles);
      readers.push(reader);
      checked?.requireRecords(file, reader.numRecords);
    }
  } catch (error) {
    for (const reader of readers) reader.close();
    throw error;
  }
  return new ArrayRecordRowSource(rowFiles, readers);
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
