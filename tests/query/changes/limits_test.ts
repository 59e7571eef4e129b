/** Fixed limits of `watch`: `--above` and `--loss-above`. @module */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { UsageError } from "../../../lib/base/errors.ts";
import { LimitDetector } from "../../../lib/query/changes/limits.ts";
import { commandOf, loadStage } from "../../cli/stage_in_process.ts";
import { succeed } from "../../cli/process.ts";
import { TemporaryFolder } from "../../io/files/temporary_folder.ts";

const START_S = 1_767_225_600;

/** A day of pings every minute: minutes 100 to 159 are slow, 200 to 204 are lost. */
function rowsOf(src: string): string[] {
  return Array.from({ length: 300 }, (_, minute) => {
    const rtt = minute >= 100 && minute < 160 ? 120 : 20;
    const isLost = minute >= 200 && minute < 205;
    return `${src},192.0.2.1,${START_S + 60 * minute},${isLost ? "" : rtt + minute % 3}`;
  });
}

Deno.test("watch --above and --loss-above raise alarms while the last minutes are above a limit", async () => {
  using folder = new TemporaryFolder();
  const [input, names, output] = ["pings.csv", "names.csv", "alarms.jsonl"].map((name) => folder.at(name));
  Deno.writeTextFileSync(
    input,
    ["src,dst,time,rtt", ...rowsOf("10.0.0.1"), ...rowsOf("10.0.0.2")].join("\n"),
  );
  Deno.writeTextFileSync(names, "10.0.0.2,hq\n");
  const watched = ["watch", "--input", input, "--names", names, "--output", output];
  const limits = ["--above", "100ms/5m", "HQ=0.2s/5m", "--loss-above", "10%/10m"];
  const { stderr } = await succeed(...watched, ...limits);
  const lines = Deno.readTextFileSync(output).trimEnd().split("\n").map((line) => JSON.parse(line));
  const found = lines.filter(({ cause }) => cause === "limit").map((
    { event, src, limit, time },
  ) => [src, event, limit, (Date.parse(time) / 1000 - START_S) / 60]);
  const rtt = "median RTT above 100 ms for 5m";
  const loss = "losses above 10 % for 10m";
  // Three of the five RTTs of 5 minutes are above the limit, or two of the ten measurements of 10 are lost.
  assertEquals(found.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : Number(a[3]) - Number(b[3])), [
    ["10.0.0.1", "begin", rtt, 102],
    ["10.0.0.1", "end", rtt, 162],
    ["10.0.0.1", "begin", loss, 201],
    ["10.0.0.1", "end", loss, 213],
    ["10.0.0.2", "begin", loss, 201],
    ["10.0.0.2", "end", loss, 213],
  ]);
  const [begin] = lines.filter(({ limit }) => limit === rtt);
  assertEquals([begin.text, begin.rtt_ms, begin.per_day, begin.size_ms], [
    "median RTT above 100 ms for 5m: median 120 ms, 0.0 % lost",
    120,
    undefined,
    undefined,
  ]);
  // Unusual changes are reported too, and their evidence is the same as without limits.
  assertEquals(lines.some(({ cause, event }) => cause === "outage" && event === "begin"), true);
  assertStringIncludes(stderr, "(0 open)");

  const stage = await loadStage(commandOf(["watch"]).command);
  const faults: [args: string[], message: string][] = [
    [
      ["--above", "100/5m"],
      "use --above 100/5m: expected a value and a time such as 100ms/5m, or hq=100ms/5m",
    ],
    [["--above", "5%/5m"], "expected a value and a time such as 100ms/5m"],
    [["--loss-above", "100%/5m"], "expected a value and a time such as 5%/15m"],
    [["--above", "100ms/soon"], "use --above soon: expected a duration"],
    [["--above", "web=100ms/5m"], "web=…: it is not an address, a prefix or a name in a file of --names"],
  ];
  for (const [args, message] of faults) {
    await assertRejects(() => stage.run([...watched.slice(1), ...args, "--quiet"]), UsageError, message);
  }
});

Deno.test("a window has at least three measurements, however long ago, and a bounded memory", () => {
  const limit = { text: "", quantity: "rtt" as const, value: 100, withinS: 60 };
  const sparse = new LimitDetector(limit);
  // Hourly: two of the last three are above from the fourth on.
  const found = [20, 20, 120, 130, 20, 20, 20].map((rttMs, hour) => sparse.add(3600 * hour, rttMs));
  assertEquals(found.filter((each) => each !== undefined), [
    { kind: "begin", timeS: 3 * 3600 },
    { kind: "end", timeS: 5 * 3600 },
  ]);
  const lost = new LimitDetector({ ...limit, quantity: "loss", value: 0.5 });
  // A thousand per second, of which 40 %, then 60 % are lost.
  const changes = Array.from({ length: 200_000 }, (_, i) => {
    const isLost = i % 5 < (i < 100_000 ? 2 : 3);
    const found = lost.add(i / 1000, isLost ? NaN : 1);
    return found ? [`${found.kind} ${Math.round(found.timeS)}`] : [];
  }).flat();
  // Once, half a window later.
  assertEquals(changes, ["begin 130"]);
});
