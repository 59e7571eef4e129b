import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { SchemaElement } from "hyparquet";
import { FormatError } from "../../../lib/base/errors.ts";
import { type ReadingOptions, USUAL_READING } from "../../../lib/data/formats/format.ts";
import type { Found } from "../../../lib/data/formats/reader.ts";
import type { Reading } from "../../../lib/data/formats/reading.ts";
import { parseColumns } from "../../../lib/data/formats/table.ts";
import { ownReading, readParquetTable } from "../../../lib/data/measurement_files/parquet_table.ts";
import { othersOf, rowsOf, rttsOf } from "../formats/findings.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";
import { makeBatch, writeParquet } from "./batches.ts";
import { double, int64, text, writeForeign } from "./foreign_parquet.ts";

const TIME_S = 1_750_000_000;
const DST = "198.51.100.7";

async function foundIn(path: string, options: Partial<ReadingOptions> = {}): Promise<Found[]> {
  const found: Found[] = [];
  for await (const some of readParquetTable(path, { ...USUAL_READING, ...options })) found.push(...some);
  return found;
}

Deno.test("Parquet: other column names, units, constants and host names, as in a table", () =>
  withFolder(async (folder) => {
    const path = writeForeign(folder, [
      { name: "when", data: [0n, 500n, 500n].map((ms) => BigInt(TIME_S) * 1000n + ms), schema: int64 },
      { name: "target", data: ["Web", `${DST}:443`, `::ffff:${DST}`], schema: text },
      { name: "seconds", data: [0.034, 0, null], schema: double },
    ]);
    const options = {
      columns: parseColumns("time_ms=when,rtt_s=seconds"),
      src: ["192.0.2.1"],
      noReply: ["0", "lost"],
      addresses: new Map([["web", "198.51.100.9"]]),
    };
    assertEquals(rowsOf(await foundIn(path, options)), [
      ["198.51.100.9", TIME_S, 34],
      [DST, TIME_S + 0.5, -1],
      [DST, TIME_S + 0.5, -1],
    ]);
    for (
      const [changes, message] of [
        [{ src: undefined }, "found the columns when, target, seconds, expected src; name them"],
        [{ columns: undefined }, "expected rtt; name them"],
      ] as const
    ) await assertRejects(() => foundIn(path, { ...options, ...changes }), FormatError, message);
    const untimed = await foundIn(path, { ...options, columns: parseColumns("rtt_s=seconds") });
    assertEquals(rowsOf(untimed).map(([, timeS]) => timeS), [null, null, null]);
    const texts = await foundIn(path, {
      ...options,
      columns: parseColumns("time=target,rtt_s=seconds,dst=target"),
    });
    assertEquals(othersOf(texts).map(([, why]) => why), Array(3).fill("invalidTime"));
  }));

Deno.test("Parquet: naive times take the zone, constants the other end's version, losses are told beside", () =>
  withFolder(async (folder) => {
    const micros: Partial<SchemaElement> = {
      type: "INT64",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: false, unit: "MICROS" },
    };
    const times = [0, 1, 2, 3, 4].map((s) => BigInt(TIME_S + s) * 1_000_000n + 123n);
    const path = writeForeign(folder, [
      { name: "time", data: times, schema: micros },
      { name: "dst", data: [DST, "2001:db8::7", DST, DST, DST], schema: text },
      { name: "rtt", data: [34, 35, 1000, 36, 37], schema: double },
      { name: "success", data: [1n, 1n, 0n, 1n, 1n], schema: int64 },
      { name: "status", data: ["up", "up", "up", "down", "maintenance"], schema: text },
    ]);
    const said: Reading[] = [];
    const options = {
      src: ["192.0.2.1", "2001:db8::1"],
      onReading: (reading: Reading) => said.push(reading),
    };
    const found = await foundIn(path, { ...options, zone: "Asia/Kolkata" });
    const local = TIME_S - 19_800 + 123e-6;
    assertEquals(rowsOf(found), [
      [DST, local, 34],
      ["2001:db8::7", local + 1, 35],
      [DST, local + 2, -1],
      [DST, local + 3, -1],
    ]);
    assertEquals(othersOf(found), [[5, "status maintenance"]]);
    assertEquals(said.map(({ format, source }) => [format, source]), [
      ["parquet", "192.0.2.1 or 2001:db8::1 (--src)"],
    ]);
    assertStringIncludes(said[0].noReply, "success 0 or false, or status 0, down");
    assertEquals(rowsOf(await foundIn(path, options))[0], [DST, TIME_S + 123e-6, 34]);
  }));

Deno.test("Parquet: long tables, tables of routes and RTTs as text are read as in CSV", () =>
  withFolder(async (folder) => {
    const path = writeForeign(folder, [
      { name: "time", data: [0, 0, 60, 60].map((s) => BigInt(TIME_S + s)), schema: int64 },
      { name: "dst", data: Array(4).fill(DST), schema: text },
      { name: "metric", data: ["rtt_avg", "rtt_max", "rtt_avg", "packet_loss"], schema: text },
      { name: "rtt", data: ["34 ms", "99", null, "100"], schema: text },
    ]);
    const found = await foundIn(path, { src: ["192.0.2.1"] });
    assertEquals(rttsOf(found), [34, -1]);
    assertEquals(othersOf(found).map(([line]) => line), [2, 4]);
    const route = writeForeign(folder, [
      { name: "time", data: [0, 0].map((s) => BigInt(TIME_S + s)), schema: int64 },
      { name: "dst", data: [DST, DST], schema: text },
      { name: "hop_ip", data: ["192.0.2.254", DST], schema: text },
      { name: "rtt", data: [3, 12], schema: double },
    ]);
    assertEquals(rttsOf(await foundIn(route, { src: ["192.0.2.1"] })), [12]);
    const flags = writeForeign(folder, [
      { name: "time", data: [BigInt(TIME_S)], schema: int64 },
      { name: "dst", data: [DST], schema: text },
      { name: "rtt", data: [3], schema: double },
      { name: "success", data: [true], schema: { type: "BOOLEAN" } },
    ]);
    const message = "column success is of type BOOLEAN, expected numbers or text; convert the column";
    await assertRejects(() => foundIn(flags, { src: ["192.0.2.1"] }), FormatError, message);
  }));

Deno.test("ownReading() knows the files of this program, unless columns are named", () =>
  withFolder(async (folder) => {
    writeParquet(`${folder}/own.parquet`, makeBatch(10));
    const reading = await ownReading(`${folder}/own.parquet`, USUAL_READING);
    assertEquals([reading?.format, reading?.destination], ["parquet", "dst_addr"]);
    const columns = parseColumns("rtt=rtt");
    assertEquals(await ownReading(`${folder}/own.parquet`, { ...USUAL_READING, columns }), undefined);
    assertEquals(rowsOf(await foundIn(`${folder}/own.parquet`)).length, 10);
    const foreign = writeForeign(folder, [{ name: "rtt", data: [1], schema: double }]);
    assert(await ownReading(foreign, USUAL_READING) === undefined);
  }));
