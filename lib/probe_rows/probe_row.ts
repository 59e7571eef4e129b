/**
 * The probe row: the history of one source as one record, an Arrow IPC stream of one row whose
 * `measurements` column is itself an Arrow IPC stream.
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

/** The facts about a row that are known without decoding its measurements. */
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
 * Decodes a record. Accepts the columns as other Arrow libraries write them: any index width, plain
 * strings instead of dictionaries, timestamps of any unit, further columns (which are ignored).
 *
 * @param bytes The record.
 * @param where The file and place, for error messages.
 * @returns The row; its arrays are views of `bytes` where the alignment allows.
 * @throws {FormatError} If the bytes are not a probe row.
 */
export function decodeProbeRow(bytes: Uint8Array, where: { path: string; place?: string }): ProbeRow {
  const header = decodeProbeRowHeader(bytes, where);
  const inner = ArrowColumns.decode(header.measurements, where);
  if (inner.numRows !== header.numMeasurements) {
    throw new FormatError(
      `its row has ${inner.numRows} measurements, its n_measurements is ${header.numMeasurements}; write it again`,
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
 * Decodes only the facts about a row.
 *
 * @throws {FormatError} If the bytes are not a probe row.
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
