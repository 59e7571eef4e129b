import { assertEquals } from "@std/assert";
import {
  didYouMean,
  drawHistogram,
  editDistance,
  formatBytes,
  formatCount,
  formatMs,
  formatRange,
  formatSeconds,
  formatShare,
  formatTime,
  percentText,
} from "../../lib/base/text.ts";

Deno.test("formatCount() prints at most four figures", () => {
  assertEquals([0, 1234, 12_345, 999_999, 4_560_000].map(formatCount), [
    "0",
    "1234",
    "12.3 k",
    "1.00 M",
    "4.56 M",
  ]);
});

Deno.test("formatSeconds() and formatBytes() choose their unit", () => {
  assertEquals([4.21, 42, 185, 7800].map(formatSeconds), ["4.2 s", "42 s", "3 min 05 s", "2 h 10 min"]);
  assertEquals([512, 1500, 1_500_000].map(formatBytes), ["512 B", "1500 B", "1.50 MB"]);
});

Deno.test("formatShare() has fixed decimals, percentText() at most three digits", () => {
  assertEquals([0, 0.000234, 0.3166, null].map((share) => formatShare(share)), [
    "0.0 %",
    "0.023 %",
    "31.7 %",
    "–",
  ]);
  assertEquals(formatShare(0.3166, 0), "32 %");
  assertEquals([0, 0.000234, 0.5].map((share) => percentText(share)), ["0 %", "0.0234 %", "50 %"]);
  assertEquals(percentText(0.3166, 0.0123), "31.7 % ± 1.23 %");
});

Deno.test("drawHistogram() draws the largest bar at full width and the others in proportion", () => {
  const lines = drawHistogram([
    { lowMs: 1, highMs: 2, probability: 0.25 },
    { lowMs: 2, highMs: 4, probability: 0.5 },
    { lowMs: 4, highMs: 8, probability: 0 },
  ], 8);
  assertEquals(lines.map((line) => line.split("ms ")[1].replace(/ +\S+ %$/, "")), ["████", "████████", ""]);
});

Deno.test("formatMs() and formatRange() choose a unit and three digits", () => {
  const rtts: [number, string][] = [
    [0, "0 ms"],
    [0.0004, "0.000400 ms"],
    [0.4236, "0.424 ms"],
    [9.996, "10.0 ms"],
    [15.26, "15.3 ms"],
    [99.96, "100 ms"],
    [999.7, "1000 ms"],
    [2310, "2.31 s"],
    [3_600_000, "1.00 h"],
    [172_800_000, "2.00 d"],
  ];
  for (const [rttMs, text] of rtts) assertEquals(formatMs(rttMs), text);
  assertEquals(formatRange(149.2, 161), "149–161 ms");
  assertEquals(formatRange(900, 1200), "900 ms – 1.20 s");
  assertEquals(formatRange(20, 20), "20.0 ms");
});

Deno.test("formatTime() has seconds only where they are not zero", () => {
  assertEquals([1_751_373_000, 1_751_373_005.7, null].map(formatTime), [
    "2025-07-01 12:30 UTC",
    "2025-07-01 12:30:05 UTC",
    "any time",
  ]);
});

Deno.test("editDistance() counts insertions, deletions, substitutions and swaps", () => {
  assertEquals(editDistance("train", "train"), 0);
  assertEquals(editDistance("train", "trian"), 1);
  assertEquals(editDistance("shard", "shards"), 1);
  assertEquals(editDistance("", "abc"), 3);
  assertEquals(editDistance("kitten", "sitting"), 3);
});

Deno.test("didYouMean() suggests a near name, and lists all names when none is near", () => {
  assertEquals(didYouMean("trian", ["train", "query"]), "; did you mean train?");
  assertEquals(didYouMean("xyzzyx", ["train", "query"]), "; use one of train, query");
});
