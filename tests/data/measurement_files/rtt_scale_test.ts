import { assert, assertEquals, assertMatch } from "@std/assert";
import { RttScale } from "../../../lib/data/measurement_files/rtt_scale.ts";

function scaleOf(rttsMs: readonly number[]): RttScale {
  const scale = new RttScale();
  for (const rttMs of rttsMs) scale.add(rttMs);
  return scale;
}

Deno.test("RttScale names the unit that would fit if the RTTs are implausible for a network", () => {
  const units = [
    ...[[0.0345, "seconds"], [34_500, "microseconds"], [900_000, "microseconds"]] as const,
    ...[[5_000_000, "nanoseconds"], [34_500_000, "nanoseconds"]] as const,
  ];
  for (const [median, unit] of units) {
    const { advice } = scaleOf([median, median * 1.01, 5]);
    assert(advice !== undefined);
    assertMatch(
      advice,
      new RegExp(`which looks like ${unit}: name the column of a table with --columns rtt_`),
    );
  }
  for (const median of [0.06, 27, 9000]) assertEquals(scaleOf([median, median]).advice, undefined);
});
