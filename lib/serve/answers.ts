/** Answers requests with a model, as one JSON value or line by line. @module */
import { ApiError, problemOf } from "./api/api_error.ts";
import type { LineError } from "../query/questions/question.ts";
import type { QuestionName } from "../query/questions/questions.ts";
import { shortened } from "../base/errors.ts";
import { linesOf } from "../query/text_lines.ts";
import { ToUtf8 } from "../io/text/utf8.ts";
import { MEASUREMENT_TYPES } from "../query/questions/lines.ts";
import { createHash } from "node:crypto";
import type { PingService } from "./api/ping_service.ts";
import type { ServedModels } from "./served_models.ts";

export interface Limits {
  /** Maximum bytes of a JSON body, and of each JSON line. */
  readonly maxBodyBytes: number;
  /** Time limit for a request, s; for JSON lines, between the answers that the client takes. */
  readonly maxRequestS: number;
  /** Concurrent connections; a few more are accepted, for `/healthz` and `/metrics` only. */
  readonly maxConnections: number;
  /** Concurrent connections from one address. */
  readonly maxClientConnections: number;
}

export interface AnswerOptions {
  readonly models: ServedModels;
  readonly limits: Limits;
  /** Aborted when the server accepts no further questions. */
  readonly stopping: AbortSignal;
  /** Logs faults of the server itself. */
  readonly log: (line: string) => void;
}

/** Asks a model a question. The service validates it, so it may be any value. */
export async function askQuestion(
  service: PingService,
  name: QuestionName | "model",
  question: unknown,
  { signal, client }: { signal: AbortSignal; client: string },
): Promise<unknown> {
  return await (name === "model" ? service.model() : service[name](question as never, signal, client));
}

/** Answers a GET. The answer depends only on URL and model, so a client that already has it gets 304. */
export async function answerGet(
  request: Request,
  options: AnswerOptions,
  ask: (service: PingService, signal: AbortSignal) => Promise<unknown>,
): Promise<Response> {
  using lease = options.models.lease();
  const { pathname, search } = new URL(request.url);
  const etag = `"${hashOf(`${lease.model.tag} ${pathname}${search}`)}"`;
  const headers = { "etag": etag, "cache-control": "no-cache" };
  if (isKnown(request, etag)) return new Response(null, { status: 304, headers });
  using limit = new TimeLimit(options.limits.maxRequestS, request.signal);
  return Response.json(await ask(lease.model.service, limit.signal), { headers });
}

export async function answerPost(
  request: Request,
  options: AnswerOptions,
  { name, client }: { name: QuestionName; client: string },
): Promise<Response> {
  const { maxBodyBytes, maxRequestS } = options.limits;
  using limit = new TimeLimit(maxRequestS, request.signal);
  const { signal } = limit;
  const { lengthBytes, value } = await readJson(request, { maxBytes: maxBodyBytes, signal });
  using lease = options.models.lease();
  const { service } = lease.model;
  const answer = await service.gate.run(
    lengthBytes,
    async () => await askQuestion(service, name, value(), { signal, client }),
    signal,
  );
  return Response.json(answer, { headers: { "cache-control": "no-store" } });
}

export type AskLines = (
  service: PingService,
  lines: AsyncIterable<string>,
  request: { url: string; signal: AbortSignal; isText: boolean },
) => AsyncIterable<{ line: number }>;

/**
 * Answers a POST of JSON lines, or of measurements in another format. The next line is read only when the
 * client takes answers, which bounds memory. An error before the first answer is sent as a problem; a later
 * one ends the connection.
 *
 * @param options `breakOff`: ends the connection; `isMeasurements`: whether other formats are accepted.
 */
export async function answerLines(
  request: Request,
  options: AnswerOptions & { breakOff: () => void; isMeasurements: boolean },
  ask: AskLines,
): Promise<Response> {
  const { limits: { maxBodyBytes, maxRequestS }, breakOff, isMeasurements } = options;
  using opening = new DisposableStack();
  const limit = opening.use(new TimeLimit(maxRequestS, request.signal));
  const lease = opening.use(options.models.lease());
  const { signal } = limit;
  const lines = new BodyLines(request, { maxBytes: maxBodyBytes, signal, isMeasurements }, options.stopping);
  const asked = { url: request.url, signal, isText: lines.isText };
  const answers = answersOf(lines, ask(lease.model.service, lines, asked));
  let first: IteratorResult<unknown> | undefined = await answers.next();
  const held = opening.move();
  const end = () => {
    held.dispose();
    answers.return(undefined).catch(() => {});
  };
  const giveUp = (reason: unknown) => {
    if (held.disposed) return;
    end();
    if (problemOf(reason).status === 500) options.log(describeError(reason));
    breakOff();
  };
  // Pulling stops if the client takes no answers, so the limit is enforced here.
  signal.addEventListener("abort", () => giveUp(signal.reason));
  const encoder = new TextEncoder();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    signal.throwIfAborted();
    limit.restart();
    const next = first ?? await answers.next();
    first = undefined;
    // The client may have left in the meantime.
    if (held.disposed) return;
    if (!next.done) return controller.enqueue(encoder.encode(JSON.stringify(next.value) + "\n"));
    end();
    controller.close();
  };
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => await pull(controller).catch(giveUp),
    cancel: end,
  }, { highWaterMark: 1 });
  return new Response(stream, {
    headers: { "content-type": "application/x-ndjson", "cache-control": "no-store" },
  });
}

/** Yields the answers to all lines that were read, then an error for the rest if the server stops. */
async function* answersOf(
  lines: BodyLines,
  answers: AsyncIterable<{ line: number }>,
): AsyncGenerator<{ line: number } | LineError> {
  for await (const answer of answers) yield lines.explained(answer);
  if (lines.isWhole) return;
  const line = lines.numLines + 1;
  const error = `Cannot answer line ${line} and those after it: the server is stopping; ask again later`;
  yield { line, error };
}

/** Whether the client already has the answer with this entity tag. */
export function isKnown(request: Request, etag: string): boolean {
  const known = request.headers.get("if-none-match");
  return known?.match(/"[^"]*"/g)?.includes(etag) ?? false;
}

export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

export function describeError(error: unknown): string {
  return `error: ${error instanceof Error ? error.stack ?? error.message : String(error)}`;
}

export function stoppingError(): ApiError {
  return new ApiError(503, "Cannot answer: the server is stopping; ask again later");
}

export class TimeLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #seconds: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param client Aborted when the client disconnects. */
  constructor(seconds: number, client: AbortSignal) {
    this.#seconds = seconds;
    const leave = () => this.#controller.abort(new ApiError(400, "Cannot answer: the client disconnected"));
    client.addEventListener("abort", leave);
    if (client.aborted) leave();
    this.restart();
  }

  /** Aborted at the time limit or when the client disconnects. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const detail = `Cannot answer: the request took more than ${this.#seconds} s; ask for less at once`;
      this.#controller.abort(new ApiError(503, detail));
    }, 1000 * this.#seconds);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

interface BodyOptions {
  /** Maximum bytes of the body or of a line. */
  maxBytes: number;
  /** Stops reading; its reason is thrown. */
  signal: AbortSignal;
}

const JSON_TYPES = ["application/json"];
const TEXT_TYPE = "text/plain";
const LINES_TYPES = ["application/x-ndjson", "application/jsonl"];

/**
 * Reads the body of a JSON request.
 *
 * @returns Its length, and a function that parses it.
 * @throws {ApiError} 413 if the body is too long, 415 if it is encoded or has another type; the returned
 *   function throws 400 if it is not JSON.
 */
export async function readJson(
  request: Request,
  { maxBytes, signal }: BodyOptions,
): Promise<{ lengthBytes: number; value: () => unknown }> {
  requireType(request, JSON_TYPES);
  const tooLong = new ApiError(
    413,
    `Cannot read the request: its body exceeds the limit of ${maxBytes} bytes; ask for less at once, ` +
      "or raise --max-body-bytes on the server",
  );
  if (Number(request.headers.get("content-length")) > maxBytes) throw tooLong;
  const parts: Uint8Array[] = [];
  let lengthBytes = 0;
  for await (const part of bodyOf(request, signal)) {
    lengthBytes += part.length;
    if (lengthBytes > maxBytes) throw tooLong;
    parts.push(part);
  }
  const bytes = await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer();
  const value = (): unknown => {
    try {
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch (cause) {
      const found = cause instanceof SyntaxError ? cause.message : "found bytes that are not UTF-8";
      throw new ApiError(400, `Cannot read the request: ${found}, expected a JSON object`, { cause });
    }
  };
  return { lengthBytes, value };
}

/** Placeholder for an unreadable line. It is not JSON, so its answer is an error. */
const UNREADABLE = "?";

/** The lines of a body, read once and on demand. */
class BodyLines implements AsyncIterable<string> {
  readonly #request: Request;
  readonly #options: BodyOptions;
  readonly #stop: AbortSignal;
  readonly #faults = new Map<number, string>();
  numLines = 0;
  isWhole = false;
  /** False for JSON lines. */
  readonly isText: boolean;

  /** @param stop Ends reading without an error. @throws {ApiError} 415 if the body has another type. */
  constructor(request: Request, options: BodyOptions & { isMeasurements: boolean }, stop: AbortSignal) {
    const types = options.isMeasurements ? [...LINES_TYPES, ...MEASUREMENT_TYPES] : LINES_TYPES;
    this.isText = MEASUREMENT_TYPES.includes(requireType(request, types));
    this.#request = request;
    this.#options = options;
    this.#stop = stop;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    const { maxBytes, signal } = this.#options;
    try {
      const body = bodyOf(this.#request, AbortSignal.any([signal, this.#stop]));
      for await (const { text, fault } of linesOf(this.isText ? inUtf8(body) : body, maxBytes)) {
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

  /** Replaces the answer to an unreadable line with the reason. */
  explained<Answer extends { line: number }>(answer: Answer): Answer | LineError {
    const fault = this.#faults.get(answer.line);
    if (fault === undefined || "reading" in answer) return answer;
    this.#faults.delete(answer.line);
    return { line: answer.line, error: fault };
  }
}

/** Converts text to UTF-8 as files are read: UTF-16 is decoded, letters in other encodings are replaced. */
async function* inUtf8(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const toUtf8 = new ToUtf8();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  for await (const chunk of chunks) {
    yield encoder.encode(decoder.decode(toUtf8.push(chunk), { stream: true }));
  }
  yield encoder.encode(decoder.decode(toUtf8.push(new Uint8Array(0), true)));
}

/** Streams the body. The signal ends a body that arrives too slowly. */
async function* bodyOf({ body }: Request, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  signal.throwIfAborted();
  if (!body) return;
  try {
    // Cancelling the body would close the connection before the answer is sent.
    yield* body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal, preventCancel: true });
  } catch (cause) {
    signal.throwIfAborted();
    throw new ApiError(400, "Cannot read the request: its body is incomplete; send all of it", { cause });
  }
}

function requireType(request: Request, wanted: readonly string[]): string {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.trim().toLowerCase() !== "identity") {
    throw new ApiError(
      415,
      `Cannot read the request: its content encoding is ${shortened(encoding)}, expected none; ` +
        "send the body uncompressed",
    );
  }
  const found = request.headers.get("content-type");
  const [type] = (found ?? "none").toLowerCase().split(";").map((part) => part.trim());
  if (wanted.includes(type)) return type;
  throw new ApiError(
    415,
    `Cannot read the request: its content type is ${found ?? "not given"}, expected ${wanted[0]}` +
      (wanted.includes(TEXT_TYPE) ? `, or ${TEXT_TYPE} for measurements in any format` : "") +
      `; add the header content-type: ${wanted.includes(TEXT_TYPE) ? TEXT_TYPE : wanted[0]}`,
  );
}
