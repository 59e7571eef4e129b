/**
 * Extracts objects from JSON of any size and shape: one array, JSON lines, several texts one after another,
 * or lists nested in objects.
 *
 * A scanner finds balanced `{…}`, chunk by chunk, so that memory does not grow with the file. An object
 * longer than {@link MAX_OBJECT_BYTES} is treated as a container: the objects inside it are extracted
 * instead. Grammar: RFC 8259.
 *
 * @module
 */
import { FormatError } from "../../base/errors.ts";

/** Length of the longest object that is parsed whole. Results of an API have up to a few MB. */
export const MAX_OBJECT_BYTES = 1 << 22;

/** Objects are parsed together up to this length, so that the result stays in the processor's cache. */
const PARSED_BYTES = 1 << 16;
const MAX_DEPTH = 512; // containers around the objects; real files have 1 to 5
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const decoder = new TextDecoder();

/** White space, `,:`, numbers, literals, BOM: bytes between objects other than brackets and strings. */
const MAY_STAND_BETWEEN = new Uint8Array(256);
for (const byte of new TextEncoder().encode(" \t\r\n,:+-.0123456789Etruefalsn\u{feff}NaInfinity")) {
  MAY_STAND_BETWEEN[byte] = 1;
}

/** Bytes that begin or end strings, lists and objects. */
const IS_DELIMITER = new Uint8Array(256);
for (const byte of [QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET]) IS_DELIMITER[byte] = 1;

/** A damaged line of the text, or the start or end of an object too long to be parsed. */
export interface JsonMark {
  kind: "damaged" | "begin" | "end";
  /** Offset in the (decompressed) text. */
  offsetBytes: number;
  /** Number of objects of the piece that precede the mark. */
  numBefore: number;
}

/** A slice of the text with only complete objects. */
export interface JsonPiece {
  bytes: Uint8Array<ArrayBuffer>;
  /** Offset of the first byte in the text. */
  offsetBytes: number;
  /** Number of leading bytes that the next piece does not repeat. */
  numConsumed: number;
  /** Start and end of each object in `bytes`, alternating. */
  bounds: Uint32Array<ArrayBuffer>;
  /** What is between the objects, in order. The contents of a long object are between its two marks. */
  marks: JsonMark[];
}

/** Takes an object (undefined for invalid JSON), its index in the bounds of a piece, and its offset. */
type ObjectTaker = (value: Record<string, unknown> | undefined, index: number, offsetBytes: number) => void;

/**
 * Parses the objects of a piece, up to {@link PARSED_BYTES} at once if none is damaged. Overwrites `bytes`
 * outside the objects.
 *
 * @param take Called with the objects in order, several times for a line with several objects.
 */
export function parsePiece({ bytes, bounds, offsetBytes }: JsonPiece, take: ObjectTaker): void {
  for (let from = 0, to = 0; from < bounds.length; from = to) {
    do to += 2; while (to < bounds.length && bounds[to + 1] - bounds[from] <= PARSED_BYTES);
    for (let at = from + 2; at < to; at += 2) {
      bytes.fill(SPACE, bounds[at - 1], bounds[at]);
      // Objects with nothing between them are parsed one by one.
      if (bounds[at - 1] < bounds[at]) bytes[bounds[at - 1]] = COMMA;
    }
    const text = decoder.decode(bytes.subarray(bounds[from], bounds[to - 1]));
    const objects = parseLenientJson(`[${text}]`) as unknown[];
    const areAll = objects?.length === (to - from) / 2;
    for (let at = from; at < to; at += 2) {
      const index = at / 2;
      if (areAll) take(objects[index - from / 2] as Record<string, unknown>, index, offsetBytes + bounds[at]);
      else parseAlone(bytes.subarray(bounds[at], bounds[at + 1]), index, offsetBytes + bounds[at], take);
    }
  }
}

/** Parses what should be one object. A line may contain several, or damage after the first. */
function parseAlone(bytes: Uint8Array, index: number, offsetBytes: number, take: ObjectTaker): void {
  const value = parseLenientJson(decoder.decode(bytes)) as Record<string, unknown> | undefined;
  if (value) return take(value, index, offsetBytes);
  const line = new Uint8Array(bytes.length + 1);
  line.set(bytes);
  line[bytes.length] = NEWLINE;
  const scanner = new JsonObjectScanner("");
  const inside = scanner.push(line);
  if (scanner.isOpen || inside.bounds[1] === bytes.length) return take(undefined, index, offsetBytes);
  parsePiece(inside, (each, _, atBytes) => take(each, index, offsetBytes + atBytes));
  for (const { kind, offsetBytes: atBytes } of inside.marks) {
    if (kind === "damaged") take(undefined, index, offsetBytes + atBytes);
  }
}

/** Parses JSON text; undefined if it is not JSON. NaN and Infinity, which Python writes, become null. */
export function parseLenientJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (!/NaN|Infinity/.test(text)) return undefined;
    const strict = text.replace(NOT_NUMBERS, (found) => found.startsWith('"') ? found : "null");
    return strict === text ? undefined : parseLenientJson(strict);
  }
}

/** Strings, which may contain these words and lack their end, and the words outside of strings. */
const NOT_NUMBERS = /"(?:[^"\\]|\\[^])*"?|-?\b(?:NaN|Infinity)\b/g;

export class JsonObjectScanner {
  readonly #isLines: boolean;
  readonly #where: (offsetBytes: number) => { path: string; place: string };
  /** Bounds and marks of the current piece. */
  #bounds: number[] = [];
  #marks: JsonMark[] = [];
  readonly #containers: { opener: number; offsetBytes: number }[] = [];
  /** Begins with the bytes that were pushed but not yet consumed, `#length` of them. */
  #buffer = new Uint8Array(0);
  #length = 0;
  /** How far the incomplete object has been scanned. */
  #scanned: ObjectScan = { at: -1, depth: 0, isInText: false };
  /** Offset of their first byte in the text. */
  #baseBytes = 0;
  /** Index of the next byte between objects, or of the opening brace of an incomplete object. */
  #at = 0;
  /** State between objects: inside a string, after a backslash, or in a damaged line that is skipped. */
  #inString = false;
  #isEscaped = false;
  #isSkipping = false;
  #hadObject = false;
  /** Index of the next newline, or from which to look for it. */
  #newline = 0;
  /** Thrown once the objects before it have been taken. */
  #fault: FormatError | undefined;

  /**
   * @param path The file, for errors.
   * @param options `isCompressed`: errors say that offsets are in the decompressed text. `isLines`: lines
   *   before the first object may also be damaged.
   */
  constructor(path: string, options: { isCompressed?: boolean; isLines?: boolean } = {}) {
    this.#isLines = options.isLines ?? false;
    const suffix = options.isCompressed ? " of the decompressed text" : "";
    this.#where = (offsetBytes) => ({ path, place: `byte ${offsetBytes}${suffix}` });
  }

  /**
   * Takes the next bytes.
   *
   * @returns The objects that are now complete, up to a fault.
   * @throws {FormatError} If the text before is not JSON or nested too deeply. {@link end} throws it too.
   */
  push(chunk: Uint8Array): JsonPiece {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#length));
      grown.set(this.#bytes);
      this.#buffer = grown;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    if (this.#fault) throw this.#fault;
    [this.#bounds, this.#marks] = [[], []];
    try {
      this.#scan();
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      this.#fault = error;
    }
    const [offsetBytes, numConsumed, bytes] = [this.#baseBytes, this.#at, this.#bytes];
    const found = { offsetBytes, numConsumed, bounds: Uint32Array.from(this.#bounds), marks: this.#marks };
    // The buffer grows until an object is complete, so that its bytes are not copied with each chunk.
    if (numConsumed === 0) return { bytes: new Uint8Array(0), ...found };
    this.#buffer = bytes.slice(numConsumed);
    this.#length = this.#buffer.length;
    this.#baseBytes += numConsumed;
    this.#newline = Math.max(0, this.#newline - numConsumed);
    this.#scanned.at -= numConsumed;
    this.#at = 0;
    return { bytes, ...found };
  }

  get #bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length);
  }

  #scan(): void {
    const bytes = this.#bytes;
    while (this.#at < bytes.length) {
      const byte = bytes[this.#at];
      if (this.#isSkipping) {
        const newline = bytes.indexOf(NEWLINE, this.#at);
        this.#isSkipping = newline < 0;
        this.#at = newline < 0 ? bytes.length : newline + 1;
      } else if (this.#inString) this.#scanString(bytes);
      else if (byte === OPEN_BRACE) {
        if (!this.#scanObject(bytes, this.#at)) return;
      } else if (byte === OPEN_BRACKET) this.#open(byte);
      else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#close(byte);
      else if (byte === QUOTE || MAY_STAND_BETWEEN[byte]) {
        this.#inString = byte === QUOTE;
        this.#at++;
      } else this.#skipLine();
    }
  }

  /** Moves past an object. @returns False if it is incomplete. */
  #scanObject(bytes: Uint8Array, start: number): boolean {
    if (this.#scanned.at <= start) this.#scanned = { at: start, depth: 0, isInText: false };
    const endOfLine = this.#endOfWholeLine(start);
    const { end, state } = endOfLine
      ? { end: endOfLine, state: "whole" }
      : scanObject(bytes, start, this.#scanned);
    if (state === "unfinished") {
      if (bytes.length - start < MAX_OBJECT_BYTES) return false;
      this.#open(OPEN_BRACE);
      this.#mark("begin", this.#baseBytes + start);
      this.#scanned.at = -1;
      return true;
    }
    this.#at = end;
    if (state === "damaged") this.#skipLine(true);
    else {
      this.#hadObject = true;
      this.#bounds.push(start, end);
    }
    return true;
  }

  /**
   * Returns the end of a line of complete objects, or 0 for any other line. In valid JSON, a newline between
   * the braces `}` and `{` is never inside an object. {@link parsePiece} handles lines that are not exactly
   * one object.
   */
  #endOfWholeLine(start: number): number {
    const bytes = this.#bytes;
    if (this.#newline < start || bytes[this.#newline] !== NEWLINE) {
      const found = bytes.indexOf(NEWLINE, Math.max(start, this.#newline));
      this.#newline = found < 0 ? bytes.length : found;
    }
    const end = this.#newline;
    const isWhole = bytes[end - 1] === CLOSE_BRACE && bytes[end + 1] === OPEN_BRACE;
    return isWhole && end - start < MAX_OBJECT_BYTES ? end : 0;
  }

  #mark(kind: JsonMark["kind"], offsetBytes: number): void {
    this.#marks.push({ kind, offsetBytes, numBefore: this.#bounds.length / 2 });
  }

  /** Whether the text so far ends inside an object, a list or a string. */
  get isOpen(): boolean {
    return this.#at < this.#length || this.#containers.length > 0 || this.#inString;
  }

  /** @throws {FormatError} If the text ended inside an object or a list. */
  end(): void {
    if (this.#fault) throw this.#fault;
    if (!this.isOpen) return;
    const open = this.#at < this.#length
      ? { opener: OPEN_BRACE, offsetBytes: this.#baseBytes + this.#at }
      : this.#containers.at(-1) ?? { opener: OPEN_BRACE, offsetBytes: 0 };
    const kind = open.opener === OPEN_BRACKET ? "list" : "object";
    const inside = `the ${kind} that begins at byte ${open.offsetBytes}`;
    throw new FormatError(
      `the JSON ends inside ${inside}, so it is truncated; fetch the file again`,
      this.#where(this.#baseBytes + this.#length),
    );
  }

  /** Moves past a string's closing quote, or to the end of the bytes. */
  #scanString(bytes: Uint8Array): void {
    for (; this.#inString && this.#at < bytes.length; this.#at++) {
      const byte = bytes[this.#at];
      if (byte === NEWLINE) return this.#skipLine();
      this.#inString = byte !== QUOTE || this.#isEscaped;
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
    }
  }

  /** Enters a list, or an object that is too long to be parsed. */
  #open(opener: number): void {
    const offsetBytes = this.#baseBytes + this.#at++;
    this.#containers.push({ opener, offsetBytes });
    if (this.#containers.length > MAX_DEPTH) {
      throw new FormatError(
        `lists are nested more than ${MAX_DEPTH} deep; check the file`,
        this.#where(offsetBytes),
      );
    }
  }

  #close(closer: number): void {
    const opener = closer === CLOSE_BRACE ? OPEN_BRACE : OPEN_BRACKET;
    const container = this.#containers.at(-1);
    if (container?.opener !== opener) return this.#skipLine();
    this.#containers.pop();
    if (opener === OPEN_BRACE) this.#mark("end", container.offsetBytes);
    this.#at++;
  }

  /** Skips the rest of a damaged line of JSON lines; any other damage is an error. */
  #skipLine(isInObject = false): void {
    const offsetBytes = this.#baseBytes + this.#at;
    const isLines = this.#containers.length === 0 && (this.#isLines || this.#hadObject || isInObject);
    if (!isLines) {
      const found = JSON.stringify(decoder.decode(this.#bytes.subarray(this.#at, this.#at + 12)));
      throw new FormatError(
        `it is not JSON (found ${found}); check the file`,
        this.#where(offsetBytes),
      );
    }
    this.#isSkipping = true;
    this.#inString = false;
    this.#isEscaped = false;
    this.#mark("damaged", offsetBytes);
  }
}

/** How far an object has been scanned, so that more bytes continue there. */
interface ObjectScan {
  at: number;
  depth: number;
  isInText: boolean;
}

/** Finds the end of an object or its first damaged byte; `unfinished` if the bytes contain neither. */
function scanObject(
  bytes: Uint8Array,
  start: number,
  scan: ObjectScan,
): { end: number; state: "whole" | "damaged" | "unfinished" } {
  const limit = Math.min(bytes.length, start + MAX_OBJECT_BYTES);
  let { at, depth, isInText } = scan;
  for (; at < limit; at++) {
    const byte = bytes[at];
    if (!isInText && IS_DELIMITER[byte] === 0) continue;
    if (isInText || byte === QUOTE) {
      at = scanText(bytes, isInText ? at : at + 1, limit);
      isInText = at >= limit || bytes[at] === BACKSLASH;
      if (isInText) break;
      if (bytes[at] === NEWLINE) return { end: at, state: "damaged" };
    } else if (byte === OPEN_BRACE && depth > 0 && isNewLine(bytes, start, at)) {
      return { end: at - 1, state: "damaged" };
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++;
    else if (--depth === 0) return { end: at + 1, state: "whole" };
  }
  Object.assign(scan, { at, depth, isInText });
  return { end: limit, state: "unfinished" };
}

/**
 * Whether a brace inside an object begins a new line after a truncated one, because no object may follow what
 * precedes the brace. Thus a writer that was killed costs one line.
 */
function isNewLine(bytes: Uint8Array, start: number, brace: number): boolean {
  if (bytes[brace - 1] !== NEWLINE) return false;
  let at = brace - 1;
  while (at > start && bytes[at] <= SPACE) at--;
  return bytes[at] !== COMMA && bytes[at] !== COLON && bytes[at] !== OPEN_BRACKET;
}

/** Index of a string's closing quote, of a newline, or of a last backslash; else `limit` or more. */
function scanText(bytes: Uint8Array, from: number, limit: number): number {
  for (let at = from; at < limit; at++) {
    const byte = bytes[at];
    if (byte === QUOTE || byte === NEWLINE) return at;
    if (byte !== BACKSLASH) continue;
    if (at + 1 === bytes.length) return at;
    if (bytes[at + 1] !== NEWLINE) at++;
  }
  return limit;
}
