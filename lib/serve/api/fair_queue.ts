/**
 * Waiting work of several callers, taken in turns: one piece of each caller, then again one of each. A caller with
 * thousands of lines so delays one with a single question by as many pieces as there are callers, not by its lines.
 *
 * @module
 */

/** A queue with a lane for each caller that has something waiting. */
export class FairQueue<T> {
  /** In the order of their next turns; none is empty. */
  readonly #lanes = new Map<object, T[]>();
  #length = 0;

  /** How many pieces wait. */
  get length(): number {
    return this.#length;
  }

  /** How many callers wait. */
  get numLanes(): number {
    return this.#lanes.size;
  }

  /** @param lane An object that stands for the caller. */
  push(item: T, lane: object): void {
    const items = this.#lanes.get(lane);
    if (items) items.push(item);
    else this.#lanes.set(lane, [item]);
    this.#length++;
  }

  /** Takes out what waits next, undefined if nothing does. */
  take(): T | undefined {
    const next = this.#lanes.entries().next();
    if (next.done) return undefined;
    const [lane, items] = next.value;
    const item = items.shift();
    this.#lanes.delete(lane);
    if (items.length > 0) this.#lanes.set(lane, items);
    this.#length--;
    return item;
  }

  /** Takes a piece out of its lane, if it still waits there. */
  remove(item: T, lane: object): void {
    const items = this.#lanes.get(lane);
    const place = items?.indexOf(item) ?? -1;
    if (!items || place < 0) return;
    items.splice(place, 1);
    if (items.length === 0) this.#lanes.delete(lane);
    this.#length--;
  }
}
