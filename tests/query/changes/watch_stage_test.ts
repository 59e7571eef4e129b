/** The stage `watch` as users run it. @module */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { exists } from "../../../lib/io/files/inputs.ts";
import { refused, runStageProcess, succeeded } from "../../cli/process.ts";
import { withFolder } from "../../io/files/temporary_folder.ts";
import { until } from "../../until.ts";
import { SIGNATURE_HEADER, signatureOf } from "../../../lib/cli/webhook.ts";
import { writeParquet } from "../../data/measurement_files/batches.ts";
import { requireSameAlarms, RunningWatch } from "./rotated_watch.ts";
import { withCheckpoint } from "../tiny_checkpoint.ts";

/** The Grafana dashboard. */
const dashboard = JSON.parse(
  Deno.readTextFileSync(new URL("../../../lib/query/changes/grafana.json", import.meta.url)),
);
const START_S = 1_480_000_000;

/** JSON lines of one pair, with the level shifted from `shiftedFrom` to before `shiftedTo`. */
function linesOf(
  from: number,
  to: number,
  { shiftedFrom = 60, shiftedTo = 90, src = "10.0.0.1", intervalS = 240 } = {},
): string {
  let text = "";
  for (let number = from; number < to; number++) {
    const levelMs = number >= shiftedFrom && number < shiftedTo ? 58 : 20;
    const rtt = levelMs + 0.1 * (number % 3);
    text += `${JSON.stringify({ src, dst: "192.0.2.1", time: START_S + intervalS * number, rtt })}\n`;
  }
  return text;
}

const parse = (text: string): Record<string, unknown>[] =>
  text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));

/** Asserts exit code 1 and a message in the last line of a process. @returns The standard output. */
async function failed(ended: ReturnType<typeof runStageProcess>, message: string): Promise<string> {
  const { code, stdout, stderr } = await ended;
  assertEquals(code, 1, stderr);
  const [last] = stderr.trimEnd().split("\n").slice(-1);
  assertStringIncludes(last, "error: Cannot ");
  assertStringIncludes(last, message);
  return stdout;
}

/** Runs `watch` on text from standard input. */
function watchText(text: string, ...args: string[]) {
  return runStageProcess(["watch", ...args], { stdin: new TextEncoder().encode(text) });
}

Deno.test("watch reports alarms of standard input and names unusable lines", async () => {
  const { stdout, stderr } = await succeeded(watchText(`${linesOf(0, 30)}nonsense\n${linesOf(30, 130)}`));
  const [begin, end, ...others] = parse(stdout);
  assertEquals(others, []);
  assertEquals([begin.event, begin.time, end.event], ["begin", "2016-11-24T19:06:40Z", "end"]);
  assertStringIncludes(stderr, "standard input, line 31: invalidJson, it is not JSON (byte 1961); left out");
  assertStringIncludes(
    stderr,
    "130 measurements, 1 unusable (invalidJson 1), 0 late, 0 undecided, 1 pairs, 0 dropped, 1 alarms in 1 groups (0 open)",
  );
  assertStringIncludes(
    stderr,
    "at most 5/day for all pairs together (--false-alarms), compared with the last 7 days of the input (beyond that ",
  );
});

Deno.test("watch suggests a unit for implausible RTTs once", async () => {
  const inSeconds = linesOf(0, 130).replace(/"rtt":([\d.]+)/g, (_, ms) => `"rtt":${Number(ms) / 1000}`);
  for (const text of [inSeconds, inSeconds.slice(0, inSeconds.indexOf("\n", 500) + 1)]) {
    const { stderr } = await succeeded(watchText(text));
    const advice = /ms, which looks like seconds: name the column of a table with --columns rtt_s=NAME/g;
    assertEquals(stderr.match(advice)?.length, 1);
  }
});

Deno.test("watch fails at the end if it could use none or too little of its input", () =>
  withFolder(async (folder) => {
    const parquet = join(folder, "ms.parquet");
    const numRows = 300;
    const columns: [name: string, type: string, data: unknown[]][] = [
      ["event_time", "INT64", Array.from({ length: numRows }, (_, i) => 1000n * BigInt(START_S + i))],
      ["src_addr", "STRING", Array(numRows).fill("10.0.0.1")],
      ["dst_addr", "STRING", Array(numRows).fill("192.0.2.1")],
      ["rtt", "DOUBLE", Array(numRows).fill(20)],
    ];
    const columnData = columns.map(([name, type, data]) => ({ name, type, data })) as never;
    await Deno.writeFile(parquet, new Uint8Array(parquetWriteBuffer({ columnData })));
    await failed(
      runStageProcess(["watch", "--input", parquet]),
      `300 of 300 rows were rejected (invalidTime 300, first ${parquet} row 0 (line 1: event_time ` +
        `1480000000000: it looks like milliseconds, expected Unix seconds, such as 1480000000; ` +
        `name the column with --columns time_ms=NAME))`,
    );
    await failed(watchText("src,dst,time,rtt\n"), "it has no rows below its header");
    await failed(watchText(""), "Cannot watch -: found nothing, expected measurements");
    const lost = (text: string) => text.replace(/"rtt":[\d.]+/g, '"rtt":null');
    await failed(watchText(lost(linesOf(0, 30))), "none of the 30 measurements has a reply");
    const { stderr } = await succeeded(
      watchText(linesOf(0, 30) + lost(linesOf(0, 30, { src: "10.0.0.9" }))),
    );
    assertStringIncludes(stderr, "2 pairs, 1 of them without any reply, 0 dropped");
    // All alarms are reported before the error.
    const badLine = `{"src":"10.0.0.1","dst":"nowhere","time":${START_S},"rtt":1}\n`;
    const bad = badLine.repeat(10);
    const told = await failed(
      watchText(linesOf(0, 130) + bad),
      "10 of 140 rows were rejected (unparseableAddress 10, first standard input row 130 (line 131: dst nowhere",
    );
    assertEquals(parse(told).length, 2);
    assertEquals((await watchText(linesOf(0, 130) + badLine.repeat(5))).code, 0);
    const calibration = join(folder, "bad.jsonl");
    await Deno.writeTextFile(calibration, linesOf(0, 800) + badLine.repeat(50));
    await failed(
      watchText(linesOf(0, 130), "--calibration", calibration, "--false-alarms", "1/day"),
      "50 of 850 rows were rejected",
    );
  }));

Deno.test("watch fails at the end if much of its input is out of order or has wrong times", () =>
  withFolder(async (folder) => {
    const output = join(folder, "alarms.jsonl");
    const watch = (text: string) => watchText(text, "--output", output, "--json");
    await failed(
      watch(linesOf(0, 130) + linesOf(10, 20)),
      "10 of 140 measurements were left out (10 late, 0 in the future, 0 with a wrong clock), expected at most 5 %; " +
        "give files in the order of their times and each once",
    );
    assertEquals(parse(await Deno.readTextFile(output)).length, 2);
    const wrong = (numLines: number, year: number) =>
      linesOf(0, numLines).replace(/"time":\d+/g, `"time":"${year}-01-01"`);
    await Deno.remove(output);
    const few = await watch(linesOf(0, 50) + wrong(2, 2020) + linesOf(50, 130) + wrong(3, 2099));
    assertEquals(few.code, 0, few.stderr);
    const { measurements, late: numLate, in_future, wrong_clock, alarms } = JSON.parse(few.stdout);
    assertEquals([measurements, numLate, in_future, wrong_clock, alarms], [135, 0, 3, 2, 1]);
    assertStringIncludes(few.stderr, "10.0.0.1 192.0.2.1: measurements (2) from 2020-01-01T00:00:00Z on");
    assertStringIncludes(
      few.stderr,
      "135 measurements, 0 unusable, 0 late, 3 in the future, 2 with a wrong clock",
    );
    await Deno.remove(output);
    await failed(
      watch(linesOf(0, 50) + wrong(3, 2099)),
      "3 of 53 measurements were left out (0 late, 3 in the future, 0 with a wrong clock), expected at most 5 %; " +
        "check the unit and the zone of the times",
    );
  }));

Deno.test("watch accepts several pings per second, in lines and Parquet, and asks the model about whole seconds", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const pings = linesOf(0, 130, { intervalS: 0.2 });
    const lines = join(folder, "pings.jsonl");
    await Deno.writeTextFile(lines, pings);
    const parquet = join(folder, "pings.parquet");
    const measured = parse(pings);
    const column = (name: string) => measured.map((each) => each[name]);
    writeParquet(parquet, {
      numRows: measured.length,
      eventTimeUs: Float64Array.from(column("time") as number[], (timeS) => Math.round(1e6 * timeS)),
      srcAddr: column("src") as string[],
      dstAddr: column("dst") as string[],
      ipVersion: new Uint8Array(measured.length).fill(4),
      rttMs: Float64Array.from(column("rtt") as number[]),
    });
    for (const input of [lines, parquet]) {
      const { stdout, stderr } = await succeeded(
        runStageProcess(["watch", "--input", input, "--checkpoint", checkpoint]),
      );
      const [begin, end, ...others] = parse(stdout);
      assertEquals(others, []);
      assertEquals([begin.time, end.time], ["2016-11-24T15:06:52Z", "2016-11-24T15:06:58Z"]);
      assert("expected_ms" in begin);
      assertStringIncludes(stderr, "130 measurements, 0 unusable, 0 late");
    }
  }));

Deno.test("watch --metrics writes counts, RTTs and alarms of a bounded number of pairs for Prometheus", () =>
  withFolder(async (folder) => {
    const metrics = join(folder, "watch.prom");
    const lines = linesOf(0, 90, { src: "10.0.0.2", shiftedFrom: 99 }) + linesOf(0, 90);
    const read = async (...more: string[]) => {
      await succeeded(watchText(lines, "--metrics", metrics, ...more));
      return await Deno.readTextFile(metrics);
    };
    const text = await read();
    assertStringIncludes(text, "# TYPE ping_llm_watch_alarms_total counter\nping_llm_watch_alarms_total 1\n");
    assertStringIncludes(text, "ping_llm_watch_measurements_total 180\n");
    assertMatch(
      text,
      /^ping_llm_watch_alarm_size_ms\{src="10\.0\.0\.1",dst="192\.0\.2\.1",group="1"\} 3[78]/m,
    );
    assertStringIncludes(text, 'ping_llm_watch_alarm{src="10.0.0.1",dst="192.0.2.1"} 1\n');
    assertStringIncludes(text, 'ping_llm_watch_alarm{src="10.0.0.2",dst="192.0.2.1"} 0\n');
    assertMatch(text, /^ping_llm_watch_rtt_ms\{src="10\.0\.0\.2",dst="192\.0\.2\.1"\} 20\.2/m);
    const one = await read("--metric-pairs", "1");
    assertStringIncludes(one, "ping_llm_watch_pairs 2\n");
    assertEquals([...one.matchAll(/^ping_llm_watch_\w+\{src="([^"]*)"/gm)].map(([, src]) => src), [
      ...["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1"],
    ]);
    Deno.writeTextFileSync(join(folder, "names.csv"), '10.0.0.1,"probe ""A"""\n192.0.2.0/24,docs\n');
    const named = await read("--names", join(folder, "names.csv"));
    assertStringIncludes(
      named,
      'ping_llm_watch_alarm{src="10.0.0.1",dst="192.0.2.1",src_name="probe \\"A\\"",dst_name="docs"} 1\n',
    );
    assertStringIncludes(named, '{src="10.0.0.2",dst="192.0.2.1",dst_name="docs"}');
    const more = ["--names", join(folder, "names.csv"), "--output", join(folder, "alarms.jsonl")];
    await watchText(lines, ...more);
    const [begin] = parse(Deno.readTextFileSync(join(folder, "alarms.jsonl")));
    assertEquals([begin.src, begin.src_name, begin.dst_name], ["10.0.0.1", 'probe "A"', "docs"]);
  }));

Deno.test("watch --listen serves the metrics of Grafana's dashboard and answers status checks", () =>
  withCheckpoint(async (folder, checkpoint) => {
    const input = join(folder, "a.jsonl");
    const atlas = (from: number, to: number) =>
      parse(linesOf(from, to)).map(({ src, dst, time, rtt }) =>
        JSON.stringify({
          ...{ type: "ping", msm_id: 1001, prb_id: 77, af: 4, src_addr: src, from: src, dst_addr: dst },
          ...{ timestamp: time, result: [{ rtt }], sent: 1, rcvd: 1 },
        }) + "\n"
      ).join("");
    await Deno.writeTextFile(input, atlas(0, 90));
    await using receiver = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(""),
    );
    const args = ["--checkpoint", checkpoint, "--input", input, "--follow", "--listen", "127.0.0.1:0"];
    await using watch = new RunningWatch([...args, "--webhook", `http://127.0.0.1:${receiver.addr.port}`], {
      flags: ["--allow-net", "--allow-env=PING_LLM_WEBHOOK_KEY"],
    });
    await until("the alarm", () => watch.stdout.includes("\n") && /Listening at \S+\s/.test(watch.stderr));
    const [, url] = /Listening at (\S+)/.exec(watch.stderr) ?? [];
    const get = async (path: string) => {
      const response = await fetch(new URL(path, url));
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const { text, headers } = await get("/metrics");
    assertMatch(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    const quantiles = [
      ...text.matchAll(
        /^ping_llm_watch_expected_rtt_ms\{src="10\.0\.0\.1",dst="192\.0\.2\.1",q="(.*)"\} (.*)$/gm,
      ),
    ].map(([, quantile, ms]) => [Number(quantile), Number(ms)]);
    assertEquals(quantiles.map(([quantile]) => quantile), [0.05, 0.5, 0.95]);
    assert(quantiles[0][1] < quantiles[1][1] && quantiles[1][1] < quantiles[2][1]);
    assertMatch(text, /^ping_llm_watch_p_value\{.*\} (0\.\d+|1)$/m);
    const exported = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const asked = [...JSON.stringify(dashboard).matchAll(/ping_llm_watch_\w+/g)].map(([name]) => name);
    assertEquals([...new Set(asked)].filter((name) => !exported.has(name)), []);
    const unasked = [...exported].filter((name) => !asked.includes(name));
    assertEquals(unasked, ["ping_llm_watch_dropped_pairs_total", "ping_llm_watch_alarm_cause"]);
    const check = await get("/api/v2/measurements/1001/status-check");
    assertEquals([check.status, check.headers.get("x-ripe-atlas-global-alert")], [200, "1"]);
    const { global_alert, total_alerts, probes } = JSON.parse(check.text);
    assertEquals([global_alert, total_alerts, Object.keys(probes), probes[77].alert], [
      true,
      1,
      ["77"],
      true,
    ]);
    assertEquals((await get("/api/v2/measurements/1/status-check")).status, 404);
    await Deno.writeTextFile(input, atlas(90, 130), { append: true });
    await until("the end", () => watch.stdout.includes('"event":"end"'));
    const after = await get("/api/v2/measurements/192.0.2.1/status-check/");
    assertStringIncludes(after.text, '"global_alert":false');
    assertEquals((await get("/v1/rtt")).status, 404);
    assertEquals(await watch.end("SIGINT"), 130);
  }));

Deno.test("watch --webhook posts signed events and fails if alarms are refused", () =>
  withFolder(async (folder) => {
    const key = join(folder, "key");
    await Deno.writeTextFile(key, "secret-key\n");
    const received: { body: string; signature: string | null }[] = [];
    let status = 503;
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
      received.push({ body: await request.text(), signature: request.headers.get(SIGNATURE_HEADER) });
      const answer = new Response("", { status });
      if (status === 503) status = 200;
      return answer;
    });
    const url = `http://127.0.0.1:${server.addr.port}/hook?token=hidden`;
    const watch = (args: string[], env = {}) =>
      runStageProcess(["watch", "--webhook", url, ...args], {
        stdin: new TextEncoder().encode(linesOf(0, 130)),
        flags: ["--allow-net", "--allow-env=PING_LLM_WEBHOOK_KEY"],
        env,
      });
    const { code, stdout, stderr } = await watch(["--webhook-key", key]);
    assertEquals(code, 0, stderr);
    const [first, ...posted] = received;
    assertEquals(posted.map(({ body }) => `${body}\n`).join(""), stdout);
    assertEquals(first.body, posted[0].body);
    status = 404;
    const refused = await watch([], { PING_LLM_WEBHOOK_KEY: "secret-key" });
    assertEquals(received.length, 5);
    for (const { body, signature } of received) {
      const [, timeS] = /^t=(\d+),/.exec(signature ?? "") ?? [];
      assertEquals(signature, signatureOf(body, "secret-key", Number(timeS)));
    }
    assertEquals(refused.code, 1);
    assertEquals(parse(refused.stdout).length, 2);
    assertStringIncludes(
      refused.stderr,
      "Cannot post all alarms: the webhook accepted 0 of them, 2 were given up",
    );
    for (const secret of ["hidden", "secret-key"]) assert(!(stderr + refused.stderr).includes(secret));
    await server.shutdown();
  }));

Deno.test("watch --geo groups alarms that share an AS", () =>
  withFolder(async (folder) => {
    const places = join(folder, "asn.csv");
    await Deno.writeTextFile(
      places,
      "10.0.0.0,10.0.0.255,65001,Example\n192.0.2.0,192.0.2.255,65002,Other\n",
    );
    const other = linesOf(0, 130, { src: "10.0.0.2" }).replaceAll("192.0.2.1", "198.51.100.1");
    const { stdout, stderr } = await succeeded(watchText(linesOf(0, 130) + other, "--geo", places));
    const fault =
      `Cannot group alarms by country: --geo ${places} contains none for any address; add a file that does`;
    assertEquals(stderr.split("\n").filter((line) => line.includes("--geo")), [fault]);
    const begun = parse(stdout).filter(({ event }) => event === "begin");
    // They began at the same time, although the first had ended when the second was read.
    assertEquals(begun.map(({ group, shared }) => [group, shared]), [[1, undefined], [1, "src AS65001"]]);
  }));

/** Number of complete lines of a file; 0 if it does not exist. */
const numLinesIn = (path: string) => exists(path) ? Deno.readTextFileSync(path).split("\n").length - 1 : 0;

/** Follows a file until its output has the given number of lines, then kills the process. */
async function followUntil(input: string, output: string, numLines: number): Promise<void> {
  await using _watch = new RunningWatch(["--input", input, "--follow", "--output", output]);
  await until(`${numLines} lines`, () => numLinesIn(output) === numLines);
}

Deno.test("watch --follow --output continues after its lines after kill -9, without duplicates", () =>
  withFolder(async (folder) => {
    const input = join(folder, "a.jsonl");
    const output = join(folder, "alarms.jsonl");
    await Deno.writeTextFile(input, linesOf(0, 81));
    await followUntil(input, output, 1);
    const first = await Deno.readTextFile(output);
    // A line cut by the kill is reported again; one that only lacks its line ending is kept.
    for (const torn of [first.slice(0, 20), `${first}${first.slice(0, 20)}`, first.slice(0, -1)]) {
      await Deno.writeTextFile(output, torn);
      await Deno.writeTextFile(input, linesOf(0, 130));
      await followUntil(input, output, 2);
      const told = await Deno.readTextFile(output);
      assertEquals(told.slice(0, first.length), first);
      assertEquals(parse(told).map(({ event, alarm }) => [event, alarm]), [["begin", 1], ["end", 1]]);
    }
    // The lines read before are gone: the alarms stay, and numbering continues.
    await Deno.writeTextFile(input, linesOf(1000, 1130, { shiftedFrom: 1060, shiftedTo: 1090 }));
    await followUntil(input, output, 4);
    const events = parse(await Deno.readTextFile(output));
    assertEquals(events.map(({ event, alarm, group }) => [event, alarm, group]), [
      ["begin", 1, 1],
      ["end", 1, 1],
      ["begin", 2, 2],
      ["end", 2, 2],
    ]);
  }));

Deno.test("watch --follow appends only to its own output", () =>
  withFolder(async (folder) => {
    const [input, output] = [join(folder, "a.jsonl"), join(folder, "alarms.jsonl")];
    await Deno.writeTextFile(input, linesOf(0, 130));
    for (const text of ["my notes", "my notes\n", '{"event":"begin","alarm":1}\n', '{"src":"10.0.0.1"}\n']) {
      await Deno.writeTextFile(output, text);
      const watch = runStageProcess(["watch", "--input", input, "--follow", "--output", output]);
      await refused(watch, 1, `Cannot append to ${output}: its first line was not written by watch`);
      assertEquals(await Deno.readTextFile(output), text);
    }
    await refused(
      runStageProcess(["watch", "--input", input, "--follow", "--output", input]),
      2,
      "it is also an input",
    );
    await Deno.writeTextFile(output, "");
    await followUntil(input, output, 2);
  }));

Deno.test("watch --follow reports the same alarms over rotations and kills as undisturbed", async () => {
  assert(await requireSameAlarms({ numRotations: 3, numKills: 3, seed: 4 }) > 10);
});

Deno.test("watch --follow waits for a missing file, and writes metrics once it can", () =>
  withFolder(async (folder) => {
    const [input, output, place] = ["a.jsonl", "alarms.jsonl", "place"].map((name) => join(folder, name));
    await Deno.writeTextFile(place, "");
    const args = ["--input", input, "--follow", "--output", output, "--metrics", join(place, "watch.prom")];
    await using watch = new RunningWatch(args);
    await until(
      "both lines",
      () => watch.stderr.includes("waiting for") && watch.stderr.includes("no metrics"),
    );
    await Deno.writeTextFile(input, linesOf(0, 81));
    await until("the alarm", () => numLinesIn(output) === 1);
    await Deno.remove(input);
    await Deno.remove(place);
    await Deno.writeTextFile(input, linesOf(81, 130));
    await until("its end", () => numLinesIn(output) === 2);
    assertEquals(await watch.end("SIGTERM"), 75, watch.stderr);
    const { stderr } = watch;
    assertStringIncludes(
      stderr,
      `Cannot read ${input}: no such file or directory; check the path; waiting for it\n`,
    );
    assertMatch(
      stderr,
      /^Cannot .*watch\.prom.*; until then no metrics are written\n(?:.*\n)*the metrics are written again$/m,
    );
    assertStringIncludes(
      await Deno.readTextFile(join(place, "watch.prom")),
      "ping_llm_watch_alarms_total 1\n",
    );
  }));

Deno.test("watch --follow reports alarms while it waits for more input", () =>
  withFolder(async (folder) => {
    const path = join(folder, "a.jsonl");
    await Deno.writeTextFile(path, linesOf(0, 30) + linesOf(30, 31).slice(0, 10));
    await Deno.writeTextFile(join(folder, "notes.txt"), "<html>\n<p>hello, world</p>\n".repeat(2));
    await using watch = new RunningWatch(["--input", folder, "--follow"]);
    const told = () => parse(watch.stdout);
    await Deno.writeTextFile(path, linesOf(30, 81).slice(10), { append: true });
    await until("the first alarm", () => told().length === 1);
    await Deno.writeTextFile(join(folder, "b.jsonl"), linesOf(0, 81, { src: "10.0.0.2" }));
    await until("the alarm of a new file", () => told().length === 2);
    const [, second] = told();
    assertEquals([second.src, second.group, second.shared], ["10.0.0.2", 1, "dst 192.0.2.1"]);
    // Another process rewrites the file.
    await Deno.writeTextFile(join(folder, "c"), linesOf(81, 130));
    await Deno.rename(join(folder, "c"), path);
    await until("the end of the first alarm", () => told().length === 3);
    assertEquals(await watch.end("SIGINT"), 130);
    assertStringIncludes(watch.stderr, `leaving out ${join(folder, "notes.txt")}: it looks like HTML`);
    assertEquals(told().map(({ event }) => event), ["begin", "begin", "end"]);
  }));

Deno.test("watch needs more evidence if the calibration data contains changes", () =>
  withFolder(async (folder) => {
    const [path, noisy] = ["pings.jsonl", "noisy.jsonl"].map((name) => join(folder, name));
    await Deno.writeTextFile(path, linesOf(0, 800, { shiftedFrom: 200, shiftedTo: 230 }));
    await Deno.writeTextFile(noisy, linesOf(0, 800, { shiftedFrom: 500, shiftedTo: 530 }));
    const watch = (...more: string[]) => runStageProcess(["watch", "--input", path, ...more]);
    const numEvents = async (...more: string[]) => {
      const { code, stdout, stderr } = await watch(...more);
      assertEquals(code, 0, stderr);
      return [parse(stdout).length, stderr] as const;
    };
    const [numAllowed, stderr] = await numEvents("--false-alarms", "1/day", "--calibration", noisy);
    assertEquals(numAllowed, 2);
    assertMatch(
      stderr,
      /calibrated on 800 measurements of 1 pairs in 2\.22 decided days with 1 changes/,
    );
    const strict = await watch("--false-alarms", "1/week", "--calibration", noisy);
    assertEquals(strict.code, 2);
    assertStringIncludes(
      strict.stderr,
      "found 2.22 days of decided measurements, expected enough for one alarm",
    );
  }));

Deno.test("watch --text prints a line per group, open ones first, then the largest", () =>
  withFolder(async (folder) => {
    const outage = linesOf(40, 60, { src: "10.0.0.9", shiftedFrom: 999 }).replaceAll(
      /"rtt":[\d.]+/g,
      '"rtt":null',
    );
    const files = {
      "a.jsonl": linesOf(0, 130),
      "b.jsonl": linesOf(0, 130, { src: "10.0.0.2" }),
      "c.jsonl": linesOf(0, 40, { src: "10.0.0.9", shiftedFrom: 999 }) + outage +
        linesOf(60, 100, { src: "10.0.0.9", shiftedFrom: 999 }),
      "d.jsonl": linesOf(0, 100, { src: "10.0.0.3", shiftedFrom: 80, shiftedTo: 999 }),
    };
    for (const [name, text] of Object.entries(files)) Deno.writeTextFileSync(join(folder, name), text);
    Deno.writeTextFileSync(join(folder, "names.csv"), "192.0.2.1,docs\n");
    const names = ["--names", join(folder, "names.csv")];
    const input = Object.keys(files).map((name) => join(folder, name));
    const watch = (...more: string[]) => runStageProcess(["watch", "--input", ...input, ...names, ...more]);
    const { stdout, stderr } = await succeeded(watch("--text"));
    assertEquals(
      stdout,
      [
        "       since (UTC)              lasted  pairs  where                         what",
        "open   2016-11-24 20:26:40                  1  10.0.0.3 -> 192.0.2.1 (docs)  +38.0 ms, 200 x its usual spread",
        "ended  2016-11-24 19:06:40  2 h 00 min      2  dst 192.0.2.1 (docs)          up to +38.0 ms, 200 x its usual spread",
        "ended  2016-11-24 17:46:40  1 h 20 min      1  10.0.0.9 -> 192.0.2.1 (docs)  no reply, usually 20.1 ms",
        "",
      ].join("\n"),
    );
    assertStringIncludes(stderr, "compared with the whole input\n");
    assertStringIncludes(stderr, "4 alarms in 3 groups (1 open)\n");
    assertStringIncludes(
      stderr,
      "alarms needed 0.1 nats of evidence for an outage, 1 for more losses, 1 for another level\n",
    );
    const few = await succeeded(watch("--false-alarms", "1/week"));
    assertStringIncludes(few.stderr, "1 alarms in 1 groups (0 open)");
    assertStringIncludes(
      few.stderr,
      "; 3 weaker changes are not reported; raise --false-alarms to report more",
    );
    const output = join(folder, "alarms.jsonl");
    assertEquals((await watch("--text", "--output", output)).stdout, stdout);
    assertEquals(parse(Deno.readTextFileSync(output)).length, 7);
    assertEquals(parse((await watch()).stdout).length, 7);
    // On endless input, a group is shown when it begins and when it ends.
    const streamed = await succeeded(watchText(files["c.jsonl"], "--text"));
    assertEquals(streamed.stdout.split("\n").slice(0, 3).map((line) => line.split("  ")[0]), [
      "open",
      "ended",
      "",
    ]);
  }));

Deno.test("watch refuses invalid options with a one-line error", async () => {
  for (
    const [args, message] of [
      [["--json"], "add --output FILE"],
      [["--false-alarms", "often", "--calibration", "README.md"], "expected a rate such as 1/day"],
      [["--new-usual-after", "soon"], "expected a duration"],
      [["--listen", "localhost:9100"], "expected an address and a port such as 127.0.0.1:9100"],
      [["--webhook", "example.org"], "such as https://example.org/alarms"],
      [["--webhook-key", "README.md"], "add --webhook URL"],
    ] as const
  ) {
    await refused(runStageProcess(["watch", ...args]), 2, message);
  }
});
