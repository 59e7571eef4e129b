import { assertAlmostEquals, assertEquals } from "@std/assert";
import type { Tensors } from "../../../lib/base/safetensors_header.ts";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { type LocatedPlace, NOWHERE } from "../../../lib/data/addresses/place_table.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { withMeasurements } from "../../../lib/model/pool/pair_memory.ts";
import { recallFrom } from "../../../lib/model/pool/forecast.ts";
import { withPairs } from "../../../lib/model/pool/measured_pairs.ts";
import { PAIR_NEIGHBOURS } from "../../../lib/model/pool/pair_neighbours.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";

const [PARIS, LYON, ROME] = [[48.75, 2.25], [45.75, 4.75], [42, 12.5]].map(([latitude, longitude]) => ({
  latitude,
  longitude,
}));

/** Sources in 10.0.x.y: all in country 1 but 10.0.9.y. */
const PLACES: Record<string, Partial<LocatedPlace>> = {
  "10.0.1.1": { position: PARIS, country: 1, asNumber: 7 },
  "10.0.1.2": { position: LYON, country: 1, asNumber: 8 },
  "10.0.2.1": { position: PARIS, country: 1, asNumber: 7 },
  "10.0.3.1": { position: LYON, country: 1, asNumber: 7 },
  "10.0.4.1": { position: LYON, country: 1, asNumber: 9 },
  "10.0.9.1": { position: ROME, country: 2, asNumber: 10 },
  "10.1.0.1": { position: ROME, country: 2, asNumber: 20 },
  "10.1.1.1": { position: ROME, country: 2, asNumber: 20 },
};
const placeOf = (address: string): LocatedPlace => ({ ...NOWHERE, ...PLACES[address] });

/** Learns pairs, each with one RTT or several. */
function learned(
  pairs: readonly (readonly [source: string, destination: string, ...rttsMs: number[]])[],
): Tensors {
  const tables = new PoolTables(placeOf);
  for (const [source, destination, ...rttsMs] of pairs) {
    const [a, b] = [source, destination].map((name) => PoolTables.endOf(addressBytes(name)));
    rttsMs.forEach((rttMs, i) => tables.add(a, b, encodeRttCode(rttMs), 1_700_000_000 + i));
  }
  return tables.save(fitPool([]));
}

const ASKED = { source: "10.0.1.1", destination: "10.1.0.1" };

/** The cell of the nearest neighbours of the asked pair, and the RTTs in ms, rounded. */
function nearest(tensors: Tensors) {
  const found = recallFrom(tensors, placeOf)(PAIR_NEIGHBOURS).nearest(ASKED);
  if (!found) return undefined;
  assertAlmostEquals(found.logs.reduce((sum, { mass }) => sum + mass, 0), 1, 1e-12);
  return { cell: found.cell, rttsMs: found.logs.map(({ log }) => Math.round(Math.exp(log))) };
}

Deno.test("the nearest neighbour is the most closely related pair, and those further away do not count", () => {
  // The nearest last. Pairs of both other networks and of other countries are not related.
  const pairs = [
    ["10.0.9.1", "10.1.9.9", 5],
    ["10.0.9.1", "10.1.0.1", 6],
    ["10.0.4.1", "10.1.0.1", 10],
    ["10.0.3.1", "10.1.1.1", 20],
    ["10.0.2.1", "10.1.1.1", 30],
    ["10.0.3.1", "10.1.0.1", 40],
    ["10.0.1.1", "10.1.1.1", 50],
    ["10.0.2.1", "10.1.0.1", 60],
    ["10.0.1.1", "10.1.0.9", 80],
    ["10.0.1.2", "10.1.0.1", 90],
  ] as const;
  const levels = [undefined, undefined, 10, 9, 8, 6, 5, 4, 3, 2];
  levels.forEach((level, i) => {
    // The last pairs are first in the data, so the order does not decide.
    const found = nearest(learned(pairs.slice(0, i + 1).toReversed()));
    assertEquals(
      found,
      level === undefined ? undefined : { cell: 3 * level, rttsMs: [pairs[i][2]] },
      `${pairs[i]}`,
    );
  });
});

Deno.test("the measured pair itself is not a neighbour", () => {
  const tensors = learned([["10.0.1.1", "10.1.0.1", 10], ["10.0.1.2", "10.1.0.1", 20]]);
  assertEquals(nearest(tensors), { cell: 6, rttsMs: [20] });
});

Deno.test("several neighbours count alike, whatever was measured of each, and agree or differ", () => {
  const others = Array.from({ length: 100 }, (_, i) => 20 + i / 1000);
  const agreeing = nearest(learned([["10.0.1.2", "10.1.0.1", ...others], ["10.0.1.3", "10.1.0.1", 21, 21]]));
  assertEquals(agreeing, { cell: 3 * 2 + 1, rttsMs: [...Array(8).fill(20), 21, 21] });
  const differing = nearest(learned([["10.0.1.2", "10.1.0.1", 20], ["10.0.1.3", "10.1.0.1", 40]]));
  assertEquals(differing, { cell: 3 * 2 + 2, rttsMs: [20, 40] });
});

Deno.test("pairs of an adaptation are neighbours too, and count as much as the number of their RTTs allows", () => {
  const adaptedTo = (
    tensors: Tensors,
    ...measured: [source: string, destination: string, rttMs: number][]
  ) => {
    const given = measured.map(([source, destination, rttMs], i) => ({
      source: addressBytes(source),
      destination: addressBytes(destination),
      rttCode: encodeRttCode(rttMs),
      timeS: 1_800_000_000 + i,
    }));
    return withPairs(withMeasurements(tensors, given), given);
  };
  const worthOf = (tensors: Tensors) => recallFrom(tensors, placeOf)(PAIR_NEIGHBOURS).nearest(ASKED)?.worth;
  const trained = learned([["10.0.1.2", "10.1.0.1", 20], ["10.0.4.1", "10.1.0.1", 90]]);
  // The new pair is not nearer, and training already measured the other one.
  const farther = adaptedTo(trained, ["10.0.4.9", "10.1.0.1", 70], ["10.0.1.2", "10.1.0.1", 22]);
  assertEquals([nearest(farther), worthOf(farther)], [{ cell: 3 * 2, rttsMs: [20, 22] }, 1]);
  const once = adaptedTo(farther, ["10.0.1.3", "10.1.0.1", 21]);
  assertEquals([nearest(once), worthOf(once)], [{ cell: 3 * 2 + 1, rttsMs: [20, 22, 21] }, 3 / 4]);
  const again = adaptedTo(once, ["10.0.1.3", "10.1.0.1", 23], ["172.16.0.1", "10.1.0.1", 5]);
  assertEquals([nearest(again), worthOf(again)], [{ cell: 3 * 2 + 1, rttsMs: [20, 22, 21, 23] }, 4 / 5]);
  const alone = adaptedTo(learned([["10.0.9.1", "10.1.9.9", 5]]), ["10.1.0.1", "10.0.1.2", 30], [
    "10.0.1.9",
    "10.1.0.1",
    31,
  ]);
  assertEquals([nearest(alone), worthOf(alone)], [{ cell: 3 * 2, rttsMs: [31] }, 1 / 2]);
});
