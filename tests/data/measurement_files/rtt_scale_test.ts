import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { RttScale } from "../../../lib/data/measurement_files/rtt_scale.ts";

function scaleOf(rttsMs: readonly number[]): RttScale {
  const scale = new RttScale();
  for (const rttMs of rttsMs) scale.add(rttMs);
  return scale;
}

Deno.test("RttScale estimates the median of any RTTs to within 2 %", () => {
  for (const median of [1e-9, 1e-5, 0.034, 27, 1e4, 3e9]) {
    const expected = Math.max(1e-6, median);
    assertAlmostEquals(scaleOf([median / 3, median, median * 5]).medianMs / expected, 1, 0.02);
  }
  const none = new RttScale();
  assertEquals([none.medianMs, none.advice, none.numRtts], [NaN, undefined, 0]);
});

Deno.test("RttScale names the unit that would fit if the RTTs are implausible for a network", () => {
  const units = [
    ...[[0.0345, "seconds"], [34_500, "microseconds"], [900_000, "microseconds"]] as const,
    ...[[5_000_000, "nanoseconds"], [34_500_000, "nanoseconds"]] as const,
  ];
  for (const [median, unit] of units) {
    const { advice } = scaleOf([median, median * 1.01, 5]);
    assert(advice !== undefined);
    assertMatch(advice, new RegExp(`which looks like ${unit}: name the column with --columns rtt_`));
  }
  for (const median of [0.06, 27, 9000]) assertEquals(scaleOf([median, median]).advice, undefined);
});
