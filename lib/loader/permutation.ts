/**
 * A pseudo-random order of 0..n-1 without a table: the row at a rank of an epoch's order is computed from
 * the rank, so the order takes no memory and can be resumed anywhere.
 *
 * A balanced Feistel network over the smallest even number of bits that holds n, with Philox as round function;
 * values of n or more are permuted again until they fall below n ("cycle walking").
 * Luby and Rackoff, SIAM J. Comput. 17(2), 1988; Black and Rogaway, "Ciphers with Arbitrary Finite Domains",
 * CT-RSA 2002, method 2.
 *
 * @module
 */
import { fillPhiloxBlock, RandomStream } from "../random/philox.ts";

/** Luby and Rackoff need 4 rounds; small domains need more to look uniform (tests/loader/permutation_test.ts). */
const NUM_ROUNDS = 8;

/** A permutation of 0..n-1 that is chosen by a seed, a stream name and an index. */
export class Permutation {
  readonly #halfBits: number;
  readonly #key: [number, number];
  /** The last output of the round function. */
  readonly #words = new Uint32Array(4);

  /**
   * @param length Number of values, 0..2^32.
   * @param seed The run's seed.
   * @param stream The name of the permutation, such as `loader/rows`.
   * @param index Distinguishes permutations of one name, such as the epoch.
   */
  constructor(readonly length: number, seed: number, stream: string, index = 0) {
    this.#halfBits = Math.max(1, Math.ceil(Math.log2(Math.max(1, length)) / 2));
    const random = new RandomStream(seed, stream, index);
    this.#key = [random.uint32(), random.uint32()];
  }

  /**
   * The value at a rank.
   *
   * @param rank 0..length - 1.
   * @throws {RangeError} If the rank is out of range.
   */
  at(rank: number): number {
    if (!(rank >= 0 && rank < this.length) || !Number.isInteger(rank)) {
      throw new RangeError(`Cannot permute ${rank}: expected an integer in 0..${this.length - 1}`);
    }
    let value = this.#encrypt(rank);
    while (value >= this.length) value = this.#encrypt(value);
    return value;
  }

  #encrypt(value: number): number {
    const mask = 2 ** this.#halfBits - 1;
    let left = value >>> this.#halfBits;
    let right = value & mask;
    for (let round = 0; round < NUM_ROUNDS; round++) {
      fillPhiloxBlock(this.#words, right, round, 0, 0, this.#key[0], this.#key[1]);
      const mixed = left ^ (this.#words[0] & mask);
      left = right;
      right = mixed;
    }
    return ((left << this.#halfBits) | right) >>> 0;
  }
}
