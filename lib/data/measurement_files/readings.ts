/** How the files of a command are read, said once each. @module */
import { type Reading, readingLines } from "../formats/reading.ts";

/** Maximum number of readings that are said line by line; each table may have another one. */
const MAX_SAID = 5;
/** Maximum number of readings in memory, since each object may have other fields. */
const MAX_KEPT = 100;

/** Collects distinct readings, and says the first {@link MAX_SAID} as they come. */
export class Readings {
  readonly #list = new Map<string, Reading>();
  readonly #known = new WeakSet<Reading>();

  constructor(readonly log: (line: string) => void = () => {}) {}

  /** For {@link ReadingOptions.onReading}. @returns Whether it is a new one. */
  readonly add = (reading: Reading): boolean => {
    // Formats give the same object again for the same fields.
    if (this.#known.has(reading)) return false;
    this.#known.add(reading);
    const text = JSON.stringify(reading);
    if (this.#list.has(text) || this.#list.size >= MAX_KEPT) return false;
    this.#list.set(text, reading);
    if (this.#list.size <= MAX_SAID) readingLines(reading).forEach((line) => this.log(line));
    return true;
  };

  /** The distinct readings, in order. */
  get list(): Reading[] {
    return [...this.#list.values()];
  }

  /** Says how many more there are than have been said. */
  end(): void {
    const numMore = this.#list.size - MAX_SAID;
    if (numMore > 0) this.log(`and ${numMore} more ${numMore === 1 ? "reading" : "readings"}`);
  }
}
