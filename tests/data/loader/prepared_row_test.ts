import { assert, assertEquals, assertThrows } from "@std/assert";
import { PreparedRowCache, prepareRow } from "../../../lib/data/loader/prepared_row.ts";
import { FormatError } from "../../../lib/base/errors.ts";
import { measurementLength } from "../../../lib/data/tokens/vocab_v2.ts";
import type { ProbeRow } from "../../../lib/data/probe_rows/probe_row.ts";
import { MemoryRowSource, syntheticRow } from "./synthetic_rows.ts";

const WHERE = { path: "rows.arrayrecord", index: 17 };

Deno.test("prepareRow() parses addresses, floors times to seconds and counts tokens", () => {
  const row = syntheticRow(1, 9, 50);
  row.eventTimeUs[0] = 999_999;
  const prepared = prepareRow(row, WHERE);
  assertEquals(prepared.timeS[0], 0);
  assertEquals(prepared.sources[0], new Uint8Array([10, 0, 0, 9]));
  for (let i = 0; i < 50; i++) {
    const measurement = {
      source: prepared.sources[prepared.srcIndex[i]],
      destination: prepared.destinations[prepared.dstIndex[i]],
      rttCode: row.rttMs[i] < 0 ? null : 1000,
      timeS: null,
    };
    assertEquals(prepared.untimedLength[i], measurementLength(measurement, null));
  }
});

Deno.test("prepareRow() rejects an invalid row and reports where it is", () => {
  const broken = (change: (row: ReturnType<typeof syntheticRow>) => void) => {
    const row = syntheticRow(1, 9, 5);
    change(row);
    return () => prepareRow(row, WHERE);
  };
  const cases: [string, () => unknown][] = [
    ["10.0.0.300", broken((row) => row.dstAddrs[0] = "10.0.0.300")],
    ["RTT NaN", broken((row) => row.rttMs[3] = NaN)],
    ["RTT -2", broken((row) => row.rttMs[3] = -2)],
    ["RTT Infinity", broken((row) => row.rttMs[3] = Infinity)],
    ["ascending times", broken((row) => row.eventTimeUs[3] = 0)],
    ["ascending times", broken((row) => row.eventTimeUs[0] = -1)],
    ["ascending times", broken((row) => row.eventTimeUs[0] = NaN)],
  ];
  for (const [message, prepare] of cases) {
    const error = assertThrows(prepare, FormatError, message);
    assert(error.message.includes("rows.arrayrecord at row 17"), error.message);
  }
});

Deno.test("prepareRow() does not retain the buffer of the record", () => {
  const row = syntheticRow(1, 9, 50);
  const record = new ArrayBuffer(100_000);
  const within = <A extends Int32Array | Float32Array>(offset: number, array: A): A => {
    const Type = array.constructor as new (buffer: ArrayBuffer, offset: number, length: number) => A;
    const view = new Type(record, offset, array.length);
    view.set(array);
    return view;
  };
  const cut: ProbeRow = {
    ...row,
    srcIndex: within(0, row.srcIndex),
    dstIndex: within(1000, row.dstIndex),
    rttMs: within(2000, row.rttMs),
  };
  const prepared = prepareRow(cut, WHERE);
  assertEquals(prepared, prepareRow(row, WHERE));
  const { srcIndex, dstIndex, rttMs, timeS, untimedLength } = prepared;
  const arrays = [srcIndex, dstIndex, rttMs, timeS, untimedLength];
  assertEquals(arrays.reduce((sum, array) => sum + array.buffer.byteLength, 0), 21 * 50);
});

Deno.test("PreparedRowCache reads a cached row once and never exceeds its size limit", () => {
  const rows = [3, 4, 5, 10_000].map((numMeasurements, i) => syntheticRow(1, i, numMeasurements));
  const source = new MemoryRowSource(rows);
  const sizes = rows.map((_, index) => {
    const cache = new PreparedRowCache(source, Infinity);
    cache.get(index);
    return cache.sizeBytes;
  });
  const reads: number[] = [];
  const read = source.row.bind(source);
  source.row = (index) => (reads.push(index), read(index));
  // Rows and addresses count in addition to measurements.
  assertEquals(sizes[0], 1300 + 210 * 10 + 27 * 3);
  // Rows 0 and 2 fit together, with no byte to spare.
  const maxBytes = sizes[0] + sizes[2];
  const cache = new PreparedRowCache(source, maxBytes);
  const get = (index: number) => {
    assertEquals(cache.get(index).timeS.length, rows[index].rttMs.length);
    assert(cache.sizeBytes <= maxBytes);
  };
  for (const index of [0, 1, 0, 1]) get(index);
  assertEquals(reads, [0, 1]);
  get(0);
  get(2);
  // Row 1 is now the least recently used.
  get(0);
  assertEquals(reads, [0, 1, 2]);
  assertEquals(cache.sizeBytes, maxBytes);
  get(1);
  assertEquals(reads, [0, 1, 2, 1]);
  get(3);
  get(3);
  assertEquals(reads, [0, 1, 2, 1, 3, 3]);
});
