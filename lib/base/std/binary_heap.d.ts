/** Types of the heap of @std/data-structures (https://jsr.io/@std/data-structures), as the npm copy has none. */

/** A priority queue (Knuth, TAOCP 3, 5.2.3). */
export class BinaryHeap<T> {
  /** @param compare The first item in this order is the first one out. */
  constructor(compare: (a: T, b: T) => number);
  /** The first item; undefined if the heap is empty. */
  peek(): T | undefined;
  /** Removes the first item. */
  pop(): T | undefined;
  push(...values: T[]): number;
}
