import { assertEquals, assertThrows } from "@std/assert";
import { shortened } from "../../../lib/base/errors.ts";
import {
  isHost,
  NoMeasurementsError,
  pingRow,
  readRtt,
  USUAL_READING,
} from "../../../lib/data/formats/format.ts";
import { PacketReader } from "../../../lib/data/formats/packets.ts";
import type { Reading } from "../../../lib/data/formats/reading.ts";
import {
  foundIn,
  foundInChunks,
  foundInFile,
  lossesOf,
  LOST,
  othersOf,
  rowsOf,
  rttsOf,
  SOURCE,
  START_S,
} from "./findings.ts";

const HOST = "198.51.100.7";

Deno.test("Linux ping: losses as gaps, as lines and in the statistics, and late and duplicate replies", () => {
  const found = foundIn(
    `$ ping -c 7 example.net
PING example.net (${HOST}) 56(84) bytes of data.
64 bytes from host.example.net (${HOST}): icmp_seq=1 ttl=57 time=12.3 ms
64 bytes from host.example.net (${HOST}): icmp_seq=1 ttl=57 time=12.4 ms (DUP!)
From 203.0.113.1 icmp_seq=2 Destination Host Unreachable
64 bytes from host.example.net (${HOST}): icmp_seq=5 ttl=57 time=1234 ms
no answer yet for icmp_seq=6
64 bytes from host.example.net (${HOST}): icmp_seq=6 ttl=57 time=1500 ms
^C
--- example.net ping statistics ---
7 packets transmitted, 3 received, +1 duplicates, +1 errors, 57.1429% packet loss, time 6008ms
rtt min/avg/max/mdev = 12.300/915.433/1500.000/647.0 ms
`,
    { startS: START_S, intervalS: 0.5 },
  );
  assertEquals(rttsOf(found), [12.3, LOST, LOST, LOST, 1234, 1500, LOST]);
  assertEquals(rowsOf(found).map(([, timeS]) => timeS), [0, 1, 2, 3, 4, 5, 6].map((i) => START_S + i / 2));
  assertEquals(othersOf(found), []);
  assertEquals(found.map(({ line }) => line), [3, 5, 6, 6, 6, 7, 11]);
  assertEquals(lossesOf(found), [
    ...[0, 1, 1, 1, 0, 0, 1],
  ]);
});

Deno.test("Linux ping without times and without startS yields rows without times", () => {
  const rttsMs = [0.164, 0.043, 0.039, 0.042, 0.042];
  assertEquals(rowsOf(foundInFile("ping_plain.txt")), rttsMs.map((rttMs) => ["127.0.0.1", null, rttMs]));
  const loss = foundInFile("ping_plain_loss.txt", { startS: START_S });
  assertEquals(rttsOf(loss), [0.009, 0.043, LOST, LOST, 0.045, 0.044]);
  assertEquals(rowsOf(loss).map(([, timeS]) => timeS), [0, 1, 2, 3, 4, 5].map((i) => START_S + i));
});

Deno.test("Linux ping: times with -D, and losses as they happen with -O", () => {
  assertEquals(rowsOf(foundInFile("ping_times.txt"))[0], ["127.0.0.1", 1795761476.609009, 0.025]);
  assertEquals(rowsOf(foundInFile("ping_times_loss.txt")), [
    ["127.0.0.1", 1795761480.696112, 0.012],
    ["127.0.0.1", 1795761481.718082, 0.04],
    ["127.0.0.1", 1795761483.766019, LOST],
    ["127.0.0.1", 1795761484.790103, LOST],
    ["127.0.0.1", 1795761484.790195, 0.04],
    ["127.0.0.1", 1795761485.81408, 0.042],
  ]);
  assertEquals(rttsOf(foundInFile("ping_times_dead.txt")), [LOST, LOST, LOST, LOST]);
  assertEquals(rttsOf(foundInFile("ping_times_fast.txt")).length, 12);
  assertEquals(rttsOf(foundInFile("ping_times_stopped.txt")).length, 7);
  const name = foundInFile("ping_times_name.txt", { addresses: new Map([["localhost", "127.0.0.1"]]) });
  assertEquals(rowsOf(name).map(([dst]) => dst), ["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
});

Deno.test("Linux ping -D -O: an ICMP error and `no answer yet` for one packet are one loss", () => {
  const found = foundInFile("ping_times_unreachable.txt");
  assertEquals(
    rowsOf(found).map(([dst, , rtt]) => [dst, rtt]),
    [1, 2, 3, 4].map(() => ["198.51.100.1", LOST]),
  );
  assertEquals(othersOf(found), []);
});

Deno.test("Linux ping -D: missing packets are timed between their neighbours", () => {
  const found = foundIn(`PING ${HOST} (${HOST}) 56(84) bytes of data.
[1750000000.250000] 64 bytes from ${HOST}: icmp_seq=1 ttl=60 time=0.4 ms
[1750000003.250000] 64 bytes from ${HOST}: icmp_seq=4 ttl=60 time=0.5 ms`);
  assertEquals(rowsOf(found).map(([, timeS]) => timeS), [0.25, 1.25, 2.25, 3.25].map((s) => 1750000000 + s));
});

Deno.test("Linux ping over IPv6, with the source", () => {
  const found = foundIn(
    `PING 2001:db8::7(2001:db8::7) from 2001:db8:1::1 eth0: 56 data bytes
[1750000000.250000] 64 bytes from 2001:db8::7: icmp_seq=1 ttl=60 time=0.412 ms
[1750000001.250000] 64 bytes from 2001:db8::7: icmp_seq=2 ttl=60 time=0.5 ms`,
    { src: undefined },
  );
  assertEquals(rowsOf(found), [["2001:db8::7", 1750000000.25, 0.412], ["2001:db8::7", 1750000001.25, 0.5]]);
  assertEquals(found.map(({ finding }) => "srcAddr" in finding ? finding.srcAddr : ""), [
    ...["2001:db8:1::1", "2001:db8:1::1"],
  ]);
  assertEquals(rttsOf(foundInFile("ping_times_ipv6.txt", { src: ["2001:db8::1"] })).length, 5);
});

Deno.test("Linux ping: a packet that could not be sent is skipped but takes up its interval", () => {
  const found = foundIn(
    `PING ${HOST} (${HOST}) 56(84) bytes of data.
64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12 ms
ping: sendmsg: Network is unreachable
ping: sendmsg: Network is unreachable
64 bytes from ${HOST}: icmp_seq=4 ttl=57 time=13 ms
64 bytes from ${HOST}: icmp_seq=6 ttl=57 time=14 ms

--- ${HOST} ping statistics ---
6 packets transmitted, 3 received, 50% packet loss, time 5005ms`,
    { startS: START_S },
  );
  assertEquals(rowsOf(found), [
    [HOST, START_S, 12],
    [HOST, START_S + 3, 13],
    [HOST, START_S + 4, LOST],
    [HOST, START_S + 5, 14],
  ]);
  assertEquals(othersOf(found), [[3, "local error"], [4, "local error"]]);
});

Deno.test("ping with a logger's timestamp before each line", () => {
  for (
    const [first, second] of [
      ["2026-01-01 00:00:00 ", "2026-01-01 00:00:01 "],
      ["2026-01-01T00:00:00Z ", "2026-01-01T00:00:01Z "],
      ["[2026-01-01 00:00:00.000] ", "[2026-01-01 00:00:01.000] "],
      ["2026-01-01T01:00:00+01:00: ", "2026-01-01T01:00:01+01:00: "],
      ["2026/01/01 00:00:00,000 ", "2026/01/01 00:00:01,000 "],
      ["1767225600 ", "1767225601 "],
      ["2026-01-01 00:00:00 - ", "2026-01-01 00:00:01 - "],
      ["Thu Jan  1 00:00:00 UTC 2026: ", "Thu Jan  1 00:00:01 UTC 2026: "],
      ["[01.01.2026 00:00:00] ", "[01.01.2026 00:00:01] "],
      ["1767225600,", "1767225601,"],
      ["2026-01-01T00:00:00+0000 myhost ping[12]: ", "2026-01-01T00:00:01+0000 myhost ping[12]: "],
      ["2026-01-01 01:00:00 +01 ", "2026-01-01 01:00:01 +01 "],
    ]
  ) {
    const found = foundIn(`${first}PING ${HOST} (${HOST}) 56(84) bytes of data.
${first}64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12.3 ms
${second}no answer yet for icmp_seq=2
`);
    assertEquals(rowsOf(found), [[HOST, START_S, 12.3], [HOST, START_S + 1, LOST]], first);
    assertEquals(othersOf(found), []);
  }
  // The level of a log is no zone, and a number before a line is not the size of a reply.
  const levels = foundIn(
    `2026-01-01 00:00:00,000 INFO 64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12.3 ms`,
  );
  assertEquals([rowsOf(levels), othersOf(levels)], [[[HOST, START_S, 12.3]], []]);
  const numbered = foundIn(`1\t64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12.3 ms
2\tFrom 192.0.2.1 icmp_seq=2 Destination Host Unreachable`);
  assertEquals([rttsOf(numbered), othersOf(numbered)], [[12.3, LOST], []]);
  const timeOfDay = foundIn(`[10:00:00] 64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12.3 ms
[10:00:01] no answer yet for icmp_seq=2`);
  assertEquals(rowsOf(timeOfDay), [[HOST, null, 12.3], [HOST, null, LOST]]);
  // Times whose year, zone or order is not known.
  for (
    const first of [
      ...["Jan  1 00:00:00 ", "Jan  1 00:00:00 myhost ping[12]: ", "Thu Jan  1 00:00:00 2026: "],
      ...[
        "Thu Jan  1 00:00:00 IST 2026 ",
        "2026-01-01 00:00:00 IST ",
        "02/01/2026 00:00:00 ",
        "Thu 01/02/2026 12:00:00.12 ",
      ],
    ]
  ) {
    const text = `${first}64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12.3 ms\n`;
    const next = `2026-01-01T00:00:02Z ${text.slice(first.length).replace("seq=1", "seq=2")}`;
    const found = foundIn(text + next);
    assertEquals([rttsOf(found), othersOf(found)], [[12.3], [[1, "invalidTime"]]], first);
    assertEquals(rowsOf(foundIn(text, { startS: START_S })), [[HOST, START_S, 12.3]]);
  }
});

Deno.test("macOS ping", () => {
  const wanted = [15.234, 17.48, LOST, LOST, 13.247, 14.002];
  for (const name of ["documented_macos_plain.txt", "documented_macos_apple_time.txt"]) {
    const found = foundInFile(name, { startS: START_S });
    assertEquals(rowsOf(found), wanted.map((rttMs, i) => ["192.0.2.10", START_S + i, rttMs]));
    assertEquals(othersOf(found), []);
  }
  const ipv6 = foundIn(
    `PING6(56=40+8+8 bytes) 2001:db8:1::1 --> 2001:db8::7
16 bytes from 2001:db8::7, icmp_seq=0 hlim=57 time=9.25 ms`,
    { src: undefined },
  );
  assertEquals(rowsOf(ipv6), [["2001:db8::7", null, 9.25]]);
  const unsent = foundIn(`PING ${HOST} (${HOST}): 56 data bytes
64 bytes from ${HOST}: icmp_seq=0 ttl=57 time=12 ms
ping: sendto: No route to host
Request timeout for icmp_seq 1
64 bytes from ${HOST}: icmp_seq=2 ttl=57 time=13 ms`);
  assertEquals(rttsOf(unsent), [12, 13]);
  assertEquals(othersOf(unsent), [[3, "local error"]]);
});

Deno.test("busybox ping", () => {
  const found = foundIn(`PING example.net (${HOST}): 56 data bytes
64 bytes from ${HOST}: seq=0 ttl=57 time=12.345 ms
64 bytes from ${HOST}: seq=2 ttl=57 time=13.1 ms

--- example.net ping statistics ---
4 packets transmitted, 2 packets received, 50% packet loss
round-trip min/avg/max = 12.345/12.7/13.1 ms`);
  assertEquals(rowsOf(found), [12.345, LOST, 13.1, LOST].map((rttMs) => [HOST, null, rttMs]));
  assertEquals(othersOf(found), []);
});

Deno.test("busybox ping over IPv6", () => {
  const ipv6 = foundIn(
    "PING 2001:db8::7 (2001:db8::7): 56 data bytes\n64 bytes from 2001:db8::7: seq=0 ttl=57 time=12.3 ms\n",
    { src: ["2001:db8::1"] },
  );
  assertEquals(rowsOf(ipv6), [["2001:db8::7", null, 12.3]]);
});

Deno.test("Go ping, with a unit for each RTT; hping3 and oping are refused", () => {
  const go = foundIn(`PING ${HOST} (${HOST}):
24 bytes from ${HOST}: icmp_seq=0 time=12.345678ms ttl=57
24 bytes from ${HOST}: icmp_seq=1 time=980.5µs ttl=57
24 bytes from ${HOST}: icmp_seq=2 time=1.5s ttl=57
`);
  assertEquals([rttsOf(go), othersOf(go)], [[12.345678, 0.9805, 1500], []]);
  const others = [
    `HPING ${HOST} (eth0 ${HOST}): icmp mode set, 28 headers + 0 data bytes
len=28 ip=${HOST} ttl=57 id=0 icmp_seq=0 rtt=12.3 ms
`,
    `PING ${HOST} (${HOST}) 56 bytes of data.
56 bytes from ${HOST} (${HOST}): icmp_seq=1 ttl=57 time=12.30 ms
`,
  ];
  for (const text of others) assertThrows(() => foundIn(text), NoMeasurementsError, "hping3, nping, oping");
});

Deno.test("Windows ping in English: less than 1 ms is 0.5 ms, and general failures are skipped", () => {
  const found = foundInFile("documented_windows_en.txt");
  assertEquals(rowsOf(found), [14, 0.5, LOST, LOST, 13].map((rttMs) => ["192.0.2.10", null, rttMs]));
  assertEquals(othersOf(found), [[7, "local error"]]);
  const ipv6 = foundInFile("documented_windows_ipv6_en.txt", { src: ["2001:db8::1"] });
  assertEquals(rowsOf(ipv6), [18, 17, LOST, 18].map((rttMs) => ["2001:db8::10", null, rttMs]));
});

Deno.test("Windows ping in German, in UTF-16 and in a code page", () => {
  for (const name of ["documented_windows_de_utf16.txt", "documented_windows_de_cp850.txt"]) {
    const found = foundInFile(name);
    assertEquals(rowsOf(found), [24, 0.5, LOST, 23].map((rttMs) => ["192.0.2.10", null, rttMs]), name);
    assertEquals(found.map(({ line }) => line), [3, 4, 5, 6]);
  }
});

Deno.test("ping: several runs are separated, and unknown lines are rejected", () => {
  const text = `PING ${HOST} (${HOST}): 56 data bytes
64 bytes from ${HOST}: icmp_seq=0 ttl=57 time=12 ms
what is this
PING 203.0.113.9 (203.0.113.9): 56 data bytes
64 bytes from 203.0.113.9: icmp_seq=0 ttl=57 time=20 ms
From 192.0.2.1: icmp_seq=1 Redirect Host(New nexthop: 192.0.2.2)
64 bytes from 203.0.113.9: icmp_seq=1 ttl=57 time=0 ms
64 bytes from 203.0.113.9: icmp_seq=2 ttl=57 time=21 ms`;
  const found = foundIn(text);
  assertEquals(rowsOf(found), [[HOST, null, 12], ["203.0.113.9", null, 20], ["203.0.113.9", null, 21]]);
  assertEquals(rttsOf(foundIn(text, { noReply: ["0"] })), [12, 20, LOST, 21]);
  assertEquals(othersOf(found), [[3, "unknownLine"], [7, "zeroRtt"]]);
});

Deno.test("ping: a reply that arrives after ten others still counts as lost", () => {
  const reply = (sequence: number) =>
    `64 bytes from ${HOST}: icmp_seq=${sequence} ttl=57 time=${sequence} ms`;
  const numbers = [...Array(12).keys()].map((i) => i + 2);
  const text = ["no answer yet for icmp_seq=1", ...numbers.map(reply), reply(1)].join("\n");
  assertEquals(rttsOf(foundIn(text, { dst: [HOST] })), [LOST, ...numbers]);
});

Deno.test("ping: lines without a destination are rejected unless it is given", () => {
  const text = "Request timeout for icmp_seq 0\n";
  assertEquals(othersOf(foundIn(text)), [[1, "nullValue"]]);
  assertEquals(rowsOf(foundIn(text, { dst: [HOST] })), [[HOST, null, LOST]]);
});

Deno.test("ping: a time alone on a line is the start time of the next run", () => {
  const run = (time: string, replies: string) =>
    `${time}\nPING ${HOST} (${HOST}) 56(84) bytes of data.\n${replies}\n--- ${HOST} ping statistics ---\n` +
    "1 packets transmitted, 0 received, 0% packet loss, time 0ms\n";
  const reply = `64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=5 ms`;
  const text = run("Thu Jan  1 00:00:00 UTC 2026", reply) + run("2026-01-01T00:01:00+00:00", "") +
    run("1767225720", `${reply}\n${reply.replace("seq=1", "seq=2")}`);
  const wanted = [[0, 5], [60, LOST], [120, 5], [122, 5]].map(([s, rttMs]) => [HOST, START_S + s, rttMs]);
  assertEquals(rowsOf(foundIn(text, { intervalS: 2 })) as unknown[], wanted);
  // Without statistics, a loss has the time of its own run.
  const stopped = "2026-01-01T00:00:00Z\nno answer yet for icmp_seq=1\n2026-01-01T00:01:00Z\n" + reply;
  assertEquals(rowsOf(foundIn(stopped, { dst: [HOST] })), [[HOST, START_S, LOST], [HOST, START_S + 60, 5]]);
  // If only replies were kept, a time without one may be a loss.
  const times = [0, 1, 2].map((minute) => `2026-01-01T00:0${minute}:00Z\n`);
  const filtered = foundIn(`${times[0]}${reply}\n${times[1]}${times[2]}${reply}\n`, { dst: [HOST] });
  assertEquals([rttsOf(filtered), othersOf(filtered)], [[5, 5], [[3, "incompleteResult"]]]);
  const ended = `${run(times[0].trim(), reply)}${times[1]}${run(times[2].trim(), reply)}`;
  assertEquals(othersOf(foundIn(ended)), []);
});

Deno.test("ping: lines of 64 Ki characters are parsed, and longer ones are one unknown line", () => {
  const reply = (sequence: number) => `64 bytes from ${HOST}: icmp_seq=${sequence} ttl=57 time=5 ms\n`;
  const longest = ["x".repeat(65_536), "x ".repeat(32_768), "f".repeat(65_535) + ":"];
  const text = reply(1) + longest.map((line) => `${line}\n`.repeat(100)).join("") + reply(2);
  assertEquals(rttsOf(foundIn(text)), [5, 5]);

  const encoder = new TextEncoder();
  const chunks = [reply(1), ...Array(5).fill("y".repeat(30_000)), `\n${reply(2)}`, "z".repeat(65_537)];
  const found = foundInChunks(chunks.map((chunk) => encoder.encode(chunk)), "in.txt", {
    ...USUAL_READING,
    src: [SOURCE],
  });
  assertEquals(rttsOf(found), [5, 5]);
  assertEquals(othersOf(found), [[2, "unknownLine"], [4, "unknownLine"]]);
});

Deno.test("ping: 16-bit sequence numbers wrap after 65,535", () => {
  const sent = Array.from({ length: 140_000 }, (_, i) => i + 1);
  const isLost = (i: number) => i % 1000 === 0 || i > 65_530 && i < 65_540;
  const lines = sent.filter((i) => !isLost(i)).map((i) =>
    `[${START_S + i}.5] 64 bytes from ${HOST}: icmp_seq=${i % 65_536} ttl=57 time=5 ms\n`
  );
  const rows = rowsOf(foundIn(lines.join("")));
  assertEquals(rows.length, 139_999); // The last packet is lost.
  assertEquals(rows.filter(([, , rttMs]) => rttMs === LOST).length, sent.filter(isLost).length - 1);
  assertEquals(new Set(rows.map(([, timeS]) => timeS)).size, rows.length);
});

Deno.test("ping: lines of several destinations and runs, with and without headings", () => {
  const other = "203.0.113.9";
  const reply = (timeS: number, address: string, sequence: number, rttMs: number) =>
    `[${START_S + timeS}] 64 bytes from ${address}: icmp_seq=${sequence} ttl=57 time=${rttMs} ms\n`;
  const mixed = reply(1, HOST, 1, 5) + reply(1, other, 1, 7) + reply(3, HOST, 3, 5) + reply(2, other, 2, 7);
  const wanted: ReturnType<typeof rowsOf> = [
    [HOST, START_S + 1, 5],
    [other, START_S + 1, 7],
    [HOST, START_S + 2, LOST],
    [HOST, START_S + 3, 5],
    [other, START_S + 2, 7],
  ];
  assertEquals(rowsOf(foundIn(mixed)), wanted);
  const [one, two] = [HOST, other].map((each) => `PING ${each} (${each}) 56(84) bytes of data.\n`);
  const dead = one + two + reply(1, HOST, 1, 5) + `[${START_S + 2}] no answer yet for icmp_seq=1\n` +
    reply(2, HOST, 2, 5) + `[${START_S + 3}] From 192.0.2.1 icmp_seq=2 Destination Host Unreachable\n` +
    reply(3, HOST, 3, 5);
  // Lines of losses do not name the destination.
  assertEquals(rowsOf(foundIn(dead)), [1, 2, 3].map((i) => [HOST, START_S + i, 5]));
  assertEquals(othersOf(foundIn(dead)), [[4, "nullValue"], [6, "nullValue"]]);
  const headings = [HOST, other].map((each) => `PING ${each} (${each}) 56(84) bytes of data.\n`).join("");
  const statistics = `--- ${HOST} ping statistics ---\n3 packets transmitted, 2 received, 33% packet loss\n` +
    `--- ${other} ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss\n`;
  assertEquals(rowsOf(foundIn(headings + mixed + statistics)), wanted);

  // A restarted ping, and a duplicate.
  const anew = reply(1, HOST, 1, 5) + reply(2, HOST, 2, 5) + reply(2, HOST, 2, 6).replace("\n", " (DUP!)\n") +
    reply(11, HOST, 1, 6) + reply(12, HOST, 2, 6) + reply(14, HOST, 4, 6);
  assertEquals(rowsOf(foundIn(anew)).map(([, timeS, rttMs]) => [Number(timeS) - START_S, rttMs]), [
    ...[[1, 5], [2, 5], [11, 6], [12, 6], [13, LOST], [14, 6]],
  ]);
  const long = Array.from({ length: 3000 }, (_, i) => reply(i, HOST, i + 1, 5)).join("") +
    reply(4000, HOST, 1, 5);
  assertEquals(rttsOf(foundIn(long + reply(4002, HOST, 3, 5))).slice(3000), [5, LOST, 5]);

  // A destination that replies from another address has that one.
  for (const name of [HOST, "web.example"]) {
    const run = `PING ${name} 56 data bytes\n` + reply(1, other, 1, 5) + reply(3, other, 3, 5);
    assertEquals(rowsOf(foundIn(run)).map(([dst, , rtt]) => [dst, rtt]), [
      ...[[other, 5], [other, LOST], [other, 5]],
    ]);
  }
});

Deno.test("ping: the statistics bound the losses, and supply the mean where no line reports a packet", () => {
  const heading = `PING ${HOST} (${HOST}) 56(84) bytes of data.\n`;
  const statistics = (numSent: number, numReceived: number) =>
    `--- ${HOST} ping statistics ---\n${numSent} packets transmitted, ${numReceived} received, 9% packet loss, time 4ms\n`;
  const mean = "rtt min/avg/max/mdev = 12.164/12.543/13.039/0.042 ms\n";
  const reply = (sequence: number) => `64 bytes from ${HOST}: icmp_seq=${sequence} ttl=57 time=5 ms\n`;
  const noRtt = (sequence: number) => `76 bytes from ${HOST}: icmp_seq=${sequence} ttl=57 (truncated)\n`;
  const cases: [text: string, rttsMs: number[], losses: number[], others: string[]][] = [
    [heading + "\n" + statistics(5, 5) + mean, [12.543], [0], []],
    [heading + "....\n" + statistics(100, 80) + mean, [12.543], [20], []],
    [heading + statistics(3, 0) + "pipe 3\n", [LOST, LOST, LOST], [1, 1, 1], []],
    [heading + statistics(5, 4), [], [], ["nullValue"]],
    // The beginning of the run is missing.
    [reply(98) + reply(100) + statistics(101, 99) + mean, [5, LOST, 5, LOST], [0, 1, 0, 1], []],
    [heading + noRtt(1) + noRtt(2) + statistics(2, 2), [], [], Array(2).fill("nullValue")],
    [
      `Ping statistics for ${HOST}:\n    Packets: Sent = 4, Received = 3, Lost = 1 (25% loss),\n` +
      "    Minimum = 11ms, Maximum = 14ms, Average = 12ms\n",
      ...[[12], [1], []] as [number[], number[], string[]],
    ],
  ];
  for (const [text, rttsMs, losses, others] of cases) {
    const found = foundIn(text, { dst: [HOST], format: "ping" });
    const found3 = [rttsOf(found), lossesOf(found), othersOf(found).map(([, kind]) => kind)];
    assertEquals(found3, [rttsMs, losses, others], text);
  }
  const shell = [statistics(5, 5) + mean, statistics(2, 0), statistics(5, 4) + mean].map((each, i) =>
    each.split("\n").slice(1, -1).map((line) => `2026-01-01T00:0${i}:00Z ${line}\n`).join("")
  ).join("");
  assertEquals(rowsOf(foundIn(shell, { dst: [HOST] })), [
    ...[[0, 12.543], [60, LOST], [60, LOST], [120, 12.543]].map((
      [s, rttMs],
    ): [string, number, number] => [HOST, START_S + s, rttMs]),
  ]);
  assertEquals(othersOf(foundIn(statistics(2, 0))), [[2, "nullValue"], [2, "nullValue"]]);
  // `ts` gives a time to the empty line before the statistics.
  const lines = `${heading}${reply(1)}${reply(2)}\n${statistics(3, 2)}${mean}${heading}${reply(1)}`;
  const timed = lines.replace(/^(?!$(?!\n))/gm, "2026-01-01T00:00:00Z ");
  assertEquals(rttsOf(foundIn(timed)), [5, 5, LOST, 5]);
  const text = `2026-01-01T00:00:00Z\n${heading}${statistics(5, 4)}${mean}${heading}${reply(1)}`;
  assertEquals(rowsOf(foundIn(text)), [[HOST, START_S, 12.543], [HOST, START_S + 5, 5]]);
});

Deno.test("ping: a failure to start or send is skipped, and is not a loss of the next packet", () => {
  for (
    const line of [
      "ping: connect: Network is unreachable",
      "connect: Network is unreachable",
      "ping: example.invalid: Name or service not known",
      "ping: cannot resolve example.invalid: Unknown host",
      "PING: transmit failed. General failure.",
      "Ping request could not find host example.invalid. Please check the name and try again.",
      `Ping-Anforderung konnte Host "example.invalid" nicht finden.`,
    ]
  ) {
    const found = foundIn(`${line}\nReply from ${HOST}: bytes=32 time=12ms TTL=57\nRequest timed out.\n`);
    assertEquals([rttsOf(found), othersOf(found)], [[12, LOST], [[1, "local error"]]], line);
  }
  const unsent = foundIn(`PING ${HOST} (${HOST}) 56(84) bytes of data.
64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12 ms
ping: sendmsg: Network is unreachable
From 192.0.2.77 icmp_seq=3 Destination Host Unreachable`);
  assertEquals([rttsOf(unsent), othersOf(unsent)], [[12, LOST], [[3, "local error"]]]);
});

Deno.test("macOS and BSD ping: an ICMP error and the timeout of its packet are one loss", () => {
  const error = `92 bytes from router (192.0.2.1): Destination Host Unreachable
Vr HL TOS  Len   ID Flg  off TTL Pro  cks      Src      Dst
 4  5  00 5400 1a2b   0 0000  3f  01 b2c3 192.0.2.77  ${HOST}

`;
  const heading = `PING ${HOST} (${HOST}): 56 data bytes\n`;
  const timeout = (sequence: number) => `Request timeout for icmp_seq ${sequence}\n`;
  const reply = `64 bytes from ${HOST}: icmp_seq=2 ttl=57 time=5 ms\n`;
  const statistics = "3 packets transmitted, 1 packets received, 66.7% packet loss\n";
  for (const text of [error + timeout(0) + error + timeout(1) + reply, error + error + reply]) {
    const found = foundIn(heading + text + statistics);
    assertEquals([rttsOf(found), othersOf(found)], [[LOST, LOST, 5], []]);
  }
});

Deno.test("ping in other languages: errors, statistics, and the source in the heading", () => {
  const german = foundIn(`PING ${HOST} (${HOST}) von 192.0.2.5 eth0: 56(84) Bytes an Daten.
64 Bytes von ${HOST}: icmp_seq=1 ttl=57 Zeit=12,3 ms
Von 203.0.113.1 icmp_seq=2 Zielhost ist nicht erreichbar
Noch keine Antwort f\u00fcr icmp_seq=3
4 Pakete \u00fcbertragen, 1 empfangen, 75% Paketverlust, Zeit 3004ms
`);
  assertEquals(rowsOf(german).map(([dst, , rttMs]) => [dst, rttMs]), [
    ...[12.3, LOST, LOST, LOST].map((rttMs): [string, number] => [HOST, rttMs]),
  ]);
  const [{ finding }] = german;
  assertEquals("srcAddr" in finding && finding.srcAddr, "192.0.2.5");
  const windows = (lines: string) => foundIn(`x [${HOST}]:\n${lines}`, { format: "ping" });
  // Replies are read in any language, other words are told.
  for (
    const found of [
      windows(`Respuesta desde ${HOST}: bytes=32 tiempo<1m TTL=57
Tiempo de espera agotado para esta solicitud.`),
      windows(`R\u00e9ponse de ${HOST} : octets=32 temps<1ms TTL=57
D\u00e9lai d\u2019attente de la demande d\u00e9pass\u00e9.`),
    ]
  ) {
    assertEquals([rttsOf(found), othersOf(found)], [[0.5], [[3, "unknownLine"]]]);
  }
  const russian = windows(
    `\u041e\u0442\u0432\u0435\u0442 \u043e\u0442 ${HOST}: bytes=32 \u0432\u0440\u0435\u043c\u044f=12\u043c\u0441 TTL=57`,
  );
  assertEquals(rttsOf(russian), [12]);
  // Their commas are no blanks: the last line contains the mean, not a reply.
  for (const comma of ["\u3001", "\uff0c", ", "]) {
    const found = foundIn(`${HOST} \u306e\u5fdc\u7b54: \u6570 =32 \u6642\u9593 =12ms TTL=56
\u6570: \u9001 = 2${comma}\u53d7 = 1${comma}\u5931 = 1 (50%)
    \u5c0f = 12ms${comma}\u5927 = 12ms${comma}\u5e73 = 12ms
`);
    assertEquals([rttsOf(found), othersOf(found)], [[12, LOST], []]);
  }
});

Deno.test("ping -R, -f and warnings: lines that are not packets are ignored", () => {
  const found = foundIn(`ping: Warning: source address might be selected on device other than: eth0.
ping: sock4.fd: 3 (socktype: SOCK_RAW), sock6.fd: -1 (socktype: 0), hints.ai_family: AF_INET
ai->ai_family: AF_INET, ai->ai_canonname: '${HOST}'
PING ${HOST} (${HOST}) from 192.0.2.5 eth0: 56(124) bytes of data.
.\x08 \x08
64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=12.3 ms
RR: \t192.0.2.5
\trouter.example (203.0.113.1)
\t${HOST}

64 bytes from ${HOST}: icmp_seq=2 ttl=57 time=12.4 ms\t(same route)
TS: \t84093595 absolute
\t0
\t-3
`);
  assertEquals([rttsOf(found), othersOf(found)], [[12.3, 12.4], []]);
});

Deno.test("ping: an outage of any length is as many losses, at the times when they were sent", () => {
  const reply = (i: number) => `[${START_S + i}.5] 64 bytes from ${HOST}: icmp_seq=${i} ttl=57 time=5 ms\n`;
  const gap = rowsOf(foundIn(reply(1) + reply(2) + reply(2000) + reply(2001)));
  assertEquals(gap.map(([, timeS]) => timeS), Array.from({ length: 2001 }, (_, i) => START_S + i + 1.5));
  assertEquals(gap.filter(([, , rttMs]) => rttMs === LOST).length, 1997);
  const end = `\n--- ${HOST} ping statistics ---\n2000 packets transmitted, 2 received, 99.9% packet loss\n`;
  assertEquals(rowsOf(foundIn(reply(1) + reply(2) + end)).at(-1), [HOST, START_S + 2000.5, LOST]);
  const dead = `PING ${HOST} (${HOST}) 56(84) bytes of data.\n\n--- ${HOST} ping statistics ---\n`;
  const statistics = (count: number) => `${dead}${count} packets transmitted, 0 received, 100% packet loss\n`;
  assertEquals(rttsOf(foundIn(statistics(2000))), Array(2000).fill(LOST));
  assertEquals(lossesOf(foundIn(statistics(99_999))), [99_999]);
  // However many losses lines imply, the number of rows grows with the lines, not with the numbers.
  const many = Array.from({ length: 200 }, (_, i) => reply(i % 2 === 0 ? 1 : 30_000)).join("");
  const losses = lossesOf(foundIn(many));
  assertEquals(losses.length < 2 ** 17, true);
  assertEquals(losses.reduce((sum, each) => sum + each), 100 * 29_998);
  const quiet =
    `${dead}5000 packets transmitted, 3000 received, 40% packet loss\nrtt min/avg/max/mdev = 1/2/3/1 ms\n`;
  assertEquals([rttsOf(foundIn(quiet)), lossesOf(foundIn(quiet))], [[2], [2000]]);
});

Deno.test("ping: a Unix time in a line wins, and the zone of a time holds for the times after it", () => {
  const reply = (i: number) => `64 bytes from ${HOST}: icmp_seq=${i} ttl=57 time=5 ms\n`;
  const timesOf = (text: string, zone?: string) =>
    rowsOf(foundIn(text, { zone })).map(([, timeS]) => Number(timeS) - START_S);
  for (
    const local of [
      "2026-01-01 07:00:00.25",
      "2026-01-01 07:00:00 EST ",
      "2026-01-01 07:00:00 IST ",
      "01/02/2026 07:00",
    ]
  ) {
    assertEquals(timesOf(`${local} [${START_S}.5] ${reply(1)}`), [0.5], local);
  }
  const naive = `2026-01-01 01:00:00 ${reply(1)}2026-01-01 01:00:01 ${reply(2)}`;
  assertEquals(timesOf(naive), [3600, 3601]);
  assertEquals(timesOf(naive, "Europe/Berlin"), [0, 1]);
  assertEquals(timesOf(`Thu Jan  1 01:00:00 CET 2026\n${naive}`, "Asia/Kolkata"), [0, 1]);
  assertEquals(timesOf(`2026-01-01T01:00:00+0100 ${reply(0)}${naive}`), [0, 0, 1]);
  // A time whose zone is not known makes those after it unknown, too.
  const heading = "Thu Jan  1 01:00:00 IST 2026\n";
  assertEquals(othersOf(foundIn(heading + naive)), [[1, "invalidTime"], [2, "invalidTime"], [
    3,
    "invalidTime",
  ]]);
  assertEquals(timesOf(heading + naive, "+01:00"), [0, 1]);
});

Deno.test("ping and fping: the reading is said once, before the first row", () => {
  const said: string[] = [];
  const onReading = ({ format, time, source }: Reading) => said.push(`${format}, ${time}, ${source}`);
  const reply = (i: number) => `64 bytes from ${HOST}: icmp_seq=${i} ttl=57 time=5 ms\n`;
  const naive = `2026-01-01 01:00:00 ${reply(1)}2026-01-01 01:00:01 ${reply(2)}`;
  foundIn(naive, { onReading });
  foundIn(naive, { onReading, zone: "Europe/Berlin" });
  foundIn(reply(1), { onReading, startS: START_S, src: undefined });
  foundIn(`[${START_S}.5] ${HOST} : [0], 64 bytes, 27.0 ms (27.0 avg, 0% loss)\n`, { onReading });
  const source = (given: string) => `the heading, else ${given}`;
  const times = (zone: string) => `the start of each line (numbers: Unix seconds; other times: ${zone})`;
  const assumed = times("UTC unless stated; --zone");
  assertEquals(said, [
    `ping, ${assumed}, else none, ${source(`${SOURCE} (--src)`)}`,
    `ping, ${times("Europe/Berlin (--zone)")}, else none, ${source(`${SOURCE} (--src)`)}`,
    `ping, ${assumed}, else --start and --interval, ${source("none")}`,
    `fping, ${assumed}, else none, ${source(`${SOURCE} (--src)`)}`,
  ]);
});

Deno.test("ping: a text that names several sources is refused", () => {
  const reply = (i: number) => `64 bytes from ${HOST}: icmp_seq=${i} ttl=57 time=5 ms\n`;
  for (
    const text of [
      `web1: ${reply(1)}web2: ${reply(1)}`,
      `2026-01-01T00:00:00Z web1 ping[1]: ${reply(1)}2026-01-01T00:00:00Z web2 ping[2]: ${reply(1)}`,
      `web1  | ${reply(1)}web2  | ${reply(1)}`,
      `${reply(1)}> Tokyo, JP, AS, Example (AS64501)\n${reply(1)}`,
    ]
  ) assertThrows(() => foundIn(text), NoMeasurementsError, "expected output from one source", text);
  const cli = `> Berlin, DE, EU, Example (AS64500)\nPING ${HOST} (${HOST}) 56(84) bytes of data.\n${
    reply(1)
  }`;
  assertThrows(() => foundIn(cli), NoMeasurementsError, "--json");
  assertThrows(() => foundIn(cli, { format: "ping" }), NoMeasurementsError, "--json");
  const report = "\nRIPE Atlas Report for Measurement #1\n====\n48 bytes from probe #1  203.0.113.1    to " +
    `web.example (${HOST}): ttl=50 times:35.206,   34.552,   35.075,\n`;
  assertThrows(() => foundIn(report), NoMeasurementsError, "--renderer raw");
  assertEquals(rttsOf(foundIn(`web1: ${reply(1)}web1: ${reply(2)}`)), [5, 5]);
});

Deno.test("a constant source or destination is the one of the row's IP version", () => {
  const src = ["192.0.2.1", "2001:db8::1"];
  const found = foundIn(
    `64 bytes from ${HOST}: icmp_seq=1 ttl=57 time=5 ms\n64 bytes from 2001:db8::7: icmp_seq=1 ttl=57 time=6 ms\n`,
    { src },
  );
  assertEquals(found.map(({ finding }) => "srcAddr" in finding && finding.srcAddr), src);
  for (const [from, to] of [["192.0.2.1", HOST], ["2001:db8::1", "2001:db8::7"]]) {
    const ping = { src: from, dst: undefined, timeUs: 0, rttsMs: [1] };
    const row = pingRow(ping, { ...USUAL_READING, dst: [HOST, "2001:db8::7"] });
    assertEquals("dstAddr" in row && [row.srcAddr, row.dstAddr], [from, to]);
  }
  const one = foundIn("64 bytes from 2001:db8::7: icmp_seq=1 ttl=57 time=6 ms\n", { src: ["192.0.2.1"] });
  assertEquals(one.map(({ finding }) => "advice" in finding && finding.advice), [
    "give --src one address of each IP version, separated by a comma",
  ]);
});

Deno.test("lines that arrive in pieces are joined once, and hosts are unwrapped a few times", () => {
  class Lines extends PacketReader {
    readonly format = "lines";
    readonly texts: string[] = [];
    read(text: string): void {
      this.texts.push(text);
    }
  }
  const rejected: number[] = [];
  const reader = new Lines(USUAL_READING, (_, line) => rejected.push(line), "in.txt");
  // Each join of what has arrived so far would copy 20 GB here.
  for (const piece of ["a\n\n", ...Array(200_000).fill(":"), "\nb", "c\n", "d", undefined]) {
    reader.push(piece);
  }
  assertEquals([reader.texts, rejected], [["a", "bc", "d"], [3]]);
  const hosts = ["x:" + "%a".repeat(32_000), ":".repeat(200_000), "/".repeat(200_000), "a(".repeat(100_000)];
  assertEquals(hosts.map((host) => isHost(host, USUAL_READING)), hosts.map(() => false));
  const wrapped = [
    "https://192.0.2.1:443/x",
    "fe80::1%eth0",
    "web (192.0.2.1)",
    "[2001:db8::1]:80",
    "192.0.2.1/32",
  ];
  assertEquals(wrapped.map((host) => isHost(host, USUAL_READING)), wrapped.map(() => true));
  assertEquals(["192.0.2.0/24", "2001:db8::/64"].map((host) => isHost(host, USUAL_READING)), [false, false]);
});

Deno.test("readRtt() takes decimal numbers only", () => {
  for (const text of ["0x1F", "0b1", "1e400", "-1e400", "1".repeat(65), "1e", "1.2.3"]) {
    assertEquals(
      readRtt(text, 1, USUAL_READING),
      { reason: "invalidRtt", found: `rtt ${shortened(text)}` },
      text,
    );
  }
  assertEquals(["1.5", "1,5", " 1e1 ", ".5", "1.234,5"].map((text) => readRtt(text, 1, USUAL_READING)), [
    ...[1.5, 1.5, 10, 0.5, 1234.5],
  ]);
});
