import { assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { named } from "../../../lib/base/errors.ts";
import { addressBytes, formatAddress } from "../../../lib/data/addresses/ip.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { distanceKm, NOWHERE, type Position } from "../../../lib/data/addresses/place_table.ts";
import { hashesOf, keyOfHashes } from "../../../lib/model/embedding_table.ts";
import { recallFrom } from "../../../lib/model/pool/forecast.ts";
import { MEASURED_PAIRS, MeasuredPairs, withPairs } from "../../../lib/model/pool/measured_pairs.ts";
import { MOVED, MOVED_PLACES, movedPlaces, savedMoves } from "../../../lib/model/pool/moved_places.ts";
import { PairKriging } from "../../../lib/model/pool/pair_kriging.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";
import { faultOfNumbers } from "../../../lib/model/tensor_bounds.ts";

const REGRESSION = { base: Math.log(10), slope: 0.001, median: Math.log(50) };
const hashes = [hashesOf(Uint8Array.of(10, 0, 0, 1)), hashesOf(Uint8Array.of(10, 0, 0, 2))] as const;

/** Servers around the world. */
const SERVERS = new Map(
  Array.from({ length: 12 }, (_, i): [string, Position] => [
    `192.0.2.${i}`,
    { latitude: [-30, 10, 50][i % 3], longitude: -150 + 25 * i },
  ]),
);
const HOME = { latitude: 47, longitude: -122 };
const ELSEWHERE = { latitude: 9, longitude: 39 };

/** RTTs as far as the distance from home suggests, apart from a constant. @param factor Of all RTTs. */
function pairsFrom(source: string, servers: readonly string[], factor = 1.5) {
  return servers.map((destination) => ({
    source,
    destination,
    hashes,
    rttsMs: [10 * factor * (1 + 0.001 * distanceKm(HOME, SERVERS.get(destination) ?? HOME))],
  }));
}

function placesOf(wrong: Position | undefined) {
  const places = new Map<string, Position | undefined>([
    ...SERVERS,
    ["10.0.0.1", wrong],
    ["10.0.0.2", HOME],
    ["10.0.0.3", wrong],
  ]);
  return (name: string) => ({ ...NOWHERE, position: places.get(name) });
}

const ALL = [...SERVERS.keys()];
// The third address has too few partners.
const PAIRS = [
  ...pairsFrom("10.0.0.1", ALL),
  ...pairsFrom("10.0.0.2", ALL),
  ...pairsFrom("10.0.0.3", ALL.slice(0, 7)),
];

Deno.test("an address is moved to where its RTTs fit the distances", () => {
  for (const wrong of [ELSEWHERE, undefined]) {
    const moved = movedPlaces(MeasuredPairs.of(PAIRS, placesOf(wrong)), REGRESSION);
    assertEquals([...moved], [["10.0.0.1", HOME]]);
  }
});

Deno.test("an address stays if its RTTs say little, or if light cannot reach it elsewhere", () => {
  const same = PAIRS.map((pair) => ({ ...pair, rttsMs: [300] }));
  assertEquals(movedPlaces(MeasuredPairs.of(same, placesOf(ELSEWHERE)), REGRESSION).size, 0);
  const fast = PAIRS.map((pair) => ({ ...pair, rttsMs: pair.rttsMs.map((rttMs) => rttMs / 50) }));
  assertEquals(movedPlaces(MeasuredPairs.of(fast, placesOf(ELSEWHERE)), REGRESSION).size, 0);
});

Deno.test("kriging uses corrected places only between measured addresses", () => {
  const known = MeasuredPairs.of(PAIRS, placesOf(ELSEWHERE));
  const moved = new Map([["10.0.0.1", HOME]]);
  const kriging = PairKriging.of(known, REGRESSION, moved);
  const asked = { source: "10.0.0.1", destination: ALL[3] };
  const server = SERVERS.get(ALL[3]) ?? HOME;
  assertAlmostEquals(kriging.ask(asked)?.features[0] ?? NaN, distanceKm(HOME, server));
  assertAlmostEquals(kriging.ask(asked, [true, false])?.features[0] ?? NaN, distanceKm(ELSEWHERE, server));
  const without = new PairKriging(known, REGRESSION);
  for (const source of ["10.0.0.9", "10.0.0.1"]) {
    const isNew = [true, false];
    assertEquals(
      kriging.ask({ source, destination: ALL[3] }, isNew),
      without.ask({ source, destination: ALL[3] }, isNew),
    );
  }
});

Deno.test("a pool keeps moved addresses by their hashes; impossible rows are named", () => {
  const [places, none] = [new Map([["10.0.0.1", HOME], ["2001:db8::1", ELSEWHERE]]), new Map()];
  const saved = savedMoves(places);
  const keyOf = (name: string) => keyOfHashes(hashesOf(addressBytes(name)));
  assertEquals(
    recallFrom(saved, () => undefined)(MOVED_PLACES),
    new Map([...places].map(([name, position]) => [keyOf(name), position])),
  );
  assertEquals(savedMoves(none).size, 0);
  assertEquals(faultOfNumbers(saved), undefined);
  const rows = [...named(saved, MOVED[0])];
  const faultOf = (numbers: number[]) => faultOfNumbers(new Map([[MOVED[0], Uint32Array.from(numbers)]]));
  assertMatch(faultOf([...rows.slice(4), ...rows.slice(0, 4)]) ?? "", /ascending order of their hashes/);
  assertMatch(
    faultOf(rows.with(2, 180_000_001)) ?? "",
    /element 2 .* expected a whole number from 0 to 180000000/,
  );
  assertEquals(faultOf(rows.slice(0, 7)), "tensor pool.moved has 7 numbers, expected rows of 4");
});

Deno.test("an address of the training data and of an adaptation is one endpoint; new ones keep their place", () => {
  const tables = new PoolTables(placesOf(ELSEWHERE));
  const [a, b, c, d] = ["10.0.0.1", ALL[0], ALL[1], "10.0.0.9"].map((name) =>
    PoolTables.endOf(addressBytes(name))
  );
  for (const end of [b, c]) tables.add(a, end, encodeRttCode(20), 1_700_000_000);
  const measured = [[a, d], [d, b]].map((ends) => {
    const [source, destination] = ends.map(({ name }) => addressBytes(name));
    return { source, destination };
  });
  const known = recallFrom(withPairs(tables.save(fitPool([])), measured), placesOf(ELSEWHERE))(
    MEASURED_PAIRS,
  );
  assertEquals(known.length, 4);
  const names = Array.from(
    { length: 4 },
    (_, pair) => [0, 1].map((role) => formatAddress(known.endOf(pair, role).address)),
  );
  assertEquals(names, [[a, b], [a, c], [a, d], [d, b]].map((ends) => ends.map(({ name }) => name)));
  assertEquals(known.ends.map(({ length }) => length), [2, 3]);
  assertEquals([a, b, c, d].map(({ name }) => known.isTrained(name)), [true, true, true, false]);
});
