/** Measurements of files as tokens see them, and which of them are known at a time. @module */
import { FAILED_RTT_MS, type MeasurementBatch } from "../data/measurement/batch.ts";
import { addressBytes } from "../data/addresses/ip.ts";
import { encodeRttCode } from "../data/tokens/rtt_code.ts";
import type { TokenMeasurement } from "../data/tokens/vocab_v2.ts";

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
 * The measurements of a context that are known at a time: those that are not after it.
 *
 * @param context Oldest first.
 * @param timeS Unix seconds; null for any time, when all are known.
 */
export function knownAt(
  context: readonly TokenMeasurement[],
  timeS: number | null,
): readonly TokenMeasurement[] {
  if (timeS === null) return context;
  let end = context.length;
  while (end > 0 && (context[end - 1].timeS ?? timeS) > timeS) end--;
  return end === context.length ? context : context.slice(0, end);
}
