import { assert, assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import { SAMPLE_LEVELS } from "../../../lib/eval/baselines/baseline.ts";
import {
  ALL_KERNELS,
  type KernelName,
  PairKernelBaseline,
} from "../../../lib/eval/baselines/pair_kernels.ts";

const HOUR_S = 3600;

/** Hours and RTTs of a pair, in time order. */
const MEASURED = [[0, 34], [2, 23], [5, 25], [30, 28], [31, 30], [33, 39], [50, 20], [54, 22]];

function pairMeasurements(measured: readonly number[][], destination = "x") {
  return measured.map(([hour, rttMs]) => ({ source: "a", destination, timeS: hour * HOUR_S, rttMs }));
}

function ask(hour: number, destination = "x") {
  return { source: "a", destination, timeS: hour * HOUR_S };
}

function trained(kernels: readonly KernelName[], measured = pairMeasurements(MEASURED)): PairKernelBaseline {
  const baseline = new PairKernelBaseline(kernels);
  baseline.train(measured);
  return baseline;
}

/** How many of the 50 quantiles are each of the RTTs of `MEASURED`, ascending. */
function countsOf(sample: Float64Array | undefined): number[] {
  assert(sample);
  return MEASURED.map(([, rttMs]) => rttMs).sort((a, b) => a - b)
    .map((rttMs) => sample.filter((ms) => ms === rttMs).length);
}

Deno.test("PairKernelBaseline weighs a pair's measurements by their distance in time", () => {
  // At 2 hours the weights of 10 and 20 ms are 1 and exp(-6 / 6), so their shares are 0.731 and 0.269.
  const measured = pairMeasurements([[2, 10], [8, 20]]);
  const sample = trained(["6 h"], measured).predictSampleMs(ask(2));
  const share = 1 / (1 + Math.exp(-1));
  assertEquals(sample, Float64Array.from(SAMPLE_LEVELS, (level) => level <= share ? 10 : 20));
  // Both sides of a time count: the weights are exp(-18 / 72) and exp(-54 / 72).
  const wide = trained(["3 d"], pairMeasurements([[0, 10], [72, 20]])).predictSampleMs(ask(18));
  const ratio = Math.exp((54 - 18) / 72);
  assertEquals(wide, Float64Array.from(SAMPLE_LEVELS, (level) => level <= ratio / (1 + ratio) ? 10 : 20));
});

Deno.test("PairKernelBaseline weighs a pair's measurements by the hour of the day, around midnight too", () => {
  // At 1:00, a day later, 23:00 is two hours away, 12:00 eleven: exp(-1 - 26 / 168), exp(-5.5 - 37 / 168).
  const sample = trained(["hour of day"], pairMeasurements([[12, 10], [23, 20]])).predictSampleMs(ask(49));
  const ratio = Math.exp(5.5 + 37 / 168 - 1 - 26 / 168);
  assertEquals(sample, Float64Array.from(SAMPLE_LEVELS, (level) => level <= 1 / (1 + ratio) ? 10 : 20));
});

// From a program in Python that computes the weights, the leave-one-out CRPS (0.178, 0.178, 0.166, 0.178,
// 0.099, 0.200 are the shares of the kernels) and the quantiles with NumPy.
for (
  const [kernels, medianMs, counts] of [
    [["3 h"], 22, [25, 25, 0, 0, 0, 0, 0, 0]],
    [["6 h"], 22, [23, 24, 0, 0, 1, 1, 0, 1]],
    [["1 d"], 22, [13, 13, 2, 2, 6, 6, 2, 6]],
    [["3 d"], 25, [9, 8, 4, 5, 6, 7, 4, 7]],
    [["hour of day"], 25, [8, 9, 6, 11, 7, 5, 2, 2]],
    [ALL_KERNELS, 22, [14, 14, 3, 4, 4, 4, 3, 4]],
  ] as const
) {
  Deno.test(`PairKernelBaseline with ${kernels.join(", ")} agrees with an independent program`, () => {
    const baseline = trained(kernels);
    assertEquals(baseline.predictMs(ask(52)), medianMs);
    assertEquals(countsOf(baseline.predictSampleMs(ask(52))), [...counts]);
  });
}

Deno.test("PairKernelBaseline averages kernels by how well they predict the pair's other measurements", () => {
  // One pair is high at noon of every day; the other rises slowly. Both are asked between two measurements.
  const measured = Array.from({ length: 240 }, (_, i) => 3 * i);
  const daily = measured.map((hour) => [hour, (hour % 24 === 12 ? 80 : 20) + hour % 7 / 10]);
  const rising = measured.map((hour) => [hour, 20 + hour / 10]);
  const baseline = trained(ALL_KERNELS, [
    ...pairMeasurements(daily, "daily"),
    ...pairMeasurements(rising, "rising"),
  ]);
  assertAlmostEquals(baseline.predictMs(ask(372, "daily")) ?? NaN, 80, 1);
  assertAlmostEquals(baseline.predictMs(ask(384, "daily")) ?? NaN, 20, 1);
  assertAlmostEquals(baseline.predictMs(ask(361, "rising")) ?? NaN, 56.1, 0.5);
});

Deno.test("PairKernelBaseline keeps pairs apart and ignores what has no reply or was learned before", () => {
  for (const kernels of [ALL_KERNELS, ["6 h"] as const]) {
    const baseline = trained(kernels, pairMeasurements([[0, 10]]));
    assertEquals(baseline.predictMs(ask(1, "y")), undefined);
    assertEquals(baseline.predictSampleMs(ask(1, "y")), undefined);
    baseline.observe({ ...ask(1, "y"), rttMs: null });
    assertEquals(baseline.predictMs(ask(2, "y")), undefined);
    for (let i = 0; i < 9; i++) baseline.observe({ ...ask(2), rttMs: 30, isRepeated: true });
    assertEquals(baseline.predictSampleMs(ask(2)), new Float64Array(SAMPLE_LEVELS.length).fill(10));
    baseline.observe({ ...ask(500), rttMs: 0 });
    assertEquals(baseline.predictMs(ask(501)), 0);
    // Far from all measurements they count alike.
    assertEquals(trained(["3 h"]).predictMs(ask(1e6)), 25);
  }
});

Deno.test("PairKernelBaseline knows long histories from a sample of them, in bounded memory", () => {
  const numPairs = 20;
  const numEach = 1000;
  const maxKept = 3000;
  const baseline = new PairKernelBaseline(["3 d"], maxKept);
  // RTTs rise by 1 ms an hour on average, from 100 ms more for each pair.
  for (let i = 0; i < numEach; i++) {
    for (let pair = 0; pair < numPairs; pair++) {
      baseline.observe({ ...ask(i, `${pair}`), rttMs: 100 * pair + i + i * 7919 % 11 });
      assert(baseline.numKept <= maxKept);
    }
  }
  assertLess(maxKept / 3, baseline.numKept);
  for (let pair = 0; pair < numPairs; pair++) {
    for (const hour of [200, 500, 800]) {
      assertAlmostEquals(baseline.predictMs(ask(hour, `${pair}`)) ?? NaN, 100 * pair + hour + 5, 15);
    }
  }
  const alone = new PairKernelBaseline(["6 h"]);
  const numOfPair = 20_000;
  for (let i = 0; i < numOfPair; i++) alone.observe({ ...ask(i / 60), rttMs: 10 + i % 100 });
  assert(alone.numKept <= 4096 && alone.numKept > 1024, `${alone.numKept}`);
  alone.predictSampleMs(ask(100))?.forEach((ms, i) => assertAlmostEquals(ms, 10 + 2 * i + 0.5, 4));
});
