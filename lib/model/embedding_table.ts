/**
 * A hash table with open addressing from keys to address embeddings. Keys are hashes of prefixes and of pairs of
 * addresses. The keys of the training data claim rows, so other keys have none, and no two keys share one.
 *
 * @module
 */
import { ensure } from "../base/errors.ts";
import { mix } from "../base/random.ts";
import { NUMBER_BYTES } from "../data/addresses/place_table.ts";

/** Stands for the row of a key without one. */
export const NO_ROW = 0xffffffff;

/** The number of rows a key tries: with four fifths of the rows in use, one key in a thousand finds no free one. */
const MAX_PROBES = 64;

/** The rows of one kind of key. */
export class EmbeddingTable {
  /** For each row its key's second hash; 0 for a free row. */
  readonly #owners: Uint32Array;

  /** @param firstRow The table's first row in the tensor. @param numRows Number of rows. */
  constructor(readonly firstRow: number, readonly numRows: number) {
    this.#owners = new Uint32Array(numRows);
  }

  /**
   * The row of a key.
   *
   * @param hash1 Determines where the search begins.
   * @param hash2 Identifies the key. A key shares its row with one of n others with a probability of MAX_PROBES n / 2^32 or
   *   less.
   * @param claims Whether a key without a row gets a free one, if the search finds any.
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

  /** The number of rows with a key. */
  get numOwned(): number {
    return this.#owners.reduce((count, owner) => owner === 0 ? count : count + 1, 0);
  }

  /** Writes the owners in the form of {@link halvesOf}, from `firstRow` on. */
  save(keys: Float32Array): void {
    halvesOf(this.#owners, keys.subarray(2 * this.firstRow));
  }

  /** Reads the owners of {@link save}. */
  load(keys: Float32Array): void {
    ensure(keys.length >= 2 * (this.firstRow + this.numRows), `${keys.length} numbers of keys`);
    ofHalves(keys.subarray(2 * this.firstRow), this.#owners);
  }
}

/** Splits 32-bit numbers into their upper and lower 16 bits, which float32 holds exactly. */
export function halvesOf(
  numbers: Uint32Array,
  halves: Float32Array = new Float32Array(2 * numbers.length),
): Float32Array {
  for (let i = 0; i < numbers.length; i++) {
    halves[2 * i] = numbers[i] >>> 16;
    halves[2 * i + 1] = numbers[i] & 0xffff;
  }
  return halves;
}

/** The inverse of {@link halvesOf}. @param numbers Takes the numbers; its length is their number (default: all). */
export function ofHalves(
  halves: Float32Array,
  numbers: Uint32Array = new Uint32Array(halves.length / 2),
): Uint32Array {
  for (let i = 0; i < numbers.length; i++) numbers[i] = halves[2 * i] * 2 ** 16 + halves[2 * i + 1];
  return numbers;
}

/** The two hashes of a key, see `EmbeddingTable`. */
export interface Hashes {
  hash1: number;
  hash2: number;
}

/** One number of both hashes, which float64 holds exactly. */
export function keyOfHashes({ hash1, hash2 }: Hashes): number {
  return hash1 * 2 ** 21 + (hash2 >>> 11);
}

/** An address of which some bytes have been read. */
export interface AddressState extends Hashes {
  readonly length: 4 | 16;
  /** The row of its longest prefix that has one. */
  row: number;
  /** Whether training hides its rows in this context, from the present byte on. */
  isDropped: boolean;
  /** Whether this begins with its first byte. */
  isAllDropped: boolean;
  /** The number of bytes read. */
  numBytes: number;
  /** See `addressNumber`, of the bytes read. */
  number: number;
  isWhole: boolean;
}

/** A pair of complete addresses. */
export interface PairState extends Hashes {
  /** The rows of the places of both ends and of the pair of places; `NO_ROW` for none. */
  readonly placeRows: readonly number[];
  readonly source: AddressState;
  readonly destination: AddressState;
  /** The pair's row, or `NO_ROW`. */
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
export const SECOND_HASH = 0x9e3779b9;

/** Reads the next byte of an address. */
export function advance(state: AddressState, byte: number): void {
  state.hash1 = mix(state.hash1 * 257 + byte + 1);
  state.hash2 = mix(Math.imul(state.hash2, 65_599) + byte + 1);
  if (state.numBytes < NUMBER_BYTES[state.length]) state.number = state.number * 256 + byte;
  state.isWhole = ++state.numBytes === state.length;
}

/**
 * The hashes of a pair. They are the same in both directions, since sums and products are.
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
