/**
 * An exact set of (measurement, probe, time), in bounded memory.
 *
 * A key takes 12 bytes in open-addressed tables of 32-bit integers. Keys spread over {@link NUM_TABLES} tables,
 * each grown by itself, so that growing never needs the whole twice. There are no false hits: keys are compared,
 * not hashes. When the bound is reached the set says so instead of forgetting.
 *
 * @module
 */
import { UserError } from "../errors.ts";

/** Memory of one key at the highest load, in bytes. */
export const BYTES_PER_KEY = 16;

const NUM_TABLES = 256;
const FIRST_CAPACITY = 64;
const GROWTH = 1.5;
const MAX_LOAD = 0.8;
const BYTES_PER_ODD_KEY = 120; // ASSUMPTION: a 40-character string and its slot in a Set

/** A set of (msmId, prbId, timeS). */
export class DuplicateSet {
  readonly #maxBytes: number;
  readonly #tables = Array.from({ length: NUM_TABLES }, () => new Table(FIRST_CAPACITY));
  /** Keys with a part that is no unsigned 32-bit integer; real ids and times all are. */
  readonly #odd = new Set<string>();
  #numBytes = NUM_TABLES * FIRST_CAPACITY * Table.SLOT_BYTES;

  /** @param options `maxBytes`: how much memory the set may take. */
  constructor(options: { maxBytes: number }) {
    this.#maxBytes = options.maxBytes;
  }

  /**
   * Adds a key.
   *
   * @param timeS Seconds since 1970.
   * @returns Whether it was new.
   * @throws {UserError} If the memory for the set is full.
   */
  add(msmId: number, prbId: number, timeS: number): boolean {
    if (msmId >>> 0 !== msmId || prbId >>> 0 !== prbId || timeS >>> 0 !== timeS || timeS === 0) {
      return this.#addOdd(`${msmId} ${prbId} ${timeS}`);
    }
    const hash = hashKey(msmId, prbId, timeS);
    const index = hash % NUM_TABLES;
    let table = this.#tables[index];
    if (table.size >= table.capacity * MAX_LOAD) {
      const capacity = Math.ceil(table.capacity * GROWTH);
      this.#reserve((capacity - table.capacity) * Table.SLOT_BYTES);
      table = this.#tables[index] = table.grown(capacity);
    }
    return table.add(msmId, prbId, timeS, hash);
  }

  #addOdd(key: string): boolean {
    if (this.#odd.has(key)) return false;
    this.#reserve(BYTES_PER_ODD_KEY);
    this.#odd.add(key);
    return true;
  }

  #reserve(numBytes: number): void {
    this.#numBytes += numBytes;
    if (this.#numBytes <= this.#maxBytes) return;
    throw new UserError(
      `Cannot import so many results at once: looking for duplicates takes ${BYTES_PER_KEY} bytes a result and ` +
        `its share of the memory is full; raise --memory-limit-gb or import the files in several runs`,
    );
  }
}

class Table {
  static readonly SLOT_BYTES = 12;
  readonly #slots: Uint32Array; // msmId, prbId, timeS per slot; timeS 0 is an empty slot
  size = 0;

  constructor(readonly capacity: number) {
    this.#slots = new Uint32Array(3 * capacity);
  }

  add(msmId: number, prbId: number, timeS: number, hash: number): boolean {
    const slots = this.#slots;
    for (
      let slot = Math.floor(hash / 2 ** 32 * this.capacity);;
      slot = slot + 1 === this.capacity ? 0 : slot + 1
    ) {
      const at = 3 * slot;
      if (slots[at + 2] === 0) {
        slots[at] = msmId;
        slots[at + 1] = prbId;
        slots[at + 2] = timeS;
        this.size++;
        return true;
      }
      if (slots[at + 2] === timeS && slots[at + 1] === prbId && slots[at] === msmId) return false;
    }
  }

  grown(capacity: number): Table {
    const table = new Table(capacity);
    for (let at = 0; at < this.#slots.length; at += 3) {
      const [msmId, prbId, timeS] = this.#slots.subarray(at, at + 3);
      if (timeS !== 0) table.add(msmId, prbId, timeS, hashKey(msmId, prbId, timeS));
    }
    return table;
  }
}

/** MurmurHash3's mixing of three 32-bit words (Appleby, 2011). */
function hashKey(a: number, b: number, c: number): number {
  let hash = 0;
  hash = mixWord(hash, a);
  hash = mixWord(hash, b);
  hash = mixWord(hash, c);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ hash >>> 16) >>> 0;
}

function mixWord(hash: number, word: number): number {
  let mixed = Math.imul(word, 0xcc9e2d51);
  mixed = Math.imul(mixed << 15 | mixed >>> 17, 0x1b873593);
  mixed ^= hash;
  return Math.imul(mixed << 13 | mixed >>> 19, 5) + 0xe6546b64 | 0;
}
