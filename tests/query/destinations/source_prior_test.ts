import { fromFileUrl } from "@std/path";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { type KnownAddresses, NO_DATA } from "../../../lib/data/addresses/known_addresses.ts";
import { readMeasurements } from "../../../lib/data/measurement_files/parquet_reader.ts";
import { RejectLog } from "../../../lib/data/measurement_files/rejects.ts";
import { prefixWeights, SourcePrior } from "../../../lib/query/destinations/source_prior.ts";
import { dataOf } from "../adapt/tiny_rows.ts";

/** Sources in one /24 measure the same destinations, those in one /16 sometimes, others anything. */
const ALIKE = dataOf([
  ["192.0.2.1", "203.0.113.1", 5],
  ["192.0.2.1", "203.0.113.2", 5],
  ["192.0.2.2", "203.0.113.1", 5],
  ["192.0.2.2", "203.0.113.2", 5],
  ["192.0.2.2", "203.0.113.3", 5],
  ["192.0.2.3", "203.0.113.1", 5],
  ["192.0.2.3", "203.0.113.2", 5],
  ["192.0.7.1", "203.0.113.1", 1],
  ["192.0.7.1", "203.0.113.4", 1],
  ["192.0.7.1", "203.0.113.5", 1],
  ["192.0.7.2", "203.0.113.4", 2],
  ["192.0.7.2", "203.0.113.5", 2],
  ["192.9.1.1", "203.0.113.6", 1],
  ["10.0.0.1", "203.0.113.7", 1],
  ["10.0.0.1", "203.0.113.6", 1],
  ["10.9.0.1", "203.0.113.1", 1],
  ["10.9.0.1", "203.0.113.5", 1],
  ["2001:db8::1", "2001:db8::7", 3],
]);
const DESTINATIONS = [1, 2, 3, 4, 5, 6, 7].map((i) => addressBytes(`203.0.113.${i}`));
const LENGTHS = [8, 16, 24];

/** The pairs whose source is IPv4. */
function pairsOf(known: KnownAddresses): { source: Uint8Array; destination: string }[] {
  const addresses = [...known.addresses()].map(({ bytes }) => bytes);
  return [...known.pairs()].filter(([source]) => addresses[source].length === 4)
    .map(([source, to]) => ({ source: addresses[source], destination: formatAddress(addresses[to]) }));
}

/** P(destination) from other sources' pairs, from the longest prefix down to the overall distribution. */
function backedOff(
  known: KnownAddresses,
  [source, destination]: readonly [Uint8Array, string],
  weights: readonly number[],
  ofAll: (others: readonly string[]) => number,
): number {
  const others = pairsOf(known).filter((pair) => formatAddress(pair.source) !== formatAddress(source));
  let p = ofAll(others.map(({ destination }) => destination));
  LENGTHS.forEach((length, level) => {
    const near = others.filter((pair) =>
      pair.source.subarray(0, length / 8).join() === source.subarray(0, length / 8).join()
    );
    if (near.length === 0) return;
    const share = near.filter((pair) => pair.destination === destination).length / near.length;
    p = weights[level] * share + (1 - weights[level]) * p;
  });
  return p;
}

Deno.test("prefixWeights() maximises the likelihood of the table's pairs given those of other sources", () => {
  const { known } = ALIKE;
  const numDestinations = new Set(pairsOf(known).map(({ destination }) => destination)).size;
  const logLikelihood = (weights: readonly number[]) =>
    pairsOf(known).reduce((sum, { source, destination }) => {
      const ofAll = (others: readonly string[]) =>
        (others.filter((other) => other === destination).length + 1 / numDestinations) / (others.length + 1);
      return sum + Math.log(backedOff(known, [source, destination], weights, ofAll));
    }, 0);
  const weights = prefixWeights(known, 4);
  const best = logLikelihood(weights);
  assert(weights.every((weight) => weight >= 0 && weight < 1) && weights[2] > 0.5, `${weights}`);
  for (const [level, weight] of weights.entries()) {
    for (const other of [0, weight / 2, weight - 0.05, weight + 0.05, 0.9]) {
      if (other < 0 || Math.abs(other - weight) < 0.02) continue;
      assert(logLikelihood(weights.with(level, other)) < best + 1e-4, `${level} ${other}`);
    }
  }
  // IPv6 has separate weights; a single source has no neighbours.
  assertEquals(prefixWeights(known, 16), [0, 0, 0]);
});

Deno.test("SourcePrior backs off from the source to its prefixes and to the model, and sums to 1", () => {
  const { known } = ALIKE;
  const weights = prefixWeights(known, 4);
  const ofModel = [0.3, 0.1, 0.05, 0.05, 0.1, 0.2, 0.2];
  for (const text of ["192.0.2.1", "192.0.2.9", "192.0.9.9", "192.9.1.1", "172.16.0.1"]) {
    const source = addressBytes(text);
    const prior = new SourcePrior(ALIKE, { source, context: [] });
    const own = known.destinationsOf(source);
    const total = own.reduce((sum, { seen }) => sum + seen.measurements, 0);
    const counts = DESTINATIONS.map((destination) => known.pair(source, destination).measurements);
    const qs = DESTINATIONS.map((destination, i) =>
      backedOff(known, [source, formatAddress(destination)], weights, () => ofModel[i])
    );
    const ofNew = qs.reduce((sum, q, i) => counts[i] === 0 ? sum + q : sum, 0);
    const names = DESTINATIONS.map(formatAddress);
    const priorOf = prior.given(prior.known.map((each) => ofModel[names.indexOf(formatAddress(each))]));
    let sum = 0;
    for (const [i, destination] of DESTINATIONS.entries()) {
      const [q, count, D] = [qs[i], counts[i], known.pairDiscount];
      const r = (q + (count > 0 ? 0 : q / ofNew)) / 2;
      const ofSource = (Math.max(0, count - D) + D * own.length * r) / total;
      const p = priorOf(destination, ofModel[i]);
      assertAlmostEquals(p, total > 0 ? 0.98 * ofSource + 0.02 * q : q, 1e-12, text);
      sum += p;
    }
    assertAlmostEquals(sum, 1, 1e-12, text);
  }
});

Deno.test("SourcePrior expects a source that measured each pair once to measure a new one", async () => {
  const mesh = fromFileUrl(new URL("../../data/mesh/planetlab-03.parquet", import.meta.url));
  const pairs: [source: string, destination: string, count: number][] = [];
  for await (const { srcAddr, dstAddr } of readMeasurements([mesh], { rejects: new RejectLog() })) {
    srcAddr.forEach((source, i) => pairs.push([source, dstAddr[i], 1]));
  }
  const nodes = [...new Set(pairs.map(([source]) => source))].slice(0, 40);
  const within = pairs.filter(([source, destination]) =>
    nodes.includes(source) && nodes.includes(destination)
  );
  const isHeldOut = (_: unknown, i: number) => i % 8 === 0;
  const data = dataOf(within.filter((pair, i) => !isHeldOut(pair, i)));
  const even = 1 / nodes.length;
  const bits = within.filter(isHeldOut).map(([source, destination]) => {
    const prior = new SourcePrior(data, { source: addressBytes(source), context: [] });
    const priorOf = prior.given(prior.known.map(() => even));
    const [ofNew, ...ofKnown] = [addressBytes(destination), ...prior.known].map((each) =>
      priorOf(each, even)
    );
    assert(ofNew > 2 * Math.max(...ofKnown), `${source} ${destination}: ${ofNew}, ${ofKnown}`);
    return -Math.log2(ofNew);
  });
  const meanBits = bits.reduce((sum, each) => sum + each, 0) / bits.length;
  assert(meanBits < Math.log2(nodes.length) - 1, `${meanBits} bits`);
});

Deno.test("SourcePrior lists neighbours' destinations, likeliest first, including those of an adaptation", () => {
  const adaptation = dataOf([["192.0.2.77", "203.0.113.9", 1], ["192.0.2.78", "203.0.113.9", 1]]);
  const ask = (source: string, data = { ...ALIKE, adaptation }) =>
    new SourcePrior(data, { source: addressBytes(source), context: [] })
      .ofNeighbours().map((bytes) => bytes.at(-1));
  const near = ask("192.0.2.9");
  assertEquals(near.slice(0, 2), [1, 2]);
  assert(near.indexOf(9) < near.indexOf(4), `${near}`);
  assertEquals(near.toSorted(), [1, 2, 3, 4, 5, 6, 9]);
  assertEquals(ask("172.16.0.1"), []);
  const none = new SourcePrior(NO_DATA, { source: DESTINATIONS[0], context: [] });
  assertEquals([none.ofNeighbours(), none.known, none.given([])(DESTINATIONS[1], 0.25)], [[], [], 0.25]);
});
