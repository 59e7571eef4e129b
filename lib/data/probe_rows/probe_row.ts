/**
 * The probe row: the history of one source as one record, an Arrow IPC stream of one row whose `measurements`
 * column is itself an Arrow IPC stream.
 *
 * The nesting lets a reader determine a row's size and time range without decoding its measurements.
 * Addresses are dictionary-encoded: a probe has few destinations, so each address is parsed once. Format:
 * https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  Binary,
  type Data,
  Dictionary,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  Int8,
  makeData,
  Schema,
  TimestampMicrosecond,
  Utf8,
  Vector,
} from "apache-arrow";
import { ensure, FormatError } from "../../base/errors.ts";
import { ArrowColumns, encodeBatch } from "../../io/arrow.ts";

/** The measurements of one source in time order, as one array per column, all of the same length. */
export interface ProbeRow {
  /** The group's id: `probeRowSrcId()` of the source's text, or the probe's id. */
  srcId: bigint;
  /** The probe of all measurements of a group by address; {@link SEVERAL_PROBES} for several; absent if unknown. */
  prbId?: number;
  /** Microseconds since 1970-01-01T00:00:00Z, ascending; exact, since they are below 2^53. */
  eventTimeUs: Float64Array;
  /** The distinct source addresses. */
  srcAddrs: string[];
  srcIndex: Int32Array;
  /** The distinct destination addresses. */
  dstAddrs: string[];
  dstIndex: Int32Array;
  /** 4 or 6. */
  ipVersion: Int8Array;
  /** Round-trip time in milliseconds; -1 for no reply. */
  rttMs: Float32Array;
}

/** The probe of a source address that several probes share. */
export const SEVERAL_PROBES = -1;

// Dictionary ids are set explicitly. Otherwise they increase while the process runs, and the same row would
// have different bytes each time. Arrow's C++ library uses 0 and 1.
const SRC_ADDR = new Dictionary(new Utf8(), new Int32(), 0);
const DST_ADDR = new Dictionary(new Utf8(), new Int32(), 1);
const INNER_SCHEMA = new Schema([
  new Field("event_time", new TimestampMicrosecond(), true),
  new Field("src_addr", SRC_ADDR, true),
  new Field("dst_addr", DST_ADDR, true),
  new Field("ip_version", new Int8(), true),
  new Field("rtt", new Float32(), true),
]);
const OUTER_FIELDS = [
  new Field("src_id", new Int64(), true),
  new Field("measurements", new Binary(), true),
  new Field("n_measurements", new Int32(), true),
  new Field("time_span_seconds", new Float64(), true),
  new Field("first_timestamp", new TimestampMicrosecond(), true),
  new Field("last_timestamp", new TimestampMicrosecond(), true),
];
const OUTER_SCHEMA = new Schema(OUTER_FIELDS);
const OUTER_SCHEMA_WITH_PROBE = new Schema([...OUTER_FIELDS, new Field("prb_id", new Int64(), true)]);

const encoder = new TextEncoder();

/** Encodes a row as the bytes of one record. Equal rows have equal bytes. @returns An Arrow IPC stream. */
export function encodeProbeRow(row: ProbeRow): Uint8Array {
  const n = row.eventTimeUs.length;
  ensure(n > 0, "a probe row has no measurements");
  ensure(
    row.srcIndex.length === n && row.dstIndex.length === n && row.ipVersion.length === n &&
      row.rttMs.length === n,
    "columns of a probe row differ in length",
  );
  const inner = encodeBatch(INNER_SCHEMA, n, [
    timestampData(row.eventTimeUs),
    addressData(SRC_ADDR, row.srcAddrs, row.srcIndex),
    addressData(DST_ADDR, row.dstAddrs, row.dstIndex),
    makeData({ type: new Int8(), nullCount: 0, data: row.ipVersion }),
    makeData({ type: new Float32(), nullCount: 0, data: row.rttMs }),
  ]);
  const spanS = (row.eventTimeUs[n - 1] - row.eventTimeUs[0]) / 1e6;
  const offsets = Int32Array.of(0, inner.length);
  const int64 = (value: bigint) =>
    makeData({ type: new Int64(), nullCount: 0, data: BigInt64Array.of(value) });
  const columns: Data[] = [
    int64(row.srcId),
    makeData({ type: new Binary(), nullCount: 0, valueOffsets: offsets, data: inner }),
    makeData({ type: new Int32(), nullCount: 0, data: Int32Array.of(n) }),
    makeData({ type: new Float64(), nullCount: 0, data: Float64Array.of(spanS) }),
    timestampData(row.eventTimeUs.subarray(0, 1)),
    timestampData(row.eventTimeUs.subarray(n - 1)),
  ];
  if (row.prbId === undefined) return encodeBatch(OUTER_SCHEMA, 1, columns);
  return encodeBatch(OUTER_SCHEMA_WITH_PROBE, 1, [...columns, int64(BigInt(row.prbId))]);
}

function timestampData(timesUs: Float64Array): Data<TimestampMicrosecond> {
  const data = new BigInt64Array(timesUs.length);
  // Two 32-bit halves: a BigInt per element would be ten times slower.
  const halves = new Int32Array(data.buffer);
  for (let i = 0; i < timesUs.length; i++) {
    const high = Math.floor(timesUs[i] / 2 ** 32);
    halves[2 * i] = timesUs[i] - high * 2 ** 32;
    halves[2 * i + 1] = high;
  }
  return makeData({ type: new TimestampMicrosecond(), nullCount: 0, data });
}

function addressData(type: Dictionary<Utf8, Int32>, addresses: readonly string[], index: Int32Array): Data {
  const joined = addresses.join("");
  const data = encoder.encode(joined);
  ensure(data.length === joined.length, "an address of a probe row is not ASCII");
  const valueOffsets = new Int32Array(addresses.length + 1);
  for (const [i, { length }] of addresses.entries()) valueOffsets[i + 1] = valueOffsets[i] + length;
  const dictionary = new Vector([makeData({ type: type.dictionary, nullCount: 0, valueOffsets, data })]);
  // Copied, because apache-arrow joins overlapping arrays wrongly, and both columns may share one.
  return makeData({ type, nullCount: 0, data: index.slice(), dictionary });
}

/** What is known about a row without decoding its measurements. */
interface ProbeRowHeader {
  srcId: bigint;
  prbId?: number;
  numMeasurements: number;
  firstTimeUs: number;
  lastTimeUs: number;
  /** The nested Arrow IPC stream, a view of the record's bytes. */
  measurements: Uint8Array;
}

/**
 * Decodes a record. Columns may also have the form that other Arrow libraries write: any index width, plain
 * strings instead of dictionaries, timestamps of any unit, and additional columns (which are ignored).
 *
 * @returns The row; its arrays are views of `bytes` if the alignment allows it.
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
  const src = inner.texts("src_addr");
  const dst = inner.texts("dst_addr");
  return {
    srcId: header.srcId,
    ...(header.prbId !== undefined && { prbId: header.prbId }),
    eventTimeUs: inner.timesUs("event_time"),
    srcAddrs: src.values,
    srcIndex: src.index,
    dstAddrs: dst.values,
    dstIndex: dst.index,
    ipVersion: inner.int8("ip_version"),
    rttMs: inner.float32("rtt"),
  };
}

/** Decodes a row without its measurements. @throws {FormatError} If the bytes are not a probe row. */
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
    ...(outer.has("prb_id") && { prbId: Number(outer.bigint("prb_id")) }),
    numMeasurements: Number(outer.bigint("n_measurements")),
    firstTimeUs: outer.timesUs("first_timestamp")[0],
    lastTimeUs: outer.timesUs("last_timestamp")[0],
    measurements: outer.binary("measurements"),
  };
}

/** The probe of a row's measurements, which is `srcId` if rows are grouped by it; see `ProbeRow.prbId`. */
export function probeOf({ prbId, srcId, srcAddrs }: ProbeRow): number | undefined {
  if (prbId !== undefined || srcAddrs.length === 0 || srcId === probeRowSrcId(srcAddrs[0])) return prbId;
  return Number(srcId);
}

/** The group id of a source: the first 15 hex digits of the MD5 of its address text. */
export function probeRowSrcId(srcAddr: string): bigint {
  return BigInt("0x" + createHash("md5").update(srcAddr).digest("hex").slice(0, 15));
}
