/** A clock that tests control, so that nothing depends on the speed of the machine. @module */
import { until } from "./until.ts";

/** Start of simulated time, a whole second of Unix time. */
const START_MS = Date.UTC(2025, 5, 15, 12);

interface Timer {
  readonly id: number;
  readonly endMs: number;
  readonly call: () => void;
}

/**
 * Replaces the clocks and timers of this thread until it is disposed. Time stands still until the test passes
 * some. Timers without a delay remain real.
 */
export class SimulatedTime implements Disposable {
  readonly #restore: () => void;
  #timers: Timer[] = [];
  #nextId = -1;
  #nowMs = 0;

  /** @param stepMs How much time passes whenever a clock is read. */
  constructor(stepMs = 0) {
    const { setTimeout, clearTimeout } = globalThis;
    const { now } = performance;
    const dateNow = Date.now;
    this.#restore = () => {
      Object.assign(globalThis, { setTimeout, clearTimeout });
      Object.defineProperty(performance, "now", { value: now, configurable: true, writable: true });
      Date.now = dateNow;
    };
    const look = () => this.#nowMs += stepMs;
    Object.defineProperty(performance, "now", { value: look, configurable: true, writable: true });
    Date.now = () => START_MS + look();
    Object.assign(globalThis, {
      setTimeout: (callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) => {
        if (!(delayMs > 0)) return setTimeout(callback, delayMs, ...args);
        const id = this.#nextId--;
        this.#timers.push({ id, endMs: this.#nowMs + delayMs, call: () => callback(...args) });
        return id;
      },
      clearTimeout: (id?: number) => {
        this.#timers = this.#timers.filter((timer) => timer.id !== id);
        clearTimeout(id);
      },
    });
  }

  /** Remaining times of the timers, ms, shortest first. */
  get waitsMs(): number[] {
    return this.#timers.map(({ endMs }) => endMs - this.#nowMs).sort((a, b) => a - b);
  }

  /** Passes time; timers that expire fire in order. */
  pass(ms: number): void {
    const toMs = this.#nowMs + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ endMs }) => endMs <= toMs).sort((a, b) => a.endMs - b.endMs);
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.endMs);
      next.call();
    }
    this.#nowMs = Math.max(this.#nowMs, toMs);
  }

  /** Waits until the shortest timers have these times left, then passes the time of the first one. */
  async passWait(...waitsMs: number[]): Promise<void> {
    const found = () => this.waitsMs.slice(0, waitsMs.length);
    await until(
      () => `timers of ${waitsMs} ms, found ${this.waitsMs}`,
      () => waitsMs.every((ms, i) => found()[i] === ms),
    );
    this.pass(waitsMs[0]);
  }

  /** Fires the remaining timers, so that a failed test does not hang. */
  [Symbol.dispose](): void {
    this.#restore();
    for (const { call } of this.#timers.splice(0)) call();
  }
}
