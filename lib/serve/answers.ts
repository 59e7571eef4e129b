/** Answers requests with a model: as one JSON value, or line by line. @module */
import { ApiError, problemOf } from "./api/api_error.ts";
import type { LineError } from "../query/questions/question.ts";
import type { QuestionName } from "../query/questions/questions.ts";
import { shortened } from "../base/errors.ts";
import { linesOf } from "../query/text_lines.ts";
import { MEASUREMENT_TYPES } from "./api/lines.ts";
import { createHash } from "node:crypto";
import type { PingService } from "./api/ping_service.ts";
import type { ServedModels } from "./served_models.ts";

export interface Limits {
  /** Bytes of a JSON body, and of each line of JSON lines. */
  readonly maxBodyBytes: number;
  /** Seconds until a request is read and answered; of JSON lines, until the client has taken one more answer. */
  readonly maxRequestS: number;
  /** Connections at the same time; a few more are taken for `/healthz` and `/metrics` only. */
  readonly maxConnections: number;
  /** Connections from one address. */
  readonly maxClientConnections: number;
}

export interface AnswerOptions {
  readonly models: ServedModels;
  readonly limits: Limits;
  /** Aborted when the server takes no further questions. */
  readonly stopping: AbortSignal;
  /** Prints what went wrong with the server itself. */
  readonly log: (line: string) => void;
}

/** Asks a model a question, which may be anything: the service checks it. */
export async function askQuestion(
  service: PingService,
  name: QuestionName | "model",
  question: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  return await (name === "model" ? service.model() : service[name](question as never, signal));
}

/** Answers a GET. The answer depends only on the URL and the model, so a client that has it gets 304. */
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
  name: QuestionName,
): Promise<Response> {
  const { maxBodyBytes, maxRequestS } = options.limits;
  using limit = new TimeLimit(maxRequestS, request.signal);
  const { signal } = limit;
  const { lengthBytes, value } = await readJson(request, { maxBytes: maxBodyBytes, signal });
  using lease = options.models.lease();
  const { service } = lease.model;
  const answer = await service.gate.run(
    lengthBytes,
    async () => await askQuestion(service, name, value(), signal),
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
 * Answers a POST of JSON lines, or of measurements in another format. A line is read when the client takes
 * answers, which bounds memory. An error before the first answer is a problem; after it, the connection
 * breaks off.
 *
 * @param options `breakOff`: ends the connection; `isMeasurements`: whether other formats are taken.
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
  // A client that takes no answers does not pull.
  signal.addEventListener("abort", () => giveUp(signal.reason));
  const encoder = new TextEncoder();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    signal.throwIfAborted();
    limit.restart();
    const next = first ?? await answers.next();
    first = undefined;
    // The client may have gone meanwhile.
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

/** The answers to the lines that are read, and an error for the others if the server stops. */
async function* answersOf(
  lines: BodyLines,
  answers: AsyncIterable<{ line: number }>,
): AsyncGenerator<{ line: number } | LineError> {
  for await (const answer of answers) yield lines.explained(answer);
  if (lines.isWhole) return;
  const line = lines.numLines + 1;
  const error = `Cannot answer line ${line} and those after it: the server stops; ask again later`;
  yield { line, error };
}

/** Whether the client already has the answer with an entity tag. */
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
  return new ApiError(503, "Cannot answer: the server stops; ask again later");
}

/** The time limit of a request. */
export class TimeLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #seconds: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Begins to count. @param seconds The limit. @param client Aborted when the client is gone. */
  constructor(seconds: number, client: AbortSignal) {
    this.#seconds = seconds;
    const leave = () => this.#controller.abort(new ApiError(400, "Cannot answer: the client is gone"));
    client.addEventListener("abort", leave);
    if (client.aborted) leave();
    this.restart();
  }

  /** Aborted at the limit, and when the client is gone. */
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
  /** The longest body, or the longest line. */
  maxBytes: number;
  /** Ends the reading with its reason. */
  signal: AbortSignal;
}

const JSON_TYPES = ["application/json"];
const LINES_TYPES = ["application/x-ndjson", "application/jsonl"];

/**
 * Reads the body of a JSON request.
 *
 * @returns Its length, and a function that parses it.
 * @throws {ApiError} 413 if it is too long, 415 if it is encoded or of another type, and when parsed 400 if
 *   it is not JSON.
 */
export async function readJson(
  request: Request,
  { maxBytes, signal }: BodyOptions,
): Promise<{ lengthBytes: number; value: () => unknown }> {
  requireType(request, JSON_TYPES);
  const tooLong = new ApiError(
    413,
    `Cannot read the request: its body has more than ${maxBytes} bytes, the most that is accepted; ask for less at ` +
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

/** Takes the place of a line that cannot be read; it is not JSON, so its answer is an error. */
const UNREADABLE = "?";

/** The lines of a body, read once, as they are asked for. */
class BodyLines implements AsyncIterable<string> {
  readonly #request: Request;
  readonly #options: BodyOptions;
  readonly #stop: AbortSignal;
  readonly #faults = new Map<number, string>();
  numLines = 0;
  isWhole = false;
  /** Whether they are not lines of JSON. */
  readonly isText: boolean;

  /** @param stop Ends the lines where they are. @throws {ApiError} 415 if the body is of another type. */
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

/** The body as it comes. One that comes too slowly ends with the signal. */
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

function requireType(request: Request, wanted: readonly string[]): string {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.trim().toLowerCase() !== "identity") {
    throw new ApiError(
      415,
      `Cannot read the request: its content encoding is ${shortened(encoding)}, expected none; ` +
        "send the body as it is",
    );
  }
  const found = request.headers.get("content-type");
  const [type] = (found ?? "none").toLowerCase().split(";").map((part) => part.trim());
  if (wanted.includes(type)) return type;
  throw new ApiError(
    415,
    `Cannot read the request: its content type is ${found ?? "not given"}, expected ${wanted[0]}; ` +
      `add the header content-type: ${wanted[0]}`,
  );
}
