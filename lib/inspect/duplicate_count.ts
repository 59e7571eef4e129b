/**
 * Counts rows that were there before, by a hash of 53 bits, in bounded memory.
 *
 * Among 4 million rows the chance that any two different ones have the same hash is 1 in 1,000.
 *
 * @module
 */

/** How many rows are looked at by default: 64 MB. */
const MAX_ROWS = 1 << 22;
const MAX_KNOWN_TEXTS = 1_000_000;
const FIRST_SLOTS = 1 << 12;

/** Counts duplicates among the first rows. */
export class DuplicateCount {
  #slots = new Float64Array(FIRST_SLOTS);
  #numDistinct = 0;
  readonly #texts = new Map<string, [low: number, high: number]>();
  readonly #float = new Float64Array(1);
  readonly #words = new Uint32Array(this.#float.buffer);
  /** How many rows equal an earlier one. */
  count = 0;
  /** How many rows were looked at. */
  numRows = 0;

  /** @param maxRows How many rows are looked at; the others are not. */
  constructor(readonly maxRows: number = MAX_ROWS) {}

  /** Whether all rows so far were looked at. */
  isComplete = true;

  /** Adds a row of numbers and texts. */
  add(numbers: readonly number[], texts: readonly string[]): void {
    if (this.numRows >= this.maxRows) this.isComplete = false;
    if (!this.isComplete) return;
    this.numRows++;
    let low = 0x243f6a88; // digits of pi, as good as any
    let high = 0x85a308d3;
    const take = (a: number, b: number) => {
      low = mix(low ^ a, 0xcc9e2d51) + high >>> 0;
      high = mix(high ^ b, 0x1b873593) + low >>> 0;
    };
    for (const value of numbers) {
      this.#float[0] = value;
      take(this.#words[0], this.#words[1]);
    }
    for (const text of texts) take(...this.#hashText(text));
    // 0 stands for a free slot.
    if (this.#insert(((high & 0x1fffff) * 2 ** 32 + low) || 1)) return;
    this.count++;
  }

  #hashText(text: string): [number, number] {
    const known = this.#texts.get(text);
    if (known) return known;
    let low = text.length;
    let high = ~low;
    for (let i = 0; i < text.length; i++) {
      low = mix(low ^ text.charCodeAt(i), 0x85ebca6b);
      high = mix(high + text.charCodeAt(i), 0xc2b2ae35);
    }
    if (this.#texts.size >= MAX_KNOWN_TEXTS) this.#texts.clear();
    this.#texts.set(text, [low, high]);
    return [low, high];
  }

  /** @returns Whether the hash was new. */
  #insert(hash: number): boolean {
    const slots = this.#slots;
    let at = hash % slots.length;
    while (slots[at] !== 0) {
      if (slots[at] === hash) return false;
      at = (at + 1) % slots.length;
    }
    slots[at] = hash;
    if (++this.#numDistinct * 2 > slots.length) this.#grow();
    return true;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Float64Array(2 * old.length);
    this.#numDistinct = 0;
    for (const hash of old) if (hash !== 0) this.#insert(hash);
  }
}

/** One step of MurmurHash3 (A. Appleby). */
function mix(value: number, factor: number): number {
  value = Math.imul(value ^ value >>> 15, factor);
  value = Math.imul(value ^ value >>> 13, 0xe6546b64 | 1);
  return (value ^ value >>> 16) >>> 0;
}
