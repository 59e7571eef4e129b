/**
 * Numbers for the distinct texts of text columns, so that what depends on a text alone is found once per distinct
 * text and not once per row.
 *
 * @module
 */

import { decodeUtf8 } from "./values.ts";

const FIRST_CAPACITY = 1024;
/** Of FNV-1a, 32 bits (draft-eastlake-fnv, section 2). */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Numbers texts 0, 1, 2, … in the order in which they are first seen. */
export class TextPool {
  /** The text of each code. */
  readonly texts: string[] = [];
  readonly #codes = new Map<string, number>();
  readonly #known = new KnownBytes();
  #generation = 0;

  /** Another number after each {@link trim} that made the codes void. */
  get generation(): number {
    return this.#generation;
  }

  /** The code of a text. */
  codeOf(text: string): number {
    let code = this.#codes.get(text);
    if (code === undefined) {
      code = this.texts.push(text) - 1;
      this.#codes.set(text, code);
    }
    return code;
  }

  /**
   * The code of the text that stands in the bytes as UTF-8. A text that was seen before is found by its bytes,
   * which takes a fifth of the time of making it and looking it up.
   */
  codeOfUtf8(bytes: Uint8Array, from: number, end: number): number {
    const known = this.#known.find(bytes, from, end);
    if (known >= 0) return known;
    const code = this.codeOf(decodeUtf8(bytes.subarray(from, end)));
    this.#known.add(bytes, from, end, code);
    return code;
  }

  /** Forgets all texts if there are more than that. */
  trim(maxTexts: number): void {
    if (this.texts.length <= maxTexts) return;
    this.texts.length = 0;
    this.#codes.clear();
    this.#known.clear();
    this.#generation++;
  }
}

/** Codes by the bytes of their texts: open addressing with linear probing, at most half full. */
class KnownBytes {
  #size = 0;
  /** Entry + 1, or 0 for a free slot. */
  #slots = new Uint32Array(2 * FIRST_CAPACITY);
  /** Per entry: hash, code, and where its bytes end in `#bytes`; they begin where those before it end. */
  #hashes = new Uint32Array(FIRST_CAPACITY);
  #codes = new Uint32Array(FIRST_CAPACITY);
  #ends = new Uint32Array(FIRST_CAPACITY);
  #bytes = new Uint8Array(16 * FIRST_CAPACITY);

  /** The code, or -1. */
  find(bytes: Uint8Array, from: number, end: number): number {
    const hash = hashBytes(bytes, from, end);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask;; slot = (slot + 1) & mask) {
      const entry = this.#slots[slot] - 1;
      if (entry < 0) return -1;
      if (this.#hashes[entry] === hash && this.#isEqual(entry, bytes, from, end)) return this.#codes[entry];
    }
  }

  /** Remembers bytes that {@link find} does not know. */
  add(bytes: Uint8Array, from: number, end: number, code: number): void {
    const entry = this.#size++;
    const first = this.#begin(entry);
    if (entry === this.#codes.length) this.#grow();
    const last = first + end - from;
    if (last > this.#bytes.length) this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(2 * last));
    this.#bytes.set(bytes.subarray(from, end), first);
    this.#ends[entry] = last;
    this.#hashes[entry] = hashBytes(bytes, from, end);
    this.#codes[entry] = code;
    this.#place(entry);
  }

  clear(): void {
    this.#size = 0;
    this.#slots.fill(0);
  }

  #begin(entry: number): number {
    return entry === 0 ? 0 : this.#ends[entry - 1];
  }

  #isEqual(entry: number, bytes: Uint8Array, from: number, end: number): boolean {
    const first = this.#begin(entry);
    if (this.#ends[entry] - first !== end - from) return false;
    for (let i = from; i < end; i++) if (this.#bytes[first + i - from] !== bytes[i]) return false;
    return true;
  }

  #place(entry: number): void {
    const mask = this.#slots.length - 1;
    let slot = this.#hashes[entry] & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = entry + 1;
  }

  #grow(): void {
    const capacity = 2 * this.#codes.length;
    this.#hashes = new Uint32Array(this.#hashes.buffer.transfer(4 * capacity));
    this.#codes = new Uint32Array(this.#codes.buffer.transfer(4 * capacity));
    this.#ends = new Uint32Array(this.#ends.buffer.transfer(4 * capacity));
    this.#slots = new Uint32Array(2 * capacity);
    for (let entry = 0; entry < this.#size - 1; entry++) this.#place(entry);
  }
}

function hashBytes(bytes: Uint8Array, from: number, end: number): number {
  let hash = FNV_OFFSET;
  for (let i = from; i < end; i++) hash = Math.imul(hash ^ bytes[i], FNV_PRIME);
  return (hash ^ hash >>> 15) >>> 0;
}

/** A number per code of a pool, found when it is first asked for. */
export class PerText<A extends Uint8Array | Int32Array> {
  readonly #find: (text: string) => number;
  readonly #make: (length: number) => A;
  #values: A;
  /** 1 where the value was found. */
  #isKnown = new Uint8Array(0);
  #generation = -1;

  /**
   * @param make Makes an array.
   * @param find Finds the value of a text.
   */
  constructor(make: (length: number) => A, find: (text: string) => number) {
    this.#make = make;
    this.#find = find;
    this.#values = make(0);
  }

  /** The values by code, found for all `codes`. */
  of(pool: TextPool, codes: Int32Array): A {
    if (this.#generation !== pool.generation) this.clear();
    this.#generation = pool.generation;
    if (this.#isKnown.length < pool.texts.length) this.#grow(pool.texts.length);
    const isKnown = this.#isKnown;
    for (let i = 0; i < codes.length; i++) {
      const code = codes[i];
      if (isKnown[code] === 1) continue;
      this.#values[code] = this.#find(pool.texts[code]);
      isKnown[code] = 1;
    }
    return this.#values;
  }

  /** Forgets all values. */
  clear(): void {
    this.#isKnown.fill(0);
  }

  #grow(numTexts: number): void {
    const values = this.#make(2 * numTexts);
    values.set(this.#values);
    this.#values = values;
    const isKnown = new Uint8Array(2 * numTexts);
    isKnown.set(this.#isKnown);
    this.#isKnown = isKnown;
  }
}
