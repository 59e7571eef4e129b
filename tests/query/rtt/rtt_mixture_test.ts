import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { MixtureSums, type RttMixture } from "../../../lib/query/rtt/prefix_query.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";

/** RTTs spread evenly over the codes of [lowMs, highMs]. */
function between(lowMs: number, highMs: number, pFailed: number): RttDistribution {
  const [low, high] = [encodeRttCode(lowMs), encodeRttCode(highMs)];
  const weights = Float64Array.from(CANONICAL_RTT_CODES, (code) => Number(code >= low && code <= high));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return new RttDistribution(pFailed, weights.map((weight) => weight / total), 1);
}

/** Hosts of a prefix: near and far, with losses that go along with distance. */
const HOSTS = Array.from({ length: 20 }, (_, i) => between(5 + 3 * i, 12 + 4 * i, 0.01 + 0.03 * i));

function mixtureOf(numDraws: number, seed: number): RttMixture {
  const random = new RandomStream(seed, "test/mixture");
  const counts = HOSTS.map(() => 0);
  for (let i = 0; i < numDraws; i++) counts[random.below(HOSTS.length)]++;
  const sums = new MixtureSums();
  HOSTS.forEach((host, i) => {
    if (counts[i] > 0) sums.add(host, counts[i]);
  });
  return sums.mixture();
}

Deno.test("MixtureSums weighs each draw by its replies", () => {
  const sums = new MixtureSums();
  sums.add(between(10, 10, 0.8), 3);
  sums.add(between(40, 40, 0.2), 1);
  const { distribution, numDraws, numDistinct } = sums.mixture();
  assertEquals([numDraws, numDistinct], [4, 2]);
  assertAlmostEquals(distribution.pFailed, (3 * 0.8 + 0.2) / 4, 1e-12);
  const share = 3 * 0.2 / (3 * 0.2 + 0.8);
  assertAlmostEquals(distribution.cdf(20), share, 1e-12);
  assertAlmostEquals(distribution.meanMs, share * 10 + (1 - share) * 40, 0.02);
});

Deno.test("RttMixture states the errors that repeated draws have", () => {
  const numDraws = 100;
  const runs = Array.from({ length: 300 }, (_, seed) => mixtureOf(numDraws, seed));
  const quantities: [string, (run: RttMixture) => number, (run: RttMixture) => number][] = [
    ["pFailed", (run) => run.distribution.pFailed, (run) => run.pFailedError],
    ["mean", (run) => run.distribution.meanMs, (run) => run.meanErrorMs],
    ["cdf", (run) => run.distribution.cdf(35), (run) => run.cdfError(35)],
    ...[0.1, 0.5, 0.9].map((q): [string, (run: RttMixture) => number, (run: RttMixture) => number] => [
      `quantile ${q}`,
      (run) => run.distribution.quantileMs(q),
      (run) => run.quantileErrorMs(q),
    ]),
  ];
  for (const [name, value, error] of quantities) {
    const values = runs.map(value);
    const mean = values.reduce((sum, each) => sum + each, 0) / runs.length;
    const deviation = Math.sqrt(
      values.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (runs.length - 1),
    );
    const stated = runs.reduce((sum, run) => sum + error(run), 0) / runs.length;
    // 300 runs tell a standard deviation to 4 %.
    assert(Math.abs(stated / deviation - 1) < 0.15, `${name}: ${stated} stated, ${deviation} found`);
  }
});

Deno.test("RttMixture of draws that are all alike has next to no error, and one draw has none to state", () => {
  const sums = new MixtureSums();
  sums.add(HOSTS[3], 1);
  assertThrows(() => sums.mixture(), Error, "no standard error");
  sums.add(HOSTS[3], 4);
  const mixture = sums.mixture();
  assert(mixture.pFailedError < 1e-7 && mixture.meanErrorMs < 1e-5 && mixture.quantileErrorMs(0.5) < 0.1);
  assertAlmostEquals(mixture.distribution.meanMs, HOSTS[3].meanMs, 1e-9);
});

Deno.test("RttMixture of hosts that never reply still has a distribution", () => {
  const sums = new MixtureSums();
  for (const rttMs of [10, 40]) sums.add(between(rttMs, rttMs, 1), 1);
  const { distribution } = sums.mixture();
  assertEquals(distribution.pFailed, 1);
  assertAlmostEquals(distribution.cdf(20), 0.5, 1e-12);
});
