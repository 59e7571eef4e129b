import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { RandomStream } from "../../../lib/base/random.ts";
import { chooseSites } from "../../../lib/query/destinations/site_choice.ts";

function meanOf(costs: Float64Array, weights: Float64Array, sites: readonly number[]): number {
  const numSites = costs.length / weights.length;
  return weights.reduce(
    (sum, weight, c) => sum + weight * Math.min(...sites.map((s) => costs[c * numSites + s])),
    0,
  );
}

/** All sets of some of the numbers below n. */
function* subsets(n: number, size: number, first = 0): Generator<number[]> {
  if (size === 0) return yield [];
  for (let s = first; s <= n - size; s++) for (const rest of subsets(n, size - 1, s + 1)) yield [s, ...rest];
}

function drawn(seed: number, numClients: number, numSites: number) {
  const random = new RandomStream(seed, "tests/site_choice");
  const costs = Float64Array.from({ length: numClients * numSites }, () => Math.ceil(30 * random.float64()));
  const shares = Float64Array.from({ length: numClients }, () => 0.1 + random.float64());
  const sum = shares.reduce((a, b) => a + b);
  return { costs, weights: shares.map((share) => share / sum) };
}

Deno.test("chooseSites() is greedy, knows the best choice, and keeps the guarantee of greedy choices", () =>
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 6 }), (seed, n, m) => {
      const { costs, weights } = drawn(seed, n, m);
      const choices = chooseSites(costs, { weights, numSites: m, most: 4 });
      assertEquals(choices.length, Math.min(4, m));
      const sites: number[] = [];
      for (const { site, nearest, mean, optimum, isExact, better } of choices) {
        const others = Array.from({ length: m }, (_, s) => meanOf(costs, weights, [...sites, s]));
        assertAlmostEquals(mean, Math.min(...others), 1e-9);
        sites.push(site);
        assertAlmostEquals(mean, meanOf(costs, weights, sites), 1e-9);
        nearest.forEach((s, c) =>
          assertEquals(costs[c * m + s], Math.min(...sites.map((each) => costs[c * m + each])))
        );
        const best = Math.min(...subsets(m, sites.length).map((set) => meanOf(costs, weights, set)));
        assert(isExact);
        assertAlmostEquals(optimum, best, 1e-9);
        if (better) assertAlmostEquals(meanOf(costs, weights, better), best, 1e-9);
        else assertAlmostEquals(mean, best, 1e-9);
        // Costs are at most 30, so serving nobody costs 30.
        assert(30 - mean >= (1 - 1 / Math.E) * (30 - best) - 1e-9);
      }
    }),
    { numRuns: 60 },
  ));

Deno.test("chooseSites() bounds the best choice from below where it cannot try all", () => {
  // Clients and sites on a line: the best choice is found by dynamic programming over intervals of clients.
  const [n, m, most] = [60, 40, 6];
  const random = new RandomStream(7, "tests/site_choice");
  const at = (count: number) => Float64Array.from({ length: count }, () => 100 * random.float64()).sort();
  const [clients, sites] = [at(n), at(m)];
  const costs = Float64Array.from(
    { length: n * m },
    (_, i) => Math.abs(clients[Math.floor(i / m)] - sites[i % m]),
  );
  const weights = new Float64Array(n).fill(1 / n);
  const alone = (from: number, to: number) =>
    Math.min(
      ...Array.from(sites, (site) => clients.slice(from, to).reduce((sum, x) => sum + Math.abs(x - site), 0)),
    ) / n;
  const interval = Array.from(
    { length: n },
    (_, from) => Array.from({ length: n + 1 }, (_, to) => to > from ? alone(from, to) : 0),
  );
  let least = Array.from({ length: n + 1 }, (_, to) => to === 0 ? 0 : Infinity);
  const choices = chooseSites(costs, { weights, numSites: m, most });
  for (const { mean, optimum, isExact } of choices) {
    least = least.map((_, to) =>
      Math.min(...Array.from({ length: to + 1 }, (_, from) => least[from] + (interval[from]?.[to] ?? 0)))
    );
    const best = least[n];
    assert(optimum <= best + 1e-9 && best <= mean + 1e-9, `${optimum}, ${best}, ${mean}`);
    if (isExact) assertAlmostEquals(optimum, best, 1e-9);
    else assert(best - optimum < 0.03 * best, `${optimum} is far below ${best}`);
  }
  assertEquals(choices.map(({ isExact }) => isExact), [true, true, true, true, false, false]);
});
