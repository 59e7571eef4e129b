/**
 * The probe row: the history of one source as one record, an Arrow IPC stream that holds one row whose
 * `measurements` column is an Arrow IPC stream of its own.
 *
 * The nesting lets a reader know a row's size and time range without decoding its measurements. Addresses are
 * dictionary-encoded: a probe has few destinations, so each address is parsed once.
 * Format: design page 2.5; https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  Binary,
  type Data,
  type DataType,
  Dictionary,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  Int8,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
  Vector,
} from "apache-arrow";
import { ensure, FormatError } from "../errors.ts";
import { ArrowColumns } from "./arrow_columns.ts";

/** The measurements of one source in time order, one array per column, all of the same length. */
export interface ProbeRow {
  /** Names the group: {@link probeRowSrcId} of the source's text, or the probe's id. */
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

// Dictionary ids are given by hand: apache-arrow otherwise counts them up over the life of the process, and
// the same row would have other bytes each time. 0 and 1 are what Arrow's C++ library gives.
const addressType = (id: number) => new Dictionary(new Utf8(), new Int32(), id);
const INNER_SCHEMA = new Schema([
  new Field("event_time", new TimestampMicrosecond(), true),
  new Field("src_addr", addressType(0), true),
  new Field("dst_addr", addressType(1), true),
  new Field("ip_version", new Int8(), true),
  new Field("rtt", new Float32(), true),
]);
const OUTER_SCHEMA = new Schema([
  new Field("src_id", new Int64(), true),
  new Field("measurements", new Binary(), true),
  new Field("n_measurements", new Int32(), true),
  new Field("time_span_seconds", new Float64(), true),
  new Field("first_timestamp", new TimestampMicrosecond(), true),
  new Field("last_timestamp", new TimestampMicrosecond(), true),
]);

/**
 * Encodes a row as the bytes of one record; equal rows have equal bytes.
 *
 * @param row At least one measurement, in time order.
 * @returns An Arrow IPC stream.
 */
export function encodeProbeRow(row: ProbeRow): Uint8Array {
  const n = row.eventTimeUs.length;
  ensure(n > 0, "a probe row has no measurements");
  const columns = [row.srcIndex, row.dstIndex, row.ipVersion, row.rttMs];
  ensure(columns.every((column) => column.length === n), "columns of a probe row differ in length");
  const measurements = encodeBatch(INNER_SCHEMA, n, [
    timestampData(row.eventTimeUs),
    dictionaryData(INNER_SCHEMA.fields[1].type as Dictionary<Utf8, Int32>, row.srcAddrs, row.srcIndex),
    dictionaryData(INNER_SCHEMA.fields[2].type as Dictionary<Utf8, Int32>, row.dstAddrs, row.dstIndex),
    makeData({ type: new Int8(), length: n, nullCount: 0, data: row.ipVersion }),
    makeData({ type: new Float32(), length: n, nullCount: 0, data: row.rttMs }),
  ]);
  const firstUs = row.eventTimeUs[0];
  const lastUs = row.eventTimeUs[n - 1];
  const offsets = Int32Array.of(0, measurements.length);
  return encodeBatch(OUTER_SCHEMA, 1, [
    makeData({ type: new Int64(), length: 1, nullCount: 0, data: BigInt64Array.of(row.srcId) }),
    makeData({ type: new Binary(), length: 1, nullCount: 0, valueOffsets: offsets, data: measurements }),
    makeData({ type: new Int32(), length: 1, nullCount: 0, data: Int32Array.of(n) }),
    makeData({
      type: new Float64(),
      length: 1,
      nullCount: 0,
      data: Float64Array.of((lastUs - firstUs) / 1e6),
    }),
    timestampData(Float64Array.of(firstUs)),
    timestampData(Float64Array.of(lastUs)),
  ]);
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
    throw new FormatError(`its Arrow stream has ${outer.numRows} rows, 1 was wanted; write it again`, where);
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

function encodeBatch(schema: Schema, length: number, children: Data[]): Uint8Array {
  const struct = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children });
  const writer = new RecordBatchStreamWriter();
  writer.write(new RecordBatch(schema, struct));
  writer.finish();
  return writer.toUint8Array(true);
}

function timestampData(timesUs: Float64Array): Data<TimestampMicrosecond> {
  const data = new BigInt64Array(timesUs.length);
  // Two 32-bit halves: a BigInt per element would cost ten times as much.
  const halves = new Int32Array(data.buffer);
  for (let i = 0; i < timesUs.length; i++) {
    halves[2 * i] = timesUs[i] % 2 ** 32;
    halves[2 * i + 1] = Math.floor(timesUs[i] / 2 ** 32);
  }
  return makeData({ type: new TimestampMicrosecond(), length: timesUs.length, nullCount: 0, data });
}

function dictionaryData(
  type: Dictionary<Utf8, Int32>,
  values: readonly string[],
  index: Int32Array,
): Data<DataType> {
  const encoder = new TextEncoder();
  const texts = encoder.encode(values.join(""));
  const valueOffsets = new Int32Array(values.length + 1);
  // Addresses are ASCII, so characters are bytes; anything else is measured.
  const isAscii = texts.length === values.reduce((sum, value) => sum + value.length, 0);
  values.forEach((value, i) => {
    valueOffsets[i + 1] = valueOffsets[i] + (isAscii ? value.length : encoder.encode(value).length);
  });
  const length = values.length;
  const dictionary = new Vector([
    makeData({ type: new Utf8(), length, nullCount: 0, valueOffsets, data: texts }),
  ]);
  return makeData({ type, length: index.length, nullCount: 0, data: index, dictionary });
}
