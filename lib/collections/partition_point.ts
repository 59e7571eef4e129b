/** Binary search. @module */

/**
 * Where a list falls into two parts.
 *
 * @param length Of the list.
 * @param isAfter Whether an index is in the second part; if it holds for one, then for all later ones.
 * @returns The first index of the second part; `length` if that is empty.
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
