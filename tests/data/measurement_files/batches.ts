/** Measurements for tests, and their files. @module */
import { fromFileUrl } from "@std/path";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { MeasurementParquetWriter } from "../../../lib/data/measurement_files/parquet_writer.ts";
import {
  readMeasurements,
  type ReadOptions,
  type SourcedBatch,
} from "../../../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../../lib/data/measurement_files/rejects.ts";

/** Makes distinct measurements that alternate between IPv4 and IPv6. */
export function makeBatch(numRows: number, from = 0): Required<MeasurementBatch> {
  const rows = Array.from({ length: numRows }, (_, i) => from + i);
  const address = (row: number, host: number) =>
    row % 2 === 0 ? `193.0.${host}.${row % 250}` : `2001:67c:${host}::${row % 250}`;
  return {
    numRows,
    eventTimeUs: Float64Array.from(rows, (row) => 1_750_000_000_000_000 + row * 1_000_003),
    srcAddr: rows.map((row) => address(row, 1)),
    dstAddr: rows.map((row) => address(row, 2)),
    ipVersion: Uint8Array.from(rows, (row) => row % 2 === 0 ? 4 : 6),
    rttMs: Float64Array.from(rows, (row) => row % 7 === 0 ? -1 : row / 3),
    msmId: Float64Array.from(rows, (row) => row % 5 === 0 ? NaN : 1_000_000 + row % 11),
    prbId: Float64Array.from(rows, (row) => row % 13),
    sizeBytes: new Float64Array(numRows).fill(64),
    packetErrorCount: Float64Array.from(rows, (row) => row % 4),
  };
}

export function writeParquet(
  path: string,
  ...batches: MeasurementBatch[]
): { rows: number; sizeBytes: number } {
  using writer = MeasurementParquetWriter.create(path);
  for (const batch of batches) writer.append(batch);
  return writer.close();
}

export async function readAll(
  paths: string[],
  options: Partial<ReadOptions> = {},
): Promise<{ batches: SourcedBatch[]; rejects: RejectLog }> {
  const rejects = options.rejects ?? new RejectLog();
  const batches = await Array.fromAsync(readMeasurements(paths, { rejects, ...options }));
  return { batches, rejects };
}

export function joinBatches(batches: readonly MeasurementBatch[]): MeasurementBatch {
  const join = (pick: (batch: MeasurementBatch) => ArrayLike<number> | undefined) =>
    Float64Array.from(batches.flatMap((batch) => Array.from(pick(batch) ?? [])));
  return {
    numRows: batches.reduce((sum, { numRows }) => sum + numRows, 0),
    eventTimeUs: join(({ eventTimeUs }) => eventTimeUs),
    srcAddr: batches.flatMap(({ srcAddr }) => srcAddr),
    dstAddr: batches.flatMap(({ dstAddr }) => dstAddr),
    ipVersion: Uint8Array.from(join(({ ipVersion }) => ipVersion)),
    rttMs: join(({ rttMs }) => rttMs),
    msmId: join(({ msmId }) => msmId),
    prbId: join(({ prbId }) => prbId),
    sizeBytes: join(({ sizeBytes }) => sizeBytes),
    packetErrorCount: join(({ packetErrorCount }) => packetErrorCount),
  };
}

/** A folder of real data, see `tests/data/README.md`. */
export function realData(folder: string): string {
  const path = fromFileUrl(new URL(`../${folder}`, import.meta.url));
  Deno.statSync(path);
  return path;
}
