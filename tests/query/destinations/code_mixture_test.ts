import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { mixtureError, rangeMixture } from "../../../lib/query/destinations/code_mixture.ts";
import { RandomStream } from "../../../lib/random/philox.ts";

const CODES = Array.from({ length: 1000 }, (_, i) => 20_000 + i);

/** The mean of a function of the code over a mixture, with its standard error. */
function meanOf(mixture: ReturnType<typeof rangeMixture>, value: (code: number) => number) {
  const joint = mixture.weights.map((weight, i) => weight * value(mixture.codes[i] ?? 0));
  return { mean: joint.reduce((sum, v) => sum + v, 0), error: mixtureError(mixture, joint) };
}

Deno.test("rangeMixture() takes every code of a small range with its share", () => {
  const mixture = rangeMixture([5, 6, 7], { probabilities: Float64Array.of(1, 2, 5), maxCodes: 3 });
  assertEquals([mixture.codes, [...mixture.weights]], [[5, 6, 7], [1 / 8, 2 / 8, 5 / 8]]);
  assertEquals(meanOf(mixture, (code) => code).error, 0);
  assertEquals(rangeMixture([null], { probabilities: Float64Array.of(1), maxCodes: 1 }), {
    codes: [null],
    weights: Float64Array.of(1),
    strata: undefined,
  });
});

Deno.test("rangeMixture() stands for a wide range by the middles of strata of equal probability", () => {
  const probabilities = Float64Array.from(CODES, () => 3);
  const mixture = rangeMixture(CODES, { probabilities, maxCodes: 10 });
  assertEquals(mixture.codes, Array.from({ length: 10 }, (_, i) => 20_049 + 100 * i));
  assertEquals([...mixture.weights], Array(10).fill(0.1));
  const { mean, error } = meanOf(mixture, (code) => code);
  assertAlmostEquals(mean, 20_499.5, 1);
  assertAlmostEquals(error, Math.sqrt(5 * 100 ** 2) / 10, 1e-9);
});

Deno.test("rangeMixture() gives a code that has most of the mass most of the weight, and no code without mass", () => {
  const probabilities = Float64Array.from(CODES, (_, i) => i === 700 ? 0.8 : i % 2 === 0 ? 0.2 / 499 : 0);
  const mixture = rangeMixture(CODES, { probabilities, maxCodes: 20 });
  assertEquals(mixture.weights[mixture.codes.indexOf(20_700)], 0.8);
  assertEquals(mixture.codes.length, 5);
  for (const code of mixture.codes) assert(probabilities[Number(code) - 20_000] > 0, `${code}`);
  assertAlmostEquals(mixture.weights.reduce((sum, weight) => sum + weight, 0), 1, 1e-12);
});

Deno.test("mixtureError() is no smaller than the error, mostly", () => {
  const random = new RandomStream(4, "test/mixture");
  let numWithin = 0;
  for (let trial = 0; trial < 200; trial++) {
    const probabilities = Float64Array.from(CODES, () => random.exponential());
    const [phase, steepness] = [random.float64() * 6, random.float64() * 0.02];
    const value = (code: number) =>
      1 + Math.sin(phase + steepness * (code - 20_000)) + 0.3 * Math.sin(code * 77);
    const { mean } = meanOf(rangeMixture(CODES, { probabilities, maxCodes: 1000 }), value);
    const few = meanOf(rangeMixture(CODES, { probabilities, maxCodes: 32 }), value);
    assert(few.error > 0);
    if (Math.abs(few.mean - mean) < 2 * few.error) numWithin++;
  }
  assert(numWithin >= 180, `${numWithin} of 200 lie within two standard errors`);
});
