/**
 * Collects a column as a dictionary of its distinct values and an index for each row. Most columns of measurements
 * have few distinct values, so a row costs one look-up.
 *
 * @module
 */

/** Index of a row without a value. */
export const NULL_INDEX = -1;

/** Texts or integers of up to a fixed number of rows. */
export class DictionaryColumn<T extends string | number> {
  /** The distinct values in order of their first row. */
  values: T[] = [];
  /** Per row: index into {@link values}, or {@link NULL_INDEX}. */
  readonly indexes: Int32Array;
  readonly #indexOf = new Map<T, number>();
  #lastValue: T | undefined;
  #lastIndex = 0;

  /** @param maxRows The largest number of rows. */
  constructor(maxRows: number) {
    this.indexes = new Int32Array(maxRows);
  }

  /**
   * Sets rows; NaN stands for no value.
   *
   * @param values The elements from `from` to `end - 1` are set.
   * @param at The first row to set.
   */
  set(values: ArrayLike<T>, { from, end, at }: { from: number; end: number; at: number }): void {
    const { indexes } = this;
    for (let i = from; i < end; i++) {
      const value = values[i];
      if (value !== this.#lastValue) this.#find(value);
      indexes[at++] = this.#lastIndex;
    }
  }

  /** Removes all values. */
  clear(): void {
    this.values = [];
    this.#indexOf.clear();
    this.#lastValue = undefined;
  }

  #find(value: T): void {
    this.#lastValue = value;
    if (value !== value) {
      this.#lastIndex = NULL_INDEX;
      return;
    }
    let index = this.#indexOf.get(value);
    if (index === undefined) {
      index = this.values.push(value) - 1;
      this.#indexOf.set(value, index);
    }
    this.#lastIndex = index;
  }
}
