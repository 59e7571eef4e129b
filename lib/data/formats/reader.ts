/**
 * Reads measurements of any format from a stream of bytes.
 *
 * @module
 */
import { concat } from "@std/bytes";
import { type JsonMark, JsonObjectScanner, MAX_OBJECT_BYTES, parsePiece } from "../../io/text/json_stream.ts";
import { ToUtf8 } from "../../io/text/utf8.ts";
import type { Finding, JsonResult, ReadingOptions, TakeFinding, TextReader } from "./format.ts";
import { endResults, MAX_HEAD_CHARACTERS, NOT_A_RESULT, recognise, resultsIn } from "./registry.ts";

const NEWLINE = 0x0a;

export interface Found {
  finding: Finding;
  line: number;
  /** Undefined for findings in text. */
  from?: JsonResult | undefined;
}

export class MeasurementReader {
  readonly #toUtf8 = new ToUtf8();
  readonly #decoder = new TextDecoder();
  /** Text without its blank beginning, and bytes without blank chunks, until the format is known. */
  #head = "";
  #chunks: Uint8Array[] = [];
  /** Lines in the head, and their number at which the format is determined next. */
  #numLines = 0;
  #nextLines = 1;
  /** Lines of the blank beginning. */
  #blankLines = 0;
  readonly #json: JsonReader;
  #text: TextReader | undefined;
  /** Whether lines end with just a carriage return, as in spreadsheets for old Macs. */
  #isCarriageReturns = false;
  /** The format's name, or `json`; undefined until it is known. */
  format: string | undefined;

  /**
   * @param path The file, for errors.
   * @param options `isCompressed`: errors say that offsets are in the decompressed text.
   * @param take Called with each finding, in text order.
   */
  constructor(
    readonly path: string,
    readonly options: ReadingOptions & { isCompressed?: boolean },
    readonly take: TakeFinding,
  ) {
    this.#json = new JsonReader(path, options, take);
  }

  /** @throws {UserError} If reading cannot continue. */
  push(chunk: Uint8Array): void {
    this.#read(this.#toUtf8.push(chunk), false);
  }

  /** @throws {UserError} If the text cannot end here. */
  end(): void {
    this.#read(this.#toUtf8.push(new Uint8Array(0), true), true);
  }

  #read(chunk: Uint8Array, isEnd: boolean): void {
    if (this.format === "json") this.#json.push(chunk);
    else {
      const text = this.#decoder.decode(chunk, { stream: !isEnd });
      if (this.#text) this.#pushText(text);
      else this.#readHead(chunk, text, isEnd);
    }
    if (isEnd) this.format === "json" ? this.#json.end() : this.#text?.push(undefined);
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
    this.#blankLines += numNewlines(whole.slice(0, whole.length - text.length));
    // An empty file contains no measurements: an empty log among others is not an error.
    if (this.#head + text === "") return this.#json.push(chunk);
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
    if (recognised === "json") {
      this.format = "json";
      this.#json.push(bytes);
    } else {
      this.format = recognised.name;
      const takeHere = (finding: Finding, line: number) => take(finding, line + this.#blankLines);
      this.#text = recognised.open(options, takeHere, path);
      // What is read from the first characters must not depend on how many have arrived.
      this.#pushText(text.slice(0, length));
      this.#pushText(text.slice(length));
    }
    return true;
  }
}

function numNewlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

class JsonReader {
  readonly #scanner: JsonObjectScanner;
  /** The line of each unfinished object that is too long to be parsed, and the results before it. */
  readonly #long: { line: number; numBefore: number }[] = [];
  #numFound = 0;
  /** Line of the next piece's first byte, from 1. */
  #line = 1;

  constructor(
    readonly path: string,
    readonly options: ReadingOptions & { isCompressed?: boolean },
    readonly take: TakeFinding,
  ) {
    this.#scanner = new JsonObjectScanner(path, { ...options, isLines: true });
  }

  /** @throws {UserError} If the text is not JSON. */
  push(chunk: Uint8Array): void {
    const piece = this.#scanner.push(chunk);
    const { bytes, marks, bounds, offsetBytes, numConsumed } = piece;
    // Before parsing, which overwrites the bytes.
    const newlines: number[] = [];
    for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < numConsumed; at = bytes.indexOf(NEWLINE, at + 1)) {
      newlines.push(at);
    }
    let numPassed = 0;
    const moveTo = (at: number): number => {
      while (newlines[numPassed] < at) numPassed++;
      return this.#line + numPassed;
    };
    let mark = 0;
    const addMarks = (numBefore: number) => {
      for (; marks[mark]?.numBefore <= numBefore; mark++) {
        this.#addMark(marks[mark], moveTo(marks[mark].offsetBytes - offsetBytes));
      }
    };
    parsePiece(piece, (object, index, atBytes) => {
      addMarks(index);
      const line = moveTo(bounds[2 * index]);
      const numBefore = this.#numFound;
      if (!object) this.#damaged(atBytes, line);
      for (const [result, format] of object ? resultsIn(object, this.options) : []) {
        const from = { hasKeys: format.hasKeys ?? false, id: format.idOf?.(result) };
        for (const finding of format.findings(result, this.options)) this.#found(finding, line, from);
      }
      if (this.#numFound === numBefore) this.take({ skipped: NOT_A_RESULT }, line);
    });
    addMarks(Infinity);
    this.#line += newlines.length;
  }

  /** @throws {UserError} If the text ended inside an object, or its results contradict each other. */
  end(): void {
    this.#scanner.end();
    endResults(this.options, this.path, (finding) => this.#found(finding, this.#line));
  }

  #found(finding: Finding, line: number, from?: JsonResult): void {
    this.#numFound++;
    this.take(finding, line, from);
  }

  #damaged(offsetBytes: number, line: number): void {
    this.#found({ reason: "invalidJson", found: `it is not JSON (byte ${offsetBytes})` }, line);
  }

  #addMark({ kind, offsetBytes }: JsonMark, line: number): void {
    if (kind === "damaged") return this.#damaged(offsetBytes, line);
    if (kind === "begin") return void this.#long.push({ line, numBefore: this.#numFound });
    const long = this.#long.pop();
    if (long?.numBefore !== this.#numFound) return;
    const found = `more than ${MAX_OBJECT_BYTES} bytes (from byte ${offsetBytes})`;
    this.#found({ reason: "objectTooLong", found }, long.line);
  }
}

/** The findings in a stream of bytes, chunk by chunk. @throws {UserError} As {@link MeasurementReader}. */
export async function* readStream(
  chunks: AsyncIterable<Uint8Array>,
  path: string,
  options: ReadingOptions & { isCompressed?: boolean },
): AsyncGenerator<Found[]> {
  let found: Found[] = [];
  const reader = new MeasurementReader(
    path,
    options,
    (finding, line, from) => found.push({ finding, line, from }),
  );
  const taken = () => {
    const all = found;
    found = [];
    return all;
  };
  for await (const chunk of chunks) {
    reader.push(chunk);
    yield taken();
  }
  reader.end();
  yield taken();
}
