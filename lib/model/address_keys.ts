/**
 * The keys of learned rows: hashes of the prefixes of addresses, and of pairs of addresses.
 *
 * @module
 */
import { mix } from "../random/mix.ts";
import { NO_ROW } from "./row_table.ts";

/** The two hashes of a key, see `RowTable`. */
export interface Hashes {
  hash1: number;
  hash2: number;
}

/** An address as far as its bytes are read. */
export interface AddressState extends Hashes {
  readonly length: 4 | 16;
  /** The row of its longest prefix that has one. */
  row: number;
  /** Whether training hides its rows in this context, from the present byte on. */
  isDropped: boolean;
  /** How many of its bytes are read. */
  numBytes: number;
  isWhole: boolean;
}

/** Two whole addresses. */
export interface PairState extends Hashes {
  readonly source: AddressState;
  readonly destination: AddressState;
  /** The pair's row, or `NO_ROW`. */
  readonly row: number;
  /** Whether training hides all that is known of the pair in this context. */
  readonly isUnknown: boolean;
}

/** An address before its first byte. @param seed Seed of the hashes. */
export function beginAddress(seed: number, length: 4 | 16): AddressState {
  const hash1 = mix(seed + length);
  const hash2 = mix(hash1 ^ SECOND_HASH);
  return { hash1, hash2, length, row: NO_ROW, isDropped: false, numBytes: 0, isWhole: false };
}

/** Makes the second hash of a key differ from the first. */
const SECOND_HASH = 0x9e3779b9;

/** Reads the next byte of an address. */
export function advance(state: AddressState, byte: number): void {
  state.hash1 = mix(state.hash1 * 257 + byte + 1);
  state.hash2 = mix(Math.imul(state.hash2, 65_599) + byte + 1);
  state.isWhole = ++state.numBytes === state.length;
}

/** The hashes of a pair. They are the same in both directions, since sums and products are. */
export function pairHashes(a: Hashes, b: Hashes): Hashes {
  const both = (x: number, y: number) => mix((x + y) ^ Math.imul(x, y));
  return { hash1: both(a.hash1, b.hash1), hash2: both(a.hash2, b.hash2) };
}

/** Whether a key is in a random share of all keys; each context has another share. */
export function isChosen(hash: number, context: number, share: number): boolean {
  return share > 0 && mix(hash ^ context) < share * 2 ** 32;
}
