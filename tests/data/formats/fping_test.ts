import { assertEquals, assertThrows } from "@std/assert";
import { NoMeasurementsError } from "../../../lib/data/formats/format.ts";
import { foundIn, foundInFile, lossesOf, LOST, othersOf, rowsOf, rttsOf, START_S } from "./findings.ts";

Deno.test("fping -D: a timed row for each packet, and none for the summary of the same packets", () => {
  const loop = foundInFile("fping_loop_times.txt");
  assertEquals(loop.length, 17);
  assertEquals(rowsOf(loop).slice(3, 6), [
    ["127.0.0.2", 1795761509.87798, 0.009],
    ["192.0.2.1", 1795761509.88712, LOST],
    ["127.0.0.1", 1795761510.868, 0.046],
  ]);
  for (const name of ["fping_counts_times.txt", "fping_count_times.txt"]) {
    const found = foundInFile(name);
    assertEquals(found.length, 10, name);
    const near = rowsOf(found).filter(([dst]) => dst === "127.0.0.1").map(([, , rttMs]) => rttMs);
    assertEquals(near.filter((rttMs) => rttMs === LOST).length, 1);
    const far = rowsOf(found).filter(([dst]) => dst === "192.0.2.1").map(([, , rttMs]) => rttMs);
    assertEquals(far, [LOST, LOST, LOST, LOST, LOST]);
  }
});

Deno.test("fping without times: packet n of a destination is n intervals after startS", () => {
  const found = foundIn(
    `198.51.100.1 : [0], 64 bytes, 27.0 ms (27.0 avg, 0% loss)
198.51.100.2 : [0], 64 bytes, 1.25 ms (1.25 avg, 0% loss)
198.51.100.2 : [1], timed out (1.25 avg, 50% loss)
198.51.100.1 : [2], 64 bytes, 26.9 ms (26.9 avg, 33% loss)
198.51.100.1 : [1], timed out (26.9 avg, 33% loss)

198.51.100.1 : 27.0 - 26.9
198.51.100.2 : 1.25 - 
198.51.100.1 : [0], 64 bytes, 30 ms (30.0 avg, 0% loss)
`,
    { startS: START_S, intervalS: 10 },
  );
  assertEquals(rowsOf(found), [
    ["198.51.100.1", START_S, 27],
    ["198.51.100.2", START_S, 1.25],
    ["198.51.100.2", START_S + 10, LOST],
    ["198.51.100.1", START_S + 10, LOST],
    ["198.51.100.1", START_S + 20, 26.9],
    // A second run.
    ["198.51.100.1", START_S + 30, 30],
  ]);
});

Deno.test("fping -C -q: a row for each packet of the summary, in one run or several", () => {
  const once = foundInFile("fping_counts_quiet.txt", { startS: START_S });
  assertEquals(rowsOf(once).slice(0, 6), [
    ["127.0.0.1", START_S, 0.015],
    ["127.0.0.1", START_S + 1, LOST],
    ["127.0.0.1", START_S + 2, 0.047],
    ["127.0.0.1", START_S + 3, 0.045],
    ["127.0.0.1", START_S + 4, 0.046],
    ["192.0.2.1", START_S, LOST],
  ]);
  const runs = foundIn("198.51.100.1 : 27.0 -\n198.51.100.1 : 27.2 27.3\n", { startS: START_S });
  assertEquals(rowsOf(runs), [27, LOST, 27.2, 27.3].map((rttMs, i) => ["198.51.100.1", START_S + i, rttMs]));
  assertEquals(rowsOf(foundIn("198.51.100.1 : 27.0 -\n"))[0], ["198.51.100.1", null, 27]);
  // A time alone on a line is the beginning of the next run.
  const text =
    "2026-01-01T00:00:00Z\n192.0.2.10 : 5.1 - 5.2\nThu Jan  1 00:01:00 UTC 2026\n192.0.2.10 : 5.3 -\n";
  const timed = [[0, 5.1], [1, LOST], [2, 5.2], [60, 5.3], [61, LOST]];
  assertEquals(
    rowsOf(foundIn(text)) as unknown[],
    timed.map(([s, rttMs]) => ["192.0.2.10", START_S + s, rttMs]),
  );
});

Deno.test("fping -C -q with a logger's timestamp is one result of several packets", () => {
  const text = "2026-01-01T00:00:00Z 198.51.100.1 : 27.0 - 29.0\n";
  const mean = foundIn(text);
  assertEquals(rowsOf(mean), [["198.51.100.1", START_S, 28]]);
  assertEquals(lossesOf(mean), [1]);
  assertEquals(rowsOf(foundIn(text, { rtt: "each" })), [["198.51.100.1", START_S, 27, LOST, 29]]);
});

Deno.test("fping -c -q: the mean of the summary and its losses", () => {
  const found = foundIn(
    `198.51.100.1 : xmt/rcv/%loss = 5/4/20%, min/avg/max = 26.9/27.0/27.1
198.51.100.2 : xmt/rcv/%loss = 5/0/100%
198.51.100.3 : xmt/rcv/%loss = 1/1/0%, outage(ms) = 0, min/avg/max = 0.010/0.011/0.012
198.51.100.4 : xmt/rcv/%return = 1/2/200%, min/avg/max = 1.00/1.50/2.00
198.51.100.5 : xmt/rcv/%loss = 0/0/0%
`,
    { startS: START_S },
  );
  assertEquals(rttsOf(found), [27, LOST, 0.011, 1.5]);
  assertEquals(lossesOf(found), [1, 5, 0, 0]);
  assertEquals(othersOf(found), [[5, "nothing sent"]]);
});

Deno.test("fping -Q: a row for each interval, and none for the final total", () => {
  const found = foundInFile("fping_intervals.txt", { startS: START_S, intervalS: 2 });
  assertEquals(rowsOf(found), [
    ["127.0.0.1", START_S, 0.041],
    ["192.0.2.1", START_S, LOST],
    ["127.0.0.1", START_S + 2, 0.047],
    ["192.0.2.1", START_S + 2, LOST],
    ["127.0.0.1", START_S + 4, 0.047],
    ["192.0.2.1", START_S + 4, LOST],
  ]);
  assertEquals(lossesOf(found), [0, 1, 0, 2, 0, 2]);
  const withTime = foundIn("[1767225600.5]\n198.51.100.1 : xmt/rcv/%loss = 1/1/0%, min/avg/max = 1/1/1\n");
  assertEquals(rowsOf(withTime), [["198.51.100.1", 1767225600.5, 1]]);
});

Deno.test("fping: ICMP errors are not separate packets, and duplicates and statistics are ignored", () => {
  const errors = foundInFile("fping_unreachable.txt");
  assertEquals(rowsOf(errors).map(([dst]) => dst).sort(), [
    ...["192.0.2.2", "192.0.2.2", "192.0.2.2", "192.0.2.2"],
    ...["198.51.100.1", "198.51.100.1", "198.51.100.1", "198.51.100.1"],
  ]);
  assertEquals(othersOf(errors), []);
  const statistics = foundIn(`198.51.100.1 : [0], 64 bytes, 0.034 ms (0.034 avg, 0% loss)
198.51.100.1 : duplicate for [0], 64 bytes, 0.050 ms

       1 targets
       1 alive
       0 unreachable
       0 unknown addresses

       0 timeouts (waiting for response)
       1 ICMP Echos sent
       1 ICMP Echo Replies received
       0 other ICMP received

 0.034 ms (min round trip time)
 0.034 ms (avg round trip time)
        0.000 sec (elapsed real time)
`);
  assertEquals([rttsOf(statistics), othersOf(statistics)], [[0.034], []]);
});

Deno.test("fping: an ICMP error is a loss unless another line reports its packet", () => {
  const error = (s: number, dst: string) =>
    `[${START_S + s}.9] ICMP Host Unreachable from 192.0.2.2 for ICMP Echo sent to ${dst}\n`;
  const reply = (s: number) => `[${START_S + s}.1] 198.51.100.7 : [${s}], 64 bytes, 5 ms (5 avg, 0% loss)\n`;
  const dead = "198.51.100.99";
  const seconds = [...Array(12).keys()];
  const errors = seconds.map((s) => error(s, dead));
  const lost = (found: ReturnType<typeof foundIn>) => rowsOf(found).filter(([, , rttMs]) => rttMs === LOST);
  const mixed = foundIn(seconds.map((s) => reply(s) + errors[s]).join(""));
  assertEquals(lost(mixed), seconds.map((s) => [dead, START_S + s + 0.9, LOST]));
  assertEquals([rowsOf(mixed).length, othersOf(mixed)], [24, []]);
  // By default fping tries four times.
  const tries = foundIn(errors.slice(0, 4).join("") + `${dead} is unreachable\n`);
  assertEquals(rowsOf(tries), [0, 1, 2, 3].map((s) => [dead, START_S + s + 0.9, LOST]));
  const timeout = (n: number) => `[${START_S + n + 1}.4] ${dead} : [${n}], timed out (NaN avg, 100% loss)\n`;
  const both = foundIn(seconds.map((s) => errors[s] + timeout(s)).join(""));
  assertEquals([rttsOf(both), othersOf(both)], [Array(12).fill(LOST), []]);
  // The summaries of a quiet run count all packets, whether errors reported them or not.
  for (
    const [text, numLost] of [["xmt/rcv/%loss = 14/0/100%", 14], ["- - - - - - - - - - - - - -", 14]] as const
  ) {
    const quiet = foundIn(`${errors.join("")}${dead} : ${text}\n`);
    assertEquals(lossesOf(quiet).reduce((sum, each) => sum + each), numLost);
    assertEquals(othersOf(quiet), []);
  }
  const redirect = foundIn(`ICMP Redirect Host from 192.0.2.2 for ICMP Echo sent to ${dead}\n${reply(0)}`);
  assertEquals([rttsOf(redirect), othersOf(redirect)], [[5], []]);
});

Deno.test("fping without -c: alive and unreachable", () => {
  const found = foundIn(`198.51.100.1 is alive (27.0 ms)
198.51.100.2 is unreachable
198.51.100.3 is alive
198.51.100.4 is alive (TTL 64) (1.50 ms) [<- 203.0.113.9]
`);
  assertEquals(rowsOf(found), [
    ["198.51.100.1", null, 27],
    ["198.51.100.2", null, LOST],
    ["198.51.100.4", null, 1.5],
  ]);
  assertEquals(othersOf(found), [[3, "nullValue"]]);
});

Deno.test("fping: names, names with addresses, local errors and unknown lines", () => {
  const found = foundIn(
    `user@host:~$ fping -C 2 198.51.100.1 nohost.invalid
nohost.invalid: Name or service not known
fping: can't create socket (must run as root?)
198.51.100.1: error while sending ping: Network is unreachable
Web.example : [0], 64 bytes, 5 ms (5 avg, 0% loss)
localhost (127.0.0.1) : [0], 64 bytes, 0.009 ms (0.009 avg, 0% loss)
other.example : [0], 64 bytes, 5 ms (5 avg, 0% loss)
198.51.100.1 : [1], 64 bytes, 0.000 ms (0.009 avg, 0% loss)
what is this
nohost.invalid address not found
^C
`,
    { addresses: new Map([["web.example", "198.51.100.9"]]) },
  );
  assertEquals(rowsOf(found), [["198.51.100.9", null, 5], ["127.0.0.1", null, 0.009]]);
  assertEquals(othersOf(found), [
    ...[2, 3, 4].map((line): [number, string] => [line, "local error"]),
    [7, "unparseableAddress"],
    [8, "zeroRtt"],
    [9, "unknownLine"],
    [10, "local error"],
  ]);
});

Deno.test("fping -J: packets, and summaries only of packets not reported before", () => {
  const count = foundInFile("documented_fping_json_count.jsonl", { startS: START_S });
  assertEquals(rowsOf(count), [
    ["192.0.2.10", START_S, 5.12],
    ["192.0.2.20", START_S, 0.054],
    ["192.0.2.10", START_S + 1, 5.13],
    ["192.0.2.20", START_S + 1, LOST],
    ["192.0.2.10", START_S + 2, 5.14],
    ["192.0.2.20", START_S + 2, 0.062],
  ]);
  assertEquals(rttsOf(foundInFile("documented_fping_json_counts.jsonl")), [0.054, 0.062, LOST, 0.081]);
  const quiet = foundIn('{"vSum": {"host": "192.0.2.10", "values": [0.054, null]}}\n', { startS: START_S });
  assertEquals(rowsOf(quiet), [["192.0.2.10", START_S, 0.054], ["192.0.2.10", START_S + 1, LOST]]);
  const summary = foundIn(
    '{"summary": {"host": "192.0.2.20", "xmt": 3, "rcv": 2, "loss": 33, "rttMin": 1, "rttAvg": 2, "rttMax": 3}}',
  );
  assertEquals([rttsOf(summary), lossesOf(summary)], [[2], [1]]);
});

Deno.test("fping -J: times of -D and of intervals, and unknown lines", () => {
  const intervals = foundInFile("documented_fping_json_intervals.jsonl");
  assertEquals(rowsOf(intervals), [
    ["192.0.2.10", 1733560000, 0.055],
    ["192.0.2.20", 1733560000, LOST],
    ["192.0.2.10", 1733560010, 0.056],
    ["192.0.2.20", 1733560010, LOST],
  ]);
  assertEquals(lossesOf(intervals), [0, 10, 1, 10]);
  const times = foundIn(`ICMP Host Unreachable from 192.0.2.2 for ICMP Echo sent to 192.0.2.20
{"resp": {"timestamp": "1767225600.25000", "host": "192.0.2.10", "seq": 0, "size": 64, "rtt": 5.12}}
{"timeout": {"timestamp": "2026-01-01T01:00:01+0100", "host": "192.0.2.10", "seq": 1}}
{"stats": {"targets": 1}}
{"summary": {"host": "192.0.2.10", "xmt": 2, "rcv"
{"resp": {"timestamp": "Thu Jan  1 00:00:02 2026", "host": "192.0.2.10", "seq": 2, "size": 64, "rtt": 5.12}}`);
  assertEquals(rowsOf(times), [
    ["192.0.2.20", null, LOST],
    ["192.0.2.10", START_S + 0.25, 5.12],
    ["192.0.2.10", START_S + 1, LOST],
  ]);
  assertEquals(othersOf(times), [[4, "fping stats"], [5, "invalidJson"], [6, "invalidTime"]]);
});

Deno.test("fping: a long first line with colons or dots is not read as a summary", () => {
  for (const text of [":", "a.", "192.0.2.1:80 ", "1.1 : "]) {
    assertThrows(() => foundIn(text.repeat(65_536 / text.length)), NoMeasurementsError, "it begins with");
  }
});

Deno.test("fping: a gap in the numbers is a loss, since old versions do not report timeouts", () => {
  const reply = (n: number) => `[${START_S + n}] 198.51.100.7 : [${n}], 64 bytes, 5 ms (5 avg, 0% loss)\n`;
  const total = "198.51.100.7 : xmt/rcv/%loss = 6/3/50%, min/avg/max = 5/5/5\n";
  const found = foundIn(reply(0) + reply(1) + reply(4) + total);
  assertEquals(rowsOf(found).map(([, timeS]) => Number(timeS) - START_S), [0, 1, 2, 3, 4, 5]);
  assertEquals(rttsOf(found), [5, 5, LOST, LOST, 5, LOST]);
});
