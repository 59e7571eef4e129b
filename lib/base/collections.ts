/** The value of a key, made if it is missing. */
export function getOrMake<K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}

/** Whether two arrays have the same bytes. */
export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** Joins arrays of bytes. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let length = 0;
  for (const part of parts) {
    bytes.set(part, length);
    length += part.length;
  }
  return bytes;
}

/** A priority queue: the first item of an order is always available (a binary heap; Knuth, TAOCP 3, 5.2.3). */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (a: T, b: T) => boolean;

  /** @param isBefore Whether one item comes before another. */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  /** The first item of the order; undefined if the heap is empty. */
  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(item, items[parent])) break;
      items[at] = items[parent];
      at = parent;
    }
    items[at] = item;
  }

  /** Removes the first item. */
  removeFirst(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    this.#items[0] = last;
    this.sinkFirst();
  }

  /** Restores the order after the first item has changed so that others may come before it. */
  sinkFirst(): void {
    const items = this.#items;
    const item = items[0];
    let at = 0;
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      if (child + 1 < items.length && this.#isBefore(items[child + 1], items[child])) child++;
      if (!this.#isBefore(items[child], item)) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = item;
  }
}

/**
 * The first index of the second part of a list of `length` items; `length` if that part is empty (binary search).
 *
 * @param isAfter Whether an index is in the second part; if one index is, all later ones are.
 */
export function partitionPoint(length: number, isAfter: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isAfter(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The index of the first number of an ascending array that is at least `value`; its length if there is none. */
export function lowerBound(ascending: ArrayLike<number>, value: number): number {
  let low = 0;
  for (let high = ascending.length; low < high;) {
    const middle = Math.floor((low + high) / 2);
    if (ascending[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether a value of JSON is an object, no array and no null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
