import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { faultText } from "../../../lib/base/errors.ts";
import type { ReadingOptions } from "../../../lib/data/formats/format.ts";
import { parseColumns } from "../../../lib/data/formats/table.ts";
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

Deno.test("SmokePing: units in legends", () => {
  const found = exportOf(["median rtt (ms)", "packet loss [%]"], [[12, 0], [12, 50], [null, 100]]);
  assertEquals([rttsOf(found), lossesOf(found)], [[12, 12, LOST], [0, 10, 20]]);
  assertEquals(rttsOf(exportOf(["avg_us", "loss%"], [[1500, 0]])), [1.5]);
});

Deno.test("SmokePing: other statistics are not mistaken for the usual RTT", () => {
  const legend = ["max rtt", "min_rtt", "stddev rtt", "median rtt", "loss"];
  assertEquals(rttsOf(exportOf(legend, [[0.05, 0.01, 0.002, 0.02, 0]])), [20]);
});

Deno.test("SmokePing: an export without one RTT, or of several destinations, is rejected", () => {
  const legends = [
    ...[["ping1", "ping2", "loss"], ["203.0.113.1 median", "203.0.113.2 median"]],
    ...[["203.0.113.1 median", "203.0.113.1 loss", "203.0.113.2 loss"], ["in", "out"]],
  ];
  for (const legend of legends) {
    const [{ finding }] = exportOf(legend, [legend.map(() => 0.01)]);
    assert("reason" in finding);
    assertStringIncludes(
      faultText(finding),
      `found the legends ${legend.join(", ")}, expected one RTT such as median`,
    );
  }
  const columns = parseColumns("rtt_s=203.0.113.2 median");
  assertEquals(rttsOf(exportOf(legends[1], [[0.01, 0.02]], { columns })), [20]);
});

Deno.test("SmokePing: rows without a destination, an RTT column or all columns are rejected", () => {
  assertEquals(othersOf(exportOf(["median"], [[0.01]], { dst: undefined })), [[1, "nullValue"]]);
  assertEquals(othersOf(exportOf(["median", "loss"], [[0.01]])), [[1, "incompleteResult"]]);
  assertEquals(othersOf(exportOf(["median"], [[0]])), [[1, "zeroRtt"]]);
});
