/**
 * Reads the body of a request: one JSON value, or lines of JSON as answers are taken.
 *
 * @module
 */
import { ApiError } from "../api/api_error.ts";
import type { LineError } from "../api/schemas.ts";
import { shortened } from "../errors.ts";
import { linesOf } from "../query/text_lines.ts";

/** Where a body comes from, and how much and how long it is read. */
export interface BodyOptions {
  /** The longest body, or the longest line. */
  maxBytes: number;
  /** Ends the reading with its reason. */
  signal: AbortSignal;
}

const JSON_TYPES = ["application/json"];
const LINES_TYPES = ["application/x-ndjson", "application/jsonl"];

/**
 * Reads a JSON value.
 *
 * @throws {ApiError} 413 if it is too long, 415 if it says that it is encoded or something else, 400 if it is no JSON.
 */
export async function readJson(request: Request, { maxBytes, signal }: BodyOptions): Promise<unknown> {
  requireType(request, JSON_TYPES);
  const tooLong = new ApiError(
    413,
    `Cannot read the request: its body has more than ${maxBytes} bytes, at most these were wanted; ask for less at ` +
      "once, or raise --max-body-bytes of the server",
  );
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLong;
  const parts: Uint8Array[] = [];
  let lengthBytes = 0;
  for await (const part of bodyOf(request, signal)) {
    lengthBytes += part.length;
    if (lengthBytes > maxBytes) throw tooLong;
    parts.push(part);
  }
  try {
    const bytes = await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer();
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    const found = cause instanceof SyntaxError ? cause.message : "found bytes that are no UTF-8";
    throw new ApiError(400, `Cannot read the request: ${found}, a JSON object was wanted`, { cause });
  }
}

/** In place of a line that cannot be read: no JSON, so it has an error as its answer. */
const UNREADABLE = "?";

/** The lines of a body, which are read as they are asked for. */
export class BodyLines implements AsyncIterable<string> {
  readonly #request: Request;
  readonly #options: BodyOptions;
  readonly #stop: AbortSignal;
  readonly #faults = new Map<number, string>();
  /** How many lines were read. */
  numLines = 0;
  /** Whether all were read. */
  isWhole = false;

  /**
   * Reads nothing yet.
   *
   * @param stop Ends the lines where they are.
   * @throws {ApiError} 415 if the body says that it is something else.
   */
  constructor(request: Request, options: BodyOptions, stop: AbortSignal) {
    requireType(request, LINES_TYPES);
    this.#request = request;
    this.#options = options;
    this.#stop = stop;
  }

  /** Reads the lines, once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    const { maxBytes, signal } = this.#options;
    try {
      const body = bodyOf(this.#request, AbortSignal.any([signal, this.#stop]));
      for await (const { text, fault } of linesOf(body, maxBytes)) {
        if (this.#stop.aborted) return;
        this.numLines++;
        if (fault !== undefined) this.#faults.set(this.numLines, fault);
        yield fault === undefined ? text : UNREADABLE;
      }
      this.isWhole = true;
    } catch (error) {
      if (!this.#stop.aborted || signal.aborted) throw error;
    }
  }

  /** The answer to a line, or why the line could not be read. */
  explained<Answer extends { line: number }>(answer: Answer): Answer | LineError {
    const fault = this.#faults.get(answer.line);
    if (fault === undefined) return answer;
    this.#faults.delete(answer.line);
    return { line: answer.line, error: fault };
  }
}

/** The body as it comes. What comes too slowly ends with the signal. */
async function* bodyOf({ body }: Request, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  if (!body) return;
  try {
    // To cancel the body would end the connection, and with it the answer.
    yield* body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal, preventCancel: true });
  } catch (cause) {
    signal.throwIfAborted();
    throw new ApiError(400, "Cannot read the request: its body breaks off", { cause });
  }
}

function requireType(request: Request, wanted: readonly string[]): void {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.trim().toLowerCase() !== "identity") {
    throw new ApiError(
      415,
      `Cannot read the request: its content encoding is ${shortened(encoding)}, expected none; ` +
        "send the body as it is",
    );
  }
  const found = request.headers.get("content-type");
  const [type] = (found ?? "none").toLowerCase().split(";");
  if (wanted.includes(type.trim())) return;
  throw new ApiError(
    415,
    `Cannot read the request: its content type is ${found ?? "not given"}, ${wanted[0]} was wanted; ` +
      `add the header content-type: ${wanted[0]}`,
  );
}
