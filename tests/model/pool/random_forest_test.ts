import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { named } from "../../../lib/base/errors.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { countryNumber, type LocatedPlace } from "../../../lib/data/addresses/place_table.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { recallFrom } from "../../../lib/model/pool/forecast.ts";
import { MEASURED_PAIRS } from "../../../lib/model/pool/measured_pairs.ts";
import { PAIR_FOREST } from "../../../lib/model/pool/pair_forest.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";
import { RandomForest } from "../../../lib/model/pool/random_forest.ts";

const SIZE = { numTrees: 50, maxDepth: 16, minLeaf: 8, numKept: 16 };

Deno.test("RandomForest learns a step, the distributions on both sides and missing values", () => {
  const random = new RandomStream(1, "test/forest");
  const x = Float32Array.from({ length: 4000 }, (_, i) => i % 10 === 0 ? NaN : random.float64());
  const noise = Float32Array.from(x, () => random.float64());
  const meanOf = (value: number) => Number.isNaN(value) ? -5 : value < 0.5 ? 0 : 10;
  const spreadOf = (value: number) => value < 0.5 ? 1 : 4;
  const targets = Float64Array.from(x, (value) => meanOf(value) + spreadOf(value) * random.float64());
  const forest = RandomForest.grow({ columns: [noise, x], targets }, SIZE, 1);
  for (const value of [0.2, 0.8, NaN]) {
    const [low, median, high] = forest.quantiles([0.5, value], [0.05, 0.5, 0.95]);
    [low, median, high].forEach((found, i) =>
      assertAlmostEquals(found, meanOf(value) + spreadOf(value) * [0.05, 0.5, 0.95][i], spreadOf(value) / 5)
    );
  }
  const again = RandomForest.grow({ columns: [noise, x], targets }, SIZE, 1);
  const other = RandomForest.grow({ columns: [noise, x], targets }, SIZE, 2);
  const all = (each: RandomForest) => each.quantiles([0.3, 0.3], [0.1, 0.3, 0.5, 0.7, 0.9]);
  assertEquals(all(again), all(forest));
  assert(all(other).some((value, i) => value !== all(forest)[i]));
});

Deno.test("RandomForest of few or equal rows returns ascending quantiles from its targets", () => {
  fc.assert(fc.property(fc.array(fc.float({ min: -5, max: 5, noNaN: true }), { minLength: 1 }), (values) => {
    const targets = Float64Array.from(values);
    const forest = RandomForest.grow({ columns: [Float32Array.from(targets, () => 3)], targets }, SIZE, 0);
    const found = forest.quantiles([3], [0.01, 0.5, 0.99]);
    assert(found.every((value) => values.includes(value)));
    assertEquals(found, found.toSorted());
  }));
});

/** Hosts of three cities; the second byte is the city. New hosts are known by their place only. */
const LATITUDES = [50, 30, 10];
const cityOf = (name: string) => Number(name.split(".")[1]);
function placeOf(name: string): LocatedPlace {
  const city = cityOf(name);
  const country = countryNumber(["DE", "EG", "KE"][city]);
  return {
    position: { latitude: LATITUDES[city], longitude: 20 },
    country,
    region: 0,
    asNumber: 64500 + city,
  };
}
const rttMs = (a: number, b: number) => 5 + 60 * Math.abs(a - b);

function pairsOf(numHosts: number): [source: string, destination: string, rttMs: number][] {
  const hosts = Array.from({ length: 3 * numHosts }, (_, i) => `10.${i % 3}.0.${i}`);
  const random = new RandomStream(3, "tests/pair forest");
  return hosts.flatMap((source) =>
    hosts.filter((each) => each !== source && random.float64() < 0.5).map((
      destination,
    ): [string, string, number] => [
      source,
      destination,
      rttMs(cityOf(source), cityOf(destination)) * (0.95 + 0.1 * random.float64()),
    ])
  );
}

/** A pool's tables of pairs, each measured three times. */
function tablesOf(pairs: readonly (readonly [source: string, destination: string, rttMs: number])[]) {
  const tables = new PoolTables(placeOf, { seed: 1 });
  for (const [source, destination, rttMs] of pairs) {
    const [a, b] = [source, destination].map((name) => PoolTables.endOf(addressBytes(name)));
    for (let i = 0; i < 3; i++) {
      tables.add(a, b, encodeRttCode(rttMs * (0.99 + 0.01 * i)), 1_700_000_000 + i);
    }
  }
  return tables;
}

Deno.test("PAIR_FOREST estimates unknown hosts by their places, from its tensors alone", () => {
  const tensors = tablesOf(pairsOf(10)).save(fitPool([]));
  const forest = recallFrom(tensors, placeOf)(PAIR_FOREST);
  for (const [from, to] of [[0, 1], [2, 0], [1, 1]]) {
    for (const ends of [["9.1", "9.2"], ["0.3", "9.1"], ["9.1", "0.4"]]) {
      const asked = { source: `10.${from}.${ends[0]}`, destination: `10.${to}.${ends[1]}` };
      const logs = forest.logs(asked);
      assertEquals(logs, logs.toSorted((a, b) => a - b));
      for (const log of [logs[8], ...forest.krigedLogs(asked)]) {
        assertAlmostEquals(Math.exp(log), rttMs(from, to), 0.1 * rttMs(from, to) + 1);
      }
    }
  }
  assertEquals(tablesOf(pairsOf(10)).save(fitPool([])), tensors);
  const numbers = Object.values(PAIR_FOREST.tensors).reduce(
    (sum, [name]) => sum + named(tensors, name).length,
    0,
  );
  assert(4 * numbers < 2 ** 21, `${4 * numbers} bytes`);
});

Deno.test("PAIR_FOREST without pairs returns no estimate", () => {
  const tensors = [MEASURED_PAIRS, PAIR_FOREST].flatMap((
    memory,
  ) => [...memory.learn([], { placeOf, seed: 0 })]);
  const forest = recallFrom(new Map(tensors), placeOf)(PAIR_FOREST);
  const asked = { source: "10.0.0.1", destination: "10.1.0.2" };
  assertEquals([...forest.logs(asked), ...forest.krigedLogs(asked)], []);
});
