/** How a text is read, in words. Every command says it, so that a person sees a wrong guess at once. @module */

/** @internal Where the parts of a row come from. */
export interface Reading {
  /** As in `--format`, such as `csv`. */
  readonly format: string;
  /** A field with its unit and zone, such as `timestamp (Unix seconds, UTC)`. */
  readonly time: string;
  /** A field or a constant, such as `192.0.2.10 (--src)`. */
  readonly source: string;
  readonly destination: string;
  /** A field with its unit, such as `rtt_avg (ms)`. */
  readonly rtt: string;
  /** What counts as no reply, such as `rtt_avg empty or packet_loss 100`. */
  readonly noReply: string;
  /** Fields that are not used. */
  readonly notUsed: readonly string[];
}

/** Constant addresses in words, such as `192.0.2.10 (--src)`; undefined if there are none. */
export function constantWords(option: "src" | "dst", addresses?: readonly string[]): string | undefined {
  return addresses && `${addresses.join(" or ")} (--${option})`;
}

/** The lines that say a reading. */
export function readingLines({ format, notUsed, ...parts }: Reading): string[] {
  const { time, source, destination, rtt, noReply } = parts;
  const said = `read as ${format}: time = ${time}, source = ${source}, destination = ${destination}, ` +
    `RTT = ${rtt}, no reply = ${noReply}`;
  return notUsed.length === 0 ? [said] : [said, `not used: ${notUsed.join(", ")}`];
}

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
