/**
 * Inspects ArrayRecord files: probe rows in full, of anything else the container.
 *
 * @module
 */
import { formatBytes } from "../text/quantities.ts";
import { FormatError, shortened } from "../errors.ts";
import { Breather } from "../threads/stage_hooks.ts";
import { ArrayRecordReader } from "../array_record/reader.ts";
import { decodeProbeRowHeader } from "../probe_rows/probe_row.ts";
import type { Target } from "./detect.ts";
import { inspectProbeRows } from "./probe_rows.ts";
import { distributionAsJson, formatDistribution } from "./format.ts";
import type { InspectOptions, Report } from "./report.ts";
import { ValueHistogram } from "./value_histogram.ts";

const SAMPLE_BYTES = 32;
const MAX_OPTIONS_LENGTH = 1000;

/**
 * Reads all records of the files, so that every checksum is verified.
 *
 * @throws {FormatError} If a file is damaged (unless damaged chunks are to be skipped).
 */
export async function inspectArrayRecords(target: Target, options: InspectOptions): Promise<Report> {
  const readers: ArrayRecordReader[] = [];
  try {
    for (const file of target.files) readers.push(await ArrayRecordReader.open(file, options));
    const report = holdsProbeRows(readers)
      ? await inspectProbeRows(target, readers, options)
      : await inspectRecords(readers, options);
    return addContainer({ ...report, path: target.path }, readers);
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
  return {
    kind: "records",
    path: "",
    facts: [["record size", formatDistribution(sizes, "B")]],
    sections: [{ heading: "first records", lines: samples }],
    json: { recordBytes: distributionAsJson(sizes), samples },
  };
}

/** Puts the container's numbers before a report's own. */
function addContainer(report: Report, readers: readonly ArrayRecordReader[]): Report {
  const sum = (of: (reader: ArrayRecordReader) => number) => readers.reduce((total, r) => total + of(r), 0);
  const records = sum((reader) => reader.numRecords);
  const chunks = sum((reader) => reader.numChunks);
  const bytes = sum((reader) => reader.sizeBytes);
  const decodedBytes = sum((reader) => reader.decodedSizeBytes);
  const corruptChunks = sum((reader) => reader.numCorruptChunks);
  const writerOptions = [...new Set(readers.map((reader) => reader.writerOptions))];
  const facts: Report["facts"] = [
    [
      "records",
      `${records} in ${chunks} chunks, ${readers.length} file${
        readers.length === 1 ? "" : "s"
      }, every checksum verified`,
    ],
    ["size", `${formatBytes(bytes)}, ${formatBytes(decodedBytes)} of records`],
    ["written with", shortened(writerOptions.join(" | "), MAX_OPTIONS_LENGTH) || "no options noted"],
    ...(corruptChunks > 0 ? [["damaged chunks", `${corruptChunks}, left out`] as [string, string]] : []),
  ];
  return {
    ...report,
    facts: [...facts, ...report.facts],
    json: {
      files: readers.length,
      records,
      chunks,
      bytes,
      decodedBytes,
      corruptChunks,
      writerOptions,
      ...report.json,
    },
  };
}

function describeBytes(record: Uint8Array): string {
  const head = record.subarray(0, SAMPLE_BYTES);
  const hex = [...head].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `${record.length} B: ${hex}${record.length > head.length ? " …" : ""}`;
}
