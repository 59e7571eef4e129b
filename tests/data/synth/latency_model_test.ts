import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { LATENCY_CONSTANTS, LatencyModel } from "../../../lib/data/synth/latency_model.ts";
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../../lib/data/tokens/rtt_code.ts";
import { codeProbabilities } from "./code_probabilities.ts";

Deno.test("LatencyModel.cdf() is the tabulated normal distribution of logarithms, and a Lomax distribution", () => {
  const { jitterSigma, tailWeight, tailShape, tailFloorMs, tailFactor } = LATENCY_CONSTANTS;
  const [offsetMs, jitterMs] = [30, 0.4];
  const model = new LatencyModel(0.1, offsetMs, jitterMs);
  // Abramowitz and Stegun, tables 26.1 and 26.2.
  const upper = [[0.5, 0.691462461274013], [1, 0.841344746068543], [1.96, 0.975002104851780]];
  const known = [[0, 0.5], [3, 0.998650101968370], ...upper, [8, 1]];
  for (const [x, p] of [...known, ...known.map(([x, p]) => [-x, 1 - p])]) {
    const y = jitterMs * Math.exp(jitterSigma * x);
    const tail = 1 - (1 + y / (tailFloorMs + tailFactor * jitterMs)) ** -tailShape;
    assertAlmostEquals(model.cdf(offsetMs + y), (1 - tailWeight) * p + tailWeight * tail, 1e-13);
  }
});

Deno.test("LatencyModel.quantile() inverts LatencyModel.cdf()", () => {
  const model = new LatencyModel(0.1, 30, 0.4);
  for (const q of [1e-6, 0.01, 0.5, 0.9, 0.97, 0.99, 0.99999]) {
    assertAlmostEquals(model.cdf(model.quantile(q)), q, 1e-9);
  }
  assertEquals(model.quantile(0), 30);
  assertEquals(model.cdf(30), 0);
  assertAlmostEquals(model.cdf(1e12), 1, 1e-6);
});

/** Nearly no jitter, normal jitter, high jitter, and an RTT that crosses the codes of 1 µs. */
const MODELS = [
  new LatencyModel(0.2, 30, 0.05),
  new LatencyModel(0.1, 62, 0.4),
  new LatencyModel(0, 5, 8),
  new LatencyModel(0.01, 1.9, 0.3),
];

function sumOf(numbers: Float64Array): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

Deno.test("codeProbabilities() add up to 1 and are differences of LatencyModel.cdf()", () => {
  for (const model of MODELS) {
    const probabilities = codeProbabilities(model);
    assertAlmostEquals(sumOf(probabilities), 1, 1e-12);
    for (let i = 0; i < probabilities.length; i += 7) {
      const { lowMs, highMs } = rttCodeBounds(CANONICAL_RTT_CODES[i]);
      assert(probabilities[i] >= 0);
      assertAlmostEquals(probabilities[i], model.cdf(highMs) - model.cdf(lowMs), 1e-12);
    }
  }
});

Deno.test("LatencyModel.probabilityBetween() stays precise where the distribution function is nearly 1", () => {
  const model = new LatencyModel(0, 30, 0.4);
  const scaleMs = LATENCY_CONSTANTS.tailFloorMs + LATENCY_CONSTANTS.tailFactor * 0.4;
  // Far out only the Lomax distribution is left: its density times the width, which is small.
  for (const rttMs of [1e4, 1e7, 1e10]) {
    const y = rttMs * (1 + 5e-7) - 30;
    const density = LATENCY_CONSTANTS.tailWeight * LATENCY_CONSTANTS.tailShape / scaleMs *
      (1 + y / scaleMs) ** (-LATENCY_CONSTANTS.tailShape - 1);
    const ratio = model.probabilityBetween(rttMs, rttMs * (1 + 1e-6)) / (density * rttMs * 1e-6);
    assertAlmostEquals(ratio, 1, 1e-6);
  }
  assertEquals(model.probabilityBetween(10, 30), 0);
  assertEquals(model.probabilityBetween(50, 50), 0);
  assertAlmostEquals(model.probabilityBetween(0, Infinity), 1, 1e-15);
});
