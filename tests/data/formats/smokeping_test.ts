import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { faultText } from "../../../lib/base/errors.ts";
import type { ReadingOptions } from "../../../lib/data/formats/format.ts";
import { foundIn, foundInFile, lossesOf, LOST, othersOf, rowsOf, rttsOf, START_S } from "./findings.ts";

const DST = "198.51.100.7";

function exportOf(legend: string[], data: (number | null)[][], options: Partial<ReadingOptions> = {}) {
  const text = JSON.stringify({
    about: "RRDtool graph JSON output",
    meta: { start: START_S, step: 300, legend },
    data,
  });
  return foundIn(text, { dst: [DST], ...options });
}

Deno.test("SmokePing: a row for each round, with and without --showtime", () => {
  const plain = foundInFile("rrdtool_xport.json", { dst: [DST] });
  const rows = rowsOf(plain);
  assertEquals(rows.length, 31);
  assertEquals(rows.slice(3, 6), [
    [DST, 1795738800, 13.219769],
    [DST, 1795739100, 13.124993],
    [DST, 1795739400, LOST],
  ]);
  assertEquals(lossesOf(plain).slice(3, 7), [0, 3, 20, 20]);
  assertEquals(othersOf(plain), [1, 2, 3, 4].map(() => [1, "no data"]));
  for (const name of ["rrdtool_xport_showtime.json", "rrdtool_xport_ms.json", "rrdtool_xport_pings.json"]) {
    assertEquals(rowsOf(foundInFile(name, { dst: [DST] })), rows, name);
  }
});

Deno.test("SmokePing: the round is lost if all pings are, or if there are losses and no median", () => {
  const found = exportOf(["uptime", "median", "loss"], [
    [1, 0.01, 0],
    [1, 0.01, 20],
    [1, null, 5],
    [1, null, 0],
    [1, null, null],
    [1, 0.02, null],
    [null, null, null],
  ]);
  assertEquals(rttsOf(found), [10, LOST, LOST, 20]);
  assertEquals(lossesOf(found), [0, 20, 5, NaN]);
  assertEquals(othersOf(found).length, 3);
});

Deno.test("SmokePing: without a median the pings supply the RTT, and their number is the packet count", () => {
  const legend = ["ping1", "ping2", "ping3", "loss"];
  const data = [[0.01, 0.02, null, 1], [null, null, null, 3], [null, null, null, null]];
  const found = exportOf(legend, data);
  assertEquals([rttsOf(found), lossesOf(found)], [[15, LOST], [1, 3]]);
  assertEquals(rttsOf(exportOf(legend, data, { rtt: "min" })), [10, LOST]);
  const one = exportOf(["median", "ping1", "ping2", "loss"], [[0.01, 0.01, 0.01, 2]]);
  assertEquals(rttsOf(one), [LOST]);
});

Deno.test("SmokePing: units in legends", () => {
  const found = exportOf(["median rtt (ms)", "packet loss [%]"], [[12, 0], [12, 50], [null, 100]]);
  assertEquals([rttsOf(found), lossesOf(found)], [[12, 12, LOST], [0, 10, 20]]);
  assertEquals(rttsOf(exportOf(["avg_us", "loss%"], [[1500, 0]])), [1.5]);
});

Deno.test("SmokePing: other statistics are not mistaken for the usual RTT", () => {
  const legend = ["max rtt", "min_rtt", "stddev rtt", "median rtt", "loss"];
  assertEquals(rttsOf(exportOf(legend, [[0.05, 0.01, 0.002, 0.02, 0]])), [20]);
});

Deno.test("SmokePing: addresses and names in legends are destinations", () => {
  const legend = ["203.0.113.1", "web.example median", "web.example loss"];
  const found = exportOf(legend, [[0.01, null, 20], [null, 0.02, 1]], {
    addresses: new Map([["web.example", "203.0.113.2"]]),
    dst: undefined,
  });
  assertEquals(rowsOf(found), [
    ["203.0.113.1", START_S, 10],
    ["203.0.113.2", START_S, LOST],
    ["203.0.113.2", START_S + 300, 20],
  ]);
  assertEquals(othersOf(found), [[1, "no data"]]);
});

Deno.test("SmokePing: rows without a destination, an RTT column or all columns are rejected", () => {
  assertEquals(othersOf(exportOf(["median"], [[0.01]], { dst: undefined })), [[1, "nullValue"]]);
  const [unknown] = exportOf(["in", "out"], [[1, 2]]);
  assert("reason" in unknown.finding);
  assertStringIncludes(faultText(unknown.finding), "found the legends in, out, expected median");
  assertEquals(othersOf(exportOf(["median", "loss"], [[0.01]])), [[1, "incompleteResult"]]);
  assertEquals(othersOf(exportOf(["median"], [[0]])), [[1, "zeroRtt"]]);
});
