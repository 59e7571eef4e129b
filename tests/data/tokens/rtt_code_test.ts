import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  CANONICAL_RTT_CODES,
  decodeRttCode,
  encodeRttCode,
  END_RTT_MS,
  isCanonicalRttCode,
  rttCodeBounds,
} from "../../../lib/data/tokens/rtt_code.ts";
import {
  NUM_AGES,
  NUM_HISTORY_RTTS,
  NUM_SPREADS,
  PACKED_HISTORY,
  packHistory,
  rttHistoryOf,
  unpackHistory,
} from "../../../lib/data/tokens/rtt_history.ts";

Deno.test("encodeRttCode() matches codes computed by hand", () => {
  assertEquals(encodeRttCode(0), 1);
  assertEquals(encodeRttCode(0.0004), 1);
  assertEquals(encodeRttCode(1), 1000);
  assertEquals(encodeRttCode(2.047), 2047);
  // 2048 µs -> m = 1024, e = 1; 50,000 µs / 32 = 1562.5, e = 5; 302,281.66 ms is the longest in the data set.
  assertEquals(encodeRttCode(2.048), 1 << 11 | 1024);
  assertEquals(encodeRttCode(50), 5 << 11 | 1562);
  assertEquals(encodeRttCode(302_281.66), 18 << 11 | Math.floor(302_281_660 / 2 ** 18));
  assertEquals(encodeRttCode(1e300), 0xffff);
});

Deno.test("encodeRttCode() rejects invalid RTTs", () => {
  for (const rttMs of [-1, -1e-9, NaN, Infinity, -Infinity]) {
    assertThrows(() => encodeRttCode(rttMs), RangeError);
  }
});

Deno.test("rttCodeBounds() tiles the RTTs from 0 to infinity in code order, and codes decode within the stated errors", () => {
  let endMs = 0;
  for (const code of CANONICAL_RTT_CODES) {
    const { lowMs, highMs } = rttCodeBounds(code);
    const rttMs = decodeRttCode(code);
    assertEquals(lowMs, endMs);
    assert(rttMs >= lowMs && rttMs < highMs);
    assertEquals([encodeRttCode(lowMs), encodeRttCode(rttMs)], [code, code]);
    if (highMs < Infinity) {
      const errorMs = Math.max(rttMs - lowMs, highMs - rttMs);
      assert(errorMs <= (lowMs >= 2.048 ? 0.00049 * lowMs : 0.001 + 1e-12), `${code}: ${errorMs} ms`);
    }
    endMs = highMs;
  }
  assertEquals(endMs, Infinity);
});

Deno.test("codes that the encoder never produces are rejected", () => {
  for (const code of [0, 1 << 11, 1 << 11 | 1023, 31 << 11, 0x10000, -1, 1.5, NaN]) {
    assertEquals(isCanonicalRttCode(code), false);
    assertThrows(() => decodeRttCode(code), RangeError);
    assertThrows(() => rttCodeBounds(code), RangeError);
  }
});

Deno.test("END_RTT_MS is where the last code's nominal interval ends", () => {
  const { lowMs } = rttCodeBounds(0xffff);
  const widthMs = 2 ** 31 / 1000;
  assertEquals(END_RTT_MS, lowMs + widthMs);
  assert(Number.isFinite(Math.fround(END_RTT_MS)));
});

const codes = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 1, maxLength: 20 });
const age = fc.option(fc.double({ min: -1, max: 1e12, noNaN: true }));

Deno.test("rttHistoryOf() uses the newest code and the median of the five newest, and round-trips through packing", () => {
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

Deno.test("rttHistoryOf() distinguishes few from many, near from far and new from old", () => {
  assertEquals(rttHistoryOf([], 0, null), undefined);
  const spread = (...newestFirst: number[]) => rttHistoryOf(newestFirst, newestFirst.length, 0)?.spread;
  const few = [[7], [7, 7], [7, 7, 7, 7], Array.from({ length: 8 }, () => 7)].map((all) => spread(...all));
  assertEquals(few, [0, 12, 24, 36]);
  assertEquals([spread(7, 8, 8, 7), spread(7, 7, 70, 70), spread(1, 1, 0xffff, 0xffff)], [25, 30, 35]);
  const ages = [null, 0, 1, 3, 10_800, 1e12].map((ageS) => rttHistoryOf([7], 1, ageS)?.age);
  assertEquals(ages, [0, 1, 2, 3, 14, 25]);
});
