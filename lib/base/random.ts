/**
 * The program's random generator: Philox4x32-10, a function of a key and a counter (Salmon, Moraes, Dror,
 * Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011, section 3.3; constants and known answers from
 * the authors' Random123).
 *
 * A number depends only on (seed, stream name, index), never on what was drawn elsewhere. So any number of
 * workers draws the same numbers, and a run resumes from its step number without saved generator state.
 *
 * @module
 */
import { ensure } from "./errors.ts";

const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
/** Weyl constants added to the key each round: the golden ratio and sqrt(3) - 1 (Salmon et al., 3.3). */
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;
const NUM_ROUNDS = 10;
const TWO_32 = 2 ** 32;

/** One block of Philox4x32-10. @param counter Four u32, the least significant first. @param key Two u32. */
export function philox4x32(
  counter: readonly [number, number, number, number],
  key: readonly [number, number],
): Uint32Array {
  const out = new Uint32Array(4);
  fillPhiloxBlock(out, counter[0], counter[1], counter[2], counter[3], key[0], key[1]);
  return out;
}

/** A stream of random numbers identified by a seed, a name and up to three indexes, as described above. */
export class RandomStream {
  readonly #key0: number;
  readonly #key1: number;
  #index0: number;
  #index1: number;
  #index2: number;
  readonly #words = new Uint32Array(4);
  #numBlocks = 0;
  #nextWord = 4;

  /**
   * Begins the stream. Streams with different seeds, names or indexes are independent.
   *
   * @param seed The run's seed, an integer in 0..2^53 - 1.
   * @param stream The purpose of the numbers, such as `loader/context`. Another name gives other numbers.
   * @param index Up to three u32 that distinguish streams of one name, such as epoch and row.
   * @throws {RangeError} If the seed or an index is out of range.
   */
  constructor(seed: number, stream: string, ...index: number[]) {
    if (!Number.isSafeInteger(seed) || seed < 0) {
      throw new RangeError(`Cannot seed a random stream: found ${seed}, expected an integer in 0..2^53-1`);
    }
    if (index.length > 3 || index.some((value) => value >>> 0 !== value)) {
      throw new RangeError(`Cannot index a random stream: found [${index}], expected up to three u32`);
    }
    const [nameLow, nameHigh] = hashName(stream);
    fillPhiloxBlock(this.#words, nameLow, nameHigh, 0, 0, seed >>> 0, Math.floor(seed / TWO_32));
    this.#key0 = this.#words[0];
    this.#key1 = this.#words[1];
    this.#index0 = index[0] ?? 0;
    this.#index1 = index[1] ?? 0;
    this.#index2 = index[2] ?? 0;
  }

  /**
   * Restarts as the stream of the same seed and name with other indexes, u32. The numbers are those of a new
   * stream at a third of the cost, which matters if each of many items needs few numbers.
   */
  restart(index0: number, index1 = 0, index2 = 0): void {
    this.#index0 = index0;
    this.#index1 = index1;
    this.#index2 = index2;
    this.#numBlocks = 0;
    this.#nextWord = 4;
  }

  /** An integer, uniform in 0..2^32 - 1. */
  uint32(): number {
    if (this.#nextWord === 4) this.#refill();
    return this.#words[this.#nextWord++];
  }

  /** A multiple of 2^-53, uniform in [0, 1). */
  float64(): number {
    const high = this.uint32() >>> 5;
    const low = this.uint32() >>> 6;
    return (high * 2 ** 26 + low) * 2 ** -53;
  }

  /**
   * An integer, uniform in 0..n - 1, without bias: Lemire, "Fast Random Integer Generation in an Interval",
   * ACM TOMACS 29 (2019), algorithm 5.
   *
   * @param n Number of values, 1..2^32.
   * @throws {RangeError} If n is out of range.
   */
  below(n: number): number {
    if (n === TWO_32) return this.uint32();
    if (n === 0 || n >>> 0 !== n) {
      throw new RangeError(`Cannot draw an integer below ${n}: expected 1..2^32`);
    }
    let word = this.uint32();
    if (Math.imul(word, n) >>> 0 < n) {
      const threshold = (TWO_32 - n) % n;
      while (Math.imul(word, n) >>> 0 < threshold) word = this.uint32();
    }
    return multiplyHigh(word, n) >>> 0;
  }

  /** A standard normal number (Box and Muller, Ann. Math. Statist. 29, 1958). */
  normal(): number {
    const radius = Math.sqrt(2 * this.exponential());
    return radius * Math.cos(2 * Math.PI * this.float64());
  }

  /** An exponentially distributed number with mean 1. */
  exponential(): number {
    return -Math.log(1 - this.float64());
  }

  /** Shuffles the elements uniformly, in place (Fisher and Yates). */
  shuffle<T>(elements: { readonly length: number; [index: number]: T }): void {
    for (let last = elements.length - 1; last > 0; last--) {
      const chosen = this.below(last + 1);
      const kept = elements[last];
      elements[last] = elements[chosen];
      elements[chosen] = kept;
    }
  }

  #refill(): void {
    ensure(this.#numBlocks < TWO_32, "a random stream is exhausted after 2^34 numbers");
    fillPhiloxBlock(
      this.#words,
      this.#numBlocks++,
      this.#index0,
      this.#index1,
      this.#index2,
      this.#key0,
      this.#key1,
    );
    this.#nextWord = 0;
  }
}

/** Like {@link philox4x32}, but writes to an existing array, for callers that need a block per row. */
export function fillPhiloxBlock(
  out: Uint32Array,
  counter0: number,
  counter1: number,
  counter2: number,
  counter3: number,
  key0: number,
  key1: number,
): void {
  let c0 = counter0 | 0;
  let c1 = counter1 | 0;
  let c2 = counter2 | 0;
  let c3 = counter3 | 0;
  let k0 = key0 | 0;
  let k1 = key1 | 0;
  for (let round = 0; round < NUM_ROUNDS; round++) {
    const high0 = multiplyHigh(c0, MULTIPLIER_0);
    const low0 = Math.imul(c0, MULTIPLIER_0);
    const high1 = multiplyHigh(c2, MULTIPLIER_1);
    const low1 = Math.imul(c2, MULTIPLIER_1);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + WEYL_0) | 0;
    k1 = (k1 + WEYL_1) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** The upper 32 bits of the product of two u32, as i32. With 16-bit parts every step stays within 32 bits. */
function multiplyHigh(a: number, b: number): number {
  const [aLow, aHigh, bLow, bHigh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle1 = (Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16)) | 0;
  const middle2 = (Math.imul(aLow, bHigh) + (middle1 & 0xffff)) | 0;
  return (Math.imul(aHigh, bHigh) + (middle1 >>> 16) + (middle2 >>> 16)) | 0;
}

/** A cache, which stays small because the code has few stream names. */
const nameHashes = new Map<string, readonly [number, number]>();

/** FNV-1a, 64 bits (draft-eastlake-fnv, section 2), as two u32, the lower half first. */
function hashName(name: string): readonly [number, number] {
  const known = nameHashes.get(name);
  if (known) return known;
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(name)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  const parts = [Number(hash & 0xffffffffn), Number(hash >> 32n)] as const;
  nameHashes.set(name, parts);
  return parts;
}

/**
 * Draws distinct integers below n, at most 2^31; every choice and order is equally likely. Fisher and Yates on
 * an array 0..n-1 of which only the moved elements are stored, so n can be large.
 */
export function drawDistinct(n: number, count: number, random: RandomStream): Int32Array {
  const drawn = new Int32Array(count);
  const moved = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    const chosen = i + random.below(n - i);
    drawn[i] = moved.get(chosen) ?? chosen;
    moved.set(chosen, moved.get(i) ?? i);
  }
  return drawn;
}

/** A bijection of 32-bit integers: every output bit depends on every input bit (MurmurHash3's finaliser). */
export function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
