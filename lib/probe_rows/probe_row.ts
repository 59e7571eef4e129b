/**
 * The probe row: the history of one source as one record, an Arrow IPC stream that holds one row whose
 * `measurements` column is an Arrow IPC stream of its own.
 *
 * The nesting lets a reader know a row's size and time range without decoding its measurements. Addresses are
 * dictionary-encoded: a probe has few destinations, so each address is parsed once.
 * Format: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { FormatError } from "../errors.ts";
import { ArrowColumns } from "../arrow/columns.ts";
import type { ProbeRow } from "./probe_row_columns.ts";

export type { ProbeRow } from "./probe_row_columns.ts";
export { encodeProbeRow } from "./probe_row_encoder.ts";

/** What a row says of its measurements without their being decoded. */
export interface ProbeRowHeader {
  srcId: bigint;
  numMeasurements: number;
  timeSpanS: number;
  firstTimeUs: number;
  lastTimeUs: number;
  /** The nested Arrow IPC stream, a view of the record's bytes. */
  measurements: Uint8Array;
}

/**
 * Decodes a record. Accepts what other Arrow libraries write of the same columns: any index width, plain
 * strings instead of dictionaries, timestamps of any unit, further columns (which are ignored).
 *
 * @param bytes The record.
 * @param where The file and place, for error messages.
 * @returns The row; its arrays are views of `bytes` where the alignment allows.
 * @throws {FormatError} If the bytes are no probe row.
 */
export function decodeProbeRow(bytes: Uint8Array, where: { path: string; place?: string }): ProbeRow {
  const header = decodeProbeRowHeader(bytes, where);
  const inner = ArrowColumns.decode(header.measurements, where);
  if (inner.numRows !== header.numMeasurements) {
    throw new FormatError(
      `its row has ${inner.numRows} measurements and says n_measurements ${header.numMeasurements}; write it again`,
      where,
    );
  }
  const src = inner.strings("src_addr");
  const dst = inner.strings("dst_addr");
  return {
    srcId: header.srcId,
    eventTimeUs: inner.timesUs("event_time"),
    srcAddrs: src.values,
    srcIndex: src.index,
    dstAddrs: dst.values,
    dstIndex: dst.index,
    ipVersion: inner.int8("ip_version"),
    rttMs: inner.float32("rtt"),
  };
}

/**
 * Decodes only what a row says of itself.
 *
 * @throws {FormatError} If the bytes are no probe row.
 */
export function decodeProbeRowHeader(
  bytes: Uint8Array,
  where: { path: string; place?: string },
): ProbeRowHeader {
  const outer = ArrowColumns.decode(bytes, where);
  if (outer.numRows !== 1) {
    throw new FormatError(`its Arrow stream has ${outer.numRows} rows, expected 1; write it again`, where);
  }
  return {
    srcId: outer.bigint("src_id"),
    numMeasurements: outer.number("n_measurements"),
    timeSpanS: outer.number("time_span_seconds"),
    firstTimeUs: outer.timesUs("first_timestamp")[0],
    lastTimeUs: outer.timesUs("last_timestamp")[0],
    measurements: outer.binary("measurements"),
  };
}

/** The id of the group of a source: the first 15 hex digits of the MD5 of its address text. */
export function probeRowSrcId(srcAddr: string): bigint {
  return BigInt("0x" + createHash("md5").update(srcAddr).digest("hex").slice(0, 15));
}
