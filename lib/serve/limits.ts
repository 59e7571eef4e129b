/**
 * Limits of one client.
 *
 * @module
 */
import { ApiError } from "./api/api_error.ts";

/** The limits of a server. */
export interface Limits {
  /** Bytes of a JSON body, and of each line of JSON lines. */
  readonly maxBodyBytes: number;
  /** Seconds until a request is read and answered; of JSON lines, until the client has taken one more answer. */
  readonly maxRequestS: number;
  /** Connections at the same time. Some more are taken, for `/healthz` and `/metrics` only. */
  readonly maxConnections: number;
  /** Of these, connections from one address. */
  readonly maxClientConnections: number;
}

/** The time limit of a request. */
export class TimeLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #seconds: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Begins to count.
   *
   * @param seconds The limit.
   * @param client Aborted when the client is gone.
   */
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

  /** Counts anew. */
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
