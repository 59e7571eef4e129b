import { assertEquals, assertStringIncludes } from "@std/assert";
import { parsePaste } from "../../../lib/serve/page/paste.ts";

const SOURCE = "192.0.2.1";
const END_S = 1_750_766_400;
const OPTIONS = { source: SOURCE, endTimeS: END_S };

/** The destinations and RTTs of a text. */
function rttsOf(text: string, source = SOURCE): [string, number | null][] {
  const { pings, faults } = parsePaste(text, { ...OPTIONS, source });
  assertEquals(faults, []);
  return pings.map(({ dst, rtt }) => [dst, rtt]);
}

const HOST = "198.51.100.7";

Deno.test("parsePaste() reads ping of Linux: replies, losses as gaps, as lines and in the statistics", () => {
  const text = `$ ping -c 7 example.net
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
`;
  assertEquals(rttsOf(text).map(([, rtt]) => rtt), [12.3, null, null, null, 1234, 1500, null]);
  const { pings, format } = parsePaste(text, OPTIONS);
  assertEquals(format, "Output of ping");
  assertEquals(pings[0], { src: SOURCE, dst: HOST, time: END_S - 6, rtt: 12.3, line: 3 });
  assertEquals(pings.at(-1)?.time, END_S);
});

Deno.test("parsePaste() takes several runs apart, and tells lines that it does not know", () => {
  const text = `PING ${HOST} (${HOST}): 56 data bytes
64 bytes from ${HOST}: icmp_seq=0 ttl=57 time=12 ms
what is this
PING 203.0.113.9 (203.0.113.9): 56 data bytes
64 bytes from 203.0.113.9: icmp_seq=0 ttl=57 time=20 ms`;
  const { pings, faults } = parsePaste(text, OPTIONS);
  assertEquals(pings.map(({ dst }) => dst), [HOST, "203.0.113.9"]);
  assertEquals(faults, [{ line: 3, message: "no line of ping that is known: what is this" }]);
});

/** A ping result of Atlas. */
function atlasResult(timestamp: number, rtt: number | null): Record<string, unknown> {
  const result = rtt === null ? [{ x: "*" }] : [{ rtt }];
  const numReceived = rtt === null ? 0 : 1;
  return {
    fw: 5080,
    type: "ping",
    msm_id: 1,
    prb_id: 2,
    af: 4,
    timestamp,
    from: "193.0.0.1",
    dst_addr: HOST,
    src_addr: "192.168.0.2",
    sent: 1,
    rcvd: numReceived,
    size: 48,
    result,
  };
}

Deno.test("parsePaste() reads results of RIPE Atlas as an array, indented and as lines, in order of time", () => {
  const results = [atlasResult(1750000100, null), atlasResult(1750000000, 5.5)];
  const wanted = [[HOST, 5.5], [HOST, null]];
  for (
    const text of [
      JSON.stringify(results),
      JSON.stringify(results, null, 2),
      results.map((result) => JSON.stringify(result)).join("\n"),
    ]
  ) assertEquals(parsePaste(text, OPTIONS).pings.map(({ dst, rtt }) => [dst, rtt]), wanted);
  const [first] = parsePaste(JSON.stringify(results), OPTIONS).pings;
  assertEquals([first.src, first.time], ["193.0.0.1", 1750000000]);
});

Deno.test("parsePaste() tells wrong JSON with its line", () => {
  const text = `${JSON.stringify(atlasResult(1750000000, 5))}
{"type": "traceroute", "msm_id": 1, "prb_id": 2, "timestamp": 1750000000}
{"src": "192.0.2.1", "dst": "nowhere", "rtt": 3}
{"src": "192.0.2.1", "dst": "${HOST}", "time": "2025-06-15T12:00:00Z", "rtt": null}
{"src": "192.0.2.1",`;
  const { pings, faults } = parsePaste(text, OPTIONS);
  assertEquals(pings.map(({ rtt, line }) => [rtt, line]), [[null, 4], [5, 1]]);
  assertEquals(faults.map(({ line }) => line), [2, 3, 5]);
  assertEquals(faults[1].message, "unparseableAddress, dst nowhere");
  assertStringIncludes(faults[2].message, "truncated");
});

Deno.test("parsePaste() reads CSV by the names of its columns, and tells wrong lines with their numbers", () => {
  const text = `timestamp;dst_addr;rtt;src_addr
1750000060;${HOST};12.5;192.0.2.1
2025-06-15T12:00:00Z;${HOST};-1;192.0.2.1
yesterday;${HOST};1;192.0.2.1
1750000060;${HOST};fast;192.0.2.1
1750000060;${HOST};3`;
  const { pings, faults, format } = parsePaste(text, OPTIONS);
  assertStringIncludes(format, "CSV");
  assertEquals(pings.map(({ rtt, time }) => [rtt, time]), [[null, 1749988800], [12.5, 1750000060]]);
  assertEquals(faults.map(({ line }) => line), [4, 5, 6]);
  const named = parsePaste(`"src","dst","time","rtt"\n"192.0.2.1","${HOST}","","7 ms"`, OPTIONS);
  assertEquals(named.pings[0], { src: SOURCE, dst: HOST, time: null, rtt: 7, line: 2 });
});

Deno.test("parsePaste() reads quoted fields with separators and line ends as import does", () => {
  const text =
    `note,src,dst,rtt\n"a, ""b""\nc",192.0.2.1,${HOST},7\n"open,192.0.2.1,${HOST},8\nd,192.0.2.1,${HOST},9`;
  const { pings, faults } = parsePaste(text, OPTIONS);
  assertEquals(pings.map(({ rtt, line }) => [rtt, line]), [[7, 2], [9, 5]]);
  assertEquals(faults, [{ line: 4, message: "a quote that does not close" }]);
  const tabs = parsePaste(`src\tdst\trtt\n"192.0.2.1"\t"${HOST}"\t"7 ms"\r\n`, OPTIONS);
  assertEquals(tabs.pings.map(({ rtt }) => rtt), [7]);
});

Deno.test("parsePaste() says of other text what is wanted", () => {
  const { pings, faults } = parsePaste("hello\nworld", OPTIONS);
  assertEquals([pings.length, faults.length], [0, 1]);
  assertStringIncludes(faults[0].message, "expected measurements as atlas,");
});
