import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseColumns } from "../../../lib/data/formats/table.ts";
import { parsePaste } from "../../../lib/serve/page/paste.ts";

const [SOURCE, HOST, OTHER] = ["192.0.2.1", "198.51.100.7", "203.0.113.9"];
const END_S = 1_750_766_400;
const OPTIONS = { source: SOURCE, endTimeS: END_S };
/** Output of ping for two destinations, with a loss and one line that is not from ping. */
const RUNS = `PING ${HOST} (${HOST}): 56 data bytes
64 bytes from ${HOST}: icmp_seq=0 ttl=57 time=12 ms
64 bytes from ${HOST}: icmp_seq=2 ttl=57 time=13 ms
what is this
PING ${OTHER} (${OTHER}): 56 data bytes
64 bytes from ${OTHER}: icmp_seq=0 ttl=57 time=20 ms`;

Deno.test("parsePaste() adds a source to ping output, and one time per second up to the end", () => {
  const { pings, faults, format, needsSource } = parsePaste(RUNS, OPTIONS);
  assertEquals([format, needsSource], ["Output of ping", false]);
  assertEquals(pings.map(({ dst, time, rtt, line }) => [dst, time, rtt, line]), [
    [HOST, END_S - 3, 12, 2],
    [HOST, END_S - 2, null, 3],
    [HOST, END_S - 1, 13, 3],
    [OTHER, END_S, 20, 6],
  ]);
  assertEquals(pings.every(({ src }) => src === SOURCE), true);
  assertEquals(faults, [{ line: 4, message: "unknown line: what is this" }]);
  assertEquals(parsePaste(RUNS, { ...OPTIONS, endTimeS: null }).pings[0].time, null);
  assertEquals(parsePaste(RUNS, { ...OPTIONS, source: "" }).needsSource, true);
});

Deno.test("parsePaste() sorts measurements of other formats by time, and reports unusable lines", () => {
  const own = { src: SOURCE, dst: HOST };
  const text = [
    { ...own, time: 1_750_000_060, rtt: 5 },
    { type: "traceroute", msm_id: 1, prb_id: 2, timestamp: 1_750_000_000 },
    { ...own, dst: "nowhere", rtt: 3 },
    { ...own, time: "2025-06-15T12:00:00Z", rtt: null },
  ].map((line) => JSON.stringify(line)).join("\n");
  const { pings, faults } = parsePaste(`${text}\n{"src": "${SOURCE}",`, OPTIONS);
  assertEquals(pings.map(({ rtt, line }) => [rtt, line]), [[null, 4], [5, 1]]);
  assertEquals(faults.map(({ line }) => line), [2, 3, 5]);
  assertEquals(faults[1].message, "unparseableAddress, dst nowhere");
  assertStringIncludes(faults[2].message, "truncated");
  const csv = parsePaste(`timestamp;dst_addr;rtt\n1750000060;${HOST};12.5\n;${HOST};7 ms`, OPTIONS);
  assertStringIncludes(csv.format, "CSV");
  assertEquals(csv.pings.map(({ src, time, rtt }) => [src, time, rtt]), [
    [SOURCE, null, 7],
    [SOURCE, 1_750_000_060, 12.5],
  ]);
});

Deno.test("parsePaste() reads a German table once its columns are named, and advises the page's fields", () => {
  const text = `Zeit;Ziel;Laufzeit\n15.06.2025 14:00:00;${HOST};12,5\n15.06.2025 14:01:00;${HOST};\n`;
  const { pings, faults } = parsePaste(text, { ...OPTIONS, source: "" });
  assertEquals([pings.length, faults.length], [0, 1]);
  assertStringIncludes(
    faults[0].message,
    "name them, such as Columns: src=SRC,dst=DST,rtt=RTT, or set one for all rows with Source: ADDRESS",
  );
  const columns = parseColumns("time=Zeit,dst=Ziel,rtt=Laufzeit");
  const german = parsePaste(text, { ...OPTIONS, columns, zone: "Europe/Berlin" });
  assertEquals(german.pings.map(({ src, time, rtt }) => [src, time, rtt]), [
    [SOURCE, 1_749_988_800, 12.5],
    [SOURCE, 1_749_988_860, null],
  ]);
  assertEquals(german.faults, []);
  assertStringIncludes(german.reading.join(), "Europe/Berlin (Time zone)");
  assert(!german.reading.join().includes("--"));
});

Deno.test("parsePaste() reports which formats it expects for any other text", () => {
  const { pings, faults } = parsePaste("hello\nworld", OPTIONS);
  assertEquals([pings.length, faults.length], [0, 1]);
  assertStringIncludes(faults[0].message, "expected measurements as atlas,");
  assert(!faults[0].message.includes("--"));
});
