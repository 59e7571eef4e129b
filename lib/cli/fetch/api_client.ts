/**
 * Requests to a public HTTP API that may answer slowly, in pieces, not at all, or with "later". A failed
 * request is repeated from the start, with growing waits, until it succeeds or a retry is pointless.
 *
 * - 429 and 5xx, lost connections, truncated bodies and silence for longer than the time limit are retried.
 *   The wait is that of `Retry-After` (RFC 9110, section 10.2.3) or `X-RateLimit-Reset` (seconds;
 *   Globalping), at least 1 s, or else 1, 2, 4, … 60 s.
 * - Only status 200 counts as an answer, or 202 to a POST: others have no complete body.
 * - All requests go to one host: links to further pages are followed by path only, redirects not at all.
 * - The key is sent in a header only and never printed, even if the server repeats it.
 * - The current time is the server's, because this machine's clock may be wrong.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { FormatError, shortened, UsageError, UserError } from "../../base/errors.ts";
import { formatBytes, formatSeconds } from "../../base/text.ts";
import { VERSION } from "../../base/version.ts";
import { openInput } from "../../io/compression/decompress.ts";
import { readText } from "../../io/files/inputs.ts";
import { pause } from "../../io/threads/stage_hooks.ts";
import { keepSecret } from "../../base/printed.ts";

const MAX_ATTEMPTS = 8;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
/** The client gives up if a server asks for a longer wait. */
const LONGEST_ASKED_S = 900;
/** Size limits for errors, and for answers that are read whole. */
const MAX_ERROR_BYTES = 1 << 16;
const MAX_JSON_BYTES = 1 << 26;

/** A failure of a request that may succeed if repeated. */
export class RetryableError extends Error {
  /** @param afterS The wait that the server asked for, in seconds. */
  constructor(message: string, readonly afterS?: number, options?: ErrorOptions) {
    super(message, options);
  }
}

export interface ApiOptions {
  /** Scheme, host, port and possibly a path that precedes the paths of requests. */
  base: URL;
  authorization?: string | undefined;
  /** How long the server may be silent. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Called with a line for the user before each wait. */
  log: (line: string) => void;
  /** Advice in the error for a rejected request. */
  advice: string;
  firstWaitMs?: number;
}

interface RequestBody {
  json: unknown;
}

/** Reads the body of an answer. It is called again from the start if an attempt fails. */
type BodyReader<T> = (body: AsyncIterable<Uint8Array>) => Promise<T>;

export class ApiClient {
  readonly #options: ApiOptions;
  /** The server's time minus `performance.now()`; NaN if its answers have no date. */
  #clockMs: number | undefined;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /**
   * The server's time, Unix seconds: from its last answer, or requested if there was none. If its answers
   * have no date, the time of this machine, which is logged once.
   *
   * @throws {UserError} If the server does not answer.
   */
  async nowS(): Promise<number> {
    const { base, log } = this.#options;
    if (this.#clockMs === undefined) {
      await this.#retried(base, async () => {
        const { response, silence } = await this.#send(base, "HEAD");
        silence[Symbol.dispose]();
        await response.body?.cancel();
      });
    }
    if (this.#clockMs === undefined) {
      log(`${base.host}: its answers have no Date header, so this machine's clock is used`);
      this.#clockMs = NaN;
    }
    const nowMs = Number.isNaN(this.#clockMs) ? Date.now() : performance.now() + this.#clockMs;
    return Math.floor(nowMs / 1000);
  }

  /**
   * @param path Relative to the base, such as `/api/v2/probes/?page_size=500`.
   * @throws {UserError} If the server rejects the request or answers no attempt.
   * @throws The reason of the signal, once it is aborted.
   */
  async get<T>(path: string, read: BodyReader<T>): Promise<T> {
    return await this.#request(path, read);
  }

  /** {@link get} for JSON; POST if there is a body. @throws Also if the answer is longer than 64 MiB. */
  async json(path: string, body?: RequestBody): Promise<unknown> {
    return (await this.jsonBytes(path, body)).value;
  }

  /** {@link json} with the bytes of the answer. */
  async jsonBytes(path: string, body?: RequestBody): Promise<{ bytes: Uint8Array; value: unknown }> {
    return await this.#request(path, async (chunks) => {
      const bytes = await readBytes(chunks, MAX_JSON_BYTES);
      try {
        return { bytes, value: JSON.parse(new TextDecoder().decode(bytes)) };
      } catch (cause) {
        throw new RetryableError("the answer is not JSON", undefined, { cause });
      }
    }, body);
  }

  async wait(ms: number): Promise<void> {
    const { signal } = this.#options;
    await pause(ms, signal);
    signal.throwIfAborted();
  }

  async #request<T>(path: string, read: BodyReader<T>, body?: RequestBody): Promise<T> {
    const { base } = this.#options;
    const url = new URL(base.pathname.replace(/\/$/, "") + path, base);
    return await this.#retried(url, () => this.#attempt(url, read, body));
  }

  async #retried<T>(url: URL, attemptOnce: () => Promise<T>): Promise<T> {
    const { log, signal, firstWaitMs = FIRST_WAIT_MS } = this.#options;
    for (let attempt = 1;; attempt++) {
      try {
        return await attemptOnce();
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof RetryableError)) throw error;
        const { message, afterS } = error;
        if (attempt === MAX_ATTEMPTS) {
          throw new UserError(
            `Cannot fetch ${shortened(url.href, 200)}: ${message}, ${MAX_ATTEMPTS} times; run the same ` +
              "command again later to continue",
            { cause: error },
          );
        }
        if (afterS !== undefined && afterS > LONGEST_ASKED_S) {
          throw new UserError(
            `Cannot fetch ${shortened(url.href, 200)}: ${message} and asks to wait ` +
              `${formatSeconds(afterS)}; run the same command again ` +
              "then to continue",
            { cause: error },
          );
        }
        const waitMs = afterS === undefined
          ? Math.min(firstWaitMs * 2 ** (attempt - 1), LONGEST_WAIT_MS)
          : Math.max(firstWaitMs, 1000 * afterS);
        log(
          `${url.host}: ${message}; trying again in ${formatSeconds(waitMs / 1000)} (${attempt} of ` +
            `${MAX_ATTEMPTS})`,
        );
        await this.wait(waitMs);
      }
    }
  }

  async #attempt<T>(url: URL, read: BodyReader<T>, body?: RequestBody): Promise<T> {
    const { response, silence } = await this.#send(url, body ? "POST" : "GET", body);
    const chunks = chunksOf(response, silence);
    try {
      const text = decoded(chunks);
      const { status } = response;
      if (status !== 200 && !(body && status === 202)) throw await this.#refusal(url, response, text);
      return await read(text);
    } finally {
      await chunks.return(undefined);
      silence[Symbol.dispose]();
    }
  }

  async #send(
    url: URL,
    method: "GET" | "HEAD" | "POST",
    body?: RequestBody,
  ): Promise<{ response: Response; silence: SilenceTimer }> {
    const { authorization, timeoutMs, signal } = this.#options;
    const silence = new SilenceTimer(timeoutMs);
    const headers = new Headers({
      "User-Agent": `ping-llm/${VERSION}`,
      Accept: "application/json, text/plain",
      // Otherwise Deno (2.9.6) decodes the answer, but only its first gzip member; only this value prevents
      // that.
      "Accept-Encoding": "identity",
    });
    if (authorization !== undefined) headers.set("Authorization", authorization);
    if (body) headers.set("Content-Type", "application/json");
    try {
      const response = await fetch(url, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body.json) }),
        redirect: "manual",
        signal: AbortSignal.any([signal, silence.signal]),
      });
      const dateMs = dateMsOf(response.headers);
      if (dateMs !== undefined) this.#clockMs = dateMs - performance.now();
      return { response, silence };
    } catch (error) {
      silence[Symbol.dispose]();
      throw connectionError(error, silence);
    }
  }

  async #refusal(url: URL, response: Response, chunks: AsyncIterable<Uint8Array>): Promise<Error> {
    const { status, statusText, headers } = response;
    const said = saidBy(await readBytes(chunks, MAX_ERROR_BYTES).catch(() => new Uint8Array()));
    const what = `${status} ${statusText}`.trim() + (said && ` (${said})`);
    if (status === 429 || status >= 500) {
      return new RetryableError(`it answered ${what}`, waitAskedS(headers));
    }
    const advice = status < 300
      ? "expected 200 and the complete answer; check --url"
      : status < 400
      ? `it redirects to ${shortened(headers.get("Location") ?? "nowhere")}; give ` +
        "that host with --url"
      : status === 401 || status === 403
      ? "expected a key with access to this; check --key-file"
      : this.#options.advice;
    return new UserError(`Cannot fetch ${shortened(url.href, 200)}: the server answered ${what}; ${advice}`);
  }
}

/** Aborts after some time without data. Unlike `AbortSignal.timeout()`, it lets the process end. */
export class SilenceTimer implements Disposable {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly timeoutMs: number) {
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), this.timeoutMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

async function* chunksOf(response: Response, silence: SilenceTimer): AsyncGenerator<Uint8Array, void> {
  const reader = response.body?.getReader();
  if (!reader) return;
  try {
    while (true) {
      silence.restart();
      const { done, value } = await reader.read().catch((error) => {
        throw connectionError(error, silence);
      });
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Makes a failed connection a retryable error, except for missing permissions. */
function connectionError(error: unknown, silence: SilenceTimer): unknown {
  if (error instanceof Deno.errors.NotCapable) return error;
  const message = silence.signal.aborted
    ? `it sent nothing for ${formatSeconds(silence.timeoutMs / 1000)}`
    : `the connection failed (${shortened(messageOf(error), 200)})`;
  return new RetryableError(message, undefined, { cause: error });
}

/** The system's message, without the URL. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return messageOf(error.cause);
  return error.message.replace(/^error sending request for url \([^)]*\): /, "");
}

/** The decoded body: servers may send several gzip members without being asked. */
async function* decoded(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* (await openInput("the answer", { raw: chunks })).chunks;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new RetryableError("the answer is not complete gzip", undefined, { cause: error });
  }
}

async function readBytes(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let numBytes = 0;
  for await (const chunk of chunks) {
    numBytes += chunk.length;
    if (numBytes > maxBytes) {
      throw new UserError(
        `Cannot read an answer: it has more than ${
          formatBytes(maxBytes)
        }; request less, or a shorter time span`,
      );
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

/** The error's message: `error.detail` (RIPE Atlas), `.message` (Globalping), `error` (Prometheus). */
function saidBy(body: Uint8Array): string {
  try {
    const { error, errorType } = JSON.parse(new TextDecoder().decode(body));
    const said = typeof error === "string"
      ? [errorType ?? [], error].flat().join(": ")
      : error.detail ?? error.message ?? error.title ?? "";
    return shortened(String(said), 200).replaceAll(/\s+/g, " ");
  } catch {
    return "";
  }
}

/** The wait that the server asks for: seconds or a date in `Retry-After`, or `X-RateLimit-Reset`. */
export function waitAskedS(headers: Headers): number | undefined {
  const text = headers.get("Retry-After") ?? headers.get("X-RateLimit-Reset");
  if (text === null) return undefined;
  const untilS = () => Math.ceil((Date.parse(text) - (dateMsOf(headers) ?? Date.now())) / 1000);
  const seconds = /^\d+$/.test(text) ? Number(text) : untilS();
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

function dateMsOf(headers: Headers): number | undefined {
  const dateMs = Date.parse(headers.get("Date") ?? "");
  return Number.isNaN(dateMs) ? undefined : dateMs;
}

/**
 * Reads an API key from a file, or else from an environment variable.
 *
 * @returns Undefined if neither is given.
 * @throws {UserError} If the text cannot be a key.
 */
export function readKey(path: string | undefined, variable: string): string | undefined {
  const key = (path === undefined ? Deno.env.get(variable) : readText(path, { mayBePipe: true }))?.trim();
  if (key === undefined || key === "" && path === undefined) return undefined;
  if (/^[\x21-\x7e]+$/.test(key)) return keepSecret(key);
  throw new UserError(
    `Cannot use ${path ?? `the variable ${variable}`}: expected only a key of printable ASCII ` +
      "characters",
  );
}

/**
 * @param hasPath Whether the URL of the API may have a path, as behind a proxy.
 * @throws {UsageError} If it has more than a scheme, a host, a port and an allowed path.
 */
export function parseBase(text: string, hasPath = false): URL {
  const url = URL.parse(text);
  const end = hasPath ? url?.pathname : "/";
  if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}${end}`) return url;
  throw new UsageError(
    `Cannot use --url ${shortened(text)}: expected https://HOST, perhaps with a port${
      hasPath ? " and a path" : ""
    }`,
  );
}
