import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { countryNumber, type LocatedPlace } from "../../../lib/data/addresses/place_table.ts";
import { hashesOf } from "../../../lib/model/embedding_table.ts";
import { MeasuredPairs } from "../../../lib/model/pool/measured_pairs.ts";
import { PairKriging } from "../../../lib/model/pool/pair_kriging.ts";

const nowhere = () => undefined;
const hashes = [0, 1].map((i) => hashesOf(Uint8Array.of(10, 0, 0, i))) as [
  ReturnType<typeof hashesOf>,
  ReturnType<typeof hashesOf>,
];

type Excess = readonly [source: string, destination: string, excess: number];

/** Pairs whose RTT is e to the power of an excess, since 1 ms is expected. */
function krigingOf(pairs: readonly Excess[], placeOf = placed): PairKriging {
  const measured = pairs.map(([source, destination, excess]) => ({
    source,
    destination,
    hashes,
    rttsMs: [Math.exp(excess)],
  }));
  return new PairKriging(MeasuredPairs.of(measured, placeOf), { base: 0, slope: 0, median: 0 });
}

function placed(name: string): LocatedPlace | undefined {
  if (!name.startsWith("192.0.2.")) return undefined;
  const asNumber = Number(name.split(".")[3]) < 2 ? 64500 : 0;
  return { position: { latitude: 10, longitude: 20 }, country: countryNumber("DE"), region: 0, asNumber };
}

const covariance = (from: number, to: number) => 0.02 + 0.12 * (from + to) + from * to;

Deno.test("one pair influences others by the similarity of their ends", () => {
  const kriging = krigingOf([["192.0.2.1", "2001:db8:1::1", 1]]);
  const [address, long, short, as, country, near] = [0.02, 0.03, 0.03, 0.1, 0.03, 0.4];
  const own = [address + long + short + as + country + near, address + long + short] as const;
  const asked: [string, string, number, number][] = [
    // Same AS; same country; same /16; nothing in common.
    ["192.0.2.0", "2001:db8:1::2", own[0] - address, own[1] - address],
    ["192.0.2.9", "2001:db8:2::1", own[0] - address - as, short],
    ["192.0.9.1", "2001:db9::1", short, 0],
    ["10.0.0.1", "192.0.2.1", 0, 0],
  ];
  asked.forEach(([source, destination, from, to], i) => {
    const expected = covariance(from, to) / (covariance(...own) + 0.01);
    assertAlmostEquals(kriging.ask({ source, destination })?.excess ?? NaN, expected, 1e-6, `${i}`);
  });
});

/** Solves a system of linear equations by Gaussian elimination with pivots. */
function solved(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, right[i]]);
  rows.forEach((_, i) => {
    const pivot = rows.findIndex((row, j) =>
      j >= i && Math.abs(row[i]) === Math.max(...rows.slice(i).map((each) => Math.abs(each[i])))
    );
    [rows[i], rows[pivot]] = [rows[pivot], rows[i]];
    rows.forEach((row, j) => {
      if (j === i) return;
      const factor = row[i] / rows[i][i];
      row.forEach((_, k) => row[k] -= factor * rows[i][k]);
    });
  });
  return rows.map((row, i) => row[right.length] / row[i]);
}

const random = new RandomStream(4, "tests/kriging");
const GRID: readonly Excess[] = Array.from(
  { length: 30 },
  (_, i) => [`10.0.${i % 5}.1`, `11.1.${Math.floor(i / 5)}.1`, random.float64()],
);

Deno.test("the mean and the deviation are those of the process without the pair itself and new ends", () => {
  const similarity = (a: string, b: string) => a === b ? 0.08 : a.slice(0, 4) === b.slice(0, 4) ? 0.03 : 0;
  const between = (a: Excess, b: Excess) => covariance(similarity(a[0], b[0]), similarity(a[1], b[1]));
  const kriging = krigingOf(GRID, nowhere);
  for (const asked of [GRID[3], ["10.0.9.1", "11.1.2.1", 0] as const]) {
    for (const isNew of [[false, false], [false, true], [true, false], [true, true]]) {
      const known = GRID.filter(([source, destination]) => {
        const isSame = [source === asked[0], destination === asked[1]];
        return isSame.includes(false) && !isSame.some((is, role) => is && isNew[role]);
      });
      const matrix = known.map((a, i) => known.map((b, j) => between(a, b) + (i === j ? 0.01 : 0)));
      const covariances = known.map((pair) => between(asked, pair));
      const found = kriging.ask({ source: asked[0], destination: asked[1] }, isNew);
      const dot = (values: number[]) => values.reduce((sum, value, i) => sum + value * covariances[i], 0);
      const variance = between(asked, asked) - dot(solved(matrix, covariances));
      assertAlmostEquals(
        found?.excess ?? NaN,
        dot(solved(matrix, known.map(([, , excess]) => excess))),
        1e-6,
      );
      assertAlmostEquals(found?.features[3] ?? NaN, Math.sqrt(variance), 1e-6);
    }
  }
  const [[source, destination]] = GRID;
  assertEquals(krigingOf([GRID[0]], nowhere).ask({ source, destination }), undefined);
  // The opposite direction is the same pair.
  assertEquals(krigingOf([GRID[0]], nowhere).ask({ source: destination, destination: source }), undefined);
});

Deno.test("the features name the nearest pair of the same source and of the same destination", () => {
  const kriging = krigingOf([
    ["10.0.0.1", "11.1.1.1", 1],
    ["10.0.0.1", "11.1.2.9", 2],
    ["10.0.5.1", "11.1.2.1", 3],
    ["12.0.0.1", "13.0.0.1", 9],
  ], nowhere);
  const features = kriging.ask({ source: "10.0.0.1", destination: "11.1.2.1" })?.features ?? [];
  const mean = (0.03 * 1 + 0.06 * 2) / 0.09;
  [2, 0.06, mean, 3, 0.03, 3].forEach((expected, i) => assertAlmostEquals(features[4 + i], expected, 1e-6));
  const unknown = kriging.ask({ source: "10.9.0.1", destination: "11.1.2.1" })?.features ?? [];
  assert(unknown.slice(4, 7).every(Number.isNaN));
  assertAlmostEquals(unknown[7], 3, 1e-6);
});

Deno.test("of many pairs the 96 with the greatest covariance by each end count", () => {
  const pairs = Array.from({ length: 1000 }, (_, i): Excess => [`10.${i >> 8}.${i & 255}.1`, "11.0.0.1", i]);
  const near = pairs.map(([source, , excess]): Excess => [source, "12.0.0.1", excess]);
  const asked = { source: "10.3.0.9", destination: "12.0.0.1" };
  const isLast = ([source]: Excess) => source.startsWith("10.3.");
  // By either end first the pairs of 10.3.0.0/16 to 12.0.0.1, then others to it.
  const chosen = near.filter((pair, i) => isLast(pair) && i < 768 + 96);
  const expected = krigingOf(chosen, nowhere).ask(asked)?.excess;
  assertAlmostEquals(
    krigingOf([...pairs, ...near], nowhere).ask(asked)?.excess ?? NaN,
    expected ?? NaN,
    1e-6,
  );
});
