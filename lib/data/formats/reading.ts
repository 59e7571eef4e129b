/** How a text is read, in words. Every command says it, so that a person sees a wrong guess at once. @module */

/** Where the parts of a row come from. */
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

/** The lines that say a reading. */
export function readingLines({ format, notUsed, ...parts }: Reading): string[] {
  const { time, source, destination, rtt, noReply } = parts;
  const said = `read as ${format}: time = ${time}, source = ${source}, destination = ${destination}, ` +
    `RTT = ${rtt}, no reply = ${noReply}`;
  return notUsed.length === 0 ? [said] : [said, `not used: ${notUsed.join(", ")}`];
}

/** Makes one reading for the same fields and options, so that consumers say it once. */
export class ReadingCache {
  readonly #readings = new Map<string, Reading>();

  /** @param key What the reading depends on. */
  get(key: readonly unknown[], make: () => Reading): Reading {
    const text = JSON.stringify(key);
    const found = this.#readings.get(text) ?? make();
    // Texts may name any number of fields.
    if (this.#readings.size < MAX_READINGS) this.#readings.set(text, found);
    return found;
  }
}

const MAX_READINGS = 1000;
