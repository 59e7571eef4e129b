import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { MAX_PING_RTT_MS, RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";

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

Deno.test("RttDistribution.likeliest() is where most mass is within a hundredth, not the median", () => {
  // A peak of 40 % at 10 ms, split over three codes, and 60 % over 41 RTTs that are further apart than a hundredth.
  const wide = Array.from({ length: 41 }, (_, i) => [20 * 1.02 ** i, 0.6 / 41]);
  const distribution = distributionOf({ 9.97: 0.1, 10: 0.2, 10.03: 0.1, ...Object.fromEntries(wide) });
  const { rttMs, probability } = distribution.likeliest();
  assertAlmostEquals(rttMs, 10, 0.005);
  assertAlmostEquals(probability, 0.4, 1e-12);
  assert(distribution.quantileMs(0.5) > 20);
  const certain = distributionOf({ 55.5: 1 }).likeliest();
  assertAlmostEquals(certain.rttMs, 55.5, 0.03);
  assertEquals(certain.probability, 1);
  // Apart by a little less than a hundredth and by a little more.
  assertAlmostEquals(distributionOf({ 10: 0.5, 10.08: 0.5 }).likeliest().probability, 1, 1e-12);
  assertAlmostEquals(distributionOf({ 10: 0.5, 10.12: 0.5 }).likeliest().probability, 0.5, 1e-12);
});

Deno.test("RttDistribution.likeliest() finds as much mass as trying all intervals", () => {
  const random = new RandomStream(3, "likeliest");
  for (let draw = 0; draw < 20; draw++) {
    const rttsMs = Array.from({ length: 60 }, () => 5 + 0.5 * random.float64());
    const masses = Object.fromEntries(rttsMs.map((rttMs) => [rttMs, random.float64()]));
    const distribution = distributionOf(masses);
    const values = Array.from(distribution.probabilities.keys()).filter((i) =>
      distribution.probabilities[i] > 0
    )
      .map((i) => ({ rttMs: decodeRttCode(CANONICAL_RTT_CODES[i]), mass: distribution.probabilities[i] }));
    const massFrom = (lowMs: number) =>
      values.filter(({ rttMs }) => rttMs >= lowMs && rttMs <= lowMs * 1.01).reduce(
        (sum, { mass }) => sum + mass,
        0,
      );
    const most = Math.max(...values.map(({ rttMs }) => massFrom(rttMs)));
    const { rttMs, probability } = distribution.likeliest();
    assertAlmostEquals(probability, most, 1e-9);
    assert(values.some((value) => value.rttMs === rttMs), `${rttMs} ms has no mass`);
  }
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

Deno.test("RttDistribution.meanMs is that of the RTTs up to the longest that ping tools wait", () => {
  const near = (actual: number, expected: number) => assertAlmostEquals(actual, expected, expected * 5e-4);
  near(distributionOf({ 10: 0.499, 59_900: 0.001, 3_600_000: 0.5 }).meanMs, (4.99 + 59.9) / 0.5);
  near(distributionOf({ 10: 0.499, 20: 0.5, 61_000: 0.001 }).meanMs, 14.99 / 0.999);
  assertEquals(distributionOf({ 3_600_000: 1 }).meanMs, MAX_PING_RTT_MS);
});

Deno.test("RttDistribution.probabilityOf() is the mass of the bucket of an RTT", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.75 });
  assertEquals([10, 10.002, 15, 20].map((rttMs) => distribution.probabilityOf(rttMs)), [0.25, 0.25, 0, 0.75]);
});
