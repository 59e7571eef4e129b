/**
 * Keys of addresses and probes. Each distinct text is converted to four u32 words once, a table numbers the
 * distinct keys, and each key has a hash that determines its split, shard, partition and position in the
 * output.
 *
 * The hash is one block of Philox4x32-10 (Salmon et al., SC 2011), a bijection of the 128-bit key, keyed by
 * the seed and the kind of key. It depends only on the value, not on order, worker or memory limit. Its first
 * 64 bits determine a key's position (shard, order), its last 64 bits the split, so the two are independent.
 *
 * @module
 */
import { philox4x32 } from "../../../base/random.ts";
import { addressBytes, formatAddress } from "../../addresses/ip.ts";

const FIRST_CAPACITY = 64;
/** Odd constants of xxHash32's rounds (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md). */
const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;

/**
 * Numbers distinct keys 0, 1, 2, … in order of first appearance. This is a hash table from 128-bit keys in
 * typed arrays to dense ids, without an object per key. It uses open addressing with linear probing (Knuth,
 * TAOCP 3, 6.4) and is at most half full.
 */
export class KeyTable {
  size = 0;
  /** Four u32 per id. */
  words: Uint32Array = new Uint32Array(4 * FIRST_CAPACITY);
  kinds: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  /** Changes with each {@link clear}. */
  generation = 0;
  /** Id + 1, or 0 for an empty slot. */
  #slots: Uint32Array = new Uint32Array(2 * FIRST_CAPACITY);

  /** The id of a key that is in another table. */
  idIn({ words, kinds }: KeyTable, id: number): number {
    return this.idOf(words, 4 * id, kinds[id]);
  }

  /** The id of the key whose words begin at `at`. */
  idOf(words: Uint32Array, at: number, kind: number): number {
    const w0 = words[at];
    const w1 = words[at + 1];
    const w2 = words[at + 2];
    const w3 = words[at + 3];
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = mix(w0, w1, w2, w3, kind) & mask;
    for (;; slot = (slot + 1) & mask) {
      const id = slots[slot] - 1;
      if (id < 0) break;
      const mine = 4 * id;
      const known = this.words;
      if (
        known[mine + 3] === w3 && known[mine + 2] === w2 && known[mine + 1] === w1 && known[mine] === w0 &&
        this.kinds[id] === kind
      ) return id;
    }
    return this.#add(w0, w1, w2, w3, kind, slot);
  }

  /** Removes all keys but keeps the memory. */
  clear(): void {
    this.size = 0;
    this.generation++;
    this.#slots.fill(0);
  }

  #add(w0: number, w1: number, w2: number, w3: number, kind: number, slot: number): number {
    if (this.size === this.kinds.length) {
      this.#grow();
      slot = this.#freeSlot(mix(w0, w1, w2, w3, kind));
    }
    const id = this.size++;
    this.words[4 * id] = w0;
    this.words[4 * id + 1] = w1;
    this.words[4 * id + 2] = w2;
    this.words[4 * id + 3] = w3;
    this.kinds[id] = kind;
    this.#slots[slot] = id + 1;
    return id;
  }

  #freeSlot(hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const capacity = 2 * this.kinds.length;
    this.words = grown(this.words, 4 * capacity);
    this.kinds = grown(this.kinds, capacity);
    this.#slots = new Uint32Array(2 * capacity);
    for (let id = 0; id < this.size; id++) {
      const [w0, w1, w2, w3] = this.words.subarray(4 * id, 4 * id + 4);
      this.#slots[this.#freeSlot(mix(w0, w1, w2, w3, this.kinds[id]))] = id + 1;
    }
  }
}

function grown<A extends Int32Array | Uint32Array | Uint8Array>(values: A, length: number): A {
  const copy = new (values.constructor as new (length: number) => A)(length);
  copy.set(values);
  return copy;
}

/** Numbers ids 0, 1, 2, … in order of first appearance; cleared in constant time. */
export class IdNumbering {
  /** The distinct ids, by number. */
  ids: number[] = [];
  /** Number by id, valid if `#stamps` shows that it was set since the last {@link clear}. */
  #numbers = new Int32Array(1024);
  #stamps = new Uint32Array(1024);
  #stamp = 1;

  has(id: number): boolean {
    return this.#stamps[id] === this.#stamp;
  }

  numberOf(id: number): number {
    if (this.has(id)) return this.#numbers[id];
    if (id >= this.#stamps.length) {
      this.#numbers = grown(this.#numbers, 2 * id);
      this.#stamps = grown(this.#stamps, 2 * id);
    }
    this.#stamps[id] = this.#stamp;
    return this.#numbers[id] = this.ids.push(id) - 1;
  }

  clear(): void {
    this.ids = [];
    this.#stamp++;
  }
}

function mix(w0: number, w1: number, w2: number, w3: number, kind: number): number {
  let hash = Math.imul(w0, PRIME_1) ^ Math.imul(w1 + kind, PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 15) ^ w2, PRIME_3);
  hash = Math.imul(hash ^ (hash >>> 13) ^ w3, PRIME_4);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, PRIME_2);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** The kind of a key. It is part of the hash, so that equal words of two kinds have different hashes. */
export const KeyKind = { PROBE: 0, PAIR: 1, ROW: 2, IPV4: 4, IPV6: 6 } as const;

const TWO_32 = 2 ** 32;

/** Hashes a 128-bit key. @returns Four u32: two for the key's position, two for its split. */
export function hashKey(
  words: readonly [number, number, number, number],
  kind: number,
  seed: number,
): Uint32Array {
  return philox4x32(words, [seed, kind]);
}

/**
 * Writes the words of an address, big-endian: the last word for IPv4, all four for IPv6.
 *
 * @param bytes 4 or 16 bytes.
 */
function addressToWords(bytes: Uint8Array, out: Uint32Array, at: number): void {
  out.fill(0, at, at + 4);
  const first = bytes.length === 4 ? at + 3 : at;
  for (let i = 0; i < bytes.length; i++) {
    out[first + (i >> 2)] |= bytes[i] << (24 - 8 * (i & 3));
  }
}

/** The text (RFC 5952) of the address whose words begin at `at`. @param version 4 or 6. */
export function wordsToAddress(words: Uint32Array, at: number, version: number): string {
  const bytes = new Uint8Array(version === 4 ? 4 : 16);
  const first = version === 4 ? at + 3 : at;
  for (let i = 0; i < bytes.length; i++) bytes[i] = words[first + (i >> 2)] >>> (24 - 8 * (i & 3));
  return formatAddress(bytes);
}

/**
 * Writes a 53-bit integer, such as a probe id or microseconds since 1970, as two words.
 *
 * @param out Receives the two words, the upper one first.
 */
export function integerToWords(value: number, out: Uint32Array, at: number): void {
  out[at] = Math.floor(value / TWO_32);
  out[at + 1] = value;
}

/** The keys of addresses and probes with their hashes, by dense id. */
export class SourceKeys extends KeyTable {
  /** Four u32 per id; see {@link hashKey}. */
  hashes: Uint32Array = new Uint32Array(0);
  readonly #key = new Uint32Array(4);
  readonly #seed: number;

  /** @param seed The run's seed, u32. */
  constructor(seed: number) {
    super();
    this.#seed = seed;
  }

  /** The id of an address in any spelling; valid until the next {@link trim}. */
  idOfAddress(text: string): number {
    const bytes = addressBytes(text);
    addressToWords(bytes, this.#key, 0);
    return this.#hashedId(bytes.length === 4 ? KeyKind.IPV4 : KeyKind.IPV6);
  }

  /** The id of a probe; valid until the next {@link trim}. */
  idOfProbe(prbId: number): number {
    this.#key.fill(0, 0, 2);
    integerToWords(prbId, this.#key, 2);
    return this.#hashedId(KeyKind.PROBE);
  }

  /**
   * Removes all keys if there are more than `maxKeys`. @returns Whether keys were removed. Earlier `words`
   * and `kinds` stay valid for the earlier ids.
   */
  trim(maxKeys: number): boolean {
    if (this.size <= maxKeys) return false;
    this.clear();
    this.words = new Uint32Array(this.words.length);
    this.kinds = new Uint8Array(this.kinds.length);
    return true;
  }

  #hashedId(kind: number): number {
    const numKnown = this.size;
    const id = this.idOf(this.#key, 0, kind);
    if (id < numKnown) return id;
    if (this.hashes.length < this.words.length) this.hashes = grown(this.hashes, this.words.length);
    const [w0, w1, w2, w3] = this.#key;
    this.hashes.set(hashKey([w0, w1, w2, w3], kind, this.#seed), 4 * id);
    return id;
  }
}
