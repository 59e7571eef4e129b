/**
 * Data as people have them: six pings, the third one lost, in the forms that tools, spreadsheets and
 * databases write. All ways into the program must read the same measurements.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { convertArguments, splitArguments } from "../../lib/cli/options.ts";
import { FAILED_RTT_MS } from "../../lib/data/formats/batch.ts";
import { measurementLines } from "../../lib/query/questions/lines.ts";
import { parsePaste } from "../../lib/serve/page/paste.ts";
import { readingOf } from "../../tasks/reading.ts";
import { STAGES } from "../../tasks/stages.ts";
import { runStageProcess, succeeded } from "../cli/process.ts";
import { utf16 } from "../data/formats/findings.ts";
import { importInto } from "../data/import/imported.ts";
import { joinBatches, readAll } from "../data/measurement_files/batches.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";

const SRC = "192.0.2.10";
const DST = "198.51.100.7";
const START_S = 1_767_225_600;
/** RTTs of pings one minute apart; null for no reply. */
const RTTS_MS = [34.1, 34.3, null, 34.2, 1035.5, 33.9];
const WANTED = RTTS_MS.map((rttMs, i) => [SRC, DST, START_S + 60 * i, rttMs]);

const clock = (i: number, separator = " ") => `2026-01-01${separator}00:0${i}:00`;
const timeS = (i: number) => START_S + 60 * i;

/** A table of the pings. @param row The fields of a row. */
function table(header: string, row: (i: number, rttMs: number | null) => unknown[], separator = ","): string {
  return [header, ...RTTS_MS.map((rttMs, i) => row(i, rttMs).join(separator))].join("\n") + "\n";
}

/** The output of `ping`, with text before each line. */
function pingOutput(before: (i: number) => string): string {
  const replies = RTTS_MS.map((rttMs, i) =>
    before(i) +
    (rttMs === null
      ? `no answer yet for icmp_seq=${i + 1}`
      : `64 bytes from ${DST}: icmp_seq=${i + 1} ttl=57 time=${rttMs} ms`)
  );
  return [`${before(0)}PING ${DST} (${DST}) 56(84) bytes of data.`, ...replies, ""].join("\n");
}

const object = (i: number, rttMs: number | null) => ({ src: SRC, dst: DST, time: timeS(i), rtt: rttMs });
const objects = RTTS_MS.map((rttMs, i) => object(i, rttMs));
const atlas = RTTS_MS.map((rttMs, i) => ({
  ...{ type: "ping", af: 4, msm_id: 1, prb_id: 2, timestamp: timeS(i), from: SRC, src_addr: SRC },
  ...{ dst_addr: DST, sent: 1, rcvd: rttMs === null ? 0 : 1 },
  result: [rttMs === null ? { x: "*" } : { rtt: rttMs }],
}));
const lines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");
const plain = table("src,dst,time,rtt", (i, rttMs) => [SRC, DST, timeS(i), rttMs]);

/** The content of each form, and the options that it needs. */
const FORMS: Record<string, [content: string | Uint8Array, options?: string[]]> = {
  "a pandas table with an index and NaN": [
    table(",src,dst,time,rtt", (i, rttMs) => [i, SRC, DST, `${clock(i)}+00:00`, rttMs ?? "NaN"]),
  ],
  "R's write.csv2": [
    table('"";"src";"dst";"time";"rtt"', (i, rttMs) => {
      const quoted = [i, SRC, DST].map((each) => `"${each}"`);
      return [...quoted, timeS(i), rttMs === null ? "NA" : `${rttMs}`.replace(".", ",")];
    }, ";"),
  ],
  "German Excel": [
    "sep=;\r\n" + table(
      "src;dst;time;rtt",
      (i, rttMs) => [
        ...[SRC, DST, `01.01.2026 00:0${i}:00`],
        rttMs?.toLocaleString("de-DE", { minimumFractionDigits: 1 }) ?? "",
      ],
      ";",
    ).replaceAll("\n", "\r\n"),
  ],
  "PowerShell's Export-Csv in UTF-16": [
    utf16(
      "\ufeff#TYPE System.Object\r\n" +
        table(
          '"src","dst","time","rtt"',
          (i, rttMs) => [SRC, DST, clock(i, "T"), rttMs ?? "TimedOut"].map((each) => `"${each}"`),
        ),
    ),
  ],
  "Grafana's wide table in seconds with units": [
    table(`"Time","${DST}"`, (i, rttMs) => [clock(i), rttMs === null ? "" : `${rttMs / 1000} s`]),
    ["--src", SRC],
  ],
  "InfluxDB's annotated CSV": [
    "#group,false,true,false,false\n#datatype,string,long,dateTime:RFC3339,double,string\n#default,_result,,,,\n" +
    table(
      ",result,table,_time,_value,url",
      (i, rttMs) => ["", "", 0, `${clock(i, "T")}Z`, rttMs, `https://${DST}/`],
    ),
    ["--src", SRC, "--columns", "dst=url,time=_time,rtt=_value"],
  ],
  "InfluxDB's command-line output in nanoseconds": [
    table(
      "name,time,rtt_us",
      (i, rttMs) => ["ping", `${timeS(i)}000000000`, rttMs === null ? "" : rttMs * 1000],
    ),
    ["--src", SRC, "--dst", DST, "--columns", "time_ns=time"],
  ],
  "BigQuery": [table("src,dst,time,rtt", (i, rttMs) => [SRC, DST, `${clock(i)}.000000 UTC`, rttMs])],
  "Python's logging": [table("src,dst,time,rtt", (i, rttMs) => [SRC, DST, `"${clock(i)},000"`, rttMs])],
  "SQLite's shell": [
    table("id|msg|time|ping", (i, rttMs) => [i, "", `${clock(i)}.000`, rttMs], "|"),
    ["--src", SRC, "--dst", DST, "--columns", "rtt=ping"],
  ],
  "blackbox exporter's seconds, with 0 for no reply": [
    table("timestamp,instance,seconds", (i, rttMs) => [timeS(i), `${DST}:443`, (rttMs ?? 0) / 1000]),
    ["--src", SRC, "--columns", "dst=instance,rtt_s=seconds", "--no-reply", "0"],
  ],
  "a table without a header": [
    table("", (i, rttMs) => [timeS(i), rttMs ?? "timeout", DST]).slice(1),
    ["--src", SRC, "--columns", "time=1,rtt=2,dst=3"],
  ],
  "column names with commas": [
    table('"from, a","to, b",time,"RTT, ms"', (i, rttMs) => [SRC, DST, timeS(i), rttMs]),
    ["--columns", "src=from, a,dst=to, b,rtt=RTT, ms"],
  ],
  "ping -D": [pingOutput((i) => `[${timeS(i)}.000000] `), ["--src", SRC]],
  "ping | ts with a format": [pingOutput((i) => `${clock(i, "T")}+0000 `), ["--src", SRC]],
  "ping without timestamps": [pingOutput(() => ""), [
    "--src",
    SRC,
    "--start",
    `${clock(0)}Z`,
    "--interval",
    "60",
  ]],
  "date and ping in a loop": [
    RTTS_MS.map((rttMs, i) =>
      `Thu Jan  1 00:0${i}:00 UTC 2026\nPING ${DST} (${DST}) 56(84) bytes of data.\n` +
      (rttMs === null ? "" : `64 bytes from ${DST}: icmp_seq=1 ttl=57 time=${rttMs} ms\n`) +
      `\n--- ${DST} ping statistics ---\n1 packets transmitted, ${
        rttMs === null ? 0 : 1
      } received, 0% packet loss, time 0ms\n`
    ).join(""),
    ["--src", SRC],
  ],
  "fping -D": [
    RTTS_MS.map((rttMs, i) =>
      `[${timeS(i)}.00000] ${DST} : [${i}], ${
        rttMs === null ? "timed out" : `64 bytes, ${rttMs} ms`
      } (30.1 avg, 0% loss)\n`
    ).join(""),
    ["--src", SRC],
  ],
  "JSON lines with Python's NaN": [lines(objects).replaceAll('"rtt":null', '"rtt":NaN')],
  "a JSON list in an object": [JSON.stringify({ meta: { count: 6 }, data: { rows: objects } }, null, 2)],
  "RIPE Atlas' stream": [lines(atlas.map((result) => ["atlas_result", result]))],
  "RIPE Atlas' API": [JSON.stringify({ count: 6, results: atlas })],
};

/** Reading options, as on the command line. */
function readingFor(options: readonly string[]) {
  const args = ["--input", "-", "--output", "out.parquet", ...options];
  return readingOf(convertArguments(splitArguments(args, STAGES.import.options), STAGES.import.options));
}

/** The rows of a measurements Parquet file. */
async function rowsOf(path: string): Promise<unknown[][]> {
  const { eventTimeUs, srcAddr, dstAddr, rttMs } = joinBatches((await readAll([path])).batches);
  return Array.from(rttMs, (ms, i) => [
    ...[srcAddr[i], dstAddr[i], eventTimeUs[i] / 1e6],
    ms === FAILED_RTT_MS ? null : Number(ms.toFixed(6)),
  ]);
}

for (const [name, [content, options = []]] of Object.entries(FORMS)) {
  Deno.test(`import reads ${name}`, async () => {
    using folder = new TemporaryFolder();
    const path = folder.at("in.txt");
    if (typeof content === "string") Deno.writeTextFileSync(path, content);
    else Deno.writeFileSync(path, content);
    const { rejected, rows } = await importInto(folder.path, [path], await readingFor(options));
    assertEquals([rows, rejected], [RTTS_MS.length, {}]);
    assertEquals(await rowsOf(folder.at("out.parquet")), WANTED);
  });
}

/** Forms that need only --src, which all ways into the program take. */
const ANYWHERE = Object.entries(FORMS).flatMap(([name, [content, options = ["--src", SRC]]]) =>
  typeof content === "string" && options.join() === `--src,${SRC}` ? [{ name, content }] : []
);

Deno.test("the API and the page parse the same text identically", async () => {
  for (const { name, content } of ANYWHERE) {
    const { pings, faults } = parsePaste(content, { source: SRC, endTimeS: null });
    const pasted = pings.map(({ src, dst, time, rtt }) => [src, dst, time, rtt]);
    assertEquals([pasted, faults], [WANTED, []], name);
    const found: unknown[] = [];
    const texts = ReadableStream.from(content.split("\n"));
    for await (const { read } of measurementLines(texts, { isText: true, src: SRC, withIds: false })) {
      const { src, dst, time, rtt } = read() as Record<string, unknown>;
      found.push([src, dst, time, rtt]);
    }
    assertEquals(found, WANTED, name);
  }
});

Deno.test("watch reads the text from standard input, and import from a folder of compressed files", async () => {
  const stdin = new TextEncoder().encode(FORMS["ping -D"][0] as string);
  const { stderr } = await succeeded(runStageProcess(["watch", "--src", SRC], { stdin }));
  assertStringIncludes(stderr, "6 measurements, 0 unusable, 0 late");
  using folder = new TemporaryFolder();
  const middle = plain.indexOf(`${SRC},${DST},${timeS(3)}`);
  const header = plain.slice(0, plain.indexOf("\n") + 1);
  const compress = async (name: string, text: string) => {
    const zipped = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    Deno.writeFileSync(folder.at(name), new Uint8Array(await new Response(zipped).arrayBuffer()));
  };
  await compress("pings.log.2.gz", plain.slice(0, middle));
  await compress("pings.log.1.gz", header + plain.slice(middle));
  Deno.writeTextFileSync(folder.at("README.md"), "# pings, of today\n");
  Deno.writeTextFileSync(folder.at("notes.txt"), "one, two\n");
  using other = new TemporaryFolder();
  const output = other.at("all.parquet");
  const ended = await succeeded(runStageProcess(["import", "--input", folder.path, "--output", output]));
  assertStringIncludes(ended.stderr, "leaving out");
  assertStringIncludes(ended.stderr, "notes.txt: found the columns one, two");
  assertEquals((await rowsOf(output)).sort((a, b) => Number(a[2]) - Number(b[2])), WANTED);
});
