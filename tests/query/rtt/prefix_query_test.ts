import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { UserError } from "../../../lib/base/errors.ts";
import {
  drawAddresses,
  drawDestinations,
  MixtureSums,
  rttBetweenPrefixes,
  type RttMixture,
} from "../../../lib/query/rtt/prefix_query.ts";
import type { PrefixQuery } from "../../../lib/query/query_tokens.ts";
import type { PingModel } from "../../../lib/query/ping_model.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { byteRange, parsePrefix, prefixContains } from "../../../lib/data/addresses/ip_prefix.ts";
import { CANONICAL_RTT_CODES, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { BYTE_BASE, DST_IPV4, MEASUREMENT_START, SRC_IPV4 } from "../../../lib/data/tokens/vocab_v2.ts";
import { nextLogProbabilities, withTinyModel } from "../tiny_model.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { RandomStream } from "../../../lib/base/random.ts";

function queryOf(source: string, destination: string): PrefixQuery {
  return { source: parsePrefix(source), destination: parsePrefix(destination), timeS: null, context: [] };
}

/** P(the next address is in a prefix), and of each address there, by summing over all possible bytes. */
async function massOf(
  model: PingModel,
  tokens: readonly number[],
  prefix: string,
): Promise<{ mass: number; addresses: Map<string, number> }> {
  const parsed = parsePrefix(prefix);
  let rows = [{ tokens, bytes: [] as number[], p: 1 }];
  let mass = 0;
  for (let i = 0; i < parsed.bytes.length; i++) {
    const next = await nextLogProbabilities(model, rows.map(({ tokens }) => Uint16Array.from(tokens)));
    const { first, last } = byteRange(parsed, i);
    rows = rows.flatMap(({ tokens, bytes, p }, row) =>
      Array.from({ length: last - first + 1 }, (_, k) => ({
        tokens: [...tokens, BYTE_BASE + first + k],
        bytes: [...bytes, first + k],
        p: p * Math.exp(next[row][BYTE_BASE + first + k]),
      }))
    );
    // The bytes after the prefix are free.
    if (last - first < 255) mass = rows.reduce((sum, { p }) => sum + p, 0);
  }
  const total = rows.reduce((sum, { p }) => sum + p, 0);
  const addresses = rows.map(({ bytes, p }) => [formatAddress(Uint8Array.from(bytes)), p / total] as const);
  return { mass, addresses: new Map(addresses) };
}

const SOURCE_TOKENS = [MEASUREMENT_START, SRC_IPV4];
const DESTINATION_TOKENS = [
  ...SOURCE_TOKENS,
  ...[...addressBytes("192.0.2.1")].map((byte) => BYTE_BASE + byte),
  DST_IPV4,
];

function assertDrawnAs(counts: ReadonlyMap<string, number>, expected: ReadonlyMap<string, number>): void {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  for (const address of counts.keys()) assert(expected.has(address), `${address} is outside`);
  for (const [address, p] of expected) {
    const deviation = Math.abs((counts.get(address) ?? 0) - total * p);
    assert(
      deviation < 4.5 * Math.sqrt(total * p * (1 - p)) + 1,
      `${address}: ${deviation} of ${total * p} off`,
    );
  }
}

Deno.test("drawDestinations() draws as drawAddresses() does, whatever else is drawn", () =>
  withTinyModel(async (model) => {
    const query = queryOf("192.0.2.1", "198.51.100.0/26");
    const { pairs } = await drawAddresses(model, query, { numDraws: 40, seed: 5 });
    const others = ["10.0.0.0/8", "203.0.113.9/32", "0.0.0.0/0"].map(parsePrefix);
    const asked = Array.from({ length: 40 }, (_, index) => [
      { prefix: query.destination, index },
      { prefix: others[index % 3], index },
    ]).flat();
    const drawn = await drawDestinations(model, { ...query, source: query.source.bytes }, asked, 5);
    asked.forEach(({ prefix }, i) => assert(prefixContains(prefix, drawn[i])));
    const counts = new Map<string, number>();
    for (const [i, { prefix }] of asked.entries()) {
      if (prefix !== query.destination) continue;
      const text = formatAddress(drawn[i]);
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    assertEquals(counts, new Map(pairs.map(({ destination, count }) => [formatAddress(destination), count])));
  }));

Deno.test("drawAddresses() draws sources by their probability within the prefix, and returns its mass", () =>
  withTinyModel(async (model) => {
    for (const prefix of ["192.0.2.8/29", "192.0.2.160/28"]) {
      const { mass, addresses } = await massOf(model, SOURCE_TOKENS, prefix);
      const options = { numDraws: 3000, seed: 4 };
      const draws = await drawAddresses(model, queryOf(prefix, "198.51.100.7"), options);
      assertDrawnAs(new Map(draws.pairs.map((pair) => [formatAddress(pair.source), pair.count])), addresses);
      assert(draws.pairs.every(({ destination }) => formatAddress(destination) === "198.51.100.7"));
      assert(draws.sourceProbability !== null);
      assertAlmostEquals(draws.sourceProbability / mass, 1, 1e-4);
      assertEquals([draws.destinationProbability, draws.destinationProbabilityError], [null, 0]);
    }
  }, 3));

Deno.test("drawAddresses() draws destinations given the source, in a prefix that ends inside a byte", () =>
  withTinyModel(async (model) => {
    const prefix = "198.51.96.0/22";
    const { mass, addresses } = await massOf(model, DESTINATION_TOKENS, prefix);
    assertEquals(addresses.size, 1024);
    const draws = await drawAddresses(model, queryOf("192.0.2.1", prefix), { numDraws: 4000, seed: 5 });
    const byThird = (entries: Iterable<readonly [string, number]>) => {
      const sums = new Map<string, number>();
      for (const [address, value] of entries) {
        const third = address.split(".")[2];
        sums.set(third, (sums.get(third) ?? 0) + value);
      }
      return sums;
    };
    const counts = draws.pairs.map((pair) => [formatAddress(pair.destination), pair.count] as const);
    assertDrawnAs(byThird(counts), byThird(addresses));
    assertEquals([draws.sourceProbability, draws.destinationProbabilityError], [null, 0]);
    assert(draws.destinationProbability !== null);
    assertAlmostEquals(draws.destinationProbability / mass, 1, 1e-4);
  }, 3));

Deno.test("drawAddresses() stays within both prefixes, with context and a time, for both IP versions", () =>
  withTinyModel(async (model) => {
    const context = [{
      source: addressBytes("192.0.2.1"),
      destination: addressBytes("198.51.100.7"),
      rttCode: encodeRttCode(10),
      timeS: 1_700_000_000,
    }];
    for (
      const [source, destination] of [
        ["10.2.0.0/16", "198.51.100.128/25"],
        ["2001:db8::/33", "2001:db8:ff00::/43"],
        ["0.0.0.0/0", "0.0.0.0/1"],
      ]
    ) {
      const query = { ...queryOf(source, destination), timeS: 1_700_000_500, context };
      const draws = await drawAddresses(model, query, { numDraws: 40, seed: 1 });
      assertEquals(draws.pairs.reduce((sum, { count }) => sum + count, 0), 40);
      assert(draws.pairs.length > 5);
      for (const pair of draws.pairs) {
        assert(
          prefixContains(query.source, pair.source) && prefixContains(query.destination, pair.destination),
        );
      }
      assert(draws.destinationProbability !== null && draws.destinationProbability <= 1);
      assert(draws.destinationProbabilityError > 0);
      if (source === "0.0.0.0/0") assertEquals(draws.sourceProbability, 1);
      assertEquals(await drawAddresses(model, query, { numDraws: 40, seed: 1 }), draws);
      const others = await drawAddresses(model, query, { numDraws: 40, seed: 2 });
      assert(JSON.stringify(others.pairs) !== JSON.stringify(draws.pairs));
    }
  }, 3));

Deno.test("rttBetweenPrefixes() agrees with the sum over all addresses within its stated error", () =>
  withTinyModel(async (model) => {
    const { addresses } = await massOf(model, DESTINATION_TOKENS, "198.51.100.16/28");
    const query = queryOf("192.0.2.1", "198.51.100.16/28");
    const { mixture } = await rttBetweenPrefixes(model, query, { numDraws: 400, seed: 3 });
    const exact = await model.rttDistributions(
      [...addresses.keys()].map((address) => ({
        source: addressBytes("192.0.2.1"),
        destination: addressBytes(address),
        timeS: null,
        context: [],
      })),
    );
    const weights = [...addresses.values()];
    const pFailed = exact.reduce((sum, each, i) => sum + weights[i] * each.pFailed, 0);
    assert(mixture.numDistinct > 8 && mixture.numDistinct <= 16);
    assert(mixture.pFailedError > 0);
    assert(Math.abs(mixture.distribution.pFailed - pFailed) < 4 * mixture.pFailedError);
    const cdf = (rttMs: number) =>
      exact.reduce((sum, each, i) => sum + weights[i] * (1 - each.pFailed) * each.cdf(rttMs), 0) /
      (1 - pFailed);
    for (const q of [0.05, 0.25, 0.5, 0.75, 0.95]) {
      const rttMs = mixture.distribution.quantileMs(q);
      const error = mixture.cdfError(rttMs);
      assert(error > 0 && error < 0.05, `${error}`);
      assert(Math.abs(mixture.distribution.cdf(rttMs) - cdf(rttMs)) < 4 * error, `quantile ${q}`);
    }
    assertAlmostEquals(mixture.distribution.probabilities.reduce((sum, p) => sum + p, 0), 1, 1e-9);
  }, 6));

Deno.test("rttBetweenPrefixes() reports progress and rejects mixed IP versions and single draws", () =>
  withTinyModel(async (model) => {
    const query = queryOf("10.0.0.0/8", "198.51.100.7");
    const told: [number, number][] = [];
    const onProgress = (done: number, total: number) => told.push([done, total]);
    const { mixture } = await rttBetweenPrefixes(model, query, { numDraws: 150, onProgress });
    assertEquals(told.map(([done]) => done), [124, mixture.numDistinct]);
    await assertRejects(
      () => rttBetweenPrefixes(model, queryOf("10.0.0.0/8", "2001:db8::/32")),
      UserError,
      "same version",
    );
    await assertRejects(() => rttBetweenPrefixes(model, query, { numDraws: 1 }), RangeError, "at least 2");
  }, 3));

/** RTTs spread evenly over the codes of [lowMs, highMs]. */
function between(lowMs: number, highMs: number, pFailed: number): RttDistribution {
  const [low, high] = [encodeRttCode(lowMs), encodeRttCode(highMs)];
  const weights = Float64Array.from(CANONICAL_RTT_CODES, (code) => Number(code >= low && code <= high));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return new RttDistribution(pFailed, weights.map((weight) => weight / total), 1);
}

/** Near and far hosts of a prefix, with losses that increase with distance. */
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

Deno.test("RttMixture states errors that match those of repeated draws", () => {
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
    // 300 runs determine a standard deviation to 4 %.
    assert(Math.abs(stated / deviation - 1) < 0.15, `${name}: ${stated} stated, ${deviation} found`);
  }
});

Deno.test("RttMixture of hosts that never reply still has a distribution", () => {
  const sums = new MixtureSums();
  for (const rttMs of [10, 40]) sums.add(between(rttMs, rttMs, 1), 1);
  const { distribution } = sums.mixture();
  assertEquals(distribution.pFailed, 1);
  assertAlmostEquals(distribution.cdf(20), 0.5, 1e-12);
});
