/** The answer to where an address is. @module */
import { formatAddress } from "../../data/addresses/ip.ts";
import { KM_PER_MS, lightSlackKm } from "../../data/addresses/light_floor.ts";
import { placeText } from "../../data/addresses/place_index.ts";
import { addressNumber, distanceKm, lengthOf, type Position } from "../../data/addresses/place_table.ts";
import type { PingModel } from "../ping_model.ts";
import { type Candidate, type Located, radiusKm, vectorOf } from "./locate.ts";
import type { Landmarks, LocatedRtts } from "./remembered_rtts.ts";

const NUM_PLACES = 5;
const NUM_NEAREST = 8;
/** Two places this close count as one. */
const SAME_PLACE_KM = 100;

/** Locates an address with at least one landmark, in a table that has places. */
export function placeOf(
  model: PingModel,
  known: LocatedRtts,
  { address, landmarks, numOfNeighbours, numExcluded, nodes }: Landmarks & { readonly address: Uint8Array },
) {
  const { rtts } = known;
  const { table } = rtts;
  const { site, asNumber } = table.numbersAt(addressNumber(address), lengthOf(address));
  const found = known.locator().locate(landmarks, nodes, { asNumber, hiddenSite: site });
  const { best, candidates, used } = found;
  const nameOf = (site: number) => placeText(model.places?.describeSite(site) ?? {}) ?? null;
  const at = (site: number, { latitude, longitude }: Position) => ({
    place: nameOf(site),
    latitude,
    longitude,
  });
  const nearest = used.map(({ node, rttMs }) => {
    const distance = distanceKm(node.position, best.position);
    const reach = rttMs * KM_PER_MS;
    return {
      address: node.address,
      ...model.names.named(node.address),
      place: nameOf(node.site),
      rtt_ms: rttMs,
      distance_km: Math.round(distance),
      reach_km: Math.round(reach),
      agrees: distance - lightSlackKm(table.stepDegrees) <= reach,
    };
  });
  const position = table.sites[site].position;
  const { middle, ...region } = regionOf(found);
  return {
    ...at(best.site, best.position),
    radius50_km: Math.round(radiusKm(found, 0.5)),
    radius90_km: Math.round(radiusKm(found, 0.9)),
    places: apart(candidates).map((each) => ({
      ...at(each.site, each.position),
      probability: each.probability,
    })),
    light: { ...middle, ...region },
    landmarks: {
      used: used.length,
      of_neighbours: numOfNeighbours,
      agree: nearest.filter(({ agrees }) => agrees).length,
      excluded: numExcluded,
      nearest: nearest.filter(({ agrees }, i) => i < NUM_NEAREST || !agrees),
    },
    database: position
      ? {
        ...at(site, position),
        distance_km: Math.round(distanceKm(best.position, position)),
        probability: candidates.reduce(
          (sum, each) => distanceKm(each.position, position) < SAME_PLACE_KM ? sum + each.probability : sum,
          0,
        ),
        contradicted: rtts.node(formatAddress(address))?.isMisplaced ?? false,
      }
      : null,
  };
}

/** The likeliest places that are not close to a likelier one, whose probability includes theirs. */
function apart(candidates: readonly Candidate[]): Candidate[] {
  const groups: (Candidate & { probability: number })[] = [];
  for (const each of candidates) {
    if (each.probability < 1e-4) break;
    const near = groups.find(({ position }) => distanceKm(position, each.position) < SAME_PLACE_KM);
    if (near) near.probability += each.probability;
    else groups.push({ ...each });
  }
  return groups.sort((a, b) => b.probability - a.probability).slice(0, NUM_PLACES);
}

/** The middle of the places that the fewest landmarks contradict, and how many they are. */
function regionOf({ candidates }: Located) {
  const contradicted = candidates.reduce((least, each) => Math.min(least, each.contradictions), Infinity);
  const allowed = candidates.filter(({ contradictions }) => contradictions === contradicted);
  const middle = middleOf(allowed.map(({ position }) => position));
  const radius = allowed.reduce((most, { position }) => Math.max(most, distanceKm(middle, position)), 0);
  return {
    middle,
    radius_km: Math.round(radius),
    places: allowed.length,
    of: candidates.length,
    contradicted,
  };
}

/** The mean direction from the Earth's centre, in tenths of a degree. */
export function middleOf(positions: readonly Position[]): Position {
  const sum = [0, 0, 0];
  for (const position of positions) vectorOf(position).forEach((part, i) => sum[i] += part);
  const tenths = (radians: number) => Math.round(radians * 180 / Math.PI * 10) / 10;
  return {
    latitude: tenths(Math.atan2(sum[2], Math.hypot(sum[0], sum[1]))),
    longitude: tenths(Math.atan2(sum[1], sum[0])),
  };
}
