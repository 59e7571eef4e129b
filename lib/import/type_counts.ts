/**
 * How many objects there are of each type, in bounded memory: types are texts of the input, of any length and number.
 *
 * @module
 */
import { shortened } from "../errors.ts";

/** How many types are told apart; the others are counted together. */
const MAX_COUNTED_TYPES = 100;
/** Stands for the types that are counted together. */
const OTHER_TYPES = "other";
const MAX_NAME_LENGTH = 80;

/** Counts objects by the names of their types. */
export class TypeCounts {
  readonly #counts = new Map<string, number>();

  /** Counts an object. */
  add(type: string): void {
    const name = shortened(type, MAX_NAME_LENGTH);
    const key = this.#counts.has(name) || this.#counts.size < MAX_COUNTED_TYPES ? name : OTHER_TYPES;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** The counts by type, in alphabetical order: of the first {@link MAX_COUNTED_TYPES} types, and of all others. */
  get counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
