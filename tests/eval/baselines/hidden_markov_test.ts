import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { SAMPLE_LEVELS } from "../../../lib/eval/baselines/baseline.ts";
import { fitLevels, HiddenMarkovBaseline, studentCdf } from "../../../lib/eval/baselines/hidden_markov.ts";
import { RandomStream } from "../../../lib/base/random.ts";

const ASK = { source: "a", destination: "x", timeS: 1e9 };

/** A square wave between two RTTs, 30 measurements at each, with 1 % noise. */
function squareWave(count: number, [firstMs, secondMs]: readonly [number, number]) {
  const random = new RandomStream(2, "test/wave");
  return Array.from({ length: count }, (_, i) => ({
    source: "a",
    destination: "x",
    timeS: i,
    rttMs: (Math.floor(i / 30) % 2 === 0 ? firstMs : secondMs) * Math.exp(0.01 * random.normal()),
  }));
}

for (const levelsMs of [[20, 50], [50, 20]] as const) {
  Deno.test(`fitLevels() recovers a two-level square wave of ${levelsMs.join(" and ")} ms`, () => {
    const logs = Float64Array.from(squareWave(600, levelsMs), ({ rttMs }) => Math.log(rttMs));
    const { center, scale, transition } = fitLevels(logs, { numLevels: 2, minScale: 1e-3 });
    const [low, high] = center.toSorted();
    assertAlmostEquals(Math.exp(low), 20, 0.05);
    assertAlmostEquals(Math.exp(high), 50, 0.1);
    for (const own of scale) assert(own > 0.004 && own < 0.015, `${scale}`);
    // 10 runs of 30 measurements at either level.
    for (const k of [0, 3]) assertAlmostEquals(transition[k], 29 / 30, 0.015);
  });
}

Deno.test("HiddenMarkovBaseline predicts the level of the newest measurement and its spread", () => {
  for (const [count, expectedMs] of [[600, 50], [601, 20], [629, 20], [631, 50]]) {
    const baseline = new HiddenMarkovBaseline({ numLevels: 2 });
    const wave = squareWave(count, [20, 50]);
    baseline.train(wave.slice(0, 590));
    for (const measurement of wave.slice(590)) baseline.observe(measurement);
    assertAlmostEquals(baseline.predictMs(ASK) ?? NaN, expectedMs, 0.02 * expectedMs);
    const sample = baseline.predictSampleMs(ASK) ?? new Float64Array(0);
    assertEquals(sample, sample.toSorted());
    const otherMs = 70 - expectedMs;
    const numOther = sample.filter((ms) => Math.abs(ms - otherMs) < 0.2 * otherMs).length;
    assert(numOther >= 1 && numOther <= 3, `${numOther} of ${SAMPLE_LEVELS.length} after ${count}`);
  }
});

Deno.test("HiddenMarkovBaseline ignores single outliers", () => {
  const baseline = new HiddenMarkovBaseline({ numLevels: 1 });
  const flat = squareWave(200, [20, 20]).map((each, i) => i % 20 === 7 ? { ...each, rttMs: 900 } : each);
  baseline.train(flat);
  assertAlmostEquals(baseline.predictMs(ASK) ?? NaN, 20, 0.1);
});

Deno.test("HiddenMarkovBaseline keeps pairs apart, learns new ones and handles zeros and repeats", () => {
  const baseline = new HiddenMarkovBaseline({ numLevels: 6 });
  baseline.train(squareWave(100, [20, 50]));
  const other = { ...ASK, destination: "y" };
  assertEquals(baseline.predictMs(other), undefined);
  baseline.observe({ ...other, rttMs: null });
  assertEquals(baseline.predictMs(other), undefined);
  for (let i = 0; i < 40; i++) baseline.observe({ ...other, rttMs: 7 });
  assertAlmostEquals(baseline.predictMs(other) ?? NaN, 7, 0.02);
  for (const rttMs of [0, 0, 1e5, 0]) baseline.observe({ ...other, rttMs });
  assert((baseline.predictMs(other) ?? NaN) > 0);
  for (let i = 0; i < 5000; i++) baseline.observe({ ...other, rttMs: 9 });
  assertAlmostEquals(baseline.predictMs(other) ?? NaN, 9, 0.02);
});

Deno.test("studentCdf() matches tabulated quantiles for 3 degrees of freedom", () => {
  for (const [z, p] of [[0, 0.5], [1.638, 0.9], [2.353, 0.95], [-4.541, 0.01]]) {
    assertAlmostEquals(studentCdf(z), p, 1e-4);
  }
});
