/**
 * How a long piece of work here talks to its caller: progress out, a wish to stop in.
 *
 * @module
 */

/** What a caller may pass to see progress and to stop the work. */
export interface StageHooks {
  /** The work ends with the signal's reason soon after it is aborted. */
  signal?: AbortSignal | undefined;
  /** Called often. @param phase What is done. @param done Rows done. @param total Rows to do. */
  onProgress?: (phase: string, done: number, total: number) => void;
}

const YIELD_EVERY_MS = 50;

/** Lets the event loop deliver signals now and then, and ends the work when the caller wishes. */
export class Breather {
  readonly #signal: AbortSignal | undefined;
  #lastMs = performance.now();

  /** @param hooks The caller's wishes. */
  constructor(hooks: Pick<StageHooks, "signal">) {
    this.#signal = hooks.signal;
  }

  /** Gives up the thread if it was long held. @throws The signal's reason once it is aborted. */
  async breathe(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lastMs < YIELD_EVERY_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#lastMs = performance.now();
    this.#signal?.throwIfAborted();
  }
}
