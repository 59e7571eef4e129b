import { fillPhiloxBlock, RandomStream } from "../../base/random.ts";

/** Luby and Rackoff need 4 rounds, but small domains need more to look random (see permutation_test.ts). */
const NUM_ROUNDS = 8;

/**
 * A pseudo-random permutation of 0..n-1 without a table: values are computed from their ranks, so that an
 * order takes no memory and can be resumed anywhere.
 *
 * It is a balanced Feistel network over the smallest even number of bits that can represent n, with Philox as
 * the round function. Values of n or more are permuted again until they fall below n ("cycle walking"). Luby
 * and Rackoff, SIAM J. Comput. 17(2), 1988; Black and Rogaway, "Ciphers with Arbitrary Finite Domains",
 * CT-RSA 2002, method 2.
 */
export class Permutation {
  readonly #halfBits: number;
  readonly #key: [number, number];
  /** The last output of the round function. */
  readonly #words = new Uint32Array(4);

  /**
   * @param length Number of values, 0..2^32.
   * @param stream The permutation's name, such as `loader/rows`.
   * @param index Distinguishes permutations with the same name, such as the epoch.
   */
  constructor(readonly length: number, seed: number, stream: string, index = 0) {
    this.#halfBits = Math.max(1, Math.ceil(Math.log2(Math.max(1, length)) / 2));
    const random = new RandomStream(seed, stream, index);
    this.#key = [random.uint32(), random.uint32()];
  }

  /** @param rank 0..length - 1. */
  at(rank: number): number {
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
