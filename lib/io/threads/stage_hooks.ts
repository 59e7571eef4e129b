/**
 * Callbacks of long work, which reports its progress to the caller and can be stopped by it.
 *
 * @module
 */

/** A caller's options to follow the progress and to stop the work. */
export interface StageHooks {
  /** When aborted, the work soon ends with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called often. @param phase The phase of the work. @param done Rows done. @param total Rows to do. */
  onProgress?: (phase: string, done: number, total: number) => void;
}

/** Waits until a time has passed or a signal is aborted. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

const YIELD_EVERY_MS = 50;

/** Yields to the event loop regularly, so that signals arrive, and ends the work once it is aborted. */
export class EventLoopPacer {
  readonly #signal: AbortSignal | undefined;
  #lastMs = performance.now();

  constructor(hooks: Pick<StageHooks, "signal">) {
    this.#signal = hooks.signal;
  }

  /** Yields to the event loop if the last time was long ago. @throws The signal's reason if it is aborted. */
  async yieldToEventLoop(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lastMs < YIELD_EVERY_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#lastMs = performance.now();
    this.#signal?.throwIfAborted();
  }
}
