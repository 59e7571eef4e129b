import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  NUM_AGES,
  NUM_HISTORY_RTTS,
  NUM_SPREADS,
  PACKED_HISTORY,
  packHistory,
  rttHistoryOf,
  unpackHistory,
} from "../../../lib/data/tokens/rtt_history.ts";

const codes = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 1, maxLength: 20 });
const age = fc.option(fc.double({ min: -1, max: 1e12, noNaN: true }));

Deno.test("rttHistoryOf() takes the newest code and the median of the five newest, and goes through packing", () => {
  fc.assert(fc.property(codes, age, (newestFirst, ageS) => {
    const rttHistory = rttHistoryOf(newestFirst, newestFirst.length, ageS);
    if (!rttHistory) throw new Error("no history features");
    const five = newestFirst.slice(0, 5).sort((a, b) => a - b);
    assertEquals([rttHistory.newestCode, rttHistory.typicalCode], [
      newestFirst[0],
      five[(five.length - 1) >> 1],
    ]);
    assertEquals(rttHistory.spread >= 0 && rttHistory.spread < NUM_SPREADS, true);
    assertEquals(rttHistory.age >= 0 && rttHistory.age < NUM_AGES, true);
    assertEquals(rttHistoryOf(newestFirst.slice(0, NUM_HISTORY_RTTS), newestFirst.length, ageS), rttHistory);
    const packed = new Uint32Array(2 * PACKED_HISTORY);
    packHistory(rttHistory, packed, PACKED_HISTORY);
    assertEquals(unpackHistory(packed, PACKED_HISTORY), rttHistory);
    assertEquals(unpackHistory(packed, 0), undefined);
  }));
});

Deno.test("rttHistoryOf() tells few from many, near from far, new from old", () => {
  assertEquals(rttHistoryOf([], 0, null), undefined);
  const spread = (...newestFirst: number[]) => rttHistoryOf(newestFirst, newestFirst.length, 0)?.spread;
  const few = [[7], [7, 7], [7, 7, 7, 7], Array.from({ length: 8 }, () => 7)].map((all) => spread(...all));
  assertEquals(few, [0, 12, 24, 36]);
  assertEquals([spread(7, 8, 8, 7), spread(7, 7, 70, 70), spread(1, 1, 0xffff, 0xffff)], [25, 30, 35]);
  const ages = [null, 0, 1, 3, 10_800, 1e12].map((ageS) => rttHistoryOf([7], 1, ageS)?.age);
  assertEquals(ages, [0, 1, 2, 3, 14, 25]);
});
