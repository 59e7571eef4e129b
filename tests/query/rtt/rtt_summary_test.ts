import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { exactAnswer, MixtureSums } from "../../../lib/query/rtt/prefix_query.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { summaryOf } from "../../../lib/query/rtt/rtt_summary.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";

function distributionOf(masses: Record<number, number>): RttDistribution {
  const probabilities = new Float64Array(CANONICAL_RTT_CODES.length);
  for (const [rttMs, mass] of Object.entries(masses)) {
    probabilities[CANONICAL_RTT_CODES.indexOf(encodeRttCode(Number(rttMs)))] = mass;
  }
  return new RttDistribution(0.2, probabilities, 1);
}

Deno.test("summaryOf() gives quantiles, the mean of what ping can report and how likely given RTTs are", () => {
  const distribution = distributionOf({ 10: 0.25, 20: 0.7495, 1e9: 0.0005 });
  const summary = summaryOf(exactAnswer(distribution), {
    quantiles: [0.1, 0.5],
    at: [10, 15, 1e12],
  });
  assertEquals(Object.keys(summary.quantilesMs), ["0.1", "0.5"]);
  // 10^9 ms are eleven days: no RTT that a ping tool reports.
  assertAlmostEquals(summary.meanMs, (2.5 + 0.7495 * 20) / 0.9995, 0.02);
  assertEquals(summary.meanMs, Number(summary.meanMs.toPrecision(4)));
  assertAlmostEquals(summary.likeliest.rttMs, 20, 0.02);
  assertEquals(summary.likeliest.probability, 0.7495);
  assert(summary.at);
  const [ten, fifteen, endless] = summary.at;
  assertEquals([ten.cdf, ten.probability, fifteen.cdf, fifteen.probability], [0.25, 0.25, 0.25, 0]);
  assertAlmostEquals(ten.bits ?? NaN, -Math.log2(0.8 * 0.25), 1e-12);
  assert(ten.lowMs <= 10 && ten.highMs !== null && ten.highMs > 10);
  assertEquals([fifteen.bits, endless.highMs, endless.cdf], [null, null, 1]);
  assertEquals(summary.drawn, undefined);
  assertEquals(JSON.parse(JSON.stringify(summary)), { ...summary });
});

Deno.test("summaryOf() states standard errors of what was drawn", () => {
  const sums = new MixtureSums();
  for (const rttMs of [10, 20, 30, 40]) sums.add(distributionOf({ [rttMs]: 1 }), 4);
  const mixture = sums.mixture();
  const masses = { sourceProbability: null, destinationProbability: 0.5, destinationProbabilityError: 0.1 };
  const { drawn } = summaryOf({ mixture, ...masses }, { quantiles: [0.5], at: [25] });
  assert(drawn);
  assertEquals([drawn.numDraws, drawn.numDistinct, drawn.destinationProbability], [16, 4, 0.5]);
  const { pFailed, meanMs, quantilesMs, cdf, destinationProbability } = drawn.standardErrors;
  assertAlmostEquals(pFailed, 0, 1e-7);
  // Sixteen draws of a CDF that is 0 or 1 evenly, and of means 10 to 40.
  assertAlmostEquals(cdf?.[0] ?? NaN, 0.5 / Math.sqrt(15), 1e-9);
  assertAlmostEquals(meanMs, Math.sqrt(125 / 15), 0.01);
  assertEquals([quantilesMs[0.5] > 4, destinationProbability], [true, 0.1]);
});
