import { assertAlmostEquals, assertEquals } from "@std/assert";
import { unigramEntropyBits } from "../../lib/evaluate/unigram.ts";

Deno.test("unigramEntropyBits() is the entropy of the unmasked targets", () => {
  const batch = (targets: number[], mask: number[]) => ({
    targets: Uint16Array.from(targets),
    lossMask: Uint8Array.from(mask),
  });
  assertEquals(unigramEntropyBits([batch([3, 3, 9], [1, 1, 0])]), 0);
  assertEquals(unigramEntropyBits([batch([1, 2], [1, 1]), batch([3, 4], [1, 1])]), 2);
  assertAlmostEquals(unigramEntropyBits([batch([1, 1, 1, 2], [1, 1, 1, 1])]), 0.811278, 1e-6);
});
