/** Measurements for tests of score, as Parquet. */
import type { MeasurementBatch } from "../../../lib/data/formats/batch.ts";
import { RandomStream } from "../../../lib/base/random.ts";

export { writeParquet } from "../../data/measurement_files/batches.ts";

/** Unordered rows of three sources to five destinations, some at equal times, an eighth without a reply. */
export function sampleRows(numRows: number, seed = 0): MeasurementBatch {
  const random = new RandomStream(seed, "tests/score rows");
  const rows = Array.from({ length: numRows }, () => ({
    timeS: 1_700_000_000 + 30 * random.below(4 * numRows),
    source: random.below(3),
    destination: random.below(5),
    rttMs: random.below(8) === 0 ? -1 : 10 ** (3 * random.float64()),
  }));
  return {
    numRows,
    eventTimeUs: Float64Array.from(rows, ({ timeS }) => timeS * 1e6 + 250_000),
    srcAddr: rows.map(({ source }) => source === 2 ? "2001:db8::1" : `192.0.2.${source}`),
    dstAddr: rows.map(({ source, destination }) =>
      source === 2 ? `2001:db8:1::${destination}` : `198.51.100.${destination}`
    ),
    ipVersion: Uint8Array.from(rows, ({ source }) => source === 2 ? 6 : 4),
    rttMs: Float64Array.from(rows, ({ rttMs }) => rttMs),
    msmId: Float64Array.from(rows, (_, i) => i % 7 === 3 ? NaN : 1000 + i),
  };
}
