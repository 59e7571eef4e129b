/** Probe rows between addresses that are known and addresses that are not, for tests of adaptation. @module */
import { RandomStream } from "../../../lib/base/random.ts";
import { type ProbeRow, probeRowSrcId } from "../../../lib/data/probe_rows/probe_row.ts";
import { MemoryRowSource } from "../../data/loader/synthetic_rows.ts";

/** A measurement of such a row; the RTT in ms, -1 without a reply. */
export type MeshMeasurement = readonly [destination: string, rttMs: number, timeS: number];

/** The row of a source that is told apart by its address. */
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

/** Rows of all sources to some of the destinations, at a second of its own each. */
export function meshRows(
  { sources, destinations, numEach, seed, failed = 0 }: {
    sources: readonly string[];
    destinations: readonly string[];
    /** Measurements of each source. */
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
