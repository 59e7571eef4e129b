/**
 * A hash table from 128-bit keys in typed arrays to dense ids: no object per key, no text.
 *
 * Open addressing with linear probing (Knuth, TAOCP 3, 6.4), at most half full.
 *
 * @module
 */
const FIRST_CAPACITY = 64;
/** Odd constants of xxHash32's rounds (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md). */
const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;

/** Numbers distinct keys 0, 1, 2, … in the order in which they are first seen. */
export class KeyTable {
  /** Number of distinct keys. */
  size = 0;
  /** Four u32 per id. */
  words: Uint32Array = new Uint32Array(4 * FIRST_CAPACITY);
  /** The kind of key per id. */
  kinds: Uint8Array = new Uint8Array(FIRST_CAPACITY);
  /** Changes with each {@link clear}. */
  generation = 0;
  /** Id + 1, or 0 for a free slot. */
  #slots: Uint32Array = new Uint32Array(2 * FIRST_CAPACITY);

  /**
   * The id of a key.
   *
   * @param words Holds the four words, from `at` on.
   * @param kind The kind of key, u8.
   */
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

  /** Removes all keys; the memory is kept. */
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

/** The same values in a larger array. */
export function grown<A extends Int32Array | Uint32Array | Uint8Array>(values: A, length: number): A {
  const copy = new (values.constructor as new (length: number) => A)(length);
  copy.set(values);
  return copy;
}

/** A map from a table's ids to numbers that is cleared in constant time. */
export class IdNumbers {
  /** By id: its number, valid if `#stamps` shows that it was set since the last {@link clear}. */
  #numbers = new Int32Array(1024);
  #stamps = new Uint32Array(1024);
  #stamp = 1;

  /** The number of an id, or -1. */
  get(id: number): number {
    return this.#stamps[id] === this.#stamp ? this.#numbers[id] : -1;
  }

  /** Sets the number of an id, 0 or more. */
  set(id: number, number: number): number {
    if (id >= this.#stamps.length) {
      this.#numbers = grown(this.#numbers, 2 * id);
      this.#stamps = grown(this.#stamps, 2 * id);
    }
    this.#stamps[id] = this.#stamp;
    return this.#numbers[id] = number;
  }

  /** Removes all numbers. */
  clear(): void {
    this.#stamp++;
  }
}

/** Translates ids of one table to those of another, with one look-up per key. */
export class KeyTranslation {
  #from: KeyTable | undefined;
  #fromGeneration = -1;
  #toGeneration = -1;
  readonly #to: KeyTable;
  /** By id in `#from`: the id in `#to`. */
  readonly #ids = new IdNumbers();

  /** @param to The table of the resulting ids. */
  constructor(to: KeyTable) {
    this.#to = to;
  }

  /** The id of the key that has this id in `from`. The cache is for one table, until that is cleared. */
  idOf(from: KeyTable, id: number): number {
    if (
      from !== this.#from || from.generation !== this.#fromGeneration ||
      this.#to.generation !== this.#toGeneration
    ) {
      this.#from = from;
      this.#fromGeneration = from.generation;
      this.#toGeneration = this.#to.generation;
      this.#ids.clear();
    }
    const known = this.#ids.get(id);
    return known >= 0 ? known : this.#ids.set(id, this.#to.idOf(from.words, 4 * id, from.kinds[id]));
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
