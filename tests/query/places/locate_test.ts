/** Addresses are located by RTTs between cities, at 60 km/ms with 2 ms on top. */
import { assert, assertEquals } from "@std/assert";
import { addressBytes } from "../../../lib/data/addresses/ip.ts";
import { LeastRtts, otherEnd } from "../../../lib/data/addresses/least_rtts.ts";
import {
  addressNumber,
  distanceKm,
  type Place,
  PlaceTable,
} from "../../../lib/data/addresses/place_table.ts";
import { type Landmark, Locator, radiusKm } from "../../../lib/query/places/locate.ts";

const CITIES: Record<string, [latitude: number, longitude: number]> = {
  London: [51.5, 0],
  Paris: [49, 2.5],
  Madrid: [40.5, -3.5],
  Berlin: [52.5, 13.5],
  Vienna: [48, 16.5],
  Rome: [42, 12.5],
  Warsaw: [52, 21],
  Stockholm: [59.5, 18],
  Tokyo: [35.5, 139.5],
};
const NAMES = Object.keys(CITIES);
const networkOf = (city: string) => `10.${NAMES.indexOf(city) + 1}.0`;
const hostIn = (city: string, host: number) => `${networkOf(city)}.${host}`;
const positionOf = (city: string) => ({ latitude: CITIES[city][0], longitude: CITIES[city][1] });
const placeOf = new Map(NAMES.map((city): [string, Place] => [networkOf(city), positionOf(city)]));
const TABLE = PlaceTable.of({
  locate: (address) => placeOf.get(address.slice(0, 3).join(".")),
  visitBounds: (length, visit) => {
    if (length === 16) return;
    for (const network of placeOf.keys()) {
      const first = addressNumber(addressBytes(`${network}.0`));
      for (const number of [first, first + 256]) visit(number);
    }
  },
});

/** @param elsewhere Where hosts are that are not in the city of their address. */
function measured(elsewhere: Record<string, string>, without: readonly string[] = []): LeastRtts {
  const hosts = [
    ...NAMES.flatMap((city) => [1, 2].map((host) => hostIn(city, host))),
    ...Object.keys(elsewhere),
  ].filter((host) => !without.includes(host));
  const cityOf = (host: string) => elsewhere[host] ?? NAMES[Number(host.split(".")[1]) - 1];
  const rtts = new LeastRtts(TABLE);
  hosts.forEach((a, i) =>
    hosts.slice(0, i).forEach((b) =>
      rtts.add(a, b, 2 + distanceKm(positionOf(cityOf(a)), positionOf(cityOf(b))) / 60)
    )
  );
  return rtts;
}

function locate(rtts: LeastRtts, address: string, isKept: (landmark: Landmark) => boolean = () => true) {
  const node = rtts.node(address);
  assert(node);
  const landmarks = node.pairs.map((pair) => ({ node: otherEnd(pair, node), rttMs: pair.rttMs }))
    .filter((each): each is Landmark => each.node.position !== undefined && !each.node.isMisplaced);
  const kept = landmarks.filter(isKept);
  return new Locator(rtts).locate(kept, new Set([node]), { asNumber: 0, hiddenSite: node.site });
}

Deno.test("an address is where its RTTs say, and a place that light excludes is contradicted", () => {
  const moved = hostIn("Tokyo", 77);
  const rtts = measured({ [moved]: "Vienna" });
  const [contradicted, ...others] = rtts.misplaced();
  assertEquals([contradicted.address, contradicted.kind, others.length], [moved, "misplaced", 0]);
  assert(contradicted.worst.rttMs < contradicted.worst.floorMs);
  const found = locate(rtts, moved);
  assertEquals(found.best.position, positionOf("Vienna"));
  assert(radiusKm(found, 0.5) <= radiusKm(found, 0.9));
  assertEquals(found.best.contradictions, 0);
  const total = found.candidates.reduce((sum, { probability }) => sum + probability, 0);
  assert(Math.abs(total - 1) < 1e-9);
  const tokyo = found.candidates.find(({ position }) => position.longitude === 139.5);
  assert(tokyo && tokyo.contradictions > 0 && tokyo.probability < 1e-3);
});

Deno.test("a landmark with a wrong place does not decide", () => {
  // Both are in Rome. The database places the landmark in Madrid, which is possible for most of its RTTs.
  const [target, wrong] = [hostIn("Warsaw", 77), hostIn("Madrid", 3)];
  const rtts = measured({ [target]: "Rome", [wrong]: "Rome" });
  rtts.add(target, wrong, 0.5);
  for (const each of rtts.nodes()) Object.assign(each, { isMisplaced: false });
  const { best } = locate(rtts, target);
  assertEquals([best.position, best.contradictions], [positionOf("Rome"), 1]);
});

Deno.test("without landmarks nearby the place is uncertain", () => {
  const target = hostIn("Tokyo", 77);
  const rtts = measured({ [target]: "Rome" });
  const all = locate(rtts, target);
  const far = ["Stockholm", "Tokyo"].map(networkOf);
  const some = locate(rtts, target, ({ node }) => far.some((network) => node.address.startsWith(network)));
  assert(radiusKm(some, 0.9) > radiusKm(all, 0.9));
});
