import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { RttDistribution } from "../../lib/query/rtt_distribution.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../lib/tokens/rtt_code.ts";

/** A distribution with the given masses at the codes of the given RTTs. */
function distributionOf(masses: Record<number, number>): RttDistribution {
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  for (const [rttMs, mass] of Object.entries(masses)) {
    probabilities[CANONICAL_RTT_CODES.indexOf(encodeRttCode(Number(rttMs)))] = mass;
  }
  return new RttDistribution(0.1, probabilities, 1);
}

Deno.test("RttDistribution gives quantiles, CDF and mean of a known distribution", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.5, 80: 0.25 });
  const near = (actual: number, expected: number) => assertAlmostEquals(actual, expected, expected * 5e-4);
  near(distribution.quantileMs(0.1), 10);
  near(distribution.quantileMs(0.25), 10);
  near(distribution.quantileMs(0.26), 20);
  near(distribution.quantileMs(0.75), 20);
  near(distribution.quantileMs(1), 80);
  near(distribution.meanMs, 32.5);
  assertEquals([5, 10, 15, 20, 79, 80, 500].map((rttMs) => distribution.cdf(rttMs)), [
    0,
    0.25,
    0.25,
    0.75,
    0.75,
    1,
    1,
  ]);
  assertThrows(() => distribution.quantileMs(1.5), RangeError);
});

Deno.test("RttDistribution.histogram() keeps the mass and its place", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.5, 80: 0.25 });
  const bars = distribution.histogram(30);
  assertAlmostEquals(bars.reduce((sum, { probability }) => sum + probability, 0), 1, 1e-9);
  for (let i = 1; i < bars.length; i++) assertAlmostEquals(bars[i].lowMs, bars[i - 1].highMs, 1e-9);
  const peak = bars.reduce((a, b) => a.probability > b.probability ? a : b);
  assert(peak.lowMs <= 20.02 && peak.highMs >= 19.98, JSON.stringify(peak));
});

Deno.test("RttDistribution.cdf() and quantileMs() invert each other on every code of a spread distribution", () => {
  const probabilities = Float64Array.from(CANONICAL_RTT_CODES, (_, i) => 1 + (i * 7919) % 13);
  const total = probabilities.reduce((sum, p) => sum + p, 0);
  const distribution = new RttDistribution(0, probabilities.map((p) => p / total), 1);
  for (let i = 0; i < CANONICAL_RTT_CODES.length; i += 997) {
    const rttMs = decodeRttCode(CANONICAL_RTT_CODES[i]);
    assertEquals(distribution.quantileMs(distribution.cdf(rttMs)), rttMs);
  }
});

Deno.test("RttDistribution.meanBelowQuantileMs() leaves out the slowest, shareOfMeanBeyond() tells what they weigh", () => {
  const distribution = distributionOf({ 10: 0.499, 20: 0.5, 3_600_000: 0.001 });
  const near = (actual: number, expected: number) => assertAlmostEquals(actual, expected, expected * 5e-4);
  near(distribution.meanMs, 4.99 + 10 + 3600);
  near(distribution.meanBelowQuantileMs(1), distribution.meanMs);
  near(distribution.meanBelowQuantileMs(0.999), 14.99 / 0.999);
  near(distribution.meanBelowQuantileMs(0.5), (4.99 + 0.02) / 0.5);
  near(distribution.shareOfMeanBeyond(600_000), 3600 / distribution.meanMs);
  assertEquals(distribution.shareOfMeanBeyond(3_610_000), 0);
  for (const wrong of [0, -1, 1.1, NaN]) {
    assertThrows(() => distribution.meanBelowQuantileMs(wrong), RangeError);
  }
});

Deno.test("RttDistribution.probabilityOf() is the mass of the bucket of an RTT", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.75 });
  assertEquals([10, 10.002, 15, 20].map((rttMs) => distribution.probabilityOf(rttMs)), [0.25, 0.25, 0, 0.75]);
});
