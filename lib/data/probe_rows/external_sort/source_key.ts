/**
 * Keys and hashes of addresses and probes: text becomes four u32 words once per distinct value, and each key has
 * a hash that decides its split, shard, partition and position in the output.
 *
 * The hash is one block of Philox4x32-10 (Salmon et al., SC 2011), a bijection of the 128-bit key, keyed by the
 * seed and the kind of key: it depends only on the value, not on order, worker or memory limit. Its
 * first 64 bits give a key's position (shard, order), its last 64 its split, so the two are independent.
 *
 * @module
 */
import { ensure } from "../../../base/errors.ts";
import { philox4x32 } from "../../../base/random.ts";
import { formatAddress, parseAddress } from "../../addresses/ip.ts";
import { grown, KeyTable } from "./key_table.ts";

/** The kind of a key; part of the hash, so that equal words of different kinds have different hashes. */
export const KeyKind = { PROBE: 0, PAIR: 1, ROW: 2, IPV4: 4, IPV6: 6 } as const;

const TWO_32 = 2 ** 32;

/**
 * The hash of a 128-bit key.
 *
 * @param words Four u32.
 * @param kind One of {@link KeyKind}.
 * @param seed The run's seed, u32.
 * @returns Four u32: two for the key's position, two for its split.
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
 * @param out Takes the four words, from `at` on.
 */
export function addressToWords(bytes: Uint8Array, out: Uint32Array, at: number): void {
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
 * Writes the words of a 53-bit integer, such as a probe id or microseconds since 1970.
 *
 * @param out Takes the two words, the upper first.
 */
export function integerToWords(value: number, out: Uint32Array, at: number): void {
  out[at] = Math.floor(value / TWO_32);
  out[at + 1] = value;
}

/** The keys of addresses and probes, each with its hash, by dense id. */
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

  /** The id of an address, whatever its spelling; valid until the next {@link trim}. */
  idOfAddress(text: string): number {
    const bytes = parseAddress(text);
    ensure(bytes, `the reader accepted the address ${JSON.stringify(text)}`);
    addressToWords(bytes, this.#key, 0);
    return this.#hashedId(bytes.length === 4 ? KeyKind.IPV4 : KeyKind.IPV6);
  }

  /** The id of a probe id; valid until the next {@link trim}. */
  idOfProbe(prbId: number): number {
    this.#key.fill(0, 0, 2);
    integerToWords(prbId, this.#key, 2);
    return this.#hashedId(KeyKind.PROBE);
  }

  /**
   * Removes all keys if there are more than `maxKeys`; returns whether it did. Earlier `words` and `kinds` stay valid
   * for the earlier ids.
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
