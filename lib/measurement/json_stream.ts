/**
 * Objects cut out of JSON of any size and shape: one array, JSON lines, several texts one after another, or lists
 * nested in objects.
 *
 * A scanner looks for balanced `{…}` and parses each by itself, so memory does not grow with the file. An object
 * longer than {@link MAX_OBJECT_BYTES} is taken for a container: its brace is stepped over and the objects inside
 * it are cut out instead. Grammar: RFC 8259.
 *
 * @module
 */
import { FormatError } from "../errors.ts";

/** The longest object that is parsed whole, in bytes; a ping result has some hundred bytes to a few thousand. */
export const MAX_OBJECT_BYTES = 1 << 20;

const MAX_DEPTH = 512; // of containers around the objects; real files have 1 to 5
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Bytes that may stand between objects besides brackets and strings: white space, `,:`, numbers, literals, BOM. */
const MAY_STAND_BETWEEN = new Uint8Array(256);
for (const byte of new TextEncoder().encode(" \t\r\n,:+-.0123456789Etruefalsn\u{feff}NaInfinity")) {
  MAY_STAND_BETWEEN[byte] = 1;
}

/** One object of the stream. */
export interface CutObject {
  /** Where it begins, in bytes of the (decompressed) text. */
  offsetBytes: number;
  /** The parsed object, or undefined if it is no valid JSON. */
  value: Record<string, unknown> | undefined;
}

/**
 * May read an object by itself, straight from the bytes, which end in a byte 0 (that cannot stand in JSON).
 *
 * @param start Index of the object's opening brace.
 * @returns Index behind the object, which is then done with; or 0 to have it cut out and parsed.
 */
export type ObjectTaker = (bytes: Uint8Array<ArrayBuffer>, start: number) => number;

/** Told of the begin and the end of an object that is stepped into. */
export type ContainerListener = (event: "begin" | "end", offsetBytes: number) => void;

/** Cuts objects out of a stream of JSON bytes. */
export class JsonObjectScanner {
  readonly #where: (offsetBytes: number) => { path: string; place: string };
  readonly #take: ObjectTaker;
  readonly #onContainer: ContainerListener | undefined;
  readonly #decoder = new TextDecoder();
  readonly #containers: { opener: number; offsetBytes: number }[] = [];
  /** Its first {@link #length} bytes are text, the next is 0. */
  #buffer = new Uint8Array(1);
  #length = 0;
  /** Offset in the text of the buffer's first byte. */
  #baseBytes = 0;
  #at = 0;
  /** Index of the object that is being cut, or -1 between objects. */
  #start = -1;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** Whether the rest of the line is stepped over. */
  #isSkipping = false;
  #numObjects = 0;

  /**
   * @param path The file, for errors.
   * @param options `isCompressed`: offsets in errors are then said to be those of the decompressed text.
   *   `take`: is offered each object that is not inside another. `onContainer`: told where an object that is too
   *   long to be parsed begins, and that it ended; the objects between are those inside it.
   */
  constructor(
    path: string,
    options: { isCompressed?: boolean; take?: ObjectTaker; onContainer?: ContainerListener } = {},
  ) {
    this.#take = options.take ?? (() => 0);
    this.#onContainer = options.onContainer;
    const suffix = options.isCompressed ? " of the decompressed text" : "";
    this.#where = (offsetBytes) => ({ path, place: `byte ${offsetBytes}${suffix}` });
  }

  /**
   * Takes the next bytes.
   *
   * @returns The objects that are complete now.
   * @throws {FormatError} If the text is no JSON or is nested too deeply.
   */
  *push(chunk: Uint8Array): Generator<CutObject> {
    this.#append(chunk);
    while (this.#at < this.#length) {
      if (this.#start < 0) {
        const damaged = this.#scanBetween();
        if (damaged) yield damaged;
      } else {
        const object = this.#scanObject();
        if (object) yield object;
      }
    }
  }

  /** Checks that the text ended where it may. @throws {FormatError} If it ended inside an object or a list. */
  end(): void {
    const endBytes = this.#baseBytes + this.#length;
    const open = this.#containers.at(-1);
    if (this.#start < 0 && !open && !this.#inString) return;
    const inside = this.#start >= 0
      ? `the object that begins at byte ${this.#baseBytes + this.#start}`
      : `the ${open?.opener === OPEN_BRACKET ? "list" : "object"} that begins at byte ${
        open?.offsetBytes ?? 0
      }`;
    throw new FormatError(
      `the JSON ends inside ${inside}, so it is truncated; fetch the file again`,
      this.#where(endBytes),
    );
  }

  #append(chunk: Uint8Array): void {
    const keepFrom = this.#start >= 0 ? this.#start : this.#at;
    const length = this.#length - keepFrom + chunk.length;
    const kept = this.#buffer.subarray(keepFrom, this.#length);
    if (length >= this.#buffer.length) this.#buffer = new Uint8Array(2 * length);
    this.#buffer.set(kept);
    this.#buffer.set(chunk, kept.length);
    this.#buffer[length] = 0;
    this.#length = length;
    this.#baseBytes += keepFrom;
    this.#at -= keepFrom;
    if (this.#start >= 0) this.#start = 0;
  }

  /** Moves to the next object; returns a line of JSON lines that is no JSON, if one was met. */
  #scanBetween(): CutObject | undefined {
    while (this.#at < this.#length) {
      const byte = this.#buffer[this.#at];
      if (this.#isSkipping) {
        this.#isSkipping = byte !== NEWLINE;
        this.#at++;
      } else if (this.#inString) {
        if (!this.#scanString(this.#length)) return this.#skipLine();
      } else if (byte === OPEN_BRACE) {
        if (this.#takeObject()) continue;
        this.#start = this.#at++;
        this.#depth = 1;
        return undefined;
      } else if (byte === OPEN_BRACKET) this.#open(byte, this.#at++);
      else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
        if (!this.#close(byte)) return this.#skipLine();
        this.#at++;
      } else if (byte === QUOTE) {
        this.#inString = true;
        this.#at++;
      } else if (MAY_STAND_BETWEEN[byte]) this.#at++;
      else return this.#skipLine();
    }
    return undefined;
  }

  /** Offers the object to the taker. */
  #takeObject(): boolean {
    const end = this.#take(this.#buffer, this.#at);
    if (end === 0) return false;
    this.#at = end;
    this.#numObjects++;
    return true;
  }

  /** Moves through the object; returns it when it ends. */
  #scanObject(): CutObject | undefined {
    const buffer = this.#buffer;
    const end = Math.min(this.#length, this.#start + MAX_OBJECT_BYTES);
    while (this.#at < end) {
      if (this.#inString) {
        if (!this.#scanString(end)) return this.#skipLine();
        continue;
      }
      const byte = buffer[this.#at++];
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth++;
      else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --this.#depth === 0) return this.#cut();
    }
    if (this.#at >= this.#start + MAX_OBJECT_BYTES) this.#stepInto();
    return undefined;
  }

  /** Moves behind the string's closing quote, or to `end`; false where the string is damaged. */
  #scanString(end: number): boolean {
    const buffer = this.#buffer;
    let at = this.#at;
    for (; at < end; at++) {
      const byte = buffer[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === QUOTE) {
        this.#inString = false;
        at++;
        break;
      } else if (byte === BACKSLASH) this.#isEscaped = true;
      if (byte === NEWLINE) break;
    }
    const isDamaged = at < end && this.#inString;
    this.#at = at;
    return !isDamaged;
  }

  #cut(): CutObject {
    const bytes = this.#buffer.subarray(this.#start, this.#at);
    const offsetBytes = this.#baseBytes + this.#start;
    this.#start = -1;
    this.#numObjects++;
    try {
      return { offsetBytes, value: JSON.parse(this.#decoder.decode(bytes)) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return { offsetBytes, value: undefined };
    }
  }

  /** Takes the object for a container and goes on just inside it. */
  #stepInto(): void {
    this.#at = this.#start + 1;
    this.#open(OPEN_BRACE, this.#start);
    this.#onContainer?.("begin", this.#baseBytes + this.#start);
    this.#start = -1;
    this.#depth = 0;
    this.#inString = false;
    this.#isEscaped = false;
  }

  #open(opener: number, at: number): void {
    const offsetBytes = this.#baseBytes + at;
    this.#containers.push({ opener, offsetBytes });
    if (this.#containers.length > MAX_DEPTH) {
      throw new FormatError(
        `lists are nested more than ${MAX_DEPTH} deep; check the file`,
        this.#where(offsetBytes),
      );
    }
  }

  #close(closer: number): boolean {
    const opener = closer === CLOSE_BRACE ? OPEN_BRACE : OPEN_BRACKET;
    const container = this.#containers.at(-1);
    if (container?.opener !== opener) return false;
    this.#containers.pop();
    if (opener === OPEN_BRACE) this.#onContainer?.("end", container.offsetBytes);
    return true;
  }

  /** Steps over the rest of a damaged line of JSON lines; anything else that is damaged ends the reading. */
  #skipLine(): CutObject {
    const offsetBytes = this.#baseBytes + this.#at;
    const isLines = this.#containers.length === 0 && (this.#numObjects > 0 || this.#start >= 0);
    if (!isLines) {
      const found = JSON.stringify(
        this.#decoder.decode(this.#buffer.subarray(this.#at, Math.min(this.#length, this.#at + 12))),
      );
      throw new FormatError(
        `it is no JSON (found ${found}), RIPE Atlas results were wanted; check the file`,
        this.#where(offsetBytes),
      );
    }
    this.#isSkipping = true;
    this.#start = -1;
    this.#inString = false;
    this.#isEscaped = false;
    return { offsetBytes, value: undefined };
  }
}
