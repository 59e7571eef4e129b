/** The `--context` of a query: recent measurements from a Parquet file. @module */
import { listInputs } from "../files/inputs.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "../measurement/batch.ts";
import { readMeasurements } from "../measurement/parquet_reader.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { addressBytes } from "../addresses/ip.ts";
import { encodeRttCode } from "../tokens/rtt_code.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";

/** More than fit any preset's sequence. */
const MAX_CONTEXT_MEASUREMENTS = 4096;

/** A measurement as tokens see it, of what stands in files. */
export function tokenMeasurement(
  row: { source: Uint8Array; destination: Uint8Array; rttMs: number; eventTimeUs: number },
): TokenMeasurement {
  return {
    source: row.source,
    destination: row.destination,
    rttCode: row.rttMs === FAILED_RTT_MS ? null : encodeRttCode(row.rttMs),
    timeS: Math.floor(row.eventTimeUs / 1e6),
  };
}

/** One measurement of a batch that a reader gave. */
export function tokenMeasurementAt(batch: MeasurementBatch, row: number): TokenMeasurement {
  return tokenMeasurement({
    source: addressBytes(batch.srcAddr[row]),
    destination: addressBytes(batch.dstAddr[row]),
    rttMs: batch.rttMs[row],
    eventTimeUs: batch.eventTimeUs[row],
  });
}

/**
 * The measurements of a context that are known at a time: those that are not after it.
 *
 * @param context Oldest first.
 * @param timeS Unix seconds; null for any time, when all are known.
 */
export function knownAt(
  context: readonly TokenMeasurement[],
  timeS: number | null,
): readonly TokenMeasurement[] {
  if (timeS === null) return context;
  let end = context.length;
  while (end > 0 && (context[end - 1].timeS ?? timeS) > timeS) end--;
  return end === context.length ? context : context.slice(0, end);
}

/** What {@link readContext} found. */
export interface FileContext {
  /** At most 4,096, oldest first. */
  measurements: TokenMeasurement[];
  /** Whether the file has them in that order. */
  isSorted: boolean;
  /** How many measurements of the file are later and left out. */
  numLater: number;
}

/**
 * Reads the newest measurements of a Parquet file.
 *
 * @param path A measurements Parquet file, in any order.
 * @param untilS The last time of those that are read, Unix seconds; null for any time.
 * @throws {UserError} If it cannot be read or a row is unusable.
 */
export async function readContext(path: string, untilS: number | null = null): Promise<FileContext> {
  const rejects = new RejectLog();
  let newest: TokenMeasurement[] = [];
  let [numRows, numLater] = [0, 0];
  let [isSorted, lastTimeUs] = [true, -Infinity];
  for await (
    const batch of readMeasurements(
      listInputs([path], { extensions: [".parquet"], wanted: "a measurements Parquet file" }),
      { rejects, columns: [] },
    )
  ) {
    numRows += batch.numRowsRead;
    for (let i = 0; i < batch.numRows; i++) {
      isSorted &&= batch.eventTimeUs[i] >= lastTimeUs;
      lastTimeUs = batch.eventTimeUs[i];
      const measurement = tokenMeasurementAt(batch, i);
      if (untilS !== null && (measurement.timeS ?? untilS) > untilS) numLater++;
      else newest.push(measurement);
    }
    newest = newest.sort((a, b) => (a.timeS ?? 0) - (b.timeS ?? 0)).slice(-MAX_CONTEXT_MEASUREMENTS);
  }
  rejects.check(numRows, 0);
  return { measurements: newest, isSorted, numLater };
}
