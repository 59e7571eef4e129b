/**
 * Extracts records from CSV (RFC 4180) of any size, in bounded memory.
 *
 * An invalid record is reported, and reading continues with the line after its first one, so that an unclosed quote
 * costs a line and not the rest of the file. Blanks around fields and empty lines are ignored.
 *
 * @module
 */

/** The longest record, in UTF-16 characters; a measurement has some hundred. */
export const MAX_RECORD_CHARACTERS = 1 << 16;

/** A field, in quotes or not, and its end: a comma, a newline or the end of the text. */
const FIELD = / *"((?:[^"]|"")*)"[^\S\n]*(,|\n|$)|(?! *")([^,\n]*)(,|\n|$)/y;
const QUOTED = / *"(?:[^"]|"")*"(?!")/y;

/** The fields of a record, or its fault, for people. */
export type CsvRecord = { fields: string[]; fault?: never } | { fault: string };

/** Extracts records from a stream of bytes. */
export class CsvScanner {
  readonly #decoder = new TextDecoder();
  /** The unprocessed text. */
  #text = "";
  /** The index of the next record. */
  #at = 0;
  /** Whether the rest of the line is skipped. */
  #isSkipping = false;

  /**
   * Takes the next bytes, or the end.
   *
   * @returns The records that are complete now. Their fields may keep the whole text in memory; copy those that are
   * kept.
   */
  *push(chunk?: Uint8Array): Generator<CsvRecord> {
    const isLast = chunk === undefined;
    this.#text = this.#text.slice(this.#at) + this.#decoder.decode(chunk, { stream: !isLast });
    this.#at = 0;
    while (this.#at < this.#text.length) {
      if (this.#isSkipping) {
        const newline = this.#text.indexOf("\n", this.#at);
        this.#isSkipping = newline < 0;
        this.#at = newline < 0 ? this.#text.length : newline + 1;
        continue;
      }
      const record = this.#scan(isLast);
      if (!record) return;
      this.#isSkipping = record.fault !== undefined;
      if (record.fault !== undefined || record.fields.length > 1 || record.fields[0] !== "") yield record;
    }
  }

  /** Reads a record; undefined if it is incomplete. */
  #scan(isLast: boolean): CsvRecord | undefined {
    const text = this.#text.slice(this.#at, this.#at + MAX_RECORD_CHARACTERS);
    const isTooLong = text.length === MAX_RECORD_CHARACTERS;
    const isWhole = isLast && this.#at + text.length === this.#text.length;
    const unfinished = (found: string): CsvRecord | undefined => {
      if (isTooLong) return { fault: `${found} within ${MAX_RECORD_CHARACTERS} characters` };
      return isLast ? { fault: found } : undefined;
    };
    const fields: string[] = [];
    let at = 0;
    while (true) {
      FIELD.lastIndex = QUOTED.lastIndex = at;
      const match = FIELD.exec(text);
      if (!match) {
        return QUOTED.test(text)
          ? { fault: "text behind a closing quote" }
          : unfinished("a quote that does not close");
      }
      at = FIELD.lastIndex;
      const [, quoted, endOfQuoted, plain, endOfPlain] = match;
      fields.push(quoted === undefined ? plain.trim() : quoted.trimEnd().replaceAll(`""`, `"`));
      const end = endOfQuoted ?? endOfPlain;
      if (end === "" && !isWhole) return unfinished("no end");
      if (end === ",") continue;
      this.#at += at;
      return { fields };
    }
  }
}
