/**
 * Files as people have them, from `../shared/field`: each command of a case reads its truth, or is refused
 * with advice that is true. None is wrong in silence.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { FAILED_RTT_MS } from "../../../lib/data/formats/batch.ts";
import { runStageProcess } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";
import { joinBatches, readAll } from "../measurement_files/batches.ts";

const FIELD = new URL("../../../../shared/field/", import.meta.url);

interface Outcome {
  /** Rows, rows without a reply, and the median RTT in ms. */
  right?: [rows: number, lost: number, medianMs: number];
  /** The first time, in ISO 8601. */
  first?: string;
  /** The error, with its advice. */
  refused?: RegExp;
  /** Arguments after following the advice, which then reads the truth. */
  then?: [args: string, rows: number, lost: number, medianMs: number];
  /** What `watch` prints, on either output. */
  says?: RegExp;
}

/** The truth of most cases: pings of 200 minutes, of which 20 are lost. */
const USUAL: Outcome["right"] = [200, 20, 34.6];
const S = "--src 192.0.2.10";
const SD = `${S} --dst 198.51.100.7`;

/** Number of the case, command, arguments (`@` is its folder) and outcome. */
const CASES: [number, "import" | "watch", string, Outcome][] = [
  [1, "import", "--columns src=source,dst=instance,time=timestamp,rtt=seconds --input @in.csv", {
    right: [400, 0, 104],
  }],
  [2, "import", "--input @in.csv", {
    refused: /--no-reply 0/,
    then: ["--input @in.csv --no-reply 0", 300, 100, 34.2],
  }],
  [3, "watch", "--input @in.jsonl", { says: /\+50\.0 ms/ }],
  [4, "watch", "--input @in.parquet", { says: /no reply, usually/ }],
  [4, "import", "--input @same.csv", { right: [300, 100, 27.1] }],
  [5, "watch", "--input @in.jsonl", { says: /\+50\.1 ms/ }],
  [6, "watch", "--input @in.parquet", { refused: /--columns time_ms=NAME/ }],
  [6, "watch", "--input @in.csv", { says: /1 measurements, 0 unusable/ }],
  [7, "import", "--input @in.csv", { right: [100, 4, 34.2] }],
  [7, "import", "--input @ten.csv", { right: [8, 5, 34.1] }],
  [8, "import", "--input @in.csv", { right: [2000, 0, 20] }],
  [9, "import", "--input @bigquery.csv", { right: [1, 0, 34.3] }],
  [9, "import", "--input @go.csv", { right: [1, 0, 34.3] }],
  [9, "import", "--input @python-logging.csv", { right: [1, 0, 34.3] }],
  [12, "watch", "--input @in.jsonl", { says: /0 alarms/ }],
  [12, "import", "--input @in.jsonl", { right: [240, 0, 37.1] }],
  [13, "import", "--input @in.jsonl", { right: [18, 0, 27.1] }],
  [14, "import", "--source network --input @in.json", { right: [4, 0, 27] }],
  [15, "import", "--input @quoted.csv", { right: [1, 0, 34.2] }],
  [15, "import", "--input @plain.csv", { right: [1, 0, 34.2] }],
  [16, "import", "--input @in.jsonl", { right: [3, 0, 27.1] }],
  [16, "import", "--input @folder", { right: [1, 0, 27.1] }],
  [16, "import", "--input @mixed", { right: [2, 0, 27.1] }],
  [18, "import", "--input @in.jsonl", { right: [10, 1, 27.1] }],
  [19, "watch", "--input @", { says: /480 measurements, 0 unusable, 0 late/ }],
  [20, "import", "--columns dst=target,time=timestamp,rtt=rtt_ms --input @in.csv", {
    refused: /--src ADDRESS/,
    then: [`${S} --columns dst=target,time=timestamp,rtt=rtt_ms --input @in.csv`, 3, 0, 34.1],
  }],
  [21, "watch", "--input @in.jsonl", { says: /no reply, usually/ }],
  [22, "watch", "--input @in.jsonl", { says: /3 measurements, 0 unusable/ }],
  [23, "import", `${S} --input @ping.txt`, { right: [3, 1, 27] }],
  [23, "import", `${S} --input @fping.txt`, { right: [2, 1, 27] }],
  [23, "import", `${S} --input @z.zip`, { refused: /zip archive.*unpack/ }],
  [24, "import", `${SD} --input @icmp-perf.json`, { right: USUAL }],
  [24, "import", `${SD} --columns rtt_us=avg --input @icmp-perf.json`, { right: [200, 20, 0.0346] }],
  [25, "import", `${S} --input @all.csv`, { refused: /--columns dst=DST,rtt=RTT/ }],
  [25, "import", `${S} --columns dst=url,rtt=_value --input @all.csv`, { right: USUAL }],
  [25, "watch", `${S} --columns dst=url,rtt=_value --text --input @all.csv`, { says: /20 min.*no reply/ }],
  [26, "import", `${SD} --columns time=time,rtt=ping --input @heartbeat.csv`, { right: [176, 20, 35] }],
  [26, "watch", `${SD} --columns time=time,rtt=ping --text --input @heartbeat.csv`, {
    says: / 1 alarms in 1 groups/,
  }],
  [27, "import", `${S} --columns dst=target,rtt=latency_ms --input @success.csv`, { right: USUAL }],
  [27, "import", `${S} --columns dst=target,rtt=latency_ms --input @up.csv`, { right: USUAL }],
  [27, "import", `${S} --columns dst=host --input @openwisp.csv`, { right: USUAL }],
  [28, "import", "--input @report.txt", { refused: /--renderer raw/ }],
  [28, "import", `${S} --input @report.txt`, { refused: /--renderer raw/ }],
  [29, "import", "--input @pings.jsonl", { refused: /--columns/ }],
  [29, "import", "--columns src=synth_addr,time=start_time,rtt=pings --input @pings.jsonl", {
    refused: /pings contains objects/,
    then: ["--columns src=synth_addr,time=start_time,rtt=pings.rtt --input @pings.jsonl", ...USUAL],
  }],
  [29, "import", "--columns src=synth_addr,dst=dst_addr,time=start_time,rtt=rtt_min --input @min.csv", {
    right: [200, 20, 34.5],
  }],
  [30, "import", `${SD} --input @est.txt`, { right: USUAL, first: "2026-01-01T05:00:00.457" }],
  [30, "import", `${SD} --input @nozone.txt`, { right: USUAL, first: "2026-01-01T05:00:00.457" }],
  [31, "import", `${S} --input @cest.txt`, {
    right: USUAL,
    first: "2026-01-01T00:00:00",
  }],
  [31, "import", `${S} --input @ist.txt`, {
    refused: /--zone/,
    then: [`${S} --zone Asia/Kolkata --input @ist.txt`, ...USUAL],
  }],
  [31, "import", `${S} --max-reject-ratio 0.2 --zone +05:30 --input @ist.txt`, {
    right: USUAL,
    first: "2026-01-01T00:00:00",
  }],
  [32, "import", `${SD} --columns time=ts,rtt=median --input @esmond-statistics.json`, {
    refused: /exactly one called median for rtt/,
    then: [`${SD} --columns time=ts,rtt=val.median --input @esmond-statistics.json`, 180, 0, 34.6],
  }],
  [32, "import", `${SD} --input @esmond-histogram.json`, { refused: /--columns/ }],
  [32, "import", `${SD} --start 2026-01-01 --input @pscheduler-rtt.json`, { right: [5, 1, 34.6] }],
  [33, "import", "--columns time=1,src=2,dst=3,rtt=4 --input @sent4.csv", { right: USUAL }],
  [33, "import", "--columns time=1,src=2,dst=3,rtt=4 --input @sent3.csv", { right: USUAL }],
  [33, "import", `${S} --columns time=2,dst=3,rtt=4 --input @seq.csv`, { right: USUAL }],
  [34, "import", `${S} --columns dst=target,rtt=value --input @latency.csv`, { refused: /method/ }],
  [34, "import", `${S} --columns dst=target,rtt=value --rtt mean --input @latency.csv`, {
    refused: /method/,
  }],
  [35, "import", `${S} --start 2026-01-01 --input @cli.txt`, { refused: /source/ }],
  [35, "import", `${S} --start 2026-01-01 --max-reject-ratio 0.3 --input @cli.txt`, { refused: /source/ }],
  [35, "import", "--source network --input @both.txt", { refused: /rejected|source/ }],
  [36, "import", `${S} --input @fping.txt`, { right: [180, 60, 34.6] }],
  [36, "watch", `${S} --text --input @fping.txt`, { says: /180 measurements.*1 of them without any reply/ }],
  [37, "import", "--dst 198.51.100.7 --start 2026-01-01 --input @ping_final.csv", {
    refused: /--dst one address of each IP version/,
    then: ["--dst 198.51.100.7,2001:db8::7 --start 2026-01-01 --input @ping_final.csv", 40, 0, 34.6],
  }],
  [38, "import", `${S} --columns dst=host,time=ts --input @type-ping.jsonl`, { right: USUAL }],
  [38, "import", `${S} --input @missing.jsonl`, { right: USUAL }],
  [38, "watch", `${S} --text --input @missing.jsonl`, { says: /no reply, usually/ }],
  [38, "import", `${S} --columns dst=destination_ip,time=timestamp,rtt=time_ms --input @jc.jsonl`, {
    right: USUAL,
  }],
  [38, "import", `${S} --columns dst=host,time=timestamp,rtt=rtt --input @type-ping-timestamp.jsonl`, {
    right: USUAL,
  }],
  [
    38,
    "import",
    `--format csv ${S} --columns dst=destination_ip,time=timestamp,rtt=time_ms --input @jc.jsonl`,
    { right: USUAL },
  ],
  [
    39,
    "import",
    `${S} --columns dst=monitor.ip,time=@timestamp,rtt_us=icmp.rtt.us --input @heartbeat.jsonl`,
    { right: USUAL },
  ],
  [39, "import", `${S} --columns dst=monitor.ip,rtt_us=icmp.rtt.us --input @kibana.csv`, {
    refused: /invalidTime|Time/,
  }],
  [39, "import", `${S} --columns dst=monitor.ip,rtt_us=icmp.rtt.us --input @kibana-iso.csv`, {
    right: USUAL,
  }],
  [40, "import", `${S} --input @victoria.jsonl`, {
    refused: /--columns/,
    then: [`${S} --columns time_ms=timestamps,dst=metric.url,rtt=values --input @victoria.jsonl`, ...USUAL],
  }],
  [40, "import", `${SD} --input @graphite.json`, { refused: /get it with format=csv/ }],
  [40, "import", `${SD} --columns time=2,rtt=3 --input @graphite.csv`, { right: USUAL }],
  [40, "import", `${SD} --columns time_ms=time,rtt=average_response_ms --input @influx.json`, {
    right: USUAL,
  }],
  [40, "import", `${SD} --input @rrdtool-fetch.txt`, { refused: /Cannot read/ }],
  [40, "import", `${SD} --columns time=1,rtt_s=2 --input @rrdtool-fetch.txt`, { right: USUAL }],
  [40, "import", `${S} --input @promtool.txt`, { refused: /output of promtool/ }],
  [40, "import", `${S} --input @openmetrics.txt`, { refused: /metrics of an exporter/ }],
];

const isThere = (() => {
  try {
    return Deno.statSync(FIELD).isDirectory;
  } catch {
    return false;
  }
})();
if (!isThere) console.warn(`tests of field cases are left out: ${FIELD.pathname} is missing`);
const folders = isThere ? [...Deno.readDirSync(FIELD)].map(({ name }) => name) : [];

function argumentsOf(number: number, text: string): string[] {
  const folder = folders.find((name) => Number(name.slice(0, 2)) === number);
  assert(folder !== undefined, `no case ${number}`);
  return text.split(" ").map((word) => word.replace(/^@(?!timestamp)/, `${FIELD.pathname}${folder}/`));
}

/** Rows, lost rows, median and first time of an import; its error if it failed. */
async function imported(number: number, text: string) {
  using folder = new TemporaryFolder();
  const output = folder.at("out.parquet");
  const ended = await runStageProcess(["import", ...argumentsOf(number, text), "--output", output]);
  if (ended.code !== 0) return { error: ended.stderr };
  const { rttMs, eventTimeUs } = joinBatches((await readAll([output])).batches);
  const replies = [...rttMs].filter((ms) => ms !== FAILED_RTT_MS).sort((a, b) => a - b);
  return {
    rows: rttMs.length,
    lost: rttMs.length - replies.length,
    medianMs: replies[replies.length >> 1],
    first: new Date(eventTimeUs.reduce((least, us) => Math.min(least, us)) / 1000).toISOString(),
  };
}

function assertRead(
  read: Awaited<ReturnType<typeof imported>>,
  [rows, lost, medianMs]: [number, number, number],
): void {
  assert(read.error === undefined, read.error);
  assertEquals([read.rows, read.lost], [rows, lost]);
  assert(Math.abs(read.medianMs - medianMs) < 0.02 * medianMs, `the median is ${read.medianMs} ms`);
}

for (const [number, command, args, { right, first, refused, then, says }] of isThere ? CASES : []) {
  Deno.test(`field case ${number}: ${command} ${args}`, async () => {
    if (command === "watch") {
      const { code, stdout, stderr } = await runStageProcess([command, ...argumentsOf(number, args)]);
      if (says) assertMatch(stdout + stderr, says);
      if (refused) assertMatch(stderr, refused);
      return assertEquals(code, refused ? 1 : 0, stderr);
    }
    const read = await imported(number, args);
    if (right) assertRead(read, right);
    if (first !== undefined) assertEquals(read.first?.slice(0, first.length), first);
    if (refused) {
      assertMatch(
        read.error ?? `read ${read.rows} rows, ${read.lost} lost, median ${read.medianMs}`,
        refused,
      );
    }
    if (then) assertRead(await imported(number, then[0]), [then[1], then[2], then[3]]);
  });
}
