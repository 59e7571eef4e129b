/**
 * Keys and hashes of addresses and probes: text becomes four u32 words once per distinct value, and each key has
 * a hash that decides its split, shard, partition and place in the output.
 *
 * The hash is one block of Philox4x32-10 (Salmon et al., SC 2011), a bijection of the 128-bit key, keyed by the
 * seed and the kind of key: it depends on nothing but the value, never on order, worker or memory limit. Its
 * first 64 bits place a key (shard, order), its last 64 decide the split, so the two are independent.
 *
 * @module
 */
import { ensure } from "../errors.ts";
import { philox4x32 } from "../random/philox.ts";
import { formatAddress, parseAddress } from "../addresses/ip.ts";

/** What a key is made of; part of the hash, so that equal words of different kinds do not go together. */
export const KeyKind = { PROBE: 0, PAIR: 1, ROW: 2, IPV4: 4, IPV6: 6 } as const;

const TWO_32 = 2 ** 32;
const FIRST_CAPACITY = 1024;

/**
 * The hash of a 128-bit key.
 *
 * @param words Four u32.
 * @param kind One of {@link KeyKind}.
 * @param seed The run's seed, u32.
 * @returns Four u32: two that place the key, two that choose its split.
 */
export function hashKey(
  words: readonly [number, number, number, number],
  kind: number,
  seed: number,
): Uint32Array {
  return philox4x32(words, [seed, kind]);
}

/**
 * Writes the words of an address: an IPv4 address is the last word, an IPv6 address all four, big-endian.
 *
 * @param bytes 4 or 16 bytes.
 * @param out Where the four words go, from `at` on.
 */
export function addressToWords(bytes: Uint8Array, out: Uint32Array, at: number): void {
  out.fill(0, at, at + 4);
  const first = bytes.length === 4 ? at + 3 : at;
  for (let i = 0; i < bytes.length; i++) {
    out[first + (i >> 2)] |= bytes[i] << (24 - 8 * (i & 3));
  }
}

/** The text (RFC 5952) of the address whose words stand at `at`. @param version 4 or 6. */
export function wordsToAddress(words: Uint32Array, at: number, version: number): string {
  const bytes = new Uint8Array(version === 4 ? 4 : 16);
  const first = version === 4 ? at + 3 : at;
  for (let i = 0; i < bytes.length; i++) bytes[i] = words[first + (i >> 2)] >>> (24 - 8 * (i & 3));
  return formatAddress(bytes);
}

/**
 * Writes the words of a 53-bit integer, such as a probe id or microseconds since 1970.
 *
 * @param out Where the two words go, the upper first.
 */
export function integerToWords(value: number, out: Uint32Array, at: number): void {
  out[at] = Math.floor(value / TWO_32);
  out[at + 1] = value;
}

/** Words and hashes of the distinct keys seen, by dense id. */
export interface KeyedValues {
  /** Four u32 per id. */
  readonly words: Uint32Array;
  /** Four u32 per id; see {@link hashKey}. */
  readonly hashes: Uint32Array;
  /** {@link KeyKind} per id. */
  readonly kinds: Uint8Array;
  /** Another number once ids mean something else. */
  readonly generation: number;
}

/** Gives each distinct text or number a dense id with its words and hash. Memory is bounded by {@link trim}. */
abstract class Interner<T> implements KeyedValues {
  words: Uint32Array = new Uint32Array(4 * FIRST_CAPACITY);
  hashes: Uint32Array = new Uint32Array(4 * FIRST_CAPACITY);
  kinds: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  generation = 0;
  readonly #ids = new Map<T, number>();
  readonly #seed: number;

  /** @param seed The run's seed, u32. */
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Writes the words of the value at `at` and returns its kind. */
  protected abstract convert(value: T, at: number): number;

  /** The id of the value; valid until the next {@link trim}. */
  idOf(value: T): number {
    const known = this.#ids.get(value);
    if (known !== undefined) return known;
    const id = this.#ids.size;
    if (id === this.kinds.length) this.#grow();
    const at = 4 * id;
    const kind = this.convert(value, at);
    const [w0, w1, w2, w3] = this.words.subarray(at, at + 4);
    this.hashes.set(hashKey([w0, w1, w2, w3], kind, this.#seed), at);
    this.kinds[id] = kind;
    this.#ids.set(value, id);
    return id;
  }

  /**
   * Forgets everything when more than `maxEntries` are known; says whether it did. Who holds `words` and `kinds`
   * of before keeps what the ids meant.
   */
  trim(maxEntries: number): boolean {
    if (this.#ids.size <= maxEntries) return false;
    this.#ids.clear();
    this.words = new Uint32Array(this.words.length);
    this.kinds = new Uint8Array(this.kinds.length);
    this.generation++;
    return true;
  }

  #grow(): void {
    const capacity = 2 * this.kinds.length;
    this.words = grown(this.words, 4 * capacity);
    this.hashes = grown(this.hashes, 4 * capacity);
    const kinds = new Uint8Array(capacity);
    kinds.set(this.kinds);
    this.kinds = kinds;
  }
}

/** Ids of address texts. Different spellings of one address have different ids and the same words. */
export class AddressInterner extends Interner<string> {
  protected override convert(text: string, at: number): number {
    const bytes = parseAddress(text);
    ensure(bytes, `the reader let the address ${JSON.stringify(text)} pass`);
    addressToWords(bytes, this.words, at);
    return bytes.length === 4 ? KeyKind.IPV4 : KeyKind.IPV6;
  }
}

/** Ids of probe ids. */
export class ProbeInterner extends Interner<number> {
  protected override convert(prbId: number, at: number): number {
    integerToWords(prbId, this.words, at + 2);
    return KeyKind.PROBE;
  }
}

/** The same values in a larger array. */
export function grown(values: Uint32Array, length: number): Uint32Array {
  const copy = new Uint32Array(length);
  copy.set(values);
  return copy;
}
