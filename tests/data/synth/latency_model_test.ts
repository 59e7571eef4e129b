import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import {
  diurnalLoad,
  greatCircleKm,
  LatencyModel,
  normalCdf,
} from "../../../lib/data/synth/latency_model.ts";

Deno.test("normalCdf() has the values of the tables", () => {
  // Abramowitz and Stegun, table 26.1 and 26.2.
  const known = [[0, 0.5], [0.5, 0.691462461274013], [1, 0.841344746068543], [1.96, 0.975002104851780], [
    3,
    0.998650101968370,
  ]];
  for (const [x, p] of known) {
    assertAlmostEquals(normalCdf(x), p, 1e-14);
    assertAlmostEquals(normalCdf(-x), 1 - p, 1e-14);
  }
  assertAlmostEquals(normalCdf(-5) / 2.866515718791939e-7, 1, 1e-10);
  assertAlmostEquals(normalCdf(-10) / 7.619853024160527e-24, 1, 1e-7);
  assertEquals([normalCdf(-40), normalCdf(40), normalCdf(-Infinity)], [0, 1, 0]);
});

Deno.test("greatCircleKm() measures distances on the globe", () => {
  const [paris, sydney] = [{ latitude: 48.8566, longitude: 2.3522 }, {
    latitude: -33.8688,
    longitude: 151.2093,
  }];
  assertAlmostEquals(greatCircleKm(paris, sydney), 16_960, 20);
  assertEquals(greatCircleKm(paris, paris), 0);
  assertAlmostEquals(
    greatCircleKm({ latitude: 0, longitude: 0 }, { latitude: 0, longitude: 180 }),
    Math.PI * 6371,
    1e-6,
  );
});

Deno.test("diurnalLoad() is 1 at 21 h and 0 at 9 h of the place's own time", () => {
  assertAlmostEquals(diurnalLoad(21 * 3600, 0), 1, 1e-12);
  assertAlmostEquals(diurnalLoad(9 * 3600, 0), 0, 1e-12);
  assertAlmostEquals(diurnalLoad(0, -45), 1, 1e-12);
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

Deno.test("LatencyModel.sample() draws from LatencyModel.cdf(), by the test of Kolmogorov and Smirnov", () => {
  for (const [index, model] of [new LatencyModel(0.2, 30, 0.4), new LatencyModel(0, 5, 8)].entries()) {
    const random = new RandomStream(1, "test/model", index);
    const numDraws = 40_000;
    const drawn = Array.from({ length: numDraws }, () => model.sample(random));
    const rtts = Float64Array.from(drawn.filter((rttMs) => rttMs !== undefined)).sort();
    const failedShare = 1 - rtts.length / numDraws;
    assert(Math.abs(failedShare - model.pFailed) < 5 * Math.sqrt(0.25 / numDraws));
    let distance = 0;
    for (let i = 0; i < rtts.length; i++) {
      const p = model.cdf(rtts[i]);
      distance = Math.max(distance, p - i / rtts.length, (i + 1) / rtts.length - p);
    }
    // P(sqrt(n) D > 2) = 2 exp(-8) = 0.0007 for the right model.
    assert(Math.sqrt(rtts.length) * distance < 2, `sqrt(n) D = ${Math.sqrt(rtts.length) * distance}`);
  }
});

Deno.test("LatencyModel.sample() draws the tail of LatencyModel.cdf() too", () => {
  const model = new LatencyModel(0, 30, 0.4);
  const random = new RandomStream(2, "test/tail");
  const numDraws = 200_000;
  const drawn = Array.from({ length: numDraws }, () => model.sample(random) ?? 0);
  for (const q of [0.97, 0.99, 0.999]) {
    const limitMs = model.quantile(q);
    const numAbove = drawn.filter((rttMs) => rttMs > limitMs).length;
    const expected = (1 - q) * numDraws; // binomial: 4 standard deviations
    assert(
      Math.abs(numAbove - expected) < 4 * Math.sqrt(expected),
      `${numAbove} above ${q}, ${expected} expected`,
    );
  }
});
