import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { maxNodes, PrefixSearch } from "../../../lib/query/destinations/prefix_tree.ts";
import { RandomStream } from "../../../lib/random/philox.ts";

const WEIGHTS = Float64Array.of(0.7, 0.3);

/** P(byte | component, bytes) of a made-up tree: each node's numbers depend on its bytes alone. */
function probabilitiesAfter(bytes: readonly number[], sharpness: number): Float64Array {
  const random = new RandomStream(1, "test/tree", bytes.length, bytes[0] ?? 0, bytes[1] ?? 0);
  const values = new Float64Array(WEIGHTS.length * 256);
  for (let component = 0; component < WEIGHTS.length; component++) {
    const row = values.subarray(component * 256, (component + 1) * 256);
    row.forEach((_, byte) => row[byte] = Math.exp(sharpness * random.normal()));
    const total = row.reduce((sum, value) => sum + value, 0);
    row.forEach((value, byte) => row[byte] = value / total);
  }
  return values;
}

/** The masses of all prefixes of up to 16 bits, the greatest first, by adding up every address of two bytes. */
function enumerate(prefixLength: number, sharpness: number): { key: string; mass: number }[] {
  const masses = new Map<string, number>();
  const first = probabilitiesAfter([], sharpness);
  for (let a = 0; a < 256; a++) {
    const second = probabilitiesAfter([a], sharpness);
    for (let b = 0; b < 256; b++) {
      const bits = (a << 8 | b) >> (16 - prefixLength) << (16 - prefixLength);
      const key = [bits >> 8, bits & 255].slice(0, Math.ceil(prefixLength / 8)).join(".");
      const mass = WEIGHTS.reduce(
        (sum, weight, k) => sum + weight * first[k * 256 + a] * second[k * 256 + b],
        0,
      );
      masses.set(key, (masses.get(key) ?? 0) + mass);
    }
  }
  return [...masses].map(([key, mass]) => ({ key, mass })).sort((x, y) => y.mass - x.mass);
}

function searched(options: { prefixLength: number; top: number }, sharpness: number, atOnce: number) {
  const search = new PrefixSearch(WEIGHTS, options);
  for (let nodes = search.take(atOnce); nodes.length > 0; nodes = search.take(atOnce)) {
    for (const node of nodes) {
      for (let at = search.expand(node, probabilitiesAfter(node.bytes, sharpness)); at;) {
        at = search.expand(at, probabilitiesAfter(at.bytes, sharpness));
      }
    }
  }
  return search;
}

Deno.test("PrefixSearch finds the prefixes of greatest mass, whatever their length and how many nodes at once", () => {
  for (const sharpness of [0.3, 3]) {
    for (const prefixLength of [1, 7, 8, 9, 13, 16]) {
      const expected = enumerate(prefixLength, sharpness);
      for (const [top, atOnce] of [[1, 1], [20, 1], [20, 64], [300, 7]]) {
        const search = searched({ prefixLength, top }, sharpness, atOnce);
        const best = expected.slice(0, top);
        assertEquals(search.found.map(({ bytes }) => bytes.join(".")), best.map(({ key }) => key));
        search.found.forEach(({ mass }, i) => assertAlmostEquals(mass, best[i].mass, 1e-12));
        assert(search.isProven);
        const next = expected[top]?.mass ?? 0;
        const least = next && (search.found.at(-1)?.mass ?? 0);
        assert(search.unfoundAtMost >= next && search.unfoundAtMost <= least);
      }
    }
  }
});

Deno.test("PrefixSearch looks into few nodes where few have mass", () => {
  const { numExpanded } = searched({ prefixLength: 16, top: 5 }, 5, 1);
  assert(numExpanded <= 12, `${numExpanded} nodes`);
});

Deno.test("PrefixSearch of no bits finds the whole; all prefixes together have all mass", () => {
  const whole = new PrefixSearch(WEIGHTS, { prefixLength: 0, top: 3 });
  assertEquals([whole.take(9), whole.isProven, whole.unfoundAtMost], [[], true, 0]);
  assertEquals(whole.found.map(({ bytes, mass }) => [bytes, mass]), [[[], 1]]);
  for (const prefixLength of [1, 9, 12]) {
    const { found } = searched({ prefixLength, top: 1e6 }, 1, 64);
    assertEquals(found.length, 2 ** prefixLength);
    assertAlmostEquals(found.reduce((sum, { mass }) => sum + mass, 0), 1, 1e-9);
  }
});

Deno.test("PrefixSearch that is cut short says what may be missing", () => {
  const search = new PrefixSearch(WEIGHTS, { prefixLength: 16, top: 4 });
  assertEquals([search.isProven, search.unfoundAtMost], [false, 1]);
  const [root] = search.take(10);
  const likeliest = search.expand(root, probabilitiesAfter([], 0.1));
  assert(likeliest);
  assert(!search.isProven);
  const massOf = ({ joint }: { joint: Float64Array }) => joint.reduce((sum, value) => sum + value, 0);
  assertAlmostEquals(search.unfoundAtMost, massOf(likeliest), 1e-15);
  search.expand(likeliest, probabilitiesAfter(likeliest.bytes, 0.1));
  assertEquals([search.found.length, search.isProven], [4, false]);
  assert(search.unfoundAtMost > search.found[0].mass && search.unfoundAtMost < massOf(likeliest));
});

Deno.test("maxNodes() lets a search hold 2 GiB of probabilities, whatever the components and what is kept", () => {
  for (const numComponents of [1, 32, 1024]) {
    for (const top of [1, 20, 100_000]) {
      const bytes = maxNodes({ numComponents, top }) * 256 * 8 * numComponents + top * 8 * numComponents;
      assert(
        bytes <= 2 ** 31 && bytes > 2 ** 31 / 4,
        `${numComponents} components, ${top} kept: ${bytes} bytes`,
      );
    }
  }
  // The defaults of likelyDestinations are far from it.
  assert(maxNodes({ numComponents: 32, top: 20 }) > 4096);
});
