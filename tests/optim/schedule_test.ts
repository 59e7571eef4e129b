import { assertAlmostEquals, assertEquals } from "@std/assert";
import { learningRateFactor, weightDecayFactor, widthFactor } from "../../lib/optim/schedule.ts";

const SHARES = { warmupShare: 0.01, decayShare: 0.5 };

Deno.test("learningRateFactor() rises over the first 1 %, is 1, falls to 0 over the last half", () => {
  const factor = (step: number) => learningRateFactor(step, 1000, SHARES);
  assertEquals([0, 4, 8].map(factor), [0.1, 0.5, 0.9]);
  assertEquals([9, 10, 250, 499, 500].map(factor), [1, 1, 1, 1, 1]);
  assertAlmostEquals(factor(501), 0.998);
  assertAlmostEquals(factor(750), 0.5);
  assertAlmostEquals(factor(999), 0.002);
  assertEquals([1000, 2000].map(factor), [0, 0]);
});

Deno.test("learningRateFactor() needs neither warm-up nor decay, and works for short runs", () => {
  assertEquals([0, 5, 9].map((step) => learningRateFactor(step, 10, { warmupShare: 0, decayShare: 0 })), [
    1,
    1,
    1,
  ]);
  assertEquals([0, 1].map((step) => learningRateFactor(step, 2, SHARES)), [1, 1]);
  assertEquals(learningRateFactor(0, 1, SHARES), 1);
  // Where the phases overlap, the smaller factor counts.
  assertEquals(learningRateFactor(4, 10, { warmupShare: 1, decayShare: 1 }), 0.5);
});

Deno.test("weightDecayFactor() falls linearly from 1 to 0", () => {
  assertEquals([0, 25, 50, 100, 101].map((step) => weightDecayFactor(step, 100)), [1, 0.75, 0.5, 0, 0]);
});

Deno.test("widthFactor() is 1 at width 768 and falls with its root", () => {
  assertEquals(widthFactor(768), 1);
  assertAlmostEquals(widthFactor(192), 2);
  assertAlmostEquals(widthFactor(3072), 0.5);
});
