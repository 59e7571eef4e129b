import { assertEquals } from "@std/assert";
import { MemoryRowSource } from "../data/loader/synthetic_rows.ts";
import { addressBytes } from "../../lib/data/addresses/ip.ts";
import { addressNumber, type PlaceSource, PlaceTable } from "../../lib/data/addresses/place_table.ts";
import { findMisplaced } from "../../lib/train/run_places.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";

/** Cities by the first bytes of their addresses. */
const CITIES: Record<string, { latitude: number; longitude: number }> = {
  "10.1.0": { latitude: 52.5, longitude: 13.5 },
  "10.2.0": { latitude: 40.5, longitude: -74 },
  "10.3.0": { latitude: 35.5, longitude: 139.5 },
};
const [BERLIN, NEW_YORK, TOKYO] = ["10.1.0.1", "10.2.0.1", "10.3.0.1"];

const SOURCE: PlaceSource = {
  locate: (address) => CITIES[address.slice(0, 3).join(".")],
  visitBounds: (length, visit) => {
    if (length === 16) return;
    for (const city of Object.keys(CITIES)) {
      visit(addressNumber(addressBytes(`${city}.0`)));
      visit(addressNumber(addressBytes(`${city}.0`)) + 256);
    }
  },
};
const TABLE = PlaceTable.of(SOURCE);

/** A row of measurements from one address. RTTs below 0 are missing replies. */
function row(source: string, rtts: [destination: string, rttMs: number][]): ProbeRow {
  return {
    srcAddrs: [source],
    dstAddrs: rtts.map(([destination]) => destination),
    srcIndex: rtts.map(() => 0),
    dstIndex: rtts.map((_, i) => i),
    rttMs: Float32Array.from(rtts, ([, rttMs]) => rttMs),
    eventTimeUs: Float64Array.from(rtts, (_, i) => 1e6 * i),
  } as unknown as ProbeRow;
}

const found = (...rows: ProbeRow[]) => findMisplaced(TABLE, new MemoryRowSource(rows));

Deno.test("findMisplaced() finds nothing where light is fast enough, or where places are not known", () => {
  const rows = [row(BERLIN, [[NEW_YORK, 63], [TOKYO, 88], ["10.9.0.1", 0.1], [BERLIN, 0.01], [TOKYO, -1]])];
  assertEquals(found(...rows), { numAddresses: 4, numLocated: 3, misplaced: [] });
});

Deno.test("findMisplaced() blames the address that explains most RTTs that are too short", () => {
  const moved = "10.3.0.77";
  const rows = [
    row(BERLIN, [[NEW_YORK, 80], [moved, 12], [TOKYO, 230], [moved, 300]]),
    row(NEW_YORK, [[moved, 75], [TOKYO, 160]]),
  ];
  const { misplaced } = found(...rows);
  assertEquals(misplaced, [{
    address: moved,
    kind: "misplaced",
    latitude: 35.5,
    longitude: 139.5,
    tooFast: 2,
    pairs: 2,
    worst: { other: BERLIN, rttMs: 12, distanceKm: 8923 },
  }]);
});

Deno.test("findMisplaced() tells addresses that are in several places, whatever place they are said to be in", () => {
  const anycast = "10.2.0.53";
  const rows = [BERLIN, NEW_YORK, TOKYO].map((source) => row(source, [[anycast, 4]]));
  const { misplaced } = found(...rows);
  assertEquals(misplaced.map(({ address, kind, tooFast, pairs }) => [address, kind, tooFast, pairs]), [
    [anycast, "anycast", 2, 3],
  ]);
});
