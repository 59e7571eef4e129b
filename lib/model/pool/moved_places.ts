/**
 * Corrects places of measured addresses. A database may place an address on another continent than its RTTs do,
 * such as that of a satellite operator's customer or of an anycast service.
 *
 * The address is moved to the place of another address at which its RTTs fit the distances to the other endpoints
 * best, if they fit at most half as badly there. No place is possible that light in fibre cannot reach in time
 * (Gueye, Ziviani, Crovella, Fdida, "Constraint-Based Geolocation of Internet Hosts", IEEE/ACM Transactions on
 * Networking 14(6), 2006).
 *
 * @module
 */
import { evenlySpread, getOrMake } from "../../base/collections.ts";
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { type TensorArray, tensorOf } from "../../base/safetensors_header.ts";
import { addressBytes, formatAddress } from "../../data/addresses/ip.ts";
import { KM_PER_MS } from "../../data/addresses/light_floor.ts";
import { distanceKm, type LocatedPlace, type Position } from "../../data/addresses/place_table.ts";
import { hashesOf, keyOfHashes } from "../embedding_table.ts";
import { savedRows } from "../hashed_rows.ts";
import { HASHES, type Tensor, whole } from "../possible_numbers.ts";
import type { Regression } from "./distance_regression.ts";
import type { Recalled } from "./forecast.ts";
import type { End, MeasuredPairs } from "./measured_pairs.ts";

/** An address with fewer measured endpoints of known places stays where it is. */
const MIN_PARTNERS = 8;
/** Maximum number of an address's pairs and of places that are tried. */
const [MAX_PARTNERS, MAX_PLACES] = [64, 1024];
/** A place must have at most this share of the error of the present place. */
const MAX_ERROR_SHARE = 0.5;
/** By how much the rounding of two positions may change their distance, km. */
const ROUNDING_KM = 100;

/** Hashes of moved addresses, latitude + 90 and longitude + 180 in millionths of a degree. Pools without have none. */
export const MOVED: Tensor = ["pool.moved", [...HASHES, whole(0, 180e6), whole(0, 360e6)], "U32"];

/** A measured pair of an address: its other endpoint, and its median and shortest RTT, ln ms. */
interface Partner {
  readonly end: End;
  readonly position: Position;
  readonly log: number;
  readonly leastLog: number;
}

/**
 * Finds the addresses that are elsewhere, and where they are.
 *
 * @param regression How RTTs depend on the distance.
 */
export function movedPlaces(
  known: MeasuredPairs,
  { slope }: Regression,
  onProgress?: (done: number, total: number) => void,
): Map<string, Position> {
  const addresses = new Map<string, { place: LocatedPlace; partners: Partner[] }>();
  const add = ({ address, place }: End, other: End, pair: number) => {
    const [leastLog] = known.logsOf(pair);
    const log = known.medianOf(pair);
    if (!other.place.position || log === undefined) return;
    getOrMake(addresses, formatAddress(address), () => ({ place, partners: [] })).partners
      .push({ end: other, position: other.place.position, log, leastLog });
  };
  for (let pair = 0; pair < known.length; pair++) {
    const [source, destination] = [known.endOf(pair, 0), known.endOf(pair, 1)];
    add(source, destination, pair);
    add(destination, source, pair);
  }
  const positions = known.ends.flat().flatMap(({ place: { position } }) => position ?? []);
  const distinct = new Map(positions.map((each) => [`${each.latitude} ${each.longitude}`, each]));
  const tried = evenlySpread([...distinct.values()], MAX_PLACES);
  const moved = new Map<string, Position>();
  let done = 0;
  addresses.forEach(({ place, partners }, name) => {
    onProgress?.(++done, addresses.size);
    if (new Set(partners.map(({ end }) => formatAddress(end.address))).size < MIN_PARTNERS) return;
    // Light rules out most places by the shortest RTTs.
    const used = evenlySpread(partners, MAX_PARTNERS).sort((a, b) => a.leastLog - b.leastLog);
    let least = (place.position ? MAX_ERROR_SHARE : 1) * errorAt(used, place.position, slope);
    for (const position of tried) {
      const error = used.every((partner) => isReached(position, partner))
        ? errorAt(used, position, slope)
        : Infinity;
      if (error >= least) continue;
      least = error;
      moved.set(name, position);
    }
  });
  return moved;
}

/** The tensor of {@link MOVED}; none if no address was moved. */
export function savedMoves(moved: ReadonlyMap<string, Position>): Map<string, TensorArray> {
  return savedRows(
    MOVED[0],
    Array.from(moved, ([name, { latitude, longitude }]) => ({
      hashes: hashesOf(addressBytes(name)),
      numbers: [latitude + 90, longitude + 180].map((degrees) => Math.round(1e6 * degrees)),
    })),
  );
}

/** The positions of moved addresses, by the keys of their hashes. */
export const MOVED_PLACES: Recalled<ReadonlyMap<number, Position>> = {
  open(tensors) {
    const numbers = tensors.has(MOVED[0]) ? tensorOf(tensors, MOVED[0], "U32") : new Uint32Array();
    const moved = new Map<number, Position>();
    for (let at = 0; at < numbers.length; at += MOVED[1].length) {
      const [hash1, hash2, north, east] = numbers.subarray(at, at + MOVED[1].length);
      const position = { latitude: north / 1e6 - 90, longitude: east / 1e6 - 180 };
      moved.set(keyOfHashes({ hash1, hash2 }), position);
    }
    return moved;
  },
};

/** Whether light has enough time from a position. */
function isReached(from: Position, { position, leastLog }: Partner): boolean {
  return distanceKm(from, position) <= KM_PER_MS * Math.exp(leastLog) + ROUNDING_KM;
}

/**
 * How far ln RTT is from what the distances suggest: the mean distance from the median. @param position If it is
 * unknown, all distances count as equal.
 */
function errorAt(partners: readonly Partner[], position: Position | undefined, slope: number): number {
  const excesses = Float64Array.from(
    partners,
    ({ position: other, log }) => log - Math.log1p(position ? slope * distanceKm(position, other) : 0),
  );
  const median = quantileOfSample(excesses, 0.5);
  return excesses.reduce((sum, each) => sum + Math.abs(each - median), 0) / partners.length;
}
