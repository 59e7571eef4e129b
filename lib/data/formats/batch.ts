/**
 * Measurements as columns: the output of Parquet readers, importers and the synthetic Internet.
 *
 * Column names in files are those of the RIPE Atlas data set (`src_addr`, `event_time`). In the program,
 * names end in their units.
 *
 * @module
 */

import { END_RTT_MS } from "../tokens/rtt_code.ts";

/** How files store the RTT of a measurement without a reply. */
export const FAILED_RTT_MS: number = -1;

/** The earliest valid time: 1990-01-01, in microseconds since 1970. */
export const MIN_TIME_US: number = Date.UTC(1990, 0, 1) * 1000;
/** The first time that is too late to be valid: 2100-01-01, in microseconds since 1970. */
export const END_TIME_US: number = Date.UTC(2100, 0, 1) * 1000;
/** The greatest number of a probe. */
export const MAX_PROBE: number = 2 ** 32 - 1;

/** Whether an RTT is above 0 and shorter than the longest RTT that has a code. */
export function isRtt(rttMs: number): boolean {
  return rttMs > 0 && rttMs < END_RTT_MS;
}

/** A batch of measurements: one array per column, all of the same length. */
export interface MeasurementBatch {
  /** Number of rows. */
  numRows: number;
  /** Microseconds since 1970-01-01T00:00:00Z; exact, since they are below 2^53. */
  eventTimeUs: Float64Array;
  /** IPv4 or IPv6, as text. */
  srcAddr: string[];
  /** Has the same IP version as the source. */
  dstAddr: string[];
  /** 4 or 6. */
  ipVersion: Uint8Array;
  /** Milliseconds, or {@link FAILED_RTT_MS}. */
  rttMs: Float64Array;
  /** Measurement id. This and the following columns are absent if the file does not contain them. */
  msmId?: Float64Array;
  /** Probe id. */
  prbId?: Float64Array;
  /** Packet size in bytes. */
  sizeBytes?: Float64Array;
  /** Number of lost packets. */
  packetErrorCount?: Float64Array;
}
