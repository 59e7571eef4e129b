import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { PrefixSearch } from "../../../lib/query/destinations/prefix_tree.ts";
import { RandomStream } from "../../../lib/base/random.ts";

/** P(byte | bytes) of an artificial tree, in which each node's numbers depend only on its bytes. */
function probabilitiesAfter(bytes: readonly number[], sharpness: number): Float64Array {
  const random = new RandomStream(1, "test/tree", bytes.length, bytes[0] ?? 0, bytes[1] ?? 0);
  const values = Float64Array.from({ length: 256 }, () => Math.exp(sharpness * random.normal()));
  const total = values.reduce((sum, value) => sum + value, 0);
  return values.map((value) => value / total);
}

/** Probabilities of all addresses of one or two bytes, highest first. */
function enumerate(numBytes: number, sharpness: number): { key: string; mass: number }[] {
  const first = probabilitiesAfter([], sharpness);
  const all = Array.from(
    first,
    (mass, a) =>
      numBytes === 1
        ? [{ key: `${a}`, mass }]
        : Array.from(probabilitiesAfter([a], sharpness), (p, b) => ({ key: `${a}.${b}`, mass: mass * p })),
  );
  return all.flat().sort((x, y) => y.mass - x.mass);
}

function searched(options: { numBytes: number; top: number }, sharpness: number, atOnce: number) {
  const search = new PrefixSearch(options);
  for (let nodes = search.take(atOnce); nodes.length > 0; nodes = search.take(atOnce)) {
    for (const node of nodes) {
      for (let at = search.expand(node, probabilitiesAfter(node.bytes, sharpness)); at;) {
        at = search.expand(at, probabilitiesAfter(at.bytes, sharpness));
      }
    }
  }
  return search;
}

Deno.test("PrefixSearch finds the addresses of greatest mass, for any length and batch size", () => {
  for (const sharpness of [0.3, 3]) {
    for (const numBytes of [1, 2]) {
      const expected = enumerate(numBytes, sharpness);
      for (const [top, atOnce] of [[1, 1], [20, 1], [20, 64], [300, 7]]) {
        const search = searched({ numBytes, top }, sharpness, atOnce);
        const best = expected.slice(0, top);
        assertEquals(search.found.map(({ bytes }) => bytes.join(".")), best.map(({ key }) => key));
        search.found.forEach(({ mass }, i) => assertAlmostEquals(mass, best[i].mass, 1e-12));
      }
    }
  }
});

Deno.test("PrefixSearch expands few nodes where few have mass", () => {
  const { numExpanded } = searched({ numBytes: 2, top: 5 }, 5, 1);
  assert(numExpanded <= 12, `${numExpanded} nodes`);
});
