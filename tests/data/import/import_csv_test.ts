import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { FormatError, UsageError, UserError } from "../../../lib/base/errors.ts";
import {
  importMeasurements,
  type ImportOptions,
  type ImportSummary,
} from "../../../lib/data/import/import_measurements.ts";
import { parseColumns } from "../../../lib/data/formats/table.ts";
import { runProgram, runStageProcess, succeeded } from "../../cli/process.ts";
import { joinBatches, readAll, realData } from "../measurement_files/batches.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";

const CHILD = fromFileUrl(new URL("import_memory_child.ts", import.meta.url));
const COLUMNS = parseColumns("src=from,dst=to,time=when,rtt=ms");

async function importInto(
  folder: string,
  paths: string[],
  options: Partial<ImportOptions> = {},
): Promise<ImportSummary> {
  return await importMeasurements(paths, `${folder}/out.parquet`, {
    ...{ source: "auto", rtt: "mean", maxRejectRatio: 0.05, memoryLimitBytes: 1e9 },
    rejectsPath: `${folder}/out.rejects.jsonl`,
    ...options,
  });
}

const readBack = async (folder: string) => joinBatches((await readAll([`${folder}/out.parquet`])).batches);

Deno.test("importMeasurements() reads the named columns in any order, quoted or not, among others", () =>
  withFolder(async (folder) => {
    const lines = [
      `note,ms,to,when,from`,
      `"a, ""b""\nc",12.5,198.51.100.7,2023-11-14T22:13:20Z,192.0.2.1`,
      `,,198.51.100.7,1700000001,192.0.2.1`,
      `,*,"2001:DB8::1", 1700000002.25 ,2001:db8:0::2`,
      `,-1,198.51.100.7,2023-11-15,192.0.2.1`,
      `,-1.0,198.51.100.7,2023-11-15,192.0.2.1`,
    ];
    Deno.writeTextFileSync(`${folder}/in.txt`, lines.join("\r\n"));
    const summary = await importInto(folder, [`${folder}/in.txt`], { columns: COLUMNS });
    assertEquals(summary, {
      rows: 5,
      failed: 4,
      duplicates: 0,
      skippedByType: {},
      rejected: {},
      sources: 2,
      destinations: 2,
      firstTimeS: 1_700_000_000,
      lastTimeS: 1_700_006_400,
    });
    const batch = await readBack(folder);
    assertEquals(Array.from(batch.eventTimeUs.subarray(0, 3), (us) => us / 1e6 - 1.7e9), [0, 1, 2.25]);
    assertEquals(batch.srcAddr.slice(1, 3), ["192.0.2.1", "2001:db8::2"]);
    assertEquals(batch.dstAddr.slice(1, 3), ["198.51.100.7", "2001:db8::1"]);
    assertEquals(Array.from(batch.ipVersion), [4, 4, 6, 4, 4]);
    assertEquals(Array.from(batch.rttMs), [12.5, -1, -1, -1, -1]);
    assert(batch.prbId?.every(Number.isNaN));
  }));

Deno.test("importMeasurements() takes columns by their names in measurements Parquet, and the optional ones there are", () =>
  withFolder(async (folder) => {
    const header = "prb_id,event_time,src_addr,dst_addr,rtt,msm_id";
    const rows = ["7,1700000000,192.0.2.1,192.0.2.2,1,9", ",1700000000,192.0.2.1,192.0.2.2,2,9"];
    Deno.writeTextFileSync(`${folder}/a.csv`, [header, ...rows].join("\n"));
    const other = "time_ms,src,dst,rtt\n1700000000123,192.0.2.1,192.0.2.2,3";
    Deno.writeTextFileSync(`${folder}/b.csv`, other);
    await importInto(folder, [`${folder}/a.csv`]);
    const batch = await readBack(folder);
    assertEquals([batch.prbId, batch.msmId], [Float64Array.of(7, NaN), Float64Array.of(9, 9)]);
    await importInto(folder, [`${folder}/b.csv`]);
    assertEquals((await readBack(folder)).eventTimeUs, Float64Array.of(1_700_000_000_123_000));
    await importInto(folder, [`${folder}/a.csv`, `${folder}/b.csv`]);
    assertEquals((await readBack(folder)).numRows, 3);
    Deno.writeTextFileSync(`${folder}/c.csv`, "time,src,to_whom,rtt\n1700000000,192.0.2.1,192.0.2.2,3");
    const wrong = () => importInto(folder, [`${folder}/a.csv`, `${folder}/c.csv`]);
    await assertRejects(wrong, FormatError, "c.csv at its header");
  }));

Deno.test("importMeasurements() takes a result of a table once, whatever the memory", () =>
  withFolder(async (folder) => {
    const rows = Array.from(
      { length: 800 },
      (_, i) => `${1_700_000_000 + i % 400},192.0.2.1,192.0.2.2,${i + 1},9,${i % 400}`,
    );
    Deno.writeTextFileSync(`${folder}/a.csv`, ["time,src,dst,rtt,msm_id,prb_id", ...rows].join("\n"));
    for (const memoryLimitBytes of [1e9, 2000]) {
      const summary = await importInto(folder, [`${folder}/a.csv`], { memoryLimitBytes });
      assertEquals([summary.rows, summary.duplicates], [400, 400]);
      assertEquals((await readBack(folder)).rttMs, Float64Array.from({ length: 400 }, (_, i) => i + 1));
    }
  }));

Deno.test("importMeasurements() counts every row that it cannot use by its reason", () =>
  withFolder(async (folder) => {
    const good = "1700000000,192.0.2.1,192.0.2.2,1,9";
    const bad = [
      ["invalidTime", "17000000000000,192.0.2.1,192.0.2.2,1,9"],
      ["invalidTime", "soon,192.0.2.1,192.0.2.2,1,9"],
      ["nullValue", ",192.0.2.1,192.0.2.2,1,9"],
      ["nullValue", "1700000000,192.0.2.1,,1,9"],
      ["unparseableAddress", `1700000000,192.0.2.${"1".repeat(300)},192.0.2.2,1,9`],
      ["unparseableAddress", "1700000000,192.0.2.1,example.org,1,9"],
      ["versionMismatch", "1700000000,192.0.2.1,2001:db8::1,1,9"],
      ["invalidRtt", "1700000000,192.0.2.1,192.0.2.2,-2,9"],
      ["invalidRtt", "1700000000,192.0.2.1,192.0.2.2,fast,9"],
      ["invalidInteger", "1700000000,192.0.2.1,192.0.2.2,1,9.5"],
      ["invalidCsv", "1700000000,192.0.2.1,192.0.2.2,1"],
      ["invalidCsv", `"1700000000"0,192.0.2.1,192.0.2.2,1,9`],
    ];
    const lines = ["time,src,dst,rtt,msm_id", good, ...bad.map(([, line]) => line), good];
    Deno.writeTextFileSync(`${folder}/in.csv`, lines.join("\n"));
    const { rows, rejected } = await importInto(folder, [`${folder}/in.csv`], { maxRejectRatio: 1 });
    assertEquals(rows, 2);
    assertEquals(Object.values(rejected).reduce((sum, count) => sum + count, 0), bad.length);
    const listed = Deno.readTextFileSync(`${folder}/out.rejects.jsonl`).trim().split("\n")
      .map((line) => JSON.parse(line)).sort((a, b) => a.row - b.row);
    assertEquals(listed.map(({ reason, row }) => [reason, row]), bad.map(([reason], i) => [reason, i + 1]));
    assertEquals(listed[2].detail, "line 5: time; give it with --start TIME and --interval SECONDS");
    assertStringIncludes(listed[1].detail, "time soon: it is not a time");
    const error = await assertRejects(() => importInto(folder, [`${folder}/in.csv`]), UserError);
    assertStringIncludes(error.message, "12 of 14 rows were rejected");
  }));

Deno.test("importMeasurements() writes the same bytes whatever the compression", () =>
  withFolder(async (folder) => {
    const row = (i: number) => `${1.7e9 + i},192.0.2.${i % 250},198.51.100.${i % 7},${(i + 1) / 8}\n`;
    const text = "when,from,to,ms\n" + Array.from({ length: 30_000 }, (_, i) => row(i)).join("");
    const files = { csv: new TextEncoder().encode(text), gz: gzipSync(text), zst: zstdCompressSync(text) };
    const made: Uint8Array[] = [];
    for (const [name, bytes] of Object.entries(files)) {
      Deno.writeFileSync(`${folder}/${name}`, new Uint8Array(bytes));
      const { rows } = await importInto(folder, [`${folder}/${name}`], { columns: COLUMNS });
      assertEquals(rows, 30_000);
      made.push(Deno.readFileSync(`${folder}/out.parquet`));
    }
    assertEquals([made[1], made[2]], [made[0], made[0]]);
  }));

Deno.test("importMeasurements() gives an all-pairs matrix back that was written as CSV", async () => {
  const data = realData("mesh");
  await withFolder(async (folder) => {
    const matrix = joinBatches((await readAll([`${data}/seattle-001-040.parquet`])).batches);
    const lines = matrix.srcAddr.map((src, row) =>
      `${new Date(matrix.eventTimeUs[row] / 1e3).toISOString()},${src},${matrix.dstAddr[row]},${
        matrix.rttMs[row]
      }\n`
    );
    Deno.writeTextFileSync(`${folder}/in.csv`, "event_time,src_addr,dst_addr,rtt\n" + lines.join(""));
    const { rows, rejected } = await importInto(folder, [`${folder}/in.csv`]);
    assertEquals([rows, rejected], [34_800, {}]);
    const batch = await readBack(folder);
    assertEquals([batch.eventTimeUs, batch.rttMs], [matrix.eventTimeUs, matrix.rttMs]);
    assertEquals([batch.srcAddr, batch.dstAddr], [matrix.srcAddr, matrix.dstAddr]);
  });
});

Deno.test("importMeasurements() holds no more memory for a long file", () =>
  withFolder(async (folder) => {
    const path = `${folder}/in.csv`;
    using file = Deno.openSync(path, { write: true, create: true });
    const write = (text: string) => file.writeSync(new TextEncoder().encode(text));
    write("time,src,dst,rtt,note\n");
    const row = (i: number) => `1700000000,192.0.2.${i % 200},198.51.100.${i % 250},5,"${"x".repeat(300)}"\n`;
    const part = Array.from({ length: 2000 }, (_, i) => row(i)).join("");
    for (let i = 0; i < 240; i++) write(part);
    assert(Deno.statSync(path).size > 160e6);
    const { stdout } = await succeeded(runProgram([CHILD, path, `${folder}/out.parquet`]));
    const { rows, moreBytes } = JSON.parse(stdout);
    assertEquals(rows, 480_000);
    assert(moreBytes < 150e6, `${Math.round(moreBytes / 1e6)} MB more`);
  }));

Deno.test("parseColumns() takes a name for each key and says what is missing", () => {
  const columns = parseColumns("rtt=a=b,src=x y,dst=d,time_us=t,size=s");
  assertEquals([...columns], [["rtt", "a=b"], ["src", "x y"], ["dst", "d"], ["time_us", "t"], ["size", "s"]]);
  const faults = {
    "": "found the key ''",
    "src=a,dst=b,rtt=c,time=d,time_ms=e": "found time and time_ms",
    "rtt=a,rtt_s=b": "found rtt and rtt_s",
    "src=a,src=b": "found src twice",
    "src=": "found no name for src",
    "from=a": "found the key from",
  };
  for (const [text, fault] of Object.entries(faults)) {
    assertThrows(() => parseColumns(text), UsageError, fault);
  }
});

Deno.test("import takes CSV by name or by --columns, also from standard input, and ends with one line where it is bad", () =>
  withFolder(async (folder) => {
    const text = "t,a,b,r\n1700000000,192.0.2.1,192.0.2.2,5\n";
    Deno.writeTextFileSync(`${folder}/in.csv`, text.replace("t,a,b,r", "time,src,dst,rtt"));
    Deno.writeTextFileSync(`${folder}/other.csv`, text);
    Deno.writeTextFileSync(`${folder}/twice.csv`, text.replace("t,", "r,"));
    Deno.writeTextFileSync(`${folder}/in.json`, "[]");
    Deno.writeTextFileSync(`${folder}/empty.csv`, "");
    Deno.writeTextFileSync(`${folder}/header.csv`, "time,src,dst,rtt\n");
    const columns = ["--columns", "src=a,dst=b,time=t,rtt=r"];
    const run = async (name: string, ...args: string[]) => {
      const stdin = new TextEncoder().encode(text);
      return await runStageProcess(["import", "--output", `${folder}/${name}`, ...args, "--json"], { stdin });
    };
    for (
      const [i, args] of [[`${folder}/in.csv`], [`${folder}/other.csv`, ...columns], ["-", ...columns]]
        .entries()
    ) {
      const { code, stdout, stderr } = await run(`${i}.parquet`, "--input", ...args);
      assertEquals([code, stderr], [0, ""]);
      const { rows, skipped, firstTime } = JSON.parse(stdout);
      assertEquals([rows, skipped, firstTime], [1, 0, "2023-11-14T22:13:20.000Z"]);
    }
    assertEquals(Deno.readFileSync(`${folder}/1.parquet`), Deno.readFileSync(`${folder}/0.parquet`));
    const cases: [string[], number, string][] = [
      [["other.csv"], 1, "at its header: found the columns t, a, b, r, expected src, dst, rtt; name them"],
      [["in.csv", ...columns], 1, "found the columns time, src, dst, rtt, expected one a for src"],
      [["twice.csv", ...columns], 1, "found the columns r, a, b, r, expected one t for time"],
      [["empty.csv"], 1, "no object and no row"],
      [["header.csv"], 1, "found no row below the header"],
      [["in.csv", "--columns", "srce=a"], 2, "Cannot use --columns srce=a: found the key srce"],
    ];
    for (const [[name, ...args], code, message] of cases) {
      const result = await run("bad.parquet", "--input", `${folder}/${name}`, ...args);
      assertEquals(result.code, code, result.stderr);
      assertStringIncludes(result.stderr, message);
      assertEquals(result.stderr.trim().split("\n").length, 1, result.stderr);
    }
  }));
