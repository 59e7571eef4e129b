/**
 * Posts events to a URL in order, each as JSON, until the receiver has them.
 *
 * An event that the receiver may accept later (no answer, 408, 425, 429, 5xx) is sent again, after waits that
 * double or that its Retry-After requests; an event rejected for another reason is lost. If too many events
 * wait, the oldest one is dropped. With a key, each request is signed in the way Stripe does: HMAC-SHA256
 * (RFC 2104) of the time in Unix seconds, a dot and the body, so that a receiver can reject forged and old
 * requests.
 *
 * @module
 */
import { createHmac } from "node:crypto";
import { UsageError } from "../base/errors.ts";
import { pause } from "../io/threads/stage_hooks.ts";
import { SilenceTimer, waitAskedS } from "./fetch/api_client.ts";

/** The header with the signature: `t=UNIX SECONDS,v1=HEXADECIMAL`. */
export const SIGNATURE_HEADER = "ping-llm-signature";
/** The header with a number that is unique to an event and the same in all tries. */
export const DELIVERY_HEADER = "ping-llm-delivery";

const MAX_RETRY_AFTER_S = 300;
/** Statuses below 500 after which a request may succeed later. */
const TEMPORARY = [408, 425, 429];

export interface WebhookOptions {
  /** Signs requests; without a key they are unsigned. */
  readonly key?: string | undefined;
  readonly maxQueue: number;
  /** Maximum time for one try. */
  readonly timeoutMs: number;
  /** The wait after the first failed try; doubles with each further one. */
  readonly firstWaitMs: number;
  readonly maxWaitMs: number;
  /** Called with a line on the first failure, when posting succeeds again, and when events are given up. */
  log(line: string): void;
}

/** The times used by `watch`. */
export const WEBHOOK_TIMES = { timeoutMs: 10_000, firstWaitMs: 1000, maxWaitMs: 60_000 } as const;

interface Delivery {
  readonly id: string;
  readonly body: string;
}

export class Webhook implements Disposable {
  readonly #url: URL;
  readonly #options: WebhookOptions;
  readonly #stopped = new AbortController();
  #waiting: Delivery[] = [];
  /** The event being posted, which is not in the queue. */
  #posting: Promise<void> | undefined;
  #isFailing = false;
  numSent = 0;
  /** The number of events that were rejected, or dropped because too many waited. */
  numLost = 0;
  numFailedTries = 0;

  constructor(url: URL, options: WebhookOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** The number of events that the receiver does not have yet. */
  get numWaiting(): number {
    return this.#waiting.length + (this.#posting ? 1 : 0);
  }

  /** Queues an event for posting. Never throws. */
  send(event: object): void {
    if (this.#waiting.length >= this.#options.maxQueue) {
      this.#waiting.shift();
      if (++this.numLost === 1) this.#log("too many alarms are waiting; the oldest is dropped");
    }
    this.#waiting.push({ id: crypto.randomUUID(), body: JSON.stringify(event) });
    this.#posting ??= this.#postAll();
  }

  /**
   * Waits until all events are posted.
   *
   * @param withinMs After this time, remaining events are given up.
   * @param signal Shortens the time to that of one try.
   */
  async finish(withinMs: number, signal?: AbortSignal): Promise<void> {
    const stop = () => this[Symbol.dispose]();
    const timers = [setTimeout(stop, withinMs)];
    const shorten = () => timers.push(setTimeout(stop, this.#options.timeoutMs));
    signal?.addEventListener("abort", shorten);
    await this.#posting;
    timers.forEach(clearTimeout);
    signal?.removeEventListener("abort", shorten);
  }

  [Symbol.dispose](): void {
    this.#stopped.abort();
  }

  async #postAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      if (await this.#post(next)) continue;
      // Stopped.
      this.#waiting.unshift(next);
      break;
    }
    this.#posting = undefined;
  }

  /** Retries until the receiver accepts or rejects an event. @returns Whether it did. */
  async #post({ id, body }: Delivery): Promise<boolean> {
    const { signal } = this.#stopped;
    const { firstWaitMs, maxWaitMs } = this.#options;
    for (let waitMs = firstWaitMs; !signal.aborted; waitMs = Math.min(maxWaitMs, 2 * waitMs)) {
      const result = await this.#try(id, body);
      if (result === "sent") {
        this.numSent++;
        if (this.#isFailing) this.#log("it accepts alarms again");
        this.#isFailing = false;
        return true;
      }
      if (signal.aborted) break;
      this.numFailedTries++;
      if ("refused" in result) {
        this.numLost++;
        this.#log(`${result.refused}; the alarm is dropped`);
        return true;
      }
      if (!this.#isFailing) this.#log(`${result.failed}; trying again`);
      this.#isFailing = true;
      await pause(Math.max(waitMs, 1000 * Math.min(MAX_RETRY_AFTER_S, result.retryAfterS ?? 0)), signal);
    }
    return false;
  }

  async #try(
    id: string,
    body: string,
  ): Promise<"sent" | { refused: string } | { failed: string; retryAfterS?: number | undefined }> {
    const { key, timeoutMs } = this.#options;
    const headers = new Headers({ "content-type": "application/json", [DELIVERY_HEADER]: id });
    if (key !== undefined) {
      headers.set(SIGNATURE_HEADER, signatureOf(body, key, Math.floor(Date.now() / 1000)));
    }
    using silence = new SilenceTimer(timeoutMs);
    try {
      // A redirect might lead to another host.
      const response = await fetch(this.#url, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal: AbortSignal.any([silence.signal, this.#stopped.signal]),
      });
      await response.body?.cancel();
      if (response.ok) return "sent";
      const found = `found status ${response.status}`;
      if (response.status < 500 && !TEMPORARY.includes(response.status)) {
        return { refused: `${found}, expected 200 to 299` };
      }
      return { failed: found, retryAfterS: waitAskedS(response.headers) };
    } catch (error) {
      if (silence.signal.aborted) return { failed: `no answer within ${timeoutMs / 1000} s` };
      if (error instanceof Deno.errors.NotCapable) return { refused: "no permission to connect" };
      return { failed: "the connection failed" };
    }
  }

  /** Logs only the URL's origin: the rest may be secret. */
  #log(what: string): void {
    this.#options.log(`webhook at ${this.#url.origin}: ${what}`);
  }
}

/** The signature of a body. @param timeS Unix seconds. */
export function signatureOf(body: string, key: string, timeS: number): string {
  return `t=${timeS},v1=${createHmac("sha256", key).update(`${timeS}.${body}`).digest("hex")}`;
}

/** Parses `--webhook`. @throws {UsageError} If invalid; the error omits the text, which may be secret. */
export function webhookUrl(text: string): URL {
  const url = URL.parse(text);
  if (url && ["http:", "https:"].includes(url.protocol) && url.username === "" && url.password === "") {
    return url;
  }
  throw new UsageError(
    "Cannot use --webhook: it must be an HTTP URL without user and password, such as https://example.org/alarms",
  );
}
