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
  /** Bytes received before the format is known. */
  #head: Uint8Array = new Uint8Array(0);
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
    const isKnown = this.#json !== undefined || this.#text !== undefined;
    const bytes = isKnown ? chunk : concat([this.#head, chunk]);
    if (!isKnown && !this.#open(bytes, isEnd)) {
      this.#head = bytes;
      return;
    }
    this.#head = new Uint8Array(0);
    if (this.#json) {
      this.#json.push(bytes);
      if (isEnd) this.#json.end();
    } else {
      const text = this.#decoder.decode(bytes, { stream: !isEnd });
      this.#text?.push(this.#isCarriageReturns ? text.replaceAll("\r", "\n") : text);
      if (isEnd) this.#text?.push(undefined);
    }
  }

  /** Recognises the format. @returns False if that takes more bytes. */
  #open(bytes: Uint8Array, isEnd: boolean): boolean {
    const { path, options, take } = this;
    // A UTF-16 unit takes up to three bytes in UTF-8.
    let head = new TextDecoder().decode(bytes.subarray(0, 3 * MAX_HEAD_CHARACTERS), { stream: !isEnd });
    this.#isCarriageReturns = /\r.+\r/.test(head) && !head.includes("\n");
    if (this.#isCarriageReturns) head = head.replaceAll("\r", "\n");
    // An empty file contains no measurements: an empty log among others is not an error.
    if (head.trim() === "") return false;
    const recognised = recognise(head.slice(0, MAX_HEAD_CHARACTERS), isEnd, options, path);
    if (!recognised) return false;
    this.format = recognised.kind === "json" ? "json" : recognised.format.name;
    if (recognised.kind === "json") this.#json = this.json ?? new JsonReader(path, options, take);
    else this.#text = recognised.format.open(options, take, path);
    return true;
  }
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
    parsePiece(piece, (object, index, offsetBytes) => {
      addMarks(index);
      const line = lines.bounds[index];
      if (!object) {
        this.#found({ reason: "invalidJson", found: `at byte ${offsetBytes}` }, line);
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
    else if (kind === "damaged") this.#found({ reason: "invalidJson", found: "it is not JSON" }, line);
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
