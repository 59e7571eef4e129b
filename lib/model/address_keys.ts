/**
 * The keys of learned rows: hashes of the prefixes of addresses, and of pairs.
 *
 * @module
 */
import { mix } from "../random/mix.ts";
import { NO_ROW } from "./row_table.ts";

/** What a key is found by. */
export interface Hashes {
  hash1: number;
  hash2: number;
}

/** An address as far as it is written. */
export interface AddressState extends Hashes {
  readonly length: 4 | 16;
  /** Of its longest prefix that has one. */
  row: number;
  isDropped: boolean;
  /** How many of its bytes are written. */
  numBytes: number;
  isWhole: boolean;
}

/** Two whole addresses. */
export interface PairState extends Hashes {
  readonly source: AddressState;
  readonly destination: AddressState;
  /** Its own, or `NO_ROW`. */
  readonly row: number;
  /** Whether nothing of it is to be known in this context. */
  readonly isUnknown: boolean;
}

/** An address of which nothing is written. @param seed Of the hashes. */
export function beginAddress(seed: number, length: 4 | 16): AddressState {
  const hash1 = mix(seed + length);
  const hash2 = mix(hash1 ^ SECOND_HASH);
  return { hash1, hash2, length, row: NO_ROW, isDropped: false, numBytes: 0, isWhole: false };
}

/** Where the second hash of a key parts from the first. */
const SECOND_HASH = 0x9e3779b9;

/** Takes the next byte of an address into its hashes. */
export function advance(state: AddressState, byte: number): void {
  state.hash1 = mix(state.hash1 * 257 + byte + 1);
  state.hash2 = mix(Math.imul(state.hash2, 65_599) + byte + 1);
  state.isWhole = ++state.numBytes === state.length;
}

/** The hashes of a pair, the same both ways: sums and products do not tell these apart. */
export function pairHashes(a: Hashes, b: Hashes): Hashes {
  const both = (x: number, y: number) => mix((x + y) ^ Math.imul(x, y));
  return { hash1: both(a.hash1, b.hash1), hash2: both(a.hash2, b.hash2) };
}

/** Whether a key is among a share of the keys that is another one in each context. */
export function isChosen(hash: number, context: number, share: number): boolean {
  return share > 0 && mix(hash ^ context) < share * 2 ** 32;
}
