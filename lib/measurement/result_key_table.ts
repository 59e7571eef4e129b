/**
 * A hash table of the keys by which results are told apart: measurement, probe and time, exactly.
 *
 * A slot is six 32-bit words: the low words of both ids, the second, the high bits of the ids and the microseconds, and
 * the row of the result. Slots are probed one after another from the place that the hash tells (Knuth, The Art of
 * Computer Programming 3, 6.4); keys are compared, not hashes.
 *
 * @module
 */

/** Words of a slot. */
export const SLOT_WORDS = 6;
/** The word that holds the row. */
export const ROW_WORD = 5;

const TIME_WORD = 2; // seconds since 1970; 0 marks an empty slot, no time is before 1990
const ID_BITS = 21; // of the high word of an id below 2^53
const LOW_MICROSECONDS = 11; // bits of the microseconds beside the first id's high bits; the second's have the other 9
const FIRST_CAPACITY = 64;
const GROWTH = 1.5;
const MAX_LOAD = 0.8;

/** Memory of one key at most: right after the table has grown, in bytes. */
export const BYTES_PER_KEY: number = 4 * SLOT_WORDS * GROWTH / MAX_LOAD;

/**
 * Writes a slot's words.
 *
 * @param slot Where to, {@link SLOT_WORDS} words.
 * @param key Ids: integers from 0 to 2^53 - 1; time: whole microseconds since 1970, in 1970..2105 but not second 0.
 * @param row The result's row, below 2^32.
 */
export function writeSlot(
  slot: Uint32Array,
  key: { msmId: number; prbId: number; eventTimeUs: number },
  row: number,
): void {
  const { msmId, prbId, eventTimeUs } = key;
  const timeS = Math.floor(eventTimeUs / 1e6);
  const microseconds = eventTimeUs - timeS * 1e6;
  slot[0] = msmId;
  slot[1] = prbId;
  slot[TIME_WORD] = timeS;
  slot[3] = msmId / 2 ** 32 | microseconds << ID_BITS;
  slot[4] = prbId / 2 ** 32 | microseconds >>> LOW_MICROSECONDS << ID_BITS;
  slot[ROW_WORD] = row;
}

/** MurmurHash3's mixing of the five words of a key (Appleby, 2011). */
export function hashSlot(slots: Uint32Array, at: number): number {
  let hash = 0;
  for (let i = at; i < at + ROW_WORD; i++) {
    let mixed = Math.imul(slots[i], 0xcc9e2d51);
    mixed = Math.imul(mixed << 15 | mixed >>> 17, 0x1b873593);
    mixed ^= hash;
    hash = Math.imul(mixed << 13 | mixed >>> 19, 5) + 0xe6546b64 | 0;
  }
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ hash >>> 16) >>> 0;
}

/** Keys with their rows; grows as needed. */
export class ResultKeyTable {
  #capacity = FIRST_CAPACITY;
  #slots = new Uint32Array(SLOT_WORDS * FIRST_CAPACITY);
  #size = 0;

  /** Number of keys. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds a key unless it is there.
   *
   * @param slots The slot begins at `at`.
   * @param hash Its {@link hashSlot}.
   * @returns Whether it was new.
   */
  add(slots: Uint32Array, at: number, hash: number): boolean {
    if (this.#size >= this.#capacity * MAX_LOAD) this.#grow();
    const own = this.#slots;
    for (let slot = Math.floor(hash / 2 ** 32 * this.#capacity);; slot++) {
      if (slot === this.#capacity) slot = 0;
      const to = SLOT_WORDS * slot;
      if (own[to + TIME_WORD] === 0) {
        for (let i = 0; i < SLOT_WORDS; i++) own[to + i] = slots[at + i];
        this.#size++;
        return true;
      }
      let i = 0;
      while (i < ROW_WORD && own[to + i] === slots[at + i]) i++;
      if (i === ROW_WORD) return false;
    }
  }

  /** The bytes of all keys' slots, without the empty ones; the table must be cleared next. */
  filledSlots(): Uint8Array {
    const slots = this.#slots;
    let to = 0;
    for (let at = 0; at < slots.length; at += SLOT_WORDS) {
      if (slots[at + TIME_WORD] === 0) continue;
      for (let i = 0; i < SLOT_WORDS; i++) slots[to++] = slots[at + i];
    }
    return new Uint8Array(slots.buffer, 0, 4 * to);
  }

  /** Forgets all keys; keeps the memory. */
  clear(): void {
    this.#slots.fill(0);
    this.#size = 0;
  }

  #grow(): void {
    const slots = this.#slots;
    this.#capacity = Math.ceil(this.#capacity * GROWTH);
    this.#slots = new Uint32Array(SLOT_WORDS * this.#capacity);
    this.#size = 0;
    for (let at = 0; at < slots.length; at += SLOT_WORDS) {
      if (slots[at + TIME_WORD] !== 0) this.add(slots, at, hashSlot(slots, at));
    }
  }
}
