/**
 * Inspects ArrayRecord files: probe rows in full, of other files only the container.
 *
 * @module
 */
import { formatBytes } from "../text/quantities.ts";
import { FormatError, shortened } from "../errors.ts";
import { Breather } from "../threads/stage_hooks.ts";
import { ArrayRecordReader } from "../array_record/reader.ts";
import { decodeProbeRowHeader } from "../probe_rows/probe_row.ts";
import { ValueHistogram } from "./histogram.ts";
import { inspectProbeRows } from "./probe_rows.ts";
import {
  distributionFact,
  type Fact,
  formatFiles,
  type InspectOptions,
  type Report,
  type Target,
} from "./report.ts";

const SAMPLE_BYTES = 32;
const MAX_OPTIONS_LENGTH = 1000;

/**
 * Reads all records of the files, so that every checksum is verified.
 *
 * @throws {FormatError} If a file is damaged (unless damaged chunks are skipped).
 */
export async function inspectArrayRecords({ path, files }: Target, options: InspectOptions): Promise<Report> {
  const readers: ArrayRecordReader[] = [];
  try {
    for (const file of files) readers.push(await ArrayRecordReader.open(file, options));
    const inspect = holdsProbeRows(readers) ? inspectProbeRows : inspectRecords;
    const report = await inspect(path, readers, options);
    return { ...report, facts: [...containerFacts(readers), ...report.facts] };
  } finally {
    for (const reader of readers) reader.close();
  }
}

/** Whether the first record that can be read is a probe row. */
function holdsProbeRows(readers: readonly ArrayRecordReader[]): boolean {
  const reader = readers.find(({ numRecords }) => numRecords > 0);
  if (!reader) return false;
  const record = reader.readOrSkip(0);
  if (!record) return true;
  try {
    decodeProbeRowHeader(record, { path: reader.path });
    return true;
  } catch (error) {
    if (error instanceof FormatError) return false;
    throw error;
  }
}

async function inspectRecords(
  path: string,
  readers: readonly ArrayRecordReader[],
  options: InspectOptions,
): Promise<Report> {
  const breather = new Breather(options);
  const sizes = new ValueHistogram();
  const samples: string[] = [];
  for (const reader of readers) {
    for (const record of reader) {
      await breather.breathe();
      sizes.add(record.length);
      if (samples.length < options.samples) samples.push(describeBytes(record));
      options.onProgress?.(sizes.count, reader.path);
    }
  }
  const facts = [distributionFact("record size", sizes, "B", "recordBytes")];
  return { kind: "records", path, facts, sections: [["first records", samples, { samples }]] };
}

function containerFacts(readers: readonly ArrayRecordReader[]): Fact[] {
  const sum = (of: (reader: ArrayRecordReader) => number) => readers.reduce((total, r) => total + of(r), 0);
  const files = readers.length;
  const records = sum((reader) => reader.numRecords);
  const chunks = sum((reader) => reader.numChunks);
  const bytes = sum((reader) => reader.sizeBytes);
  const decodedBytes = sum((reader) => reader.decodedSizeBytes);
  const corruptChunks = sum((reader) => reader.numCorruptChunks);
  const writerOptions = [...new Set(readers.map((reader) => reader.writerOptions))];
  const written = shortened(writerOptions.join(" | "), MAX_OPTIONS_LENGTH) || "no options recorded";
  const found = `${records} in ${chunks} chunks, ${formatFiles(files)}, every checksum verified`;
  return [
    ["records", found, { files, records, chunks }],
    ["size", `${formatBytes(bytes)}, ${formatBytes(decodedBytes)} of records`, { bytes, decodedBytes }],
    ["written with", written, { writerOptions }],
    ["damaged chunks", corruptChunks > 0 ? `${corruptChunks}, skipped` : undefined, { corruptChunks }],
  ];
}

function describeBytes(record: Uint8Array): string {
  const head = record.subarray(0, SAMPLE_BYTES);
  const hex = [...head].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `${record.length} B: ${hex}${record.length > head.length ? " …" : ""}`;
}
