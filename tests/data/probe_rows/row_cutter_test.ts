import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import {
  makeGroup,
  nameColumns,
  type ProbeColumns,
  probeSchema,
} from "../../../lib/data/probe_rows/external_sort/probe_columns.ts";
import { addressToWords, KeyKind, KeyTable } from "../../../lib/data/probe_rows/external_sort/keys.ts";
import { RECORD_OVERHEAD_BYTES, RowCutter } from "../../../lib/data/probe_rows/probe_rows.ts";
import { makeColumn } from "../../../lib/data/probe_rows/external_sort/spill.ts";
import {
  decodeProbeRow,
  encodeProbeRow,
  type ProbeRow,
  probeRowSrcId,
} from "../../../lib/data/probe_rows/probe_row.ts";
import { parseAddress } from "../../../lib/data/addresses/ip.ts";

const WHERE = { path: "test" };

/** `numRows` measurements from 10.0.0.1 to `numDestinations` addresses in turn, a second apart. */
function columnsOf(numRows: number, numDestinations: number): ProbeColumns {
  const keys = new KeyTable();
  const columns = nameColumns(probeSchema("src_addr").map((column) => makeColumn(column, numRows)), keys);
  for (let row = 0; row < numRows; row++) {
    const destination = row % numDestinations;
    columns.timeUs[row] = 1e15 + row * 1e6;
    columns.rttMs[row] = row % 7 === 0 ? -1 : row / 8;
    columns.src[row] = keys.idOf(Uint32Array.of(0, 0, 0, 0x0a000001), 0, KeyKind.IPV4);
    columns.dst[row] = keys.idOf(Uint32Array.of(0, 0, 0, 0xc0000000 + destination), 0, KeyKind.IPV4);
  }
  return columns;
}

function cut(
  columns: ProbeColumns,
  numRows: number,
  maxBytes: number,
): { records: Uint8Array[]; rows: ProbeRow[] } {
  const records: Uint8Array[] = [];
  const cutter = new RowCutter(maxBytes, (row) => records.push(encodeProbeRow(row)));
  cutter.beginGroup(makeGroup(columns.keys, columns.group[0], 0));
  for (let row = 0; row < numRows; row++) cutter.push(columns, row);
  cutter.flush();
  return { records, rows: records.map((record) => decodeProbeRow(record, WHERE)) };
}

Deno.test("RowCutter cuts at measurement boundaries in time order and keeps every record below the limit", () => {
  for (const numDestinations of [1, 50, 5000]) {
    for (const maxBytes of [2 * RECORD_OVERHEAD_BYTES, 20_000, 100_000]) {
      const columns = columnsOf(5000, numDestinations);
      const { records, rows } = cut(columns, 5000, maxBytes);
      assert(records.length > 1);
      records.forEach((record, i) => {
        assertLessOrEqual(record.length, maxBytes);
        // All but the last are as full as the reckoning of the overhead allows.
        if (i < records.length - 1) {
          assert(record.length > maxBytes - RECORD_OVERHEAD_BYTES, `${record.length}`);
        }
      });
      assertEquals(rows.flatMap((row) => Array.from(row.eventTimeUs)), Array.from(columns.timeUs));
      assertEquals(rows.flatMap((row) => Array.from(row.rttMs)), Array.from(columns.rttMs));
    }
  }
});

Deno.test("RowCutter makes one record of a group that fits", () => {
  const columns = columnsOf(5000, 50);
  const { records, rows } = cut(columns, 5000, 8e6);
  assertEquals(records.length, 1);
  assertEquals(rows[0].srcId, probeRowSrcId("10.0.0.1"));
  assertEquals(rows[0].srcAddrs, ["10.0.0.1"]);
  assertEquals(rows[0].dstAddrs.length, 50);
  assertEquals(rows[0].dstAddrs[rows[0].dstIndex[49]], "192.0.0.49");
});

Deno.test("RowCutter starts a new record with each group, with dictionaries of its own", () => {
  const columns = columnsOf(6, 3);
  const bytes = parseAddress("2001:db8::5");
  assert(bytes);
  const { keys } = columns;
  const words = new Uint32Array(4);
  for (let row = 3; row < 6; row++) {
    addressToWords(bytes, words, 0);
    columns.src[row] = keys.idOf(words, 0, KeyKind.IPV6);
    columns.dst[row] = keys.idOf(Uint32Array.of(0, 0, 0, 0xc0000000 + row - 3), 0, KeyKind.IPV6);
  }
  const rows: ProbeRow[] = [];
  const cutter = new RowCutter(8e6, (row) => rows.push(decodeProbeRow(encodeProbeRow(row), WHERE)));
  for (let row = 0; row < 6; row++) {
    if (row % 3 === 0) cutter.beginGroup(makeGroup(keys, columns.group[row], 0));
    cutter.push(columns, row);
  }
  cutter.flush();
  cutter.flush();
  assertEquals(rows.map((row) => row.srcAddrs), [["10.0.0.1"], ["2001:db8::5"]]);
  assertEquals(rows.map((row) => row.srcId), ["10.0.0.1", "2001:db8::5"].map(probeRowSrcId));
  assertEquals(Array.from(rows[1].ipVersion), [6, 6, 6]);
  assertEquals(rows[1].dstAddrs, ["::c000:0", "::c000:1", "::c000:2"]);
});

Deno.test("RowCutter names a group of prb_id by the probe id and lists all its addresses", () => {
  const columns = columnsOf(3, 3);
  const { keys } = columns;
  columns.src[2] = keys.idOf(Uint32Array.of(0, 0, 0, 0x0a000002), 0, KeyKind.IPV4);
  const rows: ProbeRow[] = [];
  const cutter = new RowCutter(8e6, (row) => rows.push(decodeProbeRow(encodeProbeRow(row), WHERE)));
  cutter.beginGroup(makeGroup(keys, keys.idOf(Uint32Array.of(0, 0, 2, 6042), 0, KeyKind.PROBE), 0));
  for (let row = 0; row < 3; row++) cutter.push(columns, row);
  cutter.flush();
  assertEquals(rows[0].srcId, (2n << 32n) + 6042n);
  assertEquals(rows[0].srcAddrs, ["10.0.0.1", "10.0.0.2"]);
  assertEquals(Array.from(rows[0].srcIndex), [0, 0, 1]);
});
