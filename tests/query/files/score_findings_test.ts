import { assert, assertAlmostEquals, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { AddressNames } from "../../../lib/data/addresses/address_names.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import {
  describeFindings,
  namedFindings,
  pageOfFindings,
  type ScoredRow,
  ScoreTally,
} from "../../../lib/query/files/score_findings.ts";

/** Rows of ten sources with uniform p-values, but for the last source, whose are all below 0.01. */
function rows(): ScoredRow[] {
  const random = new RandomStream(0, "tests/score findings");
  return Array.from({ length: 1000 }, (_, i) => ({
    src: `192.0.2.${i % 10}`,
    dst: "198.51.100.7",
    timeUs: 1_700_000_000_000_000 + 1e6 * i,
    rttMs: i % 7 === 0 ? -1 : 10 + i,
    logLikelihood: -1 - i % 13,
    pValue: random.float64() * (i % 10 === 9 ? 0.01 : 1),
  }));
}

Deno.test("ScoreTally finds the least p-values, the share below 0.01 and the sources that have them", () => {
  const tally = new ScoreTally();
  for (const row of rows()) tally.add(row);
  const { mostSurprising, surprising, sources, numSources, pValueCounts, natsCounts } = tally.findings();
  const sorted = rows().toSorted((a, b) => a.pValue - b.pValue);
  assertEquals(mostSurprising, sorted.slice(0, 20));
  assertEquals(surprising, sorted.filter(({ pValue }) => pValue < 0.01).length);
  assertEquals([numSources, sources[0].src, sources[0].rows, sources[0].surprising], [
    10,
    "192.0.2.9",
    100,
    100,
  ]);
  const ofLast = rows().filter(({ src }) => src === "192.0.2.9");
  const bits = ofLast.reduce((sum, { logLikelihood }) => sum - logLikelihood, 0) / 100 / Math.LN2;
  assertAlmostEquals(sources[0].meanBits, bits, 1e-9);
  for (const counts of [pValueCounts, natsCounts]) assertEquals(counts.reduce((a, b) => a + b), 1000);
  const inFirst = sorted.filter(({ pValue }) => pValue < 0.05).length;
  assertEquals([pValueCounts.length, pValueCounts[0], natsCounts[0]], [20, inFirst, 0]);
});

Deno.test("ScoreTally keeps no more sources than its bound, and counts the rows of all", () => {
  const tally = new ScoreTally(3);
  for (const row of rows()) tally.add(row);
  const { numSources, rows: numRows, mostSurprising } = tally.findings();
  assertEquals([numSources, numRows], [3, 1000]);
  assertEquals(mostSurprising[0].src, "192.0.2.9");
});

Deno.test("findings are said in words and drawn on a page, also those of no rows", async () => {
  const tally = new ScoreTally();
  for (const row of rows()) tally.add({ ...row, src: row.src.replace("192", "<b>") });
  const findings = tally.findings();
  const text = describeFindings(findings);
  assertStringIncludes(text, `(${findings.surprising}) have a p-value below 0.01`);
  assertStringIncludes(text, "no reply");
  assertEquals(text.split("\n").length, 1 + 1 + 1 + 21 + 1 + 1 + 11);
  const page = await pageOfFindings("scores of <x>", findings);
  assert(!page.includes("<b>.0.2") && page.includes("&lt;b&gt;.0.2.9"), "sources are escaped");
  assertEquals(page.match(/<svg/g)?.length, 3);
  const none = new ScoreTally().findings();
  assertEquals(describeFindings(none), "No rows were scored.");
  assertStringIncludes(await pageOfFindings("none", none), "No rows were scored.");
});

Deno.test("findings show the names of their addresses", async () => {
  const tally = new ScoreTally(undefined, (address) => address === "192.0.2.9");
  for (const row of rows()) tally.add(row);
  const names = new AddressNames();
  names.add(new TextEncoder().encode("192.0.2.8/31,<probe>\n198.51.100.7,dns.example"), "names.csv");
  const findings = namedFindings(tally.findings(), names);
  const row = findings.mostSurprising.find(({ src }) => src === "192.0.2.9");
  assertEquals([row?.srcName, row?.dstName], ["<probe>", "dns.example"]);
  assertEquals([findings.sources[0].name, findings.sources.find(({ src }) => src === "192.0.2.7")?.name], [
    "<probe>",
    undefined,
  ]);
  const text = describeFindings(findings);
  assertStringIncludes(text, "databases say: 192.0.2.9 (<probe>) (100 rows)");
  assertMatch(text, /192\.0\.2\.9 \(<probe>\) +198\.51\.100\.7 \(dns\.example\)/);
  const page = await pageOfFindings("scores", findings);
  assert(!page.includes("<probe>") && page.includes("192.0.2.9 (&lt;probe&gt;)"), "names are escaped");
});

Deno.test("ScoreTally lists addresses that are not where the databases say, with their rows", () => {
  const tally = new ScoreTally(undefined, (address) => address === "192.0.2.9");
  for (const row of rows()) tally.add(row);
  assertEquals(tally.findings().misplaced, [{ address: "192.0.2.9", rows: 100 }]);
  assertStringIncludes(
    describeFindings(tally.findings()),
    "1 address is not where the databases say: 192.0.2.9 (100 rows).",
  );
});
