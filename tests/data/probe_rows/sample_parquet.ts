/**
 * Small measurement files for the tests of this folder: deterministic, and including awkward cases (equal
 * times, one source with a large share, IPv4 and IPv6, probes whose address changes).
 *
 * @module
 */
import { dirname } from "@std/path";
import type { SchemaElement } from "hyparquet";
import { parquetWriteBuffer } from "hyparquet-writer";
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import type { SplitRatios } from "../../../lib/data/probe_rows/splits.ts";
import { RandomStream } from "../../../lib/base/random.ts";

export { writeParquet } from "../measurement_files/batches.ts";

/** First time of the samples in µs since 1970: 2025-06-24T00:00:00Z. */
export const FIRST_TIME_US = Date.UTC(2025, 5, 24) * 1000;
const DAY_US = 86_400e6;

export interface SampleOptions {
  numRows: number;
  numProbes?: number;
  numDestinations?: number;
  seed?: number;
  /** Rows whose source address is invalid. */
  numBad?: number;
}

export function sampleBatch(options: SampleOptions): MeasurementBatch {
  const { numRows, numProbes = 60, numDestinations = 40, seed = 0, numBad = 0 } = options;
  const random = new RandomStream(seed, "tests/preprocess");
  const batch: MeasurementBatch = {
    numRows,
    eventTimeUs: new Float64Array(numRows),
    srcAddr: [],
    dstAddr: [],
    ipVersion: new Uint8Array(numRows),
    rttMs: new Float64Array(numRows),
    msmId: new Float64Array(numRows),
    prbId: new Float64Array(numRows),
    sizeBytes: new Float64Array(numRows).fill(64),
    packetErrorCount: new Float64Array(numRows),
  };
  for (let row = 0; row < numRows; row++) {
    // The first probe has a third of all rows.
    const probe = random.below(3) === 0 ? 0 : random.below(numProbes);
    const version = probe % 3 === 2 ? 6 : 4;
    const day = random.below(28);
    const prefix = version === 4 ? `10.${probe >> 8}.${probe & 255}.` : `2001:db8:${probe.toString(16)}::`;
    const destination = 1 + random.below(numDestinations);
    // Whole seconds within a few minutes per day, so that some times are equal.
    batch.eventTimeUs[row] = FIRST_TIME_US + day * DAY_US + random.below(600) * 1e6;
    batch.srcAddr.push(prefix + (day < 20 ? 1 : 2));
    batch.dstAddr.push(
      version === 4 ? `192.0.2.${destination}` : `2001:db8:ffff::${destination.toString(16)}`,
    );
    batch.ipVersion[row] = version;
    batch.rttMs[row] = random.below(20) === 0 ? -1 : 1 + 100 * random.float64();
    (batch.msmId ?? batch.rttMs)[row] = 1000 + random.below(50);
    (batch.prbId ?? batch.rttMs)[row] = 6000 + probe;
    if (row < numBad) batch.srcAddr[row] = "not an address";
  }
  return batch;
}

/** Where a split by time cuts so that the shares are closest to the ratios, found by trying all times. */
export function cutsOf(
  timesUs: ArrayLike<number>,
  [train, val, test]: SplitRatios,
): { valUs: number; testUs: number } {
  const sorted = Float64Array.from(timesUs).sort();
  const last = sorted[sorted.length - 1];
  const firstOfTimes = [...sorted.keys()].filter((row) => row > 0 && sorted[row] > sorted[row - 1]);
  const cutAt = (share: number) => {
    if (share === 0) return sorted[0];
    if (share === 1) return last + 1;
    const distance = (row: number) => Math.abs(row - share * sorted.length);
    return sorted[firstOfTimes.reduce((best, row) => distance(row) < distance(best) ? row : best)];
  };
  return { valUs: cutAt(train), testUs: cutAt(test === 0 ? 1 : train + val) };
}

/** Writes a batch with row groups as small as those of other programs can be. */
export function writeRowGroups(path: string, batch: MeasurementBatch, rowGroupSize: number): void {
  const toIntegers = (values: ArrayLike<number> = []) => Array.from(values, (value) => BigInt(value));
  const columns: [name: string, data: unknown[], type: Partial<SchemaElement>][] = [
    ["event_time", toIntegers(batch.eventTimeUs), { type: "INT64", converted_type: "TIMESTAMP_MICROS" }],
    ["src_addr", batch.srcAddr, { type: "BYTE_ARRAY", converted_type: "UTF8" }],
    ["dst_addr", batch.dstAddr, { type: "BYTE_ARRAY", converted_type: "UTF8" }],
    ["rtt", Array.from(batch.rttMs), { type: "DOUBLE" }],
    ["msm_id", toIntegers(batch.msmId), { type: "INT64" }],
    ["prb_id", toIntegers(batch.prbId), { type: "INT64" }],
  ];
  const schema: SchemaElement[] = [
    { name: "root", num_children: columns.length },
    ...columns.map(([name, , type]): SchemaElement => ({ name, repetition_type: "REQUIRED", ...type })),
  ];
  const columnData = columns.map(([name, data]) => ({ name, data }));
  Deno.mkdirSync(dirname(path), { recursive: true });
  Deno.writeFileSync(path, new Uint8Array(parquetWriteBuffer({ columnData, schema, rowGroupSize })));
}
