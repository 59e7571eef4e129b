import { assertEquals } from "@std/assert";
import { didYouMean, editDistance } from "../../lib/base/text.ts";

Deno.test("editDistance() counts insertions, deletions, substitutions and swaps", () => {
  assertEquals(editDistance("train", "train"), 0);
  assertEquals(editDistance("train", "trian"), 1);
  assertEquals(editDistance("shard", "shards"), 1);
  assertEquals(editDistance("", "abc"), 3);
  assertEquals(editDistance("kitten", "sitting"), 3);
});

Deno.test("didYouMean() proposes a near name and lists all when none is near", () => {
  assertEquals(didYouMean("trian", ["train", "query"]), "; did you mean train?");
  assertEquals(didYouMean("xyzzyx", ["train", "query"]), "; known are train, query");
});
