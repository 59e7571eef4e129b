/**
 * Reads measurements of any format from a stream of bytes.
 *
 * @module
 */
import { joinBytes } from "../../base/collections.ts";
import { JsonObjectScanner, type JsonPiece, MAX_OBJECT_BYTES, parsePiece } from "./json_stream.ts";
import type { Finding, ReadingOptions, TakeFinding, TextReader } from "./format.ts";
import { MAX_HEAD_CHARACTERS, NOT_A_RESULT, recognise, resultsIn } from "./registry.ts";

const NEWLINE = 0x0a;

export interface Found {
  finding: Finding;
  /** From 1. */
  line: number;
}

/** Decodes UTF-16 text with a byte order mark to UTF-8; other bytes pass. */
export class ToUtf8 {
  #utf16: TextDecoder | undefined;
  /** The first bytes until there are two. */
  #first: Uint8Array | undefined = new Uint8Array(0);

  /** Takes the next bytes. @param isEnd Whether the text ends after them. */
  push(chunk: Uint8Array, isEnd = false): Uint8Array {
    let bytes = chunk;
    if (this.#first) {
      bytes = joinBytes([this.#first, chunk]);
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

/** Takes bytes as they come. */
export interface ByteReader {
  push(chunk: Uint8Array): void;
  end(): void;
}

/** Reads the text of one file. */
export class MeasurementReader {
  readonly #toUtf8 = new ToUtf8();
  readonly #decoder = new TextDecoder();
  /** The bytes before the format is known. */
  #head: Uint8Array = new Uint8Array(0);
  #json: ByteReader | undefined;
  #text: TextReader | undefined;
  /** Whether lines end with a carriage return alone, as spreadsheets write them for old Macs. */
  #isCarriageReturns = false;
  /** The name of the text's format, or `json`; undefined before it is known. */
  format: string | undefined;

  /**
   * @param path The file, for errors.
   * @param options `isCompressed`: errors then state that offsets are those of the decompressed text.
   * @param take Called with what is found, in the order of the text.
   * @param json Takes JSON, which is read here if it is absent.
   */
  constructor(
    readonly path: string,
    readonly options: ReadingOptions & { isCompressed?: boolean },
    readonly take: TakeFinding,
    readonly json?: ByteReader,
  ) {}

  /** Takes the next bytes. @throws {UserError} If the text cannot be read on. */
  push(chunk: Uint8Array): void {
    this.#read(this.#toUtf8.push(chunk), false);
  }

  /** Ends the text. @throws {UserError} If it cannot end here. */
  end(): void {
    this.#read(this.#toUtf8.push(new Uint8Array(0), true), true);
  }

  #read(chunk: Uint8Array, isEnd: boolean): void {
    const isKnown = this.#json !== undefined || this.#text !== undefined;
    const bytes = isKnown ? chunk : joinBytes([this.#head, chunk]);
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

  /** Recognises the format; false if more bytes are needed. */
  #open(bytes: Uint8Array, isEnd: boolean): boolean {
    const { path, options, take } = this;
    // One character may have up to three bytes.
    let head = new TextDecoder().decode(bytes.subarray(0, 3 * MAX_HEAD_CHARACTERS), { stream: !isEnd });
    this.#isCarriageReturns = /\r.+\r/.test(head) && !head.includes("\n");
    if (this.#isCarriageReturns) head = head.replaceAll("\r", "\n");
    // A file without content has no measurements: an empty log beside others is not an error.
    if (head.trim() === "") return false;
    const recognised = recognise(head.slice(0, MAX_HEAD_CHARACTERS), isEnd, options, path);
    if (!recognised) return false;
    this.format = recognised.kind === "json" ? "json" : recognised.format.name;
    if (recognised.kind === "json") this.#json = this.json ?? new JsonReader(path, options, take);
    else this.#text = recognised.format.open(options, take, path);
    return true;
  }
}

/** Reads JSON of any shape. */
class JsonReader implements ByteReader {
  readonly #scanner: JsonObjectScanner;
  /** Findings before each object that is too long to be parsed and has not ended. */
  readonly #numBefore: number[] = [];
  #numFound = 0;
  /** The line of the next piece's first byte, from 1. */
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
        this.#found({ reason: "invalidJson", detail: `at byte ${offsetBytes}` }, line);
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
    else if (kind === "damaged") this.#found({ reason: "invalidJson", detail: "it is not JSON" }, line);
    else if (this.#numBefore.pop() === this.#numFound) {
      this.#found({ reason: "objectTooLong", detail: `more than ${MAX_OBJECT_BYTES} bytes` }, line);
    }
  }

  /** The lines of the objects and marks of a piece, before it is parsed, which overwrites its bytes. */
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
