import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { crossValidate, drawSetting } from "../../../lib/cli/bench/change_settings.ts";
import { DEFAULT_CHANGE_OPTIONS } from "../../../lib/query/changes/change_detector.ts";

Deno.test("a setting is drawn by seed and number, and has every option but the delay", () => {
  const { delay: _, ...others } = DEFAULT_CHANGE_OPTIONS;
  assertEquals(Object.keys(drawSetting(1, 2)).sort(), Object.keys(others).sort());
  assertEquals(drawSetting(1, 2), drawSetting(1, 2));
  assert(drawSetting(1, 2).penalty !== drawSetting(1, 3).penalty);
});

Deno.test("crossValidate() gives the best setting's F2 if one is best everywhere", () => {
  const best = [0.9, 0.8, 0.7, 0.9, 0.8];
  const { mean, range } = crossValidate([best.map((f2) => f2 - 0.3), best, best.map((f2) => f2 / 2)], 5, 0);
  assertAlmostEquals(mean, 0.8);
  assertEquals(range, [0.8, 0.8]);
});

Deno.test("crossValidate() does not choose by the series that it holds out", () => {
  // Each setting is right on one series only: on the series that is held out the chosen one is wrong.
  const f2 = Array.from({ length: 5 }, (_, i) => Array.from({ length: 5 }, (_, j) => i === j ? 1 : 0));
  const { range: [least, most] } = crossValidate(f2, 5, 0);
  assertEquals([least, most], [0, 0]);
});
