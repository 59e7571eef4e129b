import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  Binary,
  Field,
  Int8,
  List,
  makeVector,
  RecordBatch,
  RecordBatchStreamWriter,
  Table,
  tableFromArrays,
  tableFromIPC,
  tableToIPC,
  TimestampMicrosecond,
  type Vector,
  vectorFromArray,
} from "apache-arrow";
import fc from "fast-check";
import { FormatError } from "../../../lib/base/errors.ts";
import { prepareRow } from "../../../lib/data/loader/prepared_row.ts";
import {
  decodeProbeRow,
  decodeProbeRowHeader,
  encodeProbeRow,
  type ProbeRow,
  probeRowSrcId,
} from "../../../lib/data/probe_rows/probe_row.ts";
import { syntheticRow } from "../loader/synthetic_rows.ts";

const WHERE = { path: "rows.arrayrecord", place: "record 3" };

const measurement = fc.record({
  timeUs: fc.integer({ min: -(2 ** 52), max: 2 ** 52 }),
  src: fc.nat(1),
  dst: fc.nat(2),
  version: fc.constantFrom(4, 6),
  rttMs: fc.float({ noNaN: true }),
});
const probeRow: fc.Arbitrary<ProbeRow> = fc.record({
  srcId: fc.bigInt({ min: 0n, max: 2n ** 60n - 1n }),
  srcAddrs: fc.array(fc.ipV4(), { minLength: 2, maxLength: 2 }),
  dstAddrs: fc.array(fc.oneof(fc.ipV6(), fc.string()), { minLength: 3, maxLength: 5 }),
  measurements: fc.array(measurement, { minLength: 1, maxLength: 40 }),
}).map(({ srcId, srcAddrs, dstAddrs, measurements }) => ({
  srcId,
  srcAddrs,
  dstAddrs,
  eventTimeUs: Float64Array.from(measurements.map((m) => m.timeUs)).sort(),
  srcIndex: Int32Array.from(measurements.map((m) => m.src)),
  dstIndex: Int32Array.from(measurements.map((m) => m.dst)),
  ipVersion: Int8Array.from(measurements.map((m) => m.version)),
  rttMs: Float32Array.from(measurements.map((m) => m.rttMs)),
}));

const example: ProbeRow = {
  srcId: probeRowSrcId("192.0.2.1"),
  srcAddrs: ["192.0.2.1"],
  dstAddrs: ["198.51.100.7", "203.0.113.9"],
  eventTimeUs: Float64Array.of(1_750_000_000_000_000, 1_750_000_000_000_001, 1_750_000_004_500_000),
  srcIndex: Int32Array.of(0, 0, 0),
  dstIndex: Int32Array.of(1, 0, 1),
  ipVersion: Int8Array.of(4, 4, 4),
  rttMs: Float32Array.of(12.5, -1, 0.25),
};

Deno.test("decodeProbeRow() inverts encodeProbeRow() at any byte alignment", () => {
  fc.assert(
    fc.property(probeRow, fc.nat(15), (without, shift) => {
      const row = shift % 2 === 0 ? without : { ...without, prbId: shift === 1 ? -1 : 2 ** (3 * shift) };
      const bytes = encodeProbeRow(row);
      const shifted = new Uint8Array(bytes.length + shift);
      shifted.set(bytes, shift);
      assertEquals(decodeProbeRow(shifted.subarray(shift), WHERE), row);
    }),
    { numRuns: 60 },
  );
});

Deno.test("encodeProbeRow() gives equal rows equal bytes, also if columns share an array", () => {
  const zeros = new Int32Array(4);
  const fields = {
    eventTimeUs: new Float64Array(4),
    ipVersion: new Int8Array(4),
    rttMs: new Float32Array(4),
  };
  const row = { ...example, ...fields, srcIndex: zeros, dstIndex: zeros };
  assertEquals(encodeProbeRow(row), encodeProbeRow({ ...row, dstIndex: zeros.slice() }));
  assertEquals(decodeProbeRow(encodeProbeRow(row), WHERE), row);
});

Deno.test("decodeProbeRowHeader() reads the counts without the measurements", () => {
  const { measurements, ...header } = decodeProbeRowHeader(encodeProbeRow(example), WHERE);
  assertEquals(header, {
    srcId: example.srcId,
    numMeasurements: 3,
    firstTimeUs: 1_750_000_000_000_000,
    lastTimeUs: 1_750_000_004_500_000,
  });
  assertEquals(measurements.length > 0, true);
});

Deno.test("probeRowSrcId() is the first 15 hex digits of the MD5 of the text", () => {
  // printf 192.0.2.1 | md5sum
  assertEquals(probeRowSrcId("192.0.2.1").toString(16), "d0f88d6c8776726");
  assertEquals(probeRowSrcId("") < 2n ** 60n, true);
});

const TIMES = vectorFromArray([1, 2, 3], new TimestampMicrosecond());

const COLUMNS = {
  event_time: TIMES,
  src_addr: vectorFromArray(["192.0.2.1", "192.0.2.1", "192.0.2.1"]),
  dst_addr: vectorFromArray(["192.0.2.2", "192.0.2.3", "192.0.2.2"]),
  ip_version: makeVector(Int8Array.of(4, 4, 4)),
  rtt: makeVector(Float32Array.of(1, 2, 3)),
};

/** A record of three measurements with these columns. */
function withInner(columns: Record<string, Vector>): Uint8Array {
  return annotated({
    src_id: vectorFromArray([1n]),
    measurements: vectorFromArray([annotated(columns)], new Binary()),
    n_measurements: makeVector(Int32Array.of(3)),
    time_span_seconds: makeVector(Float64Array.of(0)),
    first_timestamp: vectorFromArray([0], new TimestampMicrosecond()),
    last_timestamp: vectorFromArray([0], new TimestampMicrosecond()),
  });
}

/** A stream with texts in the metadata of its schema and its batch. */
function annotated(columns: Record<string, Vector>): Uint8Array {
  const table = new Table(columns);
  for (const { metadata } of [table.schema, ...table.batches]) metadata.set("key", "value");
  return tableToIPC(table, "stream");
}

function inTwoBatches(): Uint8Array {
  const table = tableFromIPC(encodeProbeRow(example));
  const writer = new RecordBatchStreamWriter();
  for (let i = 0; i < 2; i++) writer.write(new RecordBatch(table.schema, table.batches[0].data));
  writer.finish();
  return writer.toUint8Array(true);
}

/** The example's bytes with the first sequence of these int32 replaced. */
function withInts(found: number[], put: number[]): Uint8Array {
  const bytes = encodeProbeRow(example);
  const wanted = new Uint8Array(Int32Array.from(found).buffer);
  const at = bytes.findIndex((_, i) => wanted.every((byte, k) => bytes[i + k] === byte));
  assert(at >= 0, `${found} are not in the record`);
  bytes.set(new Uint8Array(Int32Array.from(put).buffer), at);
  return bytes;
}

/** A record of 37 measurements with all 64-bit integers of this value, such as lengths, replaced. */
function withLongs(found: bigint, put: bigint): Uint8Array {
  const bytes = encodeProbeRow(syntheticRow(1, 1, 37));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 8 <= bytes.length; at += 4) {
    if (view.getBigInt64(at, true) === found) view.setBigInt64(at, put, true);
  }
  return bytes;
}

/** A record whose only column has a long name. */
function withLongName(length: number): Uint8Array {
  const lists = vectorFromArray([[1]], new List(new Field("i", new Int8())));
  return tableToIPC(new Table({ ["x".repeat(length)]: lists }), "stream");
}

/** A record with this number of columns. */
function withColumns(count: number): Uint8Array {
  const one = Int8Array.of(1);
  return tableToIPC(tableFromArrays(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, one]))));
}

Deno.test("decodeProbeRow() rejects invalid bytes with a short error that names the file and the record", () => {
  const noRow = tableToIPC(tableFromArrays({ a: Int32Array.of(1) }), "stream");
  const twoRows = tableToIPC(tableFromArrays({ src_id: Int32Array.of(1, 2) }), "stream");
  const cases: [Uint8Array, string][] = [
    [new Uint8Array(0), "0 batches"],
    [new TextEncoder().encode("an image"), "bytes of metadata"],
    [noRow, "no column src_id"],
    [twoRows, "2 rows"],
    [withInner({ event_time: makeVector(Int32Array.of(1, 2)) }), "2 measurements, its n_measurements is 3"],
    [withInner({ event_time: TIMES }), "no column src_addr"],
    [withInner({ event_time: TIMES, src_addr: makeVector(Int32Array.of(1, 2, 3)) }), "expected utf8"],
    [inTwoBatches(), "2 batches"],
    [withInts([1, 0, 1], [1, 2, 1]), "points outside its dictionary (measurement 1)"],
    [withInts([1, 0, 1], [-1, 0, 1]), "points outside its dictionary (measurement 0)"],
    [withInts([0, 12, 23], [0, 24, 23]), "reaches outside the record"],
    [withInts([0, 12, 23], [0, 12, 99]), "reaches outside the record"],
    [withInts([0, 12, 23], [-5, 12, 23]), "reaches outside the record"],
    // Numbers of rows, then lengths and offsets of buffers.
    [withInts([3, 0, 0, 0, 3, 0, 0, 0], [0, 256, 0, 0, 3, 0, 0, 0]), "column has 1099511627776 rows"],
    [withLongs(37n, 2n ** 31n - 1n), "is truncated"],
    [withLongs(37n, -1n), "0 batches"],
    [withLongs(8n * 37n, 2n ** 40n), "is truncated"],
    [withLongs(8n * 37n, -8n), "is truncated"],
    [withLongName(100), "nested"],
    [withLongName(100_000), "bytes of metadata"],
    [withColumns(1050), "a list of 1050 elements"],
  ];
  for (const [bytes, message] of cases) {
    const error = assertThrows(() => decodeProbeRow(bytes, WHERE), FormatError, message);
    assert(error.message.startsWith("Cannot read rows.arrayrecord at record 3: "), error.message);
    assert(error.message.length < 300, error.message);
  }
});

Deno.test("a decoded row with an address that is not UTF-8 or with times out of order is rejected on use", () => {
  const faults = [
    [withInts([0x2e323931], [0x2effffff]), "found the address"],
    [encodeProbeRow({ ...example, eventTimeUs: example.eventTimeUs.toReversed() }), "ascending times"],
  ] as const;
  for (const [bytes, message] of faults) {
    const row = decodeProbeRow(bytes, WHERE);
    assertThrows(() => prepareRow(row, { path: "rows", index: 0 }), FormatError, message);
  }
});

/** @returns Whether the bytes were a row. */
function attempt(bytes: Uint8Array): boolean {
  try {
    decodeProbeRow(bytes, WHERE);
    return true;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return false;
  }
}

Deno.test("decodeProbeRow() returns a row or throws a FormatError for damaged bytes", () => {
  const bytes = encodeProbeRow(example);
  for (let length = 0; length < bytes.length; length += 7) attempt(bytes.subarray(0, length));
  for (let i = 0; i < bytes.length; i++) {
    for (const change of [1, 0x80, 0xff]) attempt(bytes.with(i, bytes[i] ^ change));
  }
});

Deno.test("decodeProbeRow() ends soon whatever one of the lengths and offsets of a forged record is", () => {
  const bytes = withInner(COLUMNS);
  assert(attempt(bytes));
  const forged = bytes.slice();
  const view = new DataView(forged.buffer);
  let numRejected = 0;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    // An offset of 0 is a cycle.
    for (const value of [0, 1, -1, 4, -8, 1000, 2 ** 24, 2 ** 31 - 1, -(2 ** 31)]) {
      view.setInt32(at, value, true);
      if (!attempt(forged)) numRejected++;
    }
    forged.set(bytes.subarray(at, at + 4), at);
  }
  assert(numRejected > bytes.length / 4, `${numRejected}`);
});

for (const name of ["dictionary", "plain", "small_index"]) {
  Deno.test(`decodeProbeRow() reads what Arrow's Python library wrote (${name})`, () => {
    const url = new URL(`../../golden/probe_row/${name}.arrow`, import.meta.url);
    assertEquals(decodeProbeRow(Deno.readFileSync(url), WHERE), {
      ...example,
      dstAddrs: ["203.0.113.9", "198.51.100.7"],
      dstIndex: Int32Array.of(0, 1, 0),
    });
  });
}
