import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { SchemaElement } from "hyparquet";
import type { ColumnSource } from "hyparquet-writer";
import { FormatError, UserError } from "../../../lib/base/errors.ts";
import { readMeasurements, surveyInputs } from "../../../lib/data/measurement_files/parquet_reader.ts";
import { ROW_GROUP_ROWS } from "../../../lib/data/measurement_files/parquet_writer.ts";
import { RejectLog } from "../../../lib/data/measurement_files/rejects.ts";
import { joinBatches, makeBatch, readAll, writeParquet } from "./batches.ts";
import { double, int64, text, writeForeign } from "./foreign_parquet.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const TIME_S = 1_750_000_000;

function columns(
  changes: Record<string, Partial<ColumnSource & { schema: Partial<SchemaElement> }> | null> = {},
) {
  const defaults = {
    event_time: { data: [BigInt(TIME_S), BigInt(TIME_S + 1)], schema: int64 },
    src_addr: { data: ["192.0.2.1", "2001:db8::1"], schema: text },
    dst_addr: { data: ["192.0.2.2", "2001:db8::2"], schema: text },
    rtt: { data: [1.5, -1], schema: double },
  };
  return Object.entries({ ...defaults, ...changes }).flatMap(([name, column]) =>
    column ? [{ name, ...column } as ColumnSource & { schema: Partial<SchemaElement> }] : []
  );
}

Deno.test("readMeasurements() reads what MeasurementParquetWriter wrote, over several row groups", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const numRows = ROW_GROUP_ROWS + 1234;
    const written = writeParquet(path, makeBatch(100_000), makeBatch(numRows - 100_000, 100_000));
    assertEquals(written, { rows: numRows, sizeBytes: Deno.statSync(path).size });
    const { batches, rejects } = await readAll([path], { batchRows: 50_000 });
    assertEquals(rejects.counts, {});
    assertEquals(batches.map(({ firstRow }) => firstRow), [0, 50_000, 100_000, ROW_GROUP_ROWS]);
    assertEquals(joinBatches(batches), makeBatch(numRows));
    assertEquals((await surveyInputs([path, path])).numRows, 2 * numRows);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["f.parquet"]);
  }));

Deno.test("readMeasurements() omits optional columns that are absent or not requested", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const { msmId, prbId: _prbId, sizeBytes, packetErrorCount: _lost, ...needed } = makeBatch(10);
    writeParquet(path, { ...needed, msmId, sizeBytes });
    const [all] = (await readAll([path])).batches;
    assert(all.msmId && all.sizeBytes && !all.prbId && !all.packetErrorCount);
    const [some] = (await readAll([path], { columns: ["sizeBytes"] })).batches;
    assert(!some.msmId && some.sizeBytes);
    const error = await assertRejects(() => readAll([path], { required: ["prbId"] }), FormatError);
    assertStringIncludes(error.message, `Cannot read ${path}: column prb_id is missing`);
  }));

Deno.test("readMeasurements() rejects unusable rows, each with its reason, and keeps the others", () =>
  withFolder(async (folder) => {
    const inDays = (days: number) => BigInt(Math.round(Date.now() / 1000 + 86_400 * days));
    const rows: [string, bigint | null, string | null, string | null, number | null, bigint | null][] = [
      ["good", BigInt(TIME_S), "192.0.2.1", "192.0.2.2", 3, 4n],
      ["unparseableAddress", BigInt(TIME_S), "192.0.2.300", "192.0.2.2", 3, 4n],
      ["unparseableAddress", BigInt(TIME_S), "192.0.2.1", "", 3, 4n],
      ["versionMismatch", BigInt(TIME_S), "192.0.2.1", "192.0.2.2", 3, 6n],
      ["versionMismatch", BigInt(TIME_S), "192.0.2.1", "2001:db8::2", 3, 4n],
      ["nullValue", null, "192.0.2.1", "192.0.2.2", 3, 4n],
      ["nullValue", BigInt(TIME_S), null, "192.0.2.2", 3, 4n],
      ["nullValue", BigInt(TIME_S), "192.0.2.1", null, 3, 4n],
      ["good", BigInt(TIME_S), "192.0.2.1", "192.0.2.2", null, 4n],
      ["good", BigInt(TIME_S), "192.0.2.1", "192.0.2.2", NaN, 4n],
      ["good", BigInt(TIME_S), "192.0.2.1", "192.0.2.2", Infinity, 4n],
      ["invalidRtt", BigInt(TIME_S), "192.0.2.1", "192.0.2.2", -2, 4n],
      ["timeOutOfRange", 600_000_000n, "192.0.2.1", "192.0.2.2", 3, 4n],
      ["timeOutOfRange", 4_102_444_800n, "192.0.2.1", "192.0.2.2", 3, 4n],
      ["zeroRtt", BigInt(TIME_S), "192.0.2.1", "192.0.2.2", 0, 4n],
      ["timeInFuture", 4_102_444_799n, "192.0.2.1", "192.0.2.2", 3, 4n],
      ["timeInFuture", inDays(1.1), "192.0.2.1", "192.0.2.2", 3, 4n],
      ["good", inDays(0.9), "192.0.2.1", "192.0.2.2", 0.5, null],
    ];
    const path = writeForeign(
      folder,
      columns({
        event_time: { data: rows.map((row) => row[1]), schema: int64 },
        src_addr: { data: rows.map((row) => row[2]), schema: text },
        dst_addr: { data: rows.map((row) => row[3]), schema: text },
        rtt: { data: rows.map((row) => row[4]), schema: double },
        ip_version: { data: rows.map((row) => row[5]), schema: int64 },
      }),
    );
    const { batches, rejects } = await readAll([path]);
    assertEquals(batches.length, 1);
    assertEquals(Array.from(batches[0].rttMs), [3, -1, -1, -1, 0.5]);
    assertEquals(batches[0].numRowsRead, rows.length);
    const listed = rejects.snapshot().rows.sort((a, b) => a.row - b.row);
    assertEquals(
      listed.map(({ row, reason }) => [row, reason]),
      rows.flatMap(([reason], row) => reason === "good" ? [] : [[row, reason]]),
    );
  }));

Deno.test("readMeasurements() names the file and the column that is missing or of the wrong type", () =>
  withFolder(async (folder) => {
    for (const column of ["event_time", "src_addr", "dst_addr", "rtt"]) {
      const path = writeForeign(folder, columns({ [column]: null }));
      const error = await assertRejects(() => readAll([path]), FormatError);
      assertStringIncludes(error.message, `Cannot read ${path}: column ${column} is missing`);
    }
    const path = writeForeign(folder, columns({ rtt: { data: ["1", "2"], schema: text } }));
    const error = await assertRejects(() => readAll([path]), FormatError);
    assertStringIncludes(error.message, "column rtt is of type UTF8, expected a number");
  }));

Deno.test("readMeasurements() checks every file before it yields the first batch", () =>
  withFolder(async (folder) => {
    const good = `${folder}/good.parquet`;
    writeParquet(good, makeBatch(10));
    const bad = writeForeign(folder, columns({ rtt: null }));
    const reading = readMeasurements([good, bad], { rejects: new RejectLog() });
    await assertRejects(() => reading.next(), FormatError, "column rtt is missing");
  }));

Deno.test("readMeasurements() rejects files that are not Parquet or are truncated anywhere", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    await assertRejects(() => readAll([path]), UserError, "no such file");
    Deno.writeTextFileSync(path, `{"not": "Parquet"}`);
    await assertRejects(
      () => readAll([path]),
      FormatError,
      "it does not start with PAR1, expected a Parquet file",
    );
    writeParquet(path, makeBatch(500));
    const whole = Deno.readFileSync(path);
    for (let size = 0; size < whole.length; size += 97) {
      Deno.writeFileSync(path, whole.subarray(0, size));
      const error = await assertRejects(() => readAll([path]), FormatError);
      assertStringIncludes(error.message, path);
    }
  }));

Deno.test("readMeasurements() turns damaged bytes into a FormatError or rejected rows, and never hangs", () =>
  withFolder(async (folder) => {
    const own = `${folder}/own.parquet`;
    writeParquet(own, makeBatch(2000));
    const foreign = writeForeign(folder, [
      { name: "event_time", data: Array.from({ length: 2000 }, (_, i) => BigInt(TIME_S + i)), schema: int64 },
      { name: "src_addr", data: Array.from({ length: 2000 }, (_, i) => `192.0.2.${i % 9}`), schema: text },
      { name: "dst_addr", data: Array.from({ length: 2000 }, (_, i) => `192.0.2.${i % 11}`), schema: text },
      { name: "rtt", data: Array.from({ length: 2000 }, (_, i) => i % 5 === 0 ? null : i), schema: double },
    ]);
    for (const source of [own, foreign]) {
      const whole = Deno.readFileSync(source);
      const path = `${folder}/damaged.parquet`;
      for (let trial = 0; trial < 200; trial++) {
        const damaged = whole.slice();
        // Deterministic positions spread over the file, half of them in the footer.
        const at = trial % 2 === 0
          ? (trial * 7919) % whole.length
          : whole.length - 1 - (trial * 31) % Math.min(whole.length, 1500);
        damaged[at] ^= [0xff, 0x80, 0x01, 0x7f][trial % 4];
        Deno.writeFileSync(path, damaged);
        const startMs = performance.now();
        try {
          const { batches, rejects } = await readAll([path]);
          assert(joinBatches(batches).numRows + rejects.total <= 2000);
        } catch (error) {
          assert(error instanceof FormatError, `byte ${at}: ${error}`);
          assertStringIncludes(error.message, path);
        }
        assert(performance.now() - startMs < 120_000, `byte ${at} took too long`);
      }
    }
  }));

Deno.test("a flipped bit in a page that MeasurementParquetWriter wrote is detected", () =>
  withFolder(async (folder) => {
    const path = `${folder}/f.parquet`;
    const { eventTimeUs, srcAddr, dstAddr, ipVersion, rttMs, numRows } = makeBatch(2000);
    writeParquet(path, { eventTimeUs, srcAddr, dstAddr, ipVersion, rttMs, numRows });
    const whole = Deno.readFileSync(path);
    for (let at = 40; at < 2000; at += 61) { // inside the zstd frame of the first column
      const damaged = whole.slice();
      damaged[at] ^= 4;
      Deno.writeFileSync(path, damaged);
      await assertRejects(() => readAll([path]), FormatError, "column event_time is damaged");
    }
  }));
