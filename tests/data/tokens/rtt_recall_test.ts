import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  NUM_AGES,
  NUM_RECALLED,
  NUM_SPREADS,
  PACKED_RECALL,
  packRecall,
  recallRtts,
  unpackRecall,
} from "../../../lib/data/tokens/rtt_recall.ts";

const codes = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 1, maxLength: 20 });
const age = fc.option(fc.double({ min: -1, max: 1e12, noNaN: true }));

Deno.test("recallRtts() takes the newest code and the median of the five newest, and goes through packing", () => {
  fc.assert(fc.property(codes, age, (newestFirst, ageS) => {
    const recall = recallRtts(newestFirst, newestFirst.length, ageS);
    if (!recall) throw new Error("nothing was recalled");
    const five = newestFirst.slice(0, 5).sort((a, b) => a - b);
    assertEquals([recall.newestCode, recall.typicalCode], [newestFirst[0], five[(five.length - 1) >> 1]]);
    assertEquals(recall.spread >= 0 && recall.spread < NUM_SPREADS, true);
    assertEquals(recall.age >= 0 && recall.age < NUM_AGES, true);
    assertEquals(recallRtts(newestFirst.slice(0, NUM_RECALLED), newestFirst.length, ageS), recall);
    const packed = new Uint32Array(2 * PACKED_RECALL);
    packRecall(recall, packed, PACKED_RECALL);
    assertEquals(unpackRecall(packed, PACKED_RECALL), recall);
    assertEquals(unpackRecall(packed, 0), undefined);
  }));
});

Deno.test("recallRtts() tells few from many, near from far, new from old", () => {
  assertEquals(recallRtts([], 0, null), undefined);
  const spread = (...newestFirst: number[]) => recallRtts(newestFirst, newestFirst.length, 0)?.spread;
  const few = [[7], [7, 7], [7, 7, 7, 7], Array.from({ length: 8 }, () => 7)].map((all) => spread(...all));
  assertEquals(few, [0, 12, 24, 36]);
  assertEquals([spread(7, 8, 8, 7), spread(7, 7, 70, 70), spread(1, 1, 0xffff, 0xffff)], [25, 30, 35]);
  const ages = [null, 0, 1, 3, 10_800, 1e12].map((ageS) => recallRtts([7], 1, ageS)?.age);
  assertEquals(ages, [0, 1, 2, 3, 14, 25]);
});
