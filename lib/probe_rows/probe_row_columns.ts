/**
 * A probe row in memory, which probe_row_encoder.ts writes and probe_row.ts reads.
 *
 * @module
 */

/** The measurements of one source in time order, one array per column, all of the same length. */
export interface ProbeRow {
  /** The id of the group: `probeRowSrcId()` of the source's text, or the probe's id. */
  srcId: bigint;
  /** When, microseconds since 1970-01-01T00:00:00Z (exact: below 2^53), ascending. */
  eventTimeUs: Float64Array;
  /** The distinct source addresses as text. */
  srcAddrs: string[];
  /** Index into `srcAddrs` per measurement. */
  srcIndex: Int32Array;
  /** The distinct destination addresses as text. */
  dstAddrs: string[];
  /** Index into `dstAddrs` per measurement. */
  dstIndex: Int32Array;
  /** 4 or 6. */
  ipVersion: Int8Array;
  /** Round-trip time in milliseconds; -1 stands for no reply. */
  rttMs: Float32Array;
}
