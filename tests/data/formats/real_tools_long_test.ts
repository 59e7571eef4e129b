/** Reads the output of Debian's ping tools on this machine's loopback by `import` and `watch`. @module */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { programsAreMissing } from "../../cli/missing_programs.ts";
import { runStageProcess, succeeded } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { joinBatches, readAll } from "../measurement_files/batches.ts";

const LOOPBACK = "127.0.0.1";
const OTHER = "127.0.0.2";
/** For outputs without a source. */
const SRC = "127.0.0.9";

/** A program's output and when it ran. */
interface Ran {
  text: string;
  startS: number;
  stopS: number;
}

/** @param part The stream with the results. */
async function ran(program: string, args: string[], part: "stdout" | "stderr" = "stdout"): Promise<Ran> {
  const startS = Date.now() / 1000;
  const output = await new Deno.Command(program, { args, env: { LC_ALL: "C" } }).output();
  const stderr = new TextDecoder().decode(output.stderr);
  assert(output.success, `${program} ${args.join(" ")}: ${stderr}`);
  return {
    text: part === "stderr" ? stderr : new TextDecoder().decode(output.stdout),
    startS,
    stopS: Date.now() / 1000,
  };
}

/** Imports a text and returns its rows. */
async function imported(folder: TemporaryFolder, text: string, options: readonly string[] = []) {
  const stdin = new TextEncoder().encode(text);
  const output = folder.at("out.parquet");
  const args = ["import", "--input", "-", "--output", output, "--overwrite", "--json", ...options];
  const { rejected } = JSON.parse((await succeeded(runStageProcess(args, { stdin }))).stdout);
  assertEquals(rejected, {});
  const { eventTimeUs, srcAddr, dstAddr, rttMs } = joinBatches((await readAll([output])).batches);
  return Array.from(rttMs, (ms, i) => (
    { src: srcAddr[i], dst: dstAddr[i], timeS: eventTimeUs[i] / 1e6, rttMs: ms }
  ));
}

/** Even on a busy machine, RTTs on loopback are this long only in a wrong unit. */
const MAX_RTT_MS = 10_000;

/** Asserts each destination's number of rows, that all have replies, and that their times are in the run. */
function assertReplies(
  rows: Awaited<ReturnType<typeof imported>>,
  { startS, stopS }: Pick<Ran, "startS" | "stopS">,
  numEach: Record<string, number>,
) {
  const counts = Map.groupBy(rows, ({ dst }) => dst);
  assertEquals(Array.from(counts, ([dst, { length }]) => [dst, length]).sort(), Object.entries(numEach));
  for (const { timeS, rttMs } of rows) {
    assert(rttMs > 0 && rttMs < MAX_RTT_MS, `RTT ${rttMs} ms`);
    // Tools print times to the millisecond or better.
    assert(timeS > startS - 0.01 && timeS < stopS + 0.01, `${timeS} is not from ${startS} to ${stopS}`);
  }
}

function testWith(programs: string[], name: string, fn: (folder: TemporaryFolder) => Promise<void>): void {
  Deno.test(name, { ignore: programsAreMissing(programs) }, async () => {
    using folder = new TemporaryFolder();
    await fn(folder);
  });
}

testWith(
  ["ping"],
  "real ping output is imported with times from -D, or from --start and --interval",
  async (folder) => {
    const timed = await ran("ping", ["-D", "-i", "0.2", "-c", "5", LOOPBACK]);
    assertReplies(await imported(folder, timed.text, ["--src", SRC]), timed, { [LOOPBACK]: 5 });
    const plain = await ran("ping", ["-i", "0.2", "-c", "5", LOOPBACK]);
    const times = ["--start", "2026-01-01T00:00:00Z", "--interval", "0.2"];
    const rows = await imported(folder, plain.text, ["--src", SRC, ...times]);
    assertReplies(rows, { startS: 1_767_225_600, stopS: 1_767_225_600.8 }, { [LOOPBACK]: 5 });
    assertEquals(rows.map(({ timeS }) => timeS - 1_767_225_600).map((each) => each.toFixed(1)), [
      ...["0.0", "0.2", "0.4", "0.6", "0.8"],
    ]);
    // Two runs, each with a time before it.
    const loop = `2026-01-01T00:00:00Z\n${plain.text}2026-01-01T01:00:00Z\n${plain.text}`;
    const looped = await imported(folder, loop, ["--src", SRC, "--interval", "0.2"]);
    assertEquals([looped.length, looped[5].timeS], [10, 1_767_229_200]);
    const stdin = new TextEncoder().encode(timed.text);
    const { stderr } = await succeeded(runStageProcess(["watch", "--src", SRC], { stdin }));
    assertMatch(stderr, /^5 measurements, 0 unusable, 0 late, .* 1 pairs, /m);
  },
);

testWith(["fping"], "real fping output of -D -C, -C -q and -l is imported", async (folder) => {
  const targets = [LOOPBACK, OTHER];
  const counted = await ran("fping", ["-D", "-C", "3", "-p", "1000", "-t", "1000", ...targets]);
  const numEach = { [LOOPBACK]: 3, [OTHER]: 3 };
  assertReplies(await imported(folder, counted.text, ["--src", SRC]), counted, numEach);
  const quiet = await ran("fping", ["-q", "-C", "3", "-p", "1000", "-t", "1000", ...targets], "stderr");
  const times = ["--start", String(quiet.startS), "--interval", "1"];
  const rows = await imported(folder, quiet.text, ["--src", SRC, ...times]);
  assertReplies(rows, { ...quiet, stopS: quiet.startS + 3 }, numEach);
  // Runs until it is stopped.
  const child = new Deno.Command("fping", {
    args: ["-D", "-l", "-p", "1000", "-t", "1000", LOOPBACK],
    env: { LC_ALL: "C" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const startS = Date.now() / 1000;
  let text = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.split("\n").length > 2) child.kill("SIGINT");
  }
  await child.status;
  const numLines = text.match(/ bytes, /g)?.length ?? 0;
  const looped = await imported(folder, text, ["--src", SRC]);
  assertReplies(looped, { startS, stopS: Date.now() / 1000 }, { [LOOPBACK]: numLines });
});

testWith(["scamper", "sc_warts2json"], "real scamper warts are imported as JSON", async (folder) => {
  const warts = folder.at("ping.warts");
  const options = ["-O", "warts", "-o", warts, "-c", "ping -c 3", "-i", LOOPBACK];
  const { startS, stopS } = await ran("scamper", options);
  const { text } = await ran("sc_warts2json", [warts]);
  const [row, ...others] = await imported(folder, text);
  assertEquals([row.src, others], [LOOPBACK, []]);
  assertReplies([row], { startS, stopS }, { [LOOPBACK]: 1 });
  const each = await imported(folder, text, ["--rtt", "each"]);
  assertReplies(each, { startS, stopS }, { [LOOPBACK]: 3 });
});

testWith(["rrdtool"], "a real RRD like SmokePing's is imported from rrdtool xport --json", async (folder) => {
  const rrd = folder.at("host.rrd");
  const startS = 1_767_225_600;
  const stepS = 300;
  const sources = ["uptime", "loss", "median"].map((name) => `DS:${name}:GAUGE:600:0:U`);
  const when = ["--start", String(startS), "--step", String(stepS)];
  await ran("rrdtool", ["create", rrd, ...when, ...sources, "RRA:AVERAGE:0.5:1:100"]);
  // RTTs in seconds. The third round has no replies.
  const rounds = [[0, 0.0341], [1, 0.0343], [20, NaN], [0, 0.0352]];
  const updates = rounds.map(([loss, median], i) =>
    `${startS + stepS * (i + 1)}:U:${loss}:${Number.isNaN(median) ? "U" : median}`
  );
  await ran("rrdtool", ["update", rrd, ...updates]);
  const span = ["--start", String(startS), "--end", String(startS + stepS * rounds.length)];
  const fields = ["median", "loss"];
  const columns = [
    ...fields.map((name) => `DEF:${name}=${rrd}:${name}:AVERAGE`),
    ...fields.map((name) => `XPORT:${name}:${name}`),
  ];
  const { text } = await ran("rrdtool", ["xport", "--json", ...span, ...columns]);
  const rows = await imported(folder, text, ["--src", SRC, "--dst", LOOPBACK]);
  assertEquals(rows.map(({ timeS, rttMs }) => [timeS - startS, Number(rttMs.toFixed(3))]), [
    ...[[300, 34.1], [600, 34.3], [900, -1], [1200, 35.2]],
  ]);
});
