/** The `--context` of a query: recent measurements from a Parquet file. @module */
import { listInputs } from "../files/inputs.ts";
import { FAILED_RTT_MS, type MeasurementBatch } from "../measurement/batch.ts";
import { readMeasurements } from "../measurement/parquet_reader.ts";
import { RejectLog } from "../measurement/rejects.ts";
import { addressBytes } from "../tokens/ip.ts";
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
 * Reads the newest measurements of a Parquet file.
 *
 * @param path A measurements Parquet file, in any order.
 * @returns At most 4,096, oldest first, and whether the file has them in that order.
 * @throws {UserError} If it cannot be read or a row is unusable.
 */
export async function readContext(
  path: string,
): Promise<{ measurements: TokenMeasurement[]; isSorted: boolean }> {
  const rejects = new RejectLog();
  let newest: TokenMeasurement[] = [];
  let numRows = 0;
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
      newest.push(tokenMeasurementAt(batch, i));
    }
    newest = newest.sort((a, b) => (a.timeS ?? 0) - (b.timeS ?? 0)).slice(-MAX_CONTEXT_MEASUREMENTS);
  }
  rejects.check(numRows, 0);
  return { measurements: newest, isSorted };
}
