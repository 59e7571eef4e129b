/** Reads the lines of a text one at a time, in bounded memory. @module */
import { concat } from "@std/bytes";
import { isObject, parseJson } from "../base/collections.ts";
import { UserError } from "../base/errors.ts";

/** Longer than a query with the longest context, 6,000 measurements. */
export const MAX_LINE_BYTES = 16 * 2 ** 20;

const NEWLINE = 0x0a;
/** How much of a skipped line is kept. */
const START_BYTES = 80;

export interface TextLine {
  /** Without its line ending, `\n` or `\r\n`; only the beginning if the line cannot be read. */
  readonly text: string;
  /** Why the line cannot be read, for people. */
  readonly fault?: string;
}

/** Splits bytes into lines. Overlong lines are skipped. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes = MAX_LINE_BYTES,
): AsyncGenerator<TextLine> {
  const line = new LineBytes(maxLineBytes);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      line.append(chunk.subarray(start, end));
      yield line.take();
      start = end + 1;
    }
    line.append(chunk.subarray(start));
  }
  if (line.lengthBytes > 0) yield line.take();
}

/** Chunks of a stream until a signal aborts, even while none arrive; the stream is cancelled at the end. */
export async function* chunksUntil(
  signal: AbortSignal,
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  // Ends a pending read; if the stream has an error, the read reports it.
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel);
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done) break;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Parses the JSON object in a line. @param expected For the error. @throws {UserError} If there is none. */
export function jsonObjectOf(text: string, expected: string): Record<string, unknown> {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new UserError({ found: "the line is not a JSON object", expected });
}

class LineBytes {
  readonly #strict = new TextDecoder("utf-8", { fatal: true });
  #parts: Uint8Array[] = [];
  /** Length of the whole line, even if it is too long and not all of it is kept. */
  lengthBytes = 0;

  constructor(readonly maxBytes: number) {}

  append(more: Uint8Array): void {
    if (more.length === 0) return;
    this.lengthBytes += more.length;
    if (this.lengthBytes <= this.maxBytes || this.#parts.length === 0) this.#parts.push(more);
    else this.#parts.length = 1;
  }

  /** Ends the line and begins the next. */
  take(): TextLine {
    const parts = this.#parts;
    const length = this.lengthBytes;
    this.#parts = [];
    this.lengthBytes = 0;
    const faulty = (fault: string) => ({
      text: new TextDecoder().decode(parts[0].subarray(0, START_BYTES)),
      fault,
    });
    if (length > this.maxBytes) {
      return faulty(`found ${length} bytes, expected at most ${this.maxBytes} per line`);
    }
    const bytes = concat(parts);
    const hasReturn = bytes.at(-1) === 0x0d;
    try {
      return { text: this.#strict.decode(bytes.subarray(0, hasReturn ? -1 : length)) };
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      return faulty("found bytes that are not UTF-8, expected text");
    }
  }
}
