/**
 * Probe rows as apache-arrow writes them: the source of the sample in probe_row.ts, and the reference for its
 * tests.
 *
 * @module
 */
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
import type { ProbeRow } from "../../../lib/data/probe_rows/probe_row.ts";

// Dictionary ids are given explicitly: otherwise apache-arrow counts them up while the process runs, and the
// same row would have different bytes each time. 0 and 1 are the ids of Arrow's C++ library.
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
 * Encodes a row; about 100 times slower than the encoder if there are few measurements.
 *
 * @param row At least one measurement, in time order.
 * @returns An Arrow IPC stream, and the stream nested in it.
 */
export function encodeWithArrow(row: ProbeRow): { outer: Uint8Array; inner: Uint8Array } {
  const n = row.eventTimeUs.length;
  const inner = encodeBatch(INNER_SCHEMA, n, [
    timestampData(row.eventTimeUs),
    dictionaryData(INNER_SCHEMA.fields[1].type as Dictionary<Utf8, Int32>, row.srcAddrs, row.srcIndex),
    dictionaryData(INNER_SCHEMA.fields[2].type as Dictionary<Utf8, Int32>, row.dstAddrs, row.dstIndex),
    makeData({ type: new Int8(), length: n, nullCount: 0, data: row.ipVersion }),
    makeData({ type: new Float32(), length: n, nullCount: 0, data: row.rttMs }),
  ]);
  const firstUs = row.eventTimeUs[0];
  const lastUs = row.eventTimeUs[n - 1];
  const offsets = Int32Array.of(0, inner.length);
  const outer = encodeBatch(OUTER_SCHEMA, 1, [
    makeData({ type: new Int64(), length: 1, nullCount: 0, data: BigInt64Array.of(row.srcId) }),
    makeData({ type: new Binary(), length: 1, nullCount: 0, valueOffsets: offsets, data: inner }),
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
  return { outer, inner };
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
  // Two 32-bit halves: a BigInt per element would be ten times slower.
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
