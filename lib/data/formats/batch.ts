/**
 * The measurement row, in columns: the output of Parquet readers, importers and the synthetic Internet.
 *
 * Column names in files are those of the RIPE Atlas data set (`src_addr`, `event_time`); in the
 * program, names end in their units.
 *
 * @module
 */

import { END_RTT_MS } from "../tokens/rtt_code.ts";

/** The RTT of a measurement without a reply in files. */
export const FAILED_RTT_MS: number = -1;

/** Earliest time that is accepted: 1990-01-01, in microseconds since 1970. */
export const MIN_TIME_US: number = Date.UTC(1990, 0, 1) * 1000;
/** First time that is too late: 2100-01-01, in microseconds since 1970. */
export const END_TIME_US: number = Date.UTC(2100, 0, 1) * 1000;

/** Whether an RTT is possible: above 0, and shorter than the longest RTT that has a code. */
export function isRtt(rttMs: number): boolean {
  return rttMs > 0 && rttMs < END_RTT_MS;
}

/** A batch of measurements, one array per column, all of the same length. */
export interface MeasurementBatch {
  /** Number of rows. */
  numRows: number;
  /** When, microseconds since 1970-01-01T00:00:00Z (exact: below 2^53). */
  eventTimeUs: Float64Array;
  /** Source address as text, IPv4 or IPv6. */
  srcAddr: string[];
  /** Destination address as text, of the source's version. */
  dstAddr: string[];
  /** 4 or 6. */
  ipVersion: Uint8Array;
  /** Round-trip time in milliseconds, or {@link FAILED_RTT_MS}. */
  rttMs: Float64Array;
  /** Measurement id; absent when the file has none. */
  msmId?: Float64Array;
  /** Probe id; absent when the file has none. */
  prbId?: Float64Array;
  /** Packet size in bytes; absent when the file has none. */
  sizeBytes?: Float64Array;
  /** Lost packets; absent when the file has none. */
  packetErrorCount?: Float64Array;
}
