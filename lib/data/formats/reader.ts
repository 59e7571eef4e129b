/**
 * Reads measurements of any format from a stream of bytes.
 *
 * @module
 */
import { concat } from "@std/bytes";
import { JsonObjectScanner, type JsonPiece, MAX_OBJECT_BYTES, parsePiece } from "./json_stream.ts";
import type { Finding, ReadingOptions, TakeFinding, TextReader } from "./format.ts";
import { MAX_HEAD_CHARACTERS, NOT_A_RESULT, recognise, resultsIn } from "./registry.ts";

const NEWLINE = 0x0a;
const SPACE = 0x20;
const BLANK_BYTES = 1 << 16;

const NOT_JSON: Finding = { reason: "invalidJson", found: "it is not JSON" };

export interface Found {
  finding: Finding;
  line: number;
}

/** Converts UTF-16 text with a byte order mark to UTF-8. Other bytes pass unchanged. */
export class ToUtf8 {
  #utf16: TextDecoder | undefined;
  /** Bytes received so far, until there are two. */
  #first: Uint8Array | undefined = new Uint8Array(0);

  /** @param isEnd Whether the text ends with these bytes. */
  push(chunk: Uint8Array, isEnd = false): Uint8Array {
    let bytes = chunk;
    if (this.#first) {
      bytes = concat([this.#first, chunk]);
      this.#first = bytes;
      if (bytes.length < 2 && !isEnd) return new Uint8Array(0);
      const mark = bytes[0] << 8 | bytes[1];
      if (mark === 0xfffe) this.#utf16 = new TextDecoder("utf-16le");
      if (mark === 0xfeff) this.#utf16 = new TextDecoder("utf-16be");
      this.#first = undefined;
    }
    return this.#utf16 ? new TextEncoder().encode(this.#utf16.decode(bytes, { stream: !isEnd })) : bytes;
  }
}

export interface ByteReader {
  push(chunk: Uint8Array): void;
  end(): void;
}

export class MeasurementReader {
  readonly #toUtf8 = new ToUtf8();
  readonly #decoder = new TextDecoder();
  /** Text and bytes received before the format is known, without the blank beginning. */
  #head = "";
  #chunks: Uint8Array[] = [];
  /** Lines in the head, and their number at which the format is determined next. */
  #numLines = 0;
  #nextLines = 1;
  /** The blank beginning: `cutLines` are those of a chunk that is in the head. */
  readonly #blank = { bytes: 0, lines: 0, cutLines: 0 };
  #json: ByteReader | undefined;
  #text: TextReader | undefined;
  /** Whether lines end with just a carriage return, as in spreadsheets for old Macs. */
  #isCarriageReturns = false;
  /** The format's name, or `json`; undefined until it is known. */
  format: string | undefined;

  /**
   * @param path The file, for errors.
   * @param options `isCompressed`: errors say that offsets are in the decompressed text.
   * @param take Called with each finding, in text order.
   * @param json Takes JSON; by default it is read here.
   */
  constructor(
    readonly path: string,
    readonly options: ReadingOptions & { isCompressed?: boolean },
    readonly take: TakeFinding,
    readonly json?: ByteReader,
  ) {}

  /** @throws {UserError} If reading cannot continue. */
  push(chunk: Uint8Array): void {
    this.#read(this.#toUtf8.push(chunk), false);
  }

  /** @throws {UserError} If the text cannot end here. */
  end(): void {
    this.#read(this.#toUtf8.push(new Uint8Array(0), true), true);
  }

  #read(chunk: Uint8Array, isEnd: boolean): void {
    if (this.#json) this.#json.push(chunk);
    else {
      const text = this.#decoder.decode(chunk, { stream: !isEnd });
      if (this.#text) this.#pushText(text);
      else this.#readHead(chunk, text, isEnd);
    }
    if (isEnd) this.#json ? this.#json.end() : this.#text?.push(undefined);
  }

  #pushText(text: string): void {
    this.#text?.push(this.#isCarriageReturns ? text.replaceAll("\r", "\n") : text);
  }

  /**
   * Determines the format at the ends of lines 1, 2, 4, 8, …, at {@link MAX_HEAD_CHARACTERS} and at the end of
   * the text: the format depends only on the text, and each character is examined a bounded number of times.
   */
  #readHead(chunk: Uint8Array, whole: string, isEnd: boolean): void {
    const text = this.#head === "" ? whole.trimStart() : whole;
    const numCut = text.length < whole.length ? numNewlines(whole.slice(0, whole.length - text.length)) : 0;
    // An empty file contains no measurements: an empty log among others is not an error.
    if (this.#head === "" && text === "") {
      this.#blank.bytes += chunk.length;
      this.#blank.lines += numCut;
      return;
    }
    this.#blank.cutLines += numCut;
    const before = this.#head.length;
    this.#head += text;
    this.#chunks.push(chunk);
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      const length = before + at + 1;
      if (length > MAX_HEAD_CHARACTERS) break;
      if (++this.#numLines < this.#nextLines) continue;
      this.#nextLines *= 2;
      if (this.#open(length, false)) return;
    }
    if (isEnd || this.#head.length >= MAX_HEAD_CHARACTERS) this.#open(MAX_HEAD_CHARACTERS, isEnd);
  }

  /** Recognises the format by the first characters. @returns False if that takes more of them. */
  #open(length: number, isEnd: boolean): boolean {
    const { path, options, take } = this;
    let head = this.#head.slice(0, length);
    this.#isCarriageReturns = /\r.+\r/.test(head) && !head.includes("\n");
    if (this.#isCarriageReturns) head = head.replaceAll("\r", "\n");
    const recognised = recognise(head, isEnd, options, path);
    if (!recognised) return false;
    const [text, bytes] = [this.#head, concat(this.#chunks)];
    [this.#head, this.#chunks] = ["", []];
    if (recognised.kind === "json") {
      this.format = "json";
      this.#json = this.json ?? new JsonReader(path, options, take);
      this.#pushBlank(this.#json);
      this.#json.push(bytes);
    } else {
      this.format = recognised.format.name;
      const numBlank = this.#blank.lines + this.#blank.cutLines;
      this.#text = recognised.format.open(options, (finding, line) => take(finding, line + numBlank), path);
      this.#pushText(text);
    }
    return true;
  }

  /** Replaces the blank beginning, so that offsets and lines in JSON are those of the text. */
  #pushBlank(json: ByteReader): void {
    let { bytes, lines } = this.#blank;
    while (bytes > 0) {
      const part = new Uint8Array(Math.min(bytes, BLANK_BYTES)).fill(SPACE).fill(NEWLINE, 0, lines);
      json.push(part);
      bytes -= part.length;
      lines = Math.max(0, lines - part.length);
    }
  }
}

function numNewlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

class JsonReader implements ByteReader {
  readonly #scanner: JsonObjectScanner;
  /** The number of findings before each unfinished object that is too long to be parsed. */
  readonly #numBefore: number[] = [];
  #numFound = 0;
  /** Line of the next piece's first byte, from 1. */
  #line = 1;

  constructor(
    path: string,
    readonly options: ReadingOptions & { isCompressed?: boolean },
    readonly take: TakeFinding,
  ) {
    this.#scanner = new JsonObjectScanner(path, { ...options, isLines: true });
  }

  /** @throws {UserError} If the text is not JSON. */
  push(chunk: Uint8Array): void {
    const piece = this.#scanner.push(chunk);
    const lines = this.#linesOf(piece);
    const { marks } = piece;
    let mark = 0;
    const addMarks = (numBefore: number) => {
      for (; marks[mark]?.numBefore <= numBefore; mark++) this.#addMark(marks[mark].kind, lines.marks[mark]);
    };
    parsePiece(piece, (object, index) => {
      addMarks(index);
      const line = lines.bounds[index];
      if (!object) {
        this.#found(NOT_JSON, line);
        return;
      }
      const numBefore = this.#numFound;
      for (const [result, format] of resultsIn(object, this.options)) {
        for (const finding of format.findings(result, this.options)) this.#found(finding, line);
      }
      if (this.#numFound === numBefore) this.#found({ skipped: NOT_A_RESULT }, line);
    });
    addMarks(Infinity);
  }

  /** @throws {UserError} If the text ended inside an object. */
  end(): void {
    this.#scanner.end();
  }

  #found(finding: Finding, line: number): void {
    this.#numFound++;
    this.take(finding, line);
  }

  #addMark(kind: "damaged" | "begin" | "end", line: number): void {
    if (kind === "begin") this.#numBefore.push(this.#numFound);
    else if (kind === "damaged") this.#found(NOT_JSON, line);
    else if (this.#numBefore.pop() === this.#numFound) {
      this.#found({ reason: "objectTooLong", found: `more than ${MAX_OBJECT_BYTES} bytes` }, line);
    }
  }

  /** Line numbers of a piece's objects and marks. Must precede parsing, which overwrites the bytes. */
  #linesOf(
    { bytes, bounds, marks, offsetBytes, numConsumed }: JsonPiece,
  ): { bounds: number[]; marks: number[] } {
    const places = [
      ...Array.from({ length: bounds.length / 2 }, (_, i) => ({ at: bounds[2 * i], i, isMark: false })),
      ...marks.map(({ offsetBytes: at }, i) => ({ at: at - offsetBytes, i, isMark: true })),
    ].sort((a, b) => a.at - b.at);
    const lines = { bounds: [] as number[], marks: [] as number[] };
    let newline = bytes.indexOf(NEWLINE);
    const moveTo = (end: number) => {
      for (; newline >= 0 && newline < end; newline = bytes.indexOf(NEWLINE, newline + 1)) this.#line++;
    };
    for (const { at, i, isMark } of places) {
      moveTo(at);
      lines[isMark ? "marks" : "bounds"][i] = this.#line;
    }
    moveTo(numConsumed);
    return lines;
  }
}

/** Reads the measurements in a stream of bytes. @throws {UserError} As {@link MeasurementReader}. */
export async function* readStream(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  options: ReadingOptions & { isCompressed?: boolean },
): AsyncGenerator<Found> {
  let found: Found[] = [];
  const reader = new MeasurementReader(path, options, (finding, line) => found.push({ finding, line }));
  const taken = () => {
    const all = found;
    found = [];
    return all;
  };
  for await (const chunk of chunks) {
    reader.push(chunk);
    yield* taken();
  }
  reader.end();
  yield* taken();
}
