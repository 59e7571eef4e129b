/** Probe rows of given sizes. @module */
import { RandomStream } from "../../../lib/base/random.ts";
import type { Batch } from "../../../lib/data/loader/batches.ts";
import type { ProbeRowSource } from "../../../lib/data/loader/row_source.ts";
import { encodeProbeRow, type ProbeRow } from "../../../lib/data/probe_rows/probe_row.ts";
import type { ArrayRecordWriterOptions } from "../../../lib/io/array_record/writer.ts";
import { writeRecords } from "../../io/array_record/write_records.ts";

/**
 * A row of random measurements.
 *
 * @param options `ipv6`: share of IPv6 pairs; `failed`: share without reply; `meanGapS`: mean time between
 *   two measurements.
 */
export function syntheticRow(
  seed: number,
  row: number,
  numMeasurements: number,
  options: { ipv6?: number; failed?: number; meanGapS?: number } = {},
): ProbeRow {
  const { ipv6 = 0.4, failed = 0.05, meanGapS = 240 } = options;
  const random = new RandomStream(seed, "test/row", row);
  // The source address identifies the row, so that a test can see where a measurement came from.
  const srcAddrs = [`10.${row >> 16 & 255}.${row >> 8 & 255}.${row & 255}`, `2001:db8::${row.toString(16)}`];
  const dstAddrs = Array.from({ length: 8 }, (_, i) => i < 4 ? `192.0.2.${i}` : `2001:db8:1::${i}`);
  const result: ProbeRow = {
    srcId: BigInt(row),
    eventTimeUs: new Float64Array(numMeasurements),
    srcAddrs,
    srcIndex: new Int32Array(numMeasurements),
    dstAddrs,
    dstIndex: new Int32Array(numMeasurements),
    ipVersion: new Int8Array(numMeasurements),
    rttMs: new Float32Array(numMeasurements),
  };
  let timeS = 1_750_000_000 + random.below(86400);
  for (let i = 0; i < numMeasurements; i++) {
    const isIpv6 = random.float64() < ipv6;
    timeS += random.exponential() * meanGapS;
    result.eventTimeUs[i] = Math.floor(timeS * 1e6);
    result.srcIndex[i] = isIpv6 ? 1 : 0;
    result.dstIndex[i] = random.below(4) + (isIpv6 ? 4 : 0);
    result.ipVersion[i] = isIpv6 ? 6 : 4;
    result.rttMs[i] = random.float64() < failed ? -1 : 50 * Math.exp(random.normal());
  }
  return result;
}

/** Rows whose sizes are 1 plus an exponential number with the given mean: many small, a few large. */
export function syntheticRows(
  seed: number,
  numRows: number,
  meanMeasurements: number,
  options: { ipv6?: number; failed?: number; meanGapS?: number } = {},
): ProbeRow[] {
  const random = new RandomStream(seed, "test/rows");
  return Array.from({ length: numRows }, (_, row) => {
    const numMeasurements = 1 + Math.floor(random.exponential() * meanMeasurements);
    return syntheticRow(seed, row, numMeasurements, options);
  });
}

export async function writeProbeRows(
  path: string,
  rows: readonly ProbeRow[],
  options?: ArrayRecordWriterOptions,
): Promise<void> {
  await writeRecords(path, rows.map((row) => encodeProbeRow(row)), options);
}

export class MemoryRowSource implements ProbeRowSource {
  readonly path = "memory";

  /** @param campaigns The first row of each campaign. */
  constructor(readonly rows: readonly ProbeRow[], readonly campaigns: readonly number[] = [0]) {}

  get numRows(): number {
    return this.rows.length;
  }

  row(index: number): ProbeRow {
    return this.rows[index];
  }

  numMeasurements(index: number): number {
    return this.rows[index].rttMs.length;
  }
}

/** The tokens of a batch's contexts, including the target after a sequence's end. */
export function contextsOf({ batchSize, sequenceLength: T, tokens, targets, lossMask, segmentStart }: Batch) {
  const contexts: Uint16Array[] = [];
  for (let row = 0; row < batchSize; row++) {
    for (let start = 0, end; start < T; start = end) {
      for (end = start + 1; end < T && segmentStart[row * T + end] === start;) end++;
      // Padding has no loss.
      if (lossMask[row * T + start] === 0) continue;
      const last = row * T + T - 1;
      const after = end === T && lossMask[last] === 1 ? [targets[last]] : [];
      contexts.push(Uint16Array.from([...tokens.subarray(row * T + start, row * T + end), ...after]));
    }
  }
  return contexts;
}
