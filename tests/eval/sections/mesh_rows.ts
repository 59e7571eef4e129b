/** Probe rows between known and unknown addresses, for tests of adaptation. @module */
import { RandomStream } from "../../../lib/base/random.ts";
import { type ProbeRow, probeRowSrcId } from "../../../lib/data/probe_rows/probe_row.ts";
import { MemoryRowSource } from "../../data/loader/synthetic_rows.ts";

/** A measurement of a row; the RTT is in ms, -1 for no reply. */
export type MeshMeasurement = readonly [destination: string, rttMs: number, timeS: number];

/** A row whose source is identified by its address. */
export function meshRow(source: string, measurements: readonly MeshMeasurement[]): ProbeRow {
  const dstAddrs = [...new Set(measurements.map(([destination]) => destination))];
  return {
    srcId: probeRowSrcId(source),
    eventTimeUs: Float64Array.from(measurements, ([, , timeS]) => timeS * 1e6),
    srcAddrs: [source],
    srcIndex: new Int32Array(measurements.length),
    dstAddrs,
    dstIndex: Int32Array.from(measurements, ([destination]) => dstAddrs.indexOf(destination)),
    ipVersion: new Int8Array(measurements.length).fill(4),
    rttMs: Float32Array.from(measurements, ([, rttMs]) => rttMs),
  };
}

/** Rows from all sources to some of the destinations, each measurement at a different second. */
export function meshRows(
  { sources, destinations, numEach, seed, failed = 0 }: {
    sources: readonly string[];
    destinations: readonly string[];
    /** Measurements per source. */
    numEach: number;
    seed: number;
    failed?: number;
  },
): MemoryRowSource {
  const random = new RandomStream(seed, "test/mesh");
  let timeS = 1.7e9;
  const measured = (): MeshMeasurement => [
    destinations[random.below(destinations.length)],
    random.float64() < failed ? -1 : 5 + 100 * random.float64(),
    timeS++,
  ];
  return new MemoryRowSource(
    sources.map((source) => meshRow(source, Array.from({ length: numEach }, measured))),
  );
}
