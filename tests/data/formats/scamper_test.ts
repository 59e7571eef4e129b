import { assertEquals } from "@std/assert";
import { foundIn, foundInFile, lossesOf, LOST, othersOf, rowsOf } from "./findings.ts";

const START = { sec: 1767225600, usec: 500000 };

function pingOf(fields: Record<string, unknown>): string {
  return JSON.stringify({
    ...{ type: "ping", version: "0.4", method: "icmp-echo", src: "192.0.2.1", dst: "198.51.100.7" },
    ...{ start: START, ping_sent: 2, probe_size: 84, wait: 1, timeout: 1, responses: [] },
    ...fields,
  });
}

function replyOf(seq: number, rtt: number, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { from: "198.51.100.7", seq, reply_proto: "icmp", rtt, icmp_type: 0, icmp_code: 0, ...fields };
}

Deno.test("scamper: a ping is a row with the source and destination it states", () => {
  const found = foundInFile("scamper_ping.jsonl");
  assertEquals(rowsOf(found), [
    ["127.0.0.1", 1795761536.966421, 0.0515],
    ["192.0.2.1", 1795761537.016943, LOST],
  ]);
  const rows = found.flatMap(({ finding }) => "srcAddr" in finding ? [finding] : []);
  assertEquals(rows.map(({ srcAddr, numLost, sizeBytes }) => [srcAddr, numLost, sizeBytes]), [
    ["127.0.0.1", [2], 84],
    ["192.0.2.254", [6], 84],
  ]);
  assertEquals(othersOf(found), [[1, "scamper cycle-start"], [4, "scamper cycle-stop"]]);
  assertEquals(rowsOf(foundInFile("scamper_ping_ipv6.jsonl")), [["::1", 1795761543.079377, 0.0395]]);
});

Deno.test("scamper: --rtt each is a row for each packet, at the time of the result", () => {
  const [near] = rowsOf(foundInFile("scamper_ping.jsonl", { rtt: "each" }));
  assertEquals(near, ["127.0.0.1", 1795761536.966421, 0.042, 0.055, LOST, LOST, 0.059, 0.05]);
});

Deno.test("scamper: only the first echo reply of the destination to each packet counts", () => {
  const responses = [
    replyOf(0, 5, { from: "203.0.113.1", icmp_type: 11 }),
    replyOf(1, 7),
    replyOf(1, 9),
    replyOf(2, 3, { icmp_type: 3 }),
  ];
  const found = foundIn(pingOf({ ping_sent: 3, responses, no_responses: [] }));
  assertEquals(rowsOf(found), [["198.51.100.7", 1767225600.5, 7]]);
  assertEquals(lossesOf(found), [2]);
});

Deno.test("scamper: up to 4,096 packets are read", () => {
  assertEquals(lossesOf(foundIn(pingOf({ ping_sent: 4096 }), { rtt: "each" })).length, 4096);
});

Deno.test("scamper: irrelevant records are skipped, and invalid ones rejected", () => {
  const lines = [
    pingOf({ ping_sent: 0 }),
    pingOf({ method: "udp" }),
    '{"type":"trace", "version":"0.1", "src":"192.0.2.1", "dst":"198.51.100.7", "hops":[{"rtt": 3}]}',
    pingOf({ ping_sent: -1 }),
    pingOf({ ping_sent: 4097 }),
    pingOf({ responses: [replyOf(0, 0)] }),
    pingOf({ start: { sec: 5 } }),
    pingOf({ dst: "2001:db8::1" }),
    pingOf({ dst: undefined }),
  ];
  assertEquals(othersOf(foundIn(lines.join("\n"))), [
    [1, "nothing sent"],
    [2, "scamper ping by udp"],
    [3, "scamper trace"],
    [4, "invalidInteger"],
    [5, "invalidInteger"],
    [6, "zeroRtt"],
    [7, "invalidTime"],
    [8, "versionMismatch"],
    [9, "nullValue"],
  ]);
});
