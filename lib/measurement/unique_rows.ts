/**
 * Rows of a measurements file moved to another without those of repeated results (duplicate_set.ts).
 *
 * @module
 */
import { dirname } from "@std/path";
import { ensure, explainFileError } from "../errors.ts";
import { syncDirectory } from "../files/atomic.ts";
import type { MeasurementBatch } from "./batch.ts";
import type { MarkedRows, ResultKey } from "./duplicate_set.ts";
import { readMeasurements } from "./parquet_reader.ts";
import { MeasurementParquetWriter, type OptionalColumn } from "./parquet_writer.ts";
import { RejectLog } from "./rejects.ts";
import { type MeasurementRow, type RowCounts, RowSink } from "./row_sink.ts";

/** What {@link moveUniqueRows} left out, and what the rows hold if that is not all that they held before. */
export interface UniqueRows {
  /** Results that were left out. */
  numLeftOut: number;
  counts?: RowCounts;
}

/**
 * Moves rows.
 *
 * @param fromPath A file that has all the optional columns; it is gone afterwards.
 * @param toPath The file to make.
 * @param options `repeated`: the first row of each repeated result, in ascending stretches; the rows after it go with
 *   it as long as they are of the same result.
 * @throws {UserError} If the disk is full.
 */
export async function moveUniqueRows(
  fromPath: string,
  toPath: string,
  options: { repeated: Iterator<MarkedRows, void>; optionalColumns: readonly OptionalColumn[] },
): Promise<UniqueRows> {
  const first = options.repeated.next().value;
  if (first) return await copyUniqueRows(fromPath, toPath, { ...options, first });
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
  { first, repeated, optionalColumns }: {
    first: MarkedRows;
    repeated: Iterator<MarkedRows, void>;
    optionalColumns: readonly OptionalColumn[];
  },
): Promise<UniqueRows> {
  using writer = MeasurementParquetWriter.create(toPath, { optionalColumns });
  const sink = new RowSink(writer);
  const rejects = new RejectLog();
  let marked: MarkedRows | void = first;
  let leftOut: ResultKey | undefined;
  let [numLeftOut, at] = [0, 0];
  for await (const batch of readMeasurements([fromPath], { rejects, required: optionalColumns })) {
    for (const row of rowsOf(batch)) {
      if (marked && at >= marked.end) marked = repeated.next().value;
      if (marked?.has(at)) {
        numLeftOut++;
        leftOut = row;
      } else if (leftOut && !isSameResult(leftOut, row)) leftOut = undefined;
      if (!leftOut) sink.add(row);
      at++;
    }
  }
  ensure(rejects.total === 0, "rows that were written can be read");
  const counts = sink.finish();
  writer.close();
  Deno.removeSync(fromPath);
  return { numLeftOut, counts };
}

function isSameResult(a: ResultKey, b: ResultKey): boolean {
  return a.msmId === b.msmId && a.prbId === b.prbId && a.eventTimeUs === b.eventTimeUs;
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
