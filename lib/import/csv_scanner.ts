/**
 * Records cut out of CSV (RFC 4180) of any size, straight from the bytes, in memory that no record makes grow.
 *
 * A record that cannot be read is told apart and reading goes on with the line after its first one, so that a quote
 * that does not close costs a line and not the rest of the file. Blanks around fields and empty lines do not count.
 *
 * @module
 */

/** The longest record, in bytes; those of measurements have some hundred. */
export const MAX_RECORD_BYTES = 1 << 16;

const NEWLINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Cuts records out of a stream of bytes. */
export class CsvScanner {
  /** Why the record cannot be read, for people; undefined if it can. */
  fault: string | undefined;
  /** Fields of the record. */
  numFields = 0;
  readonly #utf8 = new TextDecoder();
  readonly #latin1 = new TextDecoder("latin1");
  /** Where the record's fields begin and end. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  /** Its first {@link #length} bytes are text. */
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #length = 0;
  /** A character for each of these bytes: cut from one text, fields cost a twentieth of what decoding each does. */
  #characters = "";
  /** Where the next record begins. */
  #at = 0;
  #isFirst = true;
  #isLast = false;
  /** Whether the rest of the line is stepped over. */
  #isSkipping = false;

  /** Takes the next bytes; the record is void. */
  push(chunk: Uint8Array): void {
    const kept = this.#bytes.subarray(this.#at, this.#length);
    const length = kept.length + chunk.length;
    if (length > this.#bytes.length) this.#bytes = new Uint8Array(2 * length);
    this.#bytes.set(kept);
    this.#bytes.set(chunk, kept.length);
    [this.#length, this.#at] = [length, 0];
    this.#characters = this.#latin1.decode(this.#bytes.subarray(0, length));
  }

  /** Says that no more bytes follow. */
  end(): void {
    this.#isLast = true;
  }

  /** Moves to the next record; false where it is not all there. */
  next(): boolean {
    while (this.#at < this.#length) {
      if (this.#isSkipping && !this.#skipLine()) return false;
      this.fault = undefined;
      const end = this.#scan();
      if (end === undefined) return false;
      this.#isFirst = false;
      this.#isSkipping = this.fault !== undefined;
      if (this.#isSkipping) return true;
      this.#at = end;
      if (this.numFields > 1 || this.#ends[0] > this.#starts[0]) return true;
    }
    return false;
  }

  /** The field as text. */
  text(field: number): string {
    const bytes = this.#bytes.subarray(this.#starts[field], this.#ends[field]);
    return this.#utf8.decode(bytes).replaceAll(`""`, `"`);
  }

  /** The field as it stands there, if it is ASCII, at little cost; not to be kept: it may hold the whole chunk. */
  ascii(field: number): string {
    return this.#characters.slice(this.#starts[field], this.#ends[field]);
  }

  /** Finds the fields. @returns Where the record ends; undefined if it is not all there. */
  #scan(): number | undefined {
    const bytes = this.#bytes;
    const limit = Math.min(this.#length, this.#at + MAX_RECORD_BYTES);
    const hasMark = this.#isFirst && BYTE_ORDER_MARK.every((byte, i) => bytes[i] === byte);
    let at = hasMark ? BYTE_ORDER_MARK.length : this.#at;
    this.numFields = 0;
    while (true) {
      while (at < limit && bytes[at] === SPACE) at++;
      let start = at;
      if (at < limit && bytes[at] === QUOTE) {
        start++;
        at = this.#closingQuote(start, limit);
        if (at === limit) return this.#leave("a quote that does not close");
        this.#addField(start, at++);
        while (at < limit && bytes[at] <= SPACE && bytes[at] !== NEWLINE) at++;
      } else {
        while (at < limit && bytes[at] !== COMMA && bytes[at] !== NEWLINE) at++;
        this.#addField(start, at);
      }
      if (at === limit) return this.#isLast && at === this.#length ? at : this.#leave("no end");
      const byte = bytes[at++];
      if (byte === NEWLINE) return at;
      if (byte !== COMMA) return this.#fail("text behind a closing quote");
    }
  }

  #addField(start: number, end: number): void {
    while (end > start && this.#bytes[end - 1] <= SPACE) end--;
    this.#starts[this.numFields] = start;
    this.#ends[this.numFields++] = end;
  }

  /** Index of the quote that is not doubled, or `limit`. */
  #closingQuote(from: number, limit: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (; at < limit; at++) {
      if (bytes[at] !== QUOTE) continue;
      // Behind the limit there may be bytes of earlier texts.
      if (at + 1 >= limit || bytes[at + 1] !== QUOTE) return at;
      at++;
    }
    return limit;
  }

  /** Leaves a record that did not end: for later, if more bytes may come and it is not too long. */
  #leave(found: string): number | undefined {
    const isTooLong = this.#length - this.#at >= MAX_RECORD_BYTES;
    if (!isTooLong && !this.#isLast) return undefined;
    return this.#fail(isTooLong ? `${found} within ${MAX_RECORD_BYTES} bytes` : found);
  }

  #fail(fault: string): number {
    this.fault = fault;
    return this.#at;
  }

  #skipLine(): boolean {
    const newline = this.#bytes.subarray(0, this.#length).indexOf(NEWLINE, this.#at);
    this.#isSkipping = newline < 0;
    this.#at = newline < 0 ? this.#length : newline + 1;
    return newline >= 0;
  }
}
