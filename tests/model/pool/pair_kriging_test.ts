import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { countryNumber, type LocatedPlace } from "../../../lib/data/addresses/place_table.ts";
import { PairKriging } from "../../../lib/model/pool/pair_kriging.ts";

const nowhere = () => undefined;
/** Weights of seven similarities of sources and destinations, of each role alone, the variance of a pair. */
const KERNEL = Float32Array.from([
  ...[1 / 2, 1 / 4, 1 / 8, 1, 2, 4, 8],
  ...[1 / 4, 1 / 2, 1 / 8, 2, 1, 8, 4],
  ...[1 / 2, 1 / 4, 1 / 8],
]);

type Pairs = Parameters<typeof PairKriging.fit>[0];
function excesses(pairs: Pairs, asked: [string, string][], placeOf = placed): number[] {
  const kriging = new PairKriging(PairKriging.fit(pairs, placeOf, KERNEL), placeOf);
  return asked.map(([source, destination]) => kriging.excessOf({ source, destination }) ?? NaN);
}

function placed(name: string): LocatedPlace | undefined {
  if (!name.startsWith("192.0.2.")) return undefined;
  const asNumber = Number(name.split(".")[3]) < 2 ? 64500 : 0;
  return { position: { latitude: 10, longitude: 20 }, country: countryNumber("DE"), region: 0, asNumber };
}

Deno.test("one pair influences others by the similarity of their ends", () => {
  const pair = { source: "192.0.2.1", destination: "2001:db8:1::1", excess: 1 };
  const own = [1 / 2 + 1 / 4 + 1 / 8 + 1 + 2 + 4 + 8, 1 / 4 + 1 / 2 + 1 / 8];
  const covariance = (u: number, v: number) => 0.02 + u / 2 + v / 4 + u * v;
  const asked: [string, string, number, number][] = [
    ["192.0.2.1", "2001:db8:1::1", ...own as [number, number]],
    // Same AS; same country; same /16; nothing in common.
    ["192.0.2.0", "2001:db8:1::2", 1 / 4 + 1 / 8 + 1 + 2 + 4 + 8, 1 / 2 + 1 / 8],
    ["192.0.2.9", "2001:db8:2::1", 1 / 4 + 1 / 8 + 2 + 4 + 8, 1 / 8],
    ["192.0.9.1", "2001:db9::1", 1 / 8, 0],
    ["10.0.0.1", "192.0.2.1", 0, 0],
  ];
  const found = excesses([pair], asked.map(([source, destination]) => [source, destination]));
  asked.forEach(([, , u, v], i) => {
    const expected = covariance(u, v) / (covariance(own[0], own[1]) + 1 / 8);
    assertAlmostEquals(found[i], expected, 1e-6, `${i}`);
  });
});

Deno.test("the mean of the process satisfies the kriging equations", () => {
  const random = new RandomStream(4, "tests/kriging");
  const pairs = Array.from({ length: 30 }, (_, i) => ({
    source: `10.0.${i % 5}.1`,
    destination: `10.1.${Math.floor(i / 5)}.1`,
    excess: random.float64(),
  }));
  const { pairs: rows } = PairKriging.fit(pairs, nowhere, KERNEL);
  const found = excesses(pairs, pairs.map(({ source, destination }) => [source, destination]), nowhere);
  // (K + noise) weights = excesses.
  pairs.forEach(({ excess }, i) => assertAlmostEquals(found[i] + rows[3 * i + 2] / 8, excess, 1e-4));
});

Deno.test("kernel weights are fitted to what the pairs' RTTs depend on, and are deterministic", () => {
  const random = new RandomStream(5, "tests/kriging");
  const pairsOf = (byteOfLevel: number) =>
    Array.from({ length: 120 }, () => {
      const source = [10, random.below(6), random.below(6), random.below(200)];
      return {
        source: source.join("."),
        destination: `192.0.2.${random.below(4)}`,
        excess: Math.sin(9 * source[byteOfLevel]) + 0.05 * random.float64(),
      };
    });
  const [bySixteen, byAddress] = [pairsOf(1), pairsOf(3)].map((pairs) => PairKriging.fit(pairs, nowhere));
  const [ADDRESS, SIXTEEN] = [0, 2];
  assert(bySixteen.kernel[SIXTEEN] > 4 * bySixteen.kernel[ADDRESS], `${bySixteen.kernel}`);
  assert(byAddress.kernel[SIXTEEN] < bySixteen.kernel[SIXTEEN] / 4, `${byAddress.kernel}`);
  const pairs = pairsOf(1);
  assertEquals(PairKriging.fit(pairs, nowhere), PairKriging.fit(pairs, nowhere));
});
