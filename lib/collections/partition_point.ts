/** Binary search. @module */

/**
 * The index at which a list falls into two parts.
 *
 * @param length The length of the list.
 * @param isAfter Whether an index is in the second part; if one index is, all later ones are.
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
