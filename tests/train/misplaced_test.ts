import { assertAlmostEquals, assertEquals } from "@std/assert";
import { MemoryRowSource } from "../data/loader/synthetic_rows.ts";
import { openRunPlaces } from "../../lib/train/run_places.ts";
import type { ProbeRow } from "../../lib/data/probe_rows/probe_row.ts";
import { TemporaryFolder } from "../io/files/temporary_folder.ts";
import { CITIES, rowOf } from "./cities.ts";

const [BERLIN, NEW_YORK, TOKYO] = ["10.1.0.1", "10.2.0.1", "10.3.0.1"];

async function found(...rows: ProbeRow[]) {
  using folder = new TemporaryFolder();
  const path = folder.at("cities.csv");
  const lines = Object.entries(CITIES).map(([start, { countryCode, region, latitude, longitude }]) =>
    `${start}.0,${start}.255,${countryCode},${region},,,,${latitude},${longitude},\n`
  );
  Deno.writeTextFileSync(path, lines.join(""));
  const { table: _, ...places } = await openRunPlaces([path], new MemoryRowSource(rows), () => {});
  return places;
}

Deno.test("openRunPlaces() finds nothing misplaced if light is fast enough or places are unknown", async () => {
  const rows = [rowOf(BERLIN, [[NEW_YORK, 63], [TOKYO, 88], ["10.9.0.1", 0.1], [BERLIN, 0.01], [TOKYO, -1]])];
  assertEquals(await found(...rows), { numAddresses: 4, numLocated: 3, misplaced: [] });
});

Deno.test("openRunPlaces() blames the address that explains most of the too-short RTTs", async () => {
  const moved = "10.3.0.77";
  const rows = [
    rowOf(BERLIN, [[NEW_YORK, 80], [moved, 12], [TOKYO, 230], [moved, 300]]),
    rowOf(NEW_YORK, [[moved, 75], [TOKYO, 160]]),
  ];
  const { misplaced } = await found(...rows);
  const [{ worst: { floorMs, ...worst }, ...rest }] = misplaced;
  assertEquals(misplaced.length, 1);
  assertAlmostEquals(floorMs, 86.71, 0.01);
  assertEquals({ ...rest, worst }, {
    address: moved,
    kind: "misplaced",
    latitude: 35.5,
    longitude: 139.5,
    tooFast: 2,
    pairs: 2,
    worst: { other: BERLIN, rttMs: 12, distanceKm: 8923 },
  });
});

Deno.test("openRunPlaces() does not blame an address whose other RTTs are possible", async () => {
  // A server in Berlin is near three probes, of which the database places two in Tokyo.
  const [probe, wrong, alsoWrong] = ["10.1.0.2", "10.3.0.2", "10.3.0.3"];
  const { misplaced } = await found(
    rowOf(BERLIN, [[probe, 5], ["10.1.0.3", 4], [NEW_YORK, 90], [wrong, 8], [alsoWrong, 9]]),
  );
  assertEquals(misplaced.map(({ address }) => address), [wrong, alsoWrong]);
});

Deno.test("openRunPlaces() classifies an address in several places as anycast", async () => {
  const anycast = "10.2.0.53";
  const rows = [BERLIN, NEW_YORK, TOKYO].map((source) => rowOf(source, [[anycast, 4]]));
  const { misplaced } = await found(...rows);
  assertEquals(misplaced.map(({ address, kind, tooFast, pairs }) => [address, kind, tooFast, pairs]), [
    [anycast, "anycast", 2, 3],
  ]);
});
