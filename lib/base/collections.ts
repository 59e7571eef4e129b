/** Returns the value at a key, making it if it is missing. */
export function getOrMake<K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, value = make());
  return value;
}

/** As {@link getOrMake}. A map is emptied before it would have more than `most` keys. */
export function getOrMakeAtMost<K, V>(most: number, map: Map<K, V>, key: K, make: () => V): V {
  if (map.size + 1 > most && !map.has(key)) map.clear();
  return getOrMake(map, key, make);
}

/** Adds to the count of a key; counts of 0 are not kept. */
export function addToCount<K>(counts: Map<K, number>, key: K, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
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

/** At most `most` of the values, evenly spaced. */
export function evenlySpread<T>(values: readonly T[], most: number): T[] {
  const count = Math.min(values.length, most);
  return Array.from({ length: count }, (_, i) => values[Math.floor((i + 0.5) * values.length / count)]);
}

/** Parses JSON; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a JSON value is an object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
