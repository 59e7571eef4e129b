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
import {
  decodeProbeRow,
  decodeProbeRowHeader,
  encodeProbeRow,
  type ProbeRow,
  probeRowSrcId,
} from "../../../lib/data/probe_rows/probe_row.ts";
import { encodeWithArrow } from "./probe_row_arrow.ts";

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
  dstAddrs: fc.array(fc.oneof(fc.ipV6(), fc.string({ unit: "grapheme" })), { minLength: 3, maxLength: 5 }),
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
    fc.property(probeRow, fc.nat(15), (row, shift) => {
      const bytes = encodeProbeRow(row);
      const shifted = new Uint8Array(bytes.length + shift);
      shifted.set(bytes, shift);
      assertEquals(decodeProbeRow(shifted.subarray(shift), WHERE), row);
    }),
    { numRuns: 60 },
  );
});

Deno.test("encodeProbeRow() writes the bytes that apache-arrow writes", () => {
  fc.assert(fc.property(probeRow, (row) => assertEquals(encodeProbeRow(row), encodeWithArrow(row).outer)), {
    numRuns: 100,
  });
});

Deno.test("decodeProbeRowHeader() reads the counts without the measurements", () => {
  const { measurements, ...header } = decodeProbeRowHeader(encodeProbeRow(example), WHERE);
  assertEquals(header, {
    srcId: example.srcId,
    numMeasurements: 3,
    timeSpanS: 4.5,
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

/** Replaces the inner stream of the example by another table. */
function withInner(columns: Record<string, Vector>): Uint8Array {
  const inner = tableToIPC(new Table(columns), "stream");
  const outer = {
    src_id: vectorFromArray([1n]),
    measurements: vectorFromArray([inner], new Binary()),
    n_measurements: makeVector(Int32Array.of(3)),
    time_span_seconds: makeVector(Float64Array.of(0)),
    first_timestamp: vectorFromArray([0], new TimestampMicrosecond()),
    last_timestamp: vectorFromArray([0], new TimestampMicrosecond()),
  };
  return tableToIPC(new Table(outer), "stream");
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

/** The example with a negative length for its dictionary of destinations, in its batch and its field node. */
function withNegativeLength(): Uint8Array {
  const bytes = encodeProbeRow(example);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 8 <= bytes.length; at += 4) {
    if (view.getBigInt64(at, true) === 2n) view.setBigInt64(at, -5n, true);
  }
  return bytes;
}

/** A record whose only column has a long name. */
function withLongName(length: number): Uint8Array {
  const lists = vectorFromArray([[1]], new List(new Field("i", new Int8())));
  return tableToIPC(new Table({ ["x".repeat(length)]: lists }), "stream");
}

Deno.test("decodeProbeRow() rejects invalid bytes with a short error that names the file and the record", () => {
  const noRow = tableToIPC(tableFromArrays({ a: Int32Array.of(1) }), "stream");
  const twoRows = tableToIPC(tableFromArrays({ src_id: Int32Array.of(1, 2) }), "stream");
  const cases: [Uint8Array, string][] = [
    [new Uint8Array(0), "no Arrow schema"],
    [new TextEncoder().encode("an image"), "Arrow message passes the end"],
    [noRow, "no column src_id"],
    [twoRows, "2 rows"],
    [withInner({ event_time: makeVector(Int32Array.of(1, 2)) }), "2 measurements, its n_measurements is 3"],
    [withInner({ event_time: TIMES }), "no column src_addr"],
    [withInner({ event_time: TIMES, src_addr: makeVector(Int32Array.of(1, 2, 3)) }), "expected utf8"],
    [inTwoBatches(), "several batches"],
    [withInts([1, 0, 1], [1, 2, 1]), "points outside its dictionary (measurement 1)"],
    [withInts([1, 0, 1], [-1, 0, 1]), "points outside its dictionary (measurement 0)"],
    [withInts([0, 12, 23], [0, 24, 23]), "reaches outside the record"],
    [withInts([0, 12, 23], [0, 12, 99]), "reaches outside the record"],
    [withInts([0, 12, 23], [-5, 12, 23]), "reaches outside the record"],
    [withNegativeLength(), "has -5 rows"],
    [withLongName(5000), "is list, which is not supported"],
    [withLongName(100_000), "not an Arrow IPC stream"],
  ];
  for (const [bytes, message] of cases) {
    const error = assertThrows(() => decodeProbeRow(bytes, WHERE), FormatError, message);
    assert(error.message.startsWith("Cannot read rows.arrayrecord at record 3: "), error.message);
    assert(error.message.length < 300, error.message);
  }
});

Deno.test("decodeProbeRow() returns a row or throws a FormatError for damaged bytes", () => {
  const bytes = encodeProbeRow(example);
  const attempt = (damaged: Uint8Array) => {
    try {
      decodeProbeRow(damaged, WHERE);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
  };
  for (let length = 0; length < bytes.length; length += 7) attempt(bytes.subarray(0, length));
  for (let i = 0; i < bytes.length; i++) {
    for (const change of [1, 0x80, 0xff]) {
      const damaged = bytes.slice();
      damaged[i] ^= change;
      attempt(damaged);
    }
  }
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
