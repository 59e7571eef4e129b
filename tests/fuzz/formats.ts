/**
 * The formats that are fuzzed: good files of each, and the readers that stages use.
 *
 * @module
 */
import { join } from "@std/path";
import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { FormatError } from "../../lib/base/errors.ts";
import { importMeasurements, type ImportSummary } from "../../lib/data/import/import_measurements.ts";
import { readWhole } from "../../lib/io/compression/decompress.ts";
import { readMeasurements } from "../../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../lib/data/measurement_files/rejects.ts";
import { ArrayRecordReader } from "../../lib/io/array_record/reader.ts";
import { decodeProbeRow, decodeProbeRowHeader, encodeProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { syntheticRows, writeProbeRows } from "../data/loader/synthetic_rows.ts";
import { sampleBatch, writeParquet } from "../data/probe_rows/sample_parquet.ts";

export const FORMATS = [
  "parquet",
  "json",
  "json.gz",
  "json.bz2",
  "json.zst",
  "arrayrecord",
  "probe-row",
  "csv",
] as const;
export type FormatName = typeof FORMATS[number];

export interface Reading {
  /** Rows or records. */
  numRead: number;
  /** Rows that were rejected, or chunks that were skipped; both are counted by the reader. */
  numRejected: number;
}

/** A format, with good files and a reader. */
export interface Format {
  /** Makes good files in the folder. @returns Their bytes. */
  makeFiles(folder: string): Promise<Uint8Array[]>;
  /** Whether all damage can be detected, because checksums cover every byte. */
  seesEverything?: boolean;
  /** Reads a file to its end. @throws {UserError} If it is damaged. */
  read(path: string): Promise<Reading>;
}

/** `atlas.jsonl.bz2`: 400 invented ping results, compressed with libbzip2 1.0.8 at block size 1. */
const ATLAS_BZIP2 = new URL("atlas.jsonl.bz2", import.meta.url);

export const FORMAT: Record<FormatName, Format> = {
  "parquet": { makeFiles: makeParquetFiles, read: readParquet },
  "json": { makeFiles: makeJsonFiles, read: readText },
  "json.gz": { makeFiles: compressed((text) => gzipSync(text)), read: readText },
  "json.bz2": { makeFiles: () => Promise.resolve([Deno.readFileSync(ATLAS_BZIP2)]), read: readText },
  "json.zst": { makeFiles: compressed((text) => zstdCompressSync(text)), read: readText },
  "csv": { makeFiles: makeCsvFiles, read: readText },
  "arrayrecord": { makeFiles: makeArrayRecordFiles, read: readArrayRecord, seesEverything: true },
  // The record's content is damaged, but not its container, so that only the decoder of rows can detect it.
  "probe-row": { makeFiles: makeProbeRows, read: readProbeRow },
};

function makeParquetFiles(folder: string): Promise<Uint8Array[]> {
  const path = join(folder, "good.parquet");
  const batch = sampleBatch({ numRows: 400, numBad: 3 });
  writeParquet(path, batch);
  const element = (name: string, more: Partial<SchemaElement>) =>
    ({ name, repetition_type: "OPTIONAL", ...more }) as SchemaElement;
  const schema = [
    { name: "root", num_children: 5 } as SchemaElement,
    element("event_time", { type: "INT64" }),
    element("src_addr", { type: "BYTE_ARRAY", converted_type: "UTF8" }),
    element("dst_addr", { type: "BYTE_ARRAY", converted_type: "UTF8" }),
    element("rtt", { type: "DOUBLE" }),
    element("msm_id", { type: "INT32" }),
  ];
  const columnData = [
    { name: "event_time", data: Array.from(batch.eventTimeUs, (us) => BigInt(us / 1e6)) },
    { name: "src_addr", data: batch.srcAddr.map((text, row) => row % 50 === 7 ? null : text) },
    { name: "dst_addr", data: batch.dstAddr },
    { name: "rtt", data: Array.from(batch.rttMs) },
    { name: "msm_id", data: Array.from(batch.msmId ?? []) },
  ];
  const foreign = (["SNAPPY", "UNCOMPRESSED"] as const).map((codec) =>
    new Uint8Array(parquetWriteBuffer({ columnData, schema, codec, rowGroupSize: 150 }))
  );
  return Promise.resolve([Deno.readFileSync(path), ...foreign]);
}

async function readParquet(path: string): Promise<Reading> {
  const rejects = new RejectLog();
  let numRead = 0;
  for await (const batch of readMeasurements([path], { rejects })) numRead += batch.numRows;
  return { numRead, numRejected: rejects.total };
}

/** JSON lines, an array, and lists nested in objects. */
async function makeJsonFiles(): Promise<Uint8Array[]> {
  const lines = await readWhole(new URL(ATLAS_BZIP2).pathname);
  const texts = new TextDecoder().decode(lines).trim().split("\n");
  const encoder = new TextEncoder();
  return [
    lines,
    encoder.encode(`[${texts.join(",\n")}]`),
    encoder.encode(`{"results":{"4":[${texts.slice(0, 99).join()}],"6":[${texts.slice(99).join()}]}}`),
  ];
}

function compressed(compress: (text: Uint8Array) => Uint8Array): () => Promise<Uint8Array[]> {
  return async () => (await makeJsonFiles()).slice(0, 2).map((text) => new Uint8Array(compress(text)));
}

async function readText(path: string): Promise<Reading> {
  const summary = await importMeasurements([path], `${path}.out.parquet`, {
    source: "auto",
    rtt: "mean",
    maxRejectRatio: 1,
    memoryLimitBytes: 1e9,
    rejectsPath: `${path}.rejects.jsonl`,
  });
  return readingOf(summary);
}

/** With both kinds of line ends and some quoted fields. */
function makeCsvFiles(): Promise<Uint8Array[]> {
  const { numRows, eventTimeUs, srcAddr, dstAddr, rttMs, msmId = [] } = sampleBatch({
    numRows: 400,
    numBad: 3,
  });
  const lines = Array.from({ length: numRows }, (_, row) => {
    const time = row % 2 === 0 ? eventTimeUs[row] / 1e6 : new Date(eventTimeUs[row] / 1e3).toISOString();
    return `${time},"${srcAddr[row]}",${dstAddr[row]},${row % 9 === 0 ? "*" : rttMs[row]},${msmId[row]}`;
  });
  const texts = ["\n", "\r\n"].map((end) => ["time,src,dst,rtt,msm_id", ...lines].join(end));
  return Promise.resolve(texts.map((text) => new TextEncoder().encode(text)));
}

function readingOf({ rows, rejected }: ImportSummary): Reading {
  return { numRead: rows, numRejected: Object.values(rejected).reduce((sum, count) => sum + count, 0) };
}

async function makeArrayRecordFiles(folder: string): Promise<Uint8Array[]> {
  const files: Uint8Array[] = [];
  for (
    const options of [
      { compression: "none", groupSize: 1 },
      { compression: "zstd", groupSize: 4 },
      { compression: "brotli", groupSize: 1 },
    ] as const
  ) {
    const path = join(folder, "good.arrayrecord");
    await writeProbeRows(path, syntheticRows(1, 12, 40), options);
    files.push(Deno.readFileSync(path));
  }
  return files;
}

/** Reads strictly, which must fail, and with `onCorrupt: "skip"`, which must count what it skips. */
async function readArrayRecord(path: string): Promise<Reading> {
  try {
    return await readRecords(path, "error");
  } catch (strict) {
    if (!(strict instanceof FormatError)) throw strict;
    let lenient: Reading;
    try {
      lenient = await readRecords(path, "skip");
    } catch (error) {
      if (error instanceof FormatError) throw strict;
      throw error;
    }
    if (lenient.numRejected === 0) {
      throw new Error(`skipping counts nothing where strict reading says: ${strict.message}`);
    }
    return lenient;
  }
}

async function readRecords(path: string, onCorrupt: "error" | "skip"): Promise<Reading> {
  using reader = await ArrayRecordReader.open(path, { onCorrupt });
  let numRead = 0;
  for (const record of reader) {
    decodeProbeRow(record, { path, place: `record ${numRead}` });
    numRead++;
  }
  return { numRead, numRejected: reader.numCorruptChunks };
}

function makeProbeRows(): Promise<Uint8Array[]> {
  return Promise.resolve(syntheticRows(2, 6, 60).map((row) => encodeProbeRow(row)));
}

/** Decodes a probe row as training (the header first) and inspection do. */
function readProbeRow(path: string): Promise<Reading> {
  const record = Deno.readFileSync(path);
  const where = { path, place: "record 0" };
  decodeProbeRowHeader(record, where);
  return Promise.resolve({ numRead: decodeProbeRow(record, where).rttMs.length, numRejected: 0 });
}
