import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { indexOfCode } from "../../../lib/model/pool/kernel_mixture.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { LossRuns } from "../../../lib/query/score/loss_runs.ts";
import { NormalPValues } from "../../../lib/query/score/normal_p_values.ts";
import { pValueOfNoReply, pValueOfReply } from "../../../lib/query/score/surprise.ts";

/** Maximum distance between the distribution of values and the uniform one, times sqrt(n). */
function smirnov(values: readonly number[]): number {
  const n = values.length;
  const distances = values.toSorted((a, b) => a - b).map((p, i) => Math.max((i + 1) / n - p, p - i / n));
  return Math.max(...distances) * Math.sqrt(n);
}
/** The 0.1 % point of that statistic (Smirnov 1948). */
const SMIRNOV_LIMIT = 1.95;

/** A distribution from weights of RTTs, ms, with a millionth spread over all codes. */
function distribution(pFailed: number, weights: readonly (readonly [rttMs: number, weight: number])[]) {
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length).fill(1e-6 / CANONICAL_RTT_CODES.length);
  const sum = weights.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [rttMs, weight] of weights) {
    probabilities[indexOfCode(encodeRttCode(rttMs))] += (1 - 1e-6) * weight / sum;
  }
  return new RttDistribution(pFailed, probabilities, 1);
}

/** RTTs that a tool rounds to a tenth of a millisecond: a normal distribution around 150 ms. */
function rounded(pFailed: number, spreadMs: number): RttDistribution {
  return distribution(
    pFailed,
    Array.from({ length: 801 }, (_, i) => 110 + i / 10).map((rttMs) => [
      rttMs,
      Math.exp(-(((rttMs - 150) / spreadMs) ** 2) / 2),
    ]),
  );
}

Deno.test("p-values of results drawn from the distribution are uniform, with few and many lost replies", () => {
  for (const pFailed of [0.001, 0.1, 0.5, 0.9, 0.999]) {
    const expected = rounded(pFailed, 3);
    const random = new RandomStream(0, "tests/surprise");
    const pValues = Array.from({ length: 1500 }, () => {
      const draw = random.float64();
      if (random.float64() < pFailed) return pValueOfNoReply(pFailed, draw);
      const level = random.float64();
      const index = expected.cumulative.findIndex((mass) => mass >= level);
      return pValueOfReply(CANONICAL_RTT_CODES[index], expected, draw);
    });
    assert(smirnov(pValues) < SMIRNOV_LIMIT, `${smirnov(pValues)} at P(no reply) = ${pFailed}`);
  }
});

Deno.test("a lost reply is compared with all RTTs, not with single codes", () => {
  for (const draw of [0, 0.5, 0.99]) {
    const p = pValueOfNoReply(0.001, draw);
    assert(p > 0.001 && p <= 0.002, `${p}`);
  }
  // If nearly all replies are lost, a reply is what surprises.
  assert(pValueOfNoReply(0.99, 0.5) > 0.1);
  assert(pValueOfReply(encodeRttCode(150), rounded(0.99, 3), 0.5) <= 0.01);
});

Deno.test("the surprise of an RTT depends on how far out it is, not on rounding", () => {
  const expected = rounded(0, 1.5);
  const pOf = (rttMs: number) => pValueOfReply(encodeRttCode(rttMs), expected, 0.5);
  // Hardly any RTTs were measured between two tenths, and none outside them.
  for (const rttMs of [150.2, 150.25, 150.3]) assert(pOf(rttMs) > 0.7, `${pOf(rttMs)} of ${rttMs} ms`);
  // The two tails of a normal distribution beyond 1, 2 and 3 standard deviations.
  for (const [rttMs, p] of [[151.5, 0.3173], [147, 0.0455], [154.5, 0.0027]]) {
    assertAlmostEquals(pOf(rttMs), p, 0.15 * p + 0.01);
  }
  assert(pOf(175) < 1e-5);
});

Deno.test("an RTT in the gap between two levels is surprising", () => {
  const levels = [100, 200].flatMap((level) =>
    Array.from({ length: 41 }, (_, i) => [level - 2 + i / 10, 1] as const)
  );
  const expected = distribution(0, levels);
  const [near, between] = [100.3, 150].map((rttMs) => pValueOfReply(encodeRttCode(rttMs), expected, 0.5));
  assert(between < near && near > 0.05, `${between} and ${near}`);
});

Deno.test("corrected p-values of normal measurements are uniform, with losses and replies alike below a limit", () => {
  const random = new RandomStream(1, "tests/normal p-values");
  // A model that is overconfident about RTTs and underconfident about losses, which are 1 % of the rows.
  const drawn = (count: number) => {
    const isLost = Array.from({ length: count }, () => random.float64() < 0.01);
    return { isLost, pValues: Float64Array.from(isLost, (lost) => random.float64() ** (lost ? 0.1 : 2)) };
  };
  const learned = drawn(40_000);
  const normal = new NormalPValues(learned.pValues, (i) => learned.isLost[i]);
  const { isLost, pValues } = drawn(40_000);
  const corrected = Array.from(pValues, (p, i) => normal.corrected(p, isLost[i]));
  assert(smirnov([...pValues]) > 10 * SMIRNOV_LIMIT);
  // Both halves are samples, so they differ more than a sample differs from the truth.
  assert(smirnov(corrected) < Math.SQRT2 * SMIRNOV_LIMIT, `${smirnov(corrected)}`);
  const below = [true, false].map((lost) =>
    corrected.filter((p, i) => p < 0.002 && isLost[i] === lost).length
  );
  below.forEach((count) => assertAlmostEquals(count / corrected.length, 0.001, 5e-4));
  for (const lost of [true, false]) {
    const ordered = Array.from({ length: 999 }, (_, i) => normal.corrected((i + 1) / 1000, lost));
    assertEquals(ordered.toSorted((a, b) => a - b), ordered);
    for (const p of [1e-300, 1]) assert(normal.corrected(p, lost) > 0 && normal.corrected(p, lost) <= 1);
  }
  // If no reply was ever lost, a lost one is more surprising than nearly everything else.
  const neverLost = new NormalPValues(Float64Array.from([0.1, 0.5, 0.9]), () => false);
  assert(neverLost.corrected(0.3, true) < neverLost.corrected(0.1, false));
});

Deno.test("a pair's run of lost replies has the product of at most ten loss probabilities", () => {
  const runs = new LossRuns(2);
  const log = Math.log(0.1);
  assertAlmostEquals(runs.add("a", true, log), 0.1, 1e-12);
  assertAlmostEquals(runs.add("b", true, log), 0.1, 1e-12);
  assertAlmostEquals(runs.add("a", true, Math.log(0.5)), 0.05, 1e-12);
  assertEquals(runs.add("a", false, -9), 1);
  assertAlmostEquals(runs.add("a", true, log), 0.1, 1e-12);
  assertAlmostEquals(runs.add("b", true, log), 0.01, 1e-12);
  for (let i = 0; i < 20; i++) runs.add("a", true, log);
  assertAlmostEquals(runs.add("a", true, log), 1e-10, 1e-15);
  // The least recently seen pair is forgotten.
  runs.add("c", true, log);
  assertAlmostEquals(runs.add("b", true, log), 0.1, 1e-12);
});
