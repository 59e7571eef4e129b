/**
 * Finds duplicate results (same measurement, probe and time), exactly and in bounded memory.
 *
 * A hash table holds the keys. It is cleared when it is full; duplicates that it then misses are found afterwards in
 * the file of rows (`moveUniqueRows`).
 *
 * @module
 */

/** Numbers of a slot: measurement, probe, time. */
const SLOT_NUMBERS = 3;
const SLOT_BYTES = SLOT_NUMBERS * Float64Array.BYTES_PER_ELEMENT;
const TIME = 2; // 0 marks an empty slot
const FIRST_CAPACITY = 64;
const MAX_LOAD = 0.8;

/** The key of a result: no other result has the same three numbers. */
export interface ResultKey {
  /** A non-negative safe integer, like {@link prbId}. */
  msmId: number;
  prbId: number;
  /** Microseconds since 1970; in 1990..2100. */
  eventTimeUs: number;
}

/** Whether two rows are of one result. */
export function isSameResult(a: ResultKey, b: ResultKey): boolean {
  return a.msmId === b.msmId && a.prbId === b.prbId && a.eventTimeUs === b.eventTimeUs;
}

/** The keys of results; open addressing, which compares whole keys. */
export class DuplicateSet {
  /** Number of times that the set was cleared; if 0, {@link add} has found all duplicates. */
  numForgets = 0;
  readonly #maxBytes: number;
  #capacity = FIRST_CAPACITY;
  #slots = new Float64Array(SLOT_NUMBERS * FIRST_CAPACITY);
  #size = 0;
  #last: ResultKey | undefined;

  /** @param options `maxBytes`: memory of the set; at least 51 keys fit. */
  constructor(options: { maxBytes: number }) {
    this.#maxBytes = options.maxBytes;
  }

  /**
   * Adds the key of a result.
   *
   * @returns Whether it is new since the last clearing, and differs from the last key.
   */
  add(key: ResultKey): boolean {
    if (this.#size >= MAX_LOAD * this.#capacity) {
      if (canGrow(this.#capacity, this.#maxBytes)) this.#grow();
      else this.#forget();
    }
    this.#last = key;
    return this.#insert(key.msmId, key.prbId, key.eventTimeUs);
  }

  #insert(msmId: number, prbId: number, eventTimeUs: number): boolean {
    const slots = this.#slots;
    const mask = this.#capacity - 1;
    for (let slot = hashKey(msmId, prbId, eventTimeUs) & mask;; slot = slot + 1 & mask) {
      const at = SLOT_NUMBERS * slot;
      if (slots[at + TIME] === 0) {
        slots[at] = msmId;
        slots[at + 1] = prbId;
        slots[at + TIME] = eventTimeUs;
        this.#size++;
        return true;
      }
      if (slots[at + TIME] === eventTimeUs && slots[at] === msmId && slots[at + 1] === prbId) return false;
    }
  }

  #grow(): void {
    const slots = this.#slots;
    this.#capacity *= 2;
    this.#slots = new Float64Array(SLOT_NUMBERS * this.#capacity);
    this.#size = 0;
    for (let at = 0; at < slots.length; at += SLOT_NUMBERS) {
      if (slots[at + TIME] !== 0) this.#insert(slots[at], slots[at + 1], slots[at + TIME]);
    }
  }

  /** Removes all keys but the last one, because rows of two results with one key must not be adjacent. */
  #forget(): void {
    this.#slots.fill(0);
    this.#size = 0;
    this.numForgets++;
    if (this.#last) this.#insert(this.#last.msmId, this.#last.prbId, this.#last.eventTimeUs);
  }
}

/** The number of keys that a set of this memory holds. */
export function maxKeys(maxBytes: number): number {
  let capacity = FIRST_CAPACITY;
  while (canGrow(capacity, maxBytes)) capacity *= 2;
  return Math.floor(MAX_LOAD * capacity);
}

/** Whether the slots and the copy with twice as many fit the memory. */
function canGrow(capacity: number, maxBytes: number): boolean {
  return 3 * capacity * SLOT_BYTES <= maxBytes;
}

/** The part, of {@link numParts}, that a key belongs to, from 0. */
export function partOfKey({ msmId, prbId, eventTimeUs }: ResultKey, numParts: number): number {
  return Math.floor(hashKey(msmId, prbId, eventTimeUs) / 2 ** 32 * numParts);
}

function hashKey(msmId: number, prbId: number, eventTimeUs: number): number {
  let hash = mix(0, msmId);
  hash = mix(hash, prbId);
  hash = mix(hash, eventTimeUs);
  hash = mix(hash, eventTimeUs / 2 ** 32);
  return mix(hash, hash >>> 16) >>> 0;
}

/** Fibonacci hashing of the low 32 bits of a number (Knuth, The Art of Computer Programming 3, 6.4). */
function mix(hash: number, value: number): number {
  const mixed = Math.imul(hash ^ value, 0x9e3779b1);
  return mixed ^ mixed >>> 15;
}
