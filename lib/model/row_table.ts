/**
 * Which row of a learned table belongs to which key: a hash table with open addressing, in which the keys of the training
 * data claim rows, so that a key that training never met has no row, and no two share one.
 *
 * @module
 */
import { ensure } from "../errors.ts";

/** The row of a key that has none. */
export const NO_ROW = 0xffffffff;

/** Rows that a key may lie in: with four fifths of the rows in use, one key of a thousand finds none of them free. */
const MAX_PROBES = 64;

/** The rows of one kind of key, whose hashes tell them apart. */
export class RowTable {
  /** Of each row its key's second hash; 0 where it is free. */
  readonly #owners: Uint32Array;

  /** @param firstRow The table's first row in the tensor. @param numRows How many it has. */
  constructor(readonly firstRow: number, readonly numRows: number) {
    this.#owners = new Uint32Array(numRows);
  }

  /**
   * The row of a key.
   *
   * @param hash1 Where its row is looked for. @param hash2 What tells it from other keys: two of n keys share a row with
   *   a probability of about MAX_PROBES n / 2^32 each.
   * @param claims Whether a key without a row gets a free one, if there is any near where it is looked for.
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

  /** How many rows have a key. */
  get numOwned(): number {
    return this.#owners.reduce((count, owner) => owner === 0 ? count : count + 1, 0);
  }

  /** Writes the owners, see {@link halvesOf}, from `firstRow` on. */
  save(keys: Float32Array): void {
    halvesOf(this.#owners, keys.subarray(2 * this.firstRow));
  }

  /** Takes the owners that {@link save} wrote. */
  load(keys: Float32Array): void {
    ensure(keys.length >= 2 * (this.firstRow + this.numRows), `${keys.length} numbers of keys`);
    ofHalves(keys.subarray(2 * this.firstRow), this.#owners);
  }
}

/** Writes numbers below 2^32 as two below 2^16 each, which float32 holds exactly, the more significant first. */
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

/** Reads as many numbers of {@link halvesOf} as are wanted: by default all. */
export function ofHalves(
  halves: Float32Array,
  numbers: Uint32Array = new Uint32Array(halves.length / 2),
): Uint32Array {
  for (let i = 0; i < numbers.length; i++) numbers[i] = halves[2 * i] * 2 ** 16 + halves[2 * i + 1];
  return numbers;
}
