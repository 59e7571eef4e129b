/** The value of a key, made if missing. */
export function getOrMake<K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}

export function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let length = 0;
  for (const part of parts) {
    bytes.set(part, length);
    length += part.length;
  }
  return bytes;
}

/** A priority queue as a binary heap (Knuth, TAOCP 3, 5.2.3). */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (a: T, b: T) => boolean;

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  /** The first item in order; undefined if the heap is empty. */
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

  removeFirst(): void {
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return;
    this.#items[0] = last;
    this.sinkFirst();
  }

  /** Restores the order after the first item has changed to a later position. */
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
 * Binary search for the first index of the second part of a list of `length` items; `length` if that part is
 * empty.
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

/** The first index in an ascending array whose number is at least `value`; the array's length if none is. */
export function lowerBound(ascending: ArrayLike<number>, value: number): number {
  let low = 0;
  for (let high = ascending.length; low < high;) {
    const middle = Math.floor((low + high) / 2);
    if (ascending[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether a JSON value is an object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
