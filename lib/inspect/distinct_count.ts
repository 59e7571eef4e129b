/**
 * The number of distinct values, exact up to a bound on memory.
 *
 * @module
 */

// About 100 bytes each in a Set: 100 MB.
const MAX_DISTINCT = 1_000_000;

/** Counts distinct values; beyond the bound it says "at least". */
export class DistinctCount {
  readonly #seen = new Set<string | bigint>();

  /** @param maxDistinct How many values are kept. */
  constructor(readonly maxDistinct: number = MAX_DISTINCT) {}

  /** Adds a value. @returns Whether it is known to have been there before. */
  add(value: string | bigint): boolean {
    if (this.#seen.has(value)) return true;
    if (this.#seen.size < this.maxDistinct) this.#seen.add(value);
    return false;
  }

  /** How many distinct values there were, or the bound if it was reached. */
  get count(): number {
    return this.#seen.size;
  }

  /** Whether the bound was reached, so that the count may be too small. */
  get isCapped(): boolean {
    return this.#seen.size >= this.maxDistinct;
  }

  /** The count as text: `17` or `at least 1000000`. */
  toString(): string {
    return `${this.isCapped ? "at least " : ""}${this.count}`;
  }
}
