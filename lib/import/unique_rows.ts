/**
 * Copies the rows of a measurements file without those of duplicate results.
 *
 * The columns of the key are read in several passes, each for as many keys as memory holds: 100 M rows take five
 * passes of some 10 s with 2 GB.
 *
 * @module
 */
import { dirname } from "@std/path";
import { ensure } from "../errors.ts";
import { explainFileError } from "../files/file_errors.ts";
import { syncDirectory } from "../files/atomic.ts";
import type { MeasurementBatch } from "../measurement/batch.ts";
import { DuplicateSet, isSameResult, maxKeys, partOfKey, type ResultKey } from "./duplicate_set.ts";
import { NumberCursor } from "../parquet/column.ts";
import { ParquetFile } from "../parquet/file.ts";
import { readMeasurements } from "../measurement/parquet_reader.ts";
import type { NumberKind } from "../parquet/values.ts";
import { MeasurementParquetWriter, type OptionalColumn } from "../measurement/parquet_writer.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { type MeasurementRow, type RowCounts, RowSink } from "./row_sink.ts";

const MARKS_SHARE = 0.25; // of the memory, for a bit per row
const MAX_MARKS = 2 ** 32;
/** Parts of the keys differ in size. */
const ROOM_FOR_UNEVEN_PARTS = 1.25;

/** The results that {@link moveUniqueRows} left out, and the new counts of the rows if there are any. */
export interface UniqueRows {
  /** Number of results left out. */
  numLeftOut: number;
  counts?: RowCounts;
}

/**
 * Moves rows.
 *
 * @param fromPath A file that has all the optional columns; it is deleted.
 * @param toPath The file to make.
 * @param options `isUnique`: no result is repeated. `maxBytes`: memory for keys.
 * @throws {UserError} If the disk is full.
 */
export async function moveUniqueRows(
  fromPath: string,
  toPath: string,
  options: { isUnique: boolean; maxBytes: number; optionalColumns: readonly OptionalColumn[] },
): Promise<UniqueRows> {
  if (!options.isUnique) {
    const marks = await RepeatedRows.find(fromPath, 0, options.maxBytes);
    if (marks.count > 0 || !marks.isLast) {
      return await copyUniqueRows(fromPath, toPath, { ...options, marks });
    }
  }
  try {
    Deno.renameSync(fromPath, toPath);
  } catch (error) {
    throw explainFileError(error, `write ${toPath}`);
  }
  syncDirectory(dirname(toPath));
  return { numLeftOut: 0 };
}

async function copyUniqueRows(
  fromPath: string,
  toPath: string,
  options: { marks: RepeatedRows; maxBytes: number; optionalColumns: readonly OptionalColumn[] },
): Promise<UniqueRows> {
  const { optionalColumns, maxBytes } = options;
  using writer = MeasurementParquetWriter.create(toPath, { optionalColumns });
  const sink = new RowSink(writer);
  const rejects = new RejectLog();
  let { marks } = options;
  let leftOut: ResultKey | undefined;
  let numLeftOut = 0;
  let at = 0;
  for await (const batch of readMeasurements([fromPath], { rejects, required: optionalColumns })) {
    for (const row of rowsOf(batch)) {
      if (at >= marks.end) marks = await RepeatedRows.find(fromPath, at, maxBytes);
      if (marks.has(at)) {
        numLeftOut++;
        leftOut = row;
      } else if (leftOut && !isSameResult(leftOut, row)) leftOut = undefined;
      if (!leftOut) sink.add(row);
      at++;
    }
  }
  ensure(rejects.total === 0, "written rows were rejected");
  const counts = sink.finish();
  writer.close();
  Deno.removeSync(fromPath);
  return { numLeftOut, counts };
}

/** The first row of each repeated result, among as many rows as memory has bits for. */
class RepeatedRows {
  count = 0;
  readonly #bits: Uint8Array;

  private constructor(readonly from: number, readonly end: number, readonly isLast: boolean) {
    this.#bits = new Uint8Array(Math.ceil((end - from) / 8));
  }

  /** Finds those from a given row on. */
  static async find(path: string, from: number, maxBytes: number): Promise<RepeatedRows> {
    using file = await ParquetFile.open(path);
    const { numRows } = file;
    const end = Math.min(numRows, from + Math.min(MAX_MARKS, Math.ceil(8 * MARKS_SHARE * maxBytes)));
    const marks = new RepeatedRows(from, end, end === numRows);
    const numParts = Math.ceil(ROOM_FOR_UNEVEN_PARTS * numRows / maxKeys((1 - MARKS_SHARE) * maxBytes));
    for (let part = 0; part < numParts; part++) {
      const keys = new DuplicateSet({ maxBytes: Infinity });
      for (const { row, key } of resultsOf(file)) {
        if (row >= end) break;
        if (partOfKey(key, numParts) === part && !keys.add(key) && row >= from) marks.#mark(row);
      }
    }
    return marks;
  }

  /** Whether the row is marked. */
  has(row: number): boolean {
    const index = row - this.from;
    return (this.#bits[Math.floor(index / 8)] >> index % 8 & 1) === 1;
  }

  #mark(row: number): void {
    const index = row - this.from;
    this.#bits[Math.floor(index / 8)] |= 1 << index % 8;
    this.count++;
  }
}

/** The key and the first row of each result that has a key. */
function* resultsOf(file: ParquetFile): Generator<{ row: number; key: ResultKey }> {
  let last: ResultKey = { msmId: NaN, prbId: NaN, eventTimeUs: NaN };
  for (const group of file.rowGroups) {
    const { numRows, firstRow } = group;
    const read = (name: string, kind: NumberKind) =>
      new NumberCursor(file.source, file.chunk(name, group), kind).read(numRows).values;
    const msmIds = read("msm_id", "number");
    const prbIds = read("prb_id", "number");
    const timesUs = read("event_time", "micros");
    for (let i = 0; i < numRows; i++) {
      const key = { msmId: msmIds[i], prbId: prbIds[i], eventTimeUs: timesUs[i] };
      const isFirst = !isSameResult(key, last);
      last = key;
      const hasKey = !Number.isNaN(key.msmId) && !Number.isNaN(key.prbId);
      if (isFirst && hasKey) yield { row: firstRow + i, key };
    }
  }
}

function* rowsOf(batch: MeasurementBatch): Generator<MeasurementRow> {
  for (let i = 0; i < batch.numRows; i++) {
    yield {
      eventTimeUs: batch.eventTimeUs[i],
      srcAddr: batch.srcAddr[i],
      dstAddr: batch.dstAddr[i],
      ipVersion: batch.ipVersion[i],
      rttMs: batch.rttMs[i],
      msmId: batch.msmId?.[i] ?? NaN,
      prbId: batch.prbId?.[i] ?? NaN,
      sizeBytes: batch.sizeBytes?.[i] ?? NaN,
      packetErrorCount: batch.packetErrorCount?.[i] ?? NaN,
    };
  }
}
