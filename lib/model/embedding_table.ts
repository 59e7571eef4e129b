/**
 * A hash table with open addressing from keys to address embeddings, and the keys: hashes of prefixes, of
 * pairs of addresses, and of places. The keys of the training data claim rows, so other keys have none, and
 * no two keys share a row.
 *
 * @module
 */
import { ensure } from "../base/errors.ts";
import { mix } from "../base/random.ts";
import {
  cellOf,
  distanceKm,
  lengthOf,
  type LocatedPlace,
  NUMBER_BYTES,
} from "../data/addresses/place_table.ts";

/** The row of a key that has none. */
export const NO_ROW = 0xffffffff;

/** Rows to try for a key: at a load of four fifths, one key in a thousand finds no free row. */
const MAX_PROBES = 64;

export class EmbeddingTable {
  /** The second hash of each row's key; 0 for a free row. */
  readonly #owners: Uint32Array;

  /** @param firstRow The table's first row in the tensor. */
  constructor(readonly firstRow: number, readonly numRows: number) {
    this.#owners = new Uint32Array(numRows);
  }

  /**
   * Looks up the row of a key.
   *
   * @param hash1 Determines where the search begins.
   * @param hash2 Identifies the key. A key shares its row with one of n others with a probability of at most
   *   MAX_PROBES n / 2^32.
   * @param claims Whether a key without a row gets a free row if the search finds one.
   * @returns The tensor's row, or {@link NO_ROW}.
   */
  row(hash1: number, hash2: number, claims = false): number {
    const owner = hash2 >>> 0 || 1;
    const { numRows } = this;
    const owners = this.#owners;
    let row = (hash1 >>> 0) % numRows;
    for (let probe = 0; probe < Math.min(MAX_PROBES, numRows); probe++) {
      if (owners[row] === owner) return this.firstRow + row;
      if (owners[row] === 0) {
        if (!claims) return NO_ROW;
        owners[row] = owner;
        return this.firstRow + row;
      }
      row = row + 1 === numRows ? 0 : row + 1;
    }
    return NO_ROW;
  }

  get numOwned(): number {
    return this.#owners.reduce((count, owner) => owner === 0 ? count : count + 1, 0);
  }

  /** Writes the owners into the keys of all tables, from `firstRow` on. */
  save(keys: Uint32Array): void {
    keys.set(this.#owners, this.firstRow);
  }

  load(keys: Uint32Array): void {
    const end = this.firstRow + this.numRows;
    ensure(keys.length >= end, `${keys.length} keys`);
    this.#owners.set(keys.subarray(this.firstRow, end));
  }
}

/** The two hashes of a key; see `EmbeddingTable`. */
export interface Hashes {
  hash1: number;
  hash2: number;
}

/** Combines both hashes into a number that float64 represents exactly. */
export function keyOfHashes({ hash1, hash2 }: Hashes): number {
  return hash1 * 2 ** 21 + (hash2 >>> 11);
}

/** A partly read address. */
export interface AddressState extends Hashes {
  readonly length: 4 | 16;
  /** The row of its longest prefix that has one. */
  row: number;
  /** Whether training hides its rows in this context, from the current byte on. */
  isDropped: boolean;
  /** Whether hiding starts with the first byte. */
  isAllDropped: boolean;
  numBytes: number;
  /** See `addressNumber`; for the bytes read so far. */
  number: number;
  isWhole: boolean;
}

export interface PairState extends Hashes {
  /** The rows of the places of both endpoints and of the pair of places; `NO_ROW` for none. */
  readonly placeRows: readonly number[];
  readonly source: AddressState;
  readonly destination: AddressState;
  readonly row: number;
  /** Whether training hides all data of the pair in this context. */
  readonly isUnknown: boolean;
}

/** An address before its first byte. @param seed Seed of the hashes. */
export function beginAddress(seed: number, length: 4 | 16): AddressState {
  const hash1 = mix(seed + length);
  const hash2 = mix(hash1 ^ SECOND_HASH);
  return {
    hash1,
    hash2,
    length,
    row: NO_ROW,
    isDropped: false,
    isAllDropped: false,
    numBytes: 0,
    number: 0,
    isWhole: false,
  };
}

/** Makes the second hash of a key differ from the first. */
const SECOND_HASH = 0x9e3779b9;

/** Reads the next byte of an address. */
export function advance(state: AddressState, byte: number): void {
  state.hash1 = mix(state.hash1 * 257 + byte + 1);
  state.hash2 = mix(Math.imul(state.hash2, 65_599) + byte + 1);
  if (state.numBytes < NUMBER_BYTES[state.length]) state.number = state.number * 256 + byte;
  state.isWhole = ++state.numBytes === state.length;
}

/** The hashes of a whole address with seed 0. */
export function hashesOf(address: Uint8Array): Hashes {
  const state = beginAddress(0, lengthOf(address));
  for (const byte of address) advance(state, byte);
  return state;
}

/**
 * The hashes of a pair. They are equal in both directions, because they use sums and products.
 *
 * @param seed Other seeds give other hashes.
 */
export function pairHashes(a: Hashes, b: Hashes, seed = 0): Hashes {
  const both = (x: number, y: number) => mix((x + y) ^ Math.imul(x, y) ^ Math.imul(seed, SECOND_HASH));
  return { hash1: both(a.hash1, b.hash1), hash2: both(a.hash2, b.hash2) };
}

/** Whether a key is in a random share of all keys, which differs between contexts. */
export function isChosen(hash: number, context: number, share: number): boolean {
  return share > 0 && mix(hash ^ context) < share * 2 ** 32;
}

// The keys of places. The path of an address from general to specific is its cell of 20 degrees, its cell of
// 5 degrees, its country, region and AS; its prefixes follow. A pair has its two countries, cells and ASes in
// either order, and its great-circle distance. See lib/model/EXACT.md.

/** The key `model.places` of the configuration. */
export interface PlacesConfig {
  /**
   * Size of the places table in a checkpoint (`PlaceTable.encode`) in units of 3 bytes; 0 for no table. Set
   * by `--geo`.
   */
  tableSize: number;
  /** Names of the files that the table is made from. Set by `--geo`. */
  sources: string[];
  /** Share of paths, 0 to 0.95, that training hides from a random step on; each context hides others. */
  dropShare: number;
}

/** Number of steps of a path before the prefixes. */
export const NUM_PATH_STEPS = 5;
const NUM_PAIR_KEYS = 5;
/** Maximum number of place rows of a token that predicts a byte of an RTT. */
export const NUM_PLACE_ROWS = 2 * NUM_PATH_STEPS + NUM_PAIR_KEYS;

/** Kinds of keys. Keys of addresses begin with their length, 4 or 16. */
const KIND = { wide: 256, narrow: 257, country: 258, region: 259, as: 260, distance: 261, misplaced: 262 };
/** Seeds of the keys of pairs, by the step of the path. */
const PAIR_SEEDS: readonly (readonly [step: number, seed: number])[] = [[2, 1], [0, 2], [4, 3]];
const [WIDE_DEGREES, NARROW_DEGREES] = [20, 5];

/** An address's place as keys. */
export interface PlacePath {
  readonly position: LocatedPlace["position"];
  /** One key for each of the {@link NUM_PATH_STEPS}; undefined if unknown. */
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
 * The keys of a pair: its countries, cells of 20 degrees and ASes, and two for its distance, whose classes
 * overlap by half.
 *
 * @returns {@link NUM_PAIR_KEYS} keys; undefined if an endpoint lacks what a key is made of.
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

/** Makes the key that marks an address whose place in the databases is impossible. */
export function misplacedKey(seed: number, address: Hashes): Hashes {
  return keyOf(seed, KIND.misplaced, address.hash1, address.hash2);
}

/** Distances from here on are divided into quarters of an octave. */
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
