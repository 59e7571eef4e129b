import { assert, assertEquals, assertThrows } from "@std/assert";
import { PreparedRowCache, prepareRow } from "../../lib/loader/prepared_row.ts";
import { MemoryRowSource } from "../../lib/loader/row_source.ts";
import { FormatError } from "../../lib/errors.ts";
import { measurementLength } from "../../lib/tokens/vocab_v2.ts";
import { syntheticRow } from "./synthetic_rows.ts";

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

Deno.test("prepareRow() refuses a row that is none, and says where it lies", () => {
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

Deno.test("PreparedRowCache reads a row once while it holds it, and never holds more than its bound", () => {
  const rows = [3, 4, 5, 100].map((numMeasurements, i) => syntheticRow(1, i, numMeasurements));
  const source = new MemoryRowSource(rows);
  const reads: number[] = [];
  const read = source.row.bind(source);
  source.row = (index) => (reads.push(index), read(index));
  const cache = new PreparedRowCache(source, 10);
  const get = (index: number) => {
    assertEquals(cache.get(index).timeS.length, rows[index].rttMs.length);
    assert(cache.numMeasurements <= 10);
  };
  for (const index of [0, 1, 0, 1]) get(index);
  assertEquals(reads, [0, 1]);
  get(0);
  get(2);
  // 3 + 4 + 5 is above 10: row 1 was used longest ago.
  get(0);
  assertEquals(reads, [0, 1, 2]);
  get(1);
  assertEquals(reads, [0, 1, 2, 1]);
  get(3);
  get(3);
  assertEquals(reads, [0, 1, 2, 1, 3, 3]);
});
