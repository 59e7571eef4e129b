import { assertEquals } from "@std/assert";
import {
  didYouMean,
  drawHistogram,
  editDistance,
  formatBytes,
  formatCount,
  formatMs,
  formatSeconds,
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

Deno.test("drawHistogram() draws the largest bar at full width and the others in proportion", () => {
  const lines = drawHistogram([
    { lowMs: 1, highMs: 2, probability: 0.25 },
    { lowMs: 2, highMs: 4, probability: 0.5 },
    { lowMs: 4, highMs: 8, probability: 0 },
  ], 8);
  assertEquals(lines.map((line) => line.split("ms ")[1].replace(/ +\S+ %$/, "")), ["████", "████████", ""]);
  assertEquals(formatMs(0.51234), "0.512");
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
  assertEquals(didYouMean("xyzzyx", ["train", "query"]), "; known are train, query");
});
