/**
 * The keys of places in the table of address embeddings. The path of an address from general to specific is its cell of 20
 * degrees, its cell of 5 degrees, its country, region and AS; after these come its prefixes. A pair has its two countries,
 * cells and ASes in either order, and its great-circle distance. See lib/model/EXACT.md.
 *
 * @module
 */
import { mix } from "../base/random.ts";
import { cellOf, distanceKm, type LocatedPlace } from "../data/addresses/place_table.ts";
import { type Hashes, pairHashes, SECOND_HASH } from "./embedding_table.ts";

/** The key `model.places` of the configuration. */
export interface PlacesConfig {
  /** Length of the table of places in a checkpoint, see `PlaceTable.encode`; 0 for none. Set by `--geo`. */
  tableSize: number;
  /** Names of the files that it is made of. Set by `--geo`. */
  sources: string[];
  /** Share of the paths, 0 to 0.95, whose end from a random step on training hides; each context hides different ones. */
  dropShare: number;
}

/** The steps of a path before the prefixes. */
export const NUM_PATH_STEPS = 5;
/** The keys of a pair of places. */
const NUM_PAIR_KEYS = 5;
/** The rows of places that a token before a byte of an RTT has at most. */
export const NUM_PLACE_ROWS = 2 * NUM_PATH_STEPS + NUM_PAIR_KEYS;

/** Kinds of keys. Those of addresses begin with their length, 4 or 16. */
const KIND = { wide: 256, narrow: 257, country: 258, region: 259, as: 260, distance: 261, misplaced: 262 };
/** Seeds of the keys of pairs, by the step of the path. */
const PAIR_SEEDS: readonly (readonly [step: number, seed: number])[] = [[2, 1], [0, 2], [4, 3]];
const [WIDE_DEGREES, NARROW_DEGREES] = [20, 5];

/** An address's place as keys. */
export interface PlacePath {
  readonly position: LocatedPlace["position"];
  /** One for each of the {@link NUM_PATH_STEPS}; undefined if it is unknown. */
  readonly steps: readonly (Hashes | undefined)[];
}

export function pathOf(seed: number, { position, country, region, asNumber }: LocatedPlace): PlacePath {
  return {
    position,
    steps: [
      position && keyOf(seed, KIND.wide, ...cellOf(position, WIDE_DEGREES)),
      position && keyOf(seed, KIND.narrow, ...cellOf(position, NARROW_DEGREES)),
      country > 0 ? keyOf(seed, KIND.country, country) : undefined,
      region > 0 ? keyOf(seed, KIND.region, country, region) : undefined,
      asNumber > 0 ? keyOf(seed, KIND.as, asNumber) : undefined,
    ],
  };
}

/**
 * The keys of a pair: its countries, cells of 20 degrees and ASes, and two of its distance, whose classes overlap by half.
 *
 * @returns {@link NUM_PAIR_KEYS} keys; undefined if an end does not have what a key is made of.
 */
export function pairKeysOf(seed: number, a: PlacePath, b: PlacePath): (Hashes | undefined)[] {
  const keys = PAIR_SEEDS.map(([step, pairSeed]) => {
    const [ofA, ofB] = [a.steps[step], b.steps[step]];
    return ofA && ofB && pairHashes(ofA, ofB, pairSeed);
  });
  if (!a.position || !b.position) return [...keys, undefined, undefined];
  const quarters = 4 * Math.log2(distanceKm(a.position, b.position) + NEAR_KM);
  return [
    ...keys,
    ...[0, 0.5].map((shift, i) => keyOf(seed, KIND.distance, i, Math.floor(quarters + shift))),
  ];
}

/** The key that an address has whose place in the databases cannot be true. */
export function misplacedKey(seed: number, address: Hashes): Hashes {
  return keyOf(seed, KIND.misplaced, address.hash1, address.hash2);
}

/** Distances are told apart from here on, by quarters of an octave. */
const NEAR_KM = 50;
function keyOf(seed: number, kind: number, ...numbers: number[]): Hashes {
  let hash1 = mix(seed + kind);
  let hash2 = mix(hash1 ^ SECOND_HASH);
  for (const number of numbers) {
    hash1 = mix(Math.imul(hash1, 257) + number + 1);
    hash2 = mix(Math.imul(hash2, 65_599) + number + 1);
  }
  return { hash1, hash2 };
}
