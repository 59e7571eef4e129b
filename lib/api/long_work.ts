/**
 * Work that takes many groups of the GPU, one piece at a time, the callers in turn.
 *
 * An RTT between prefixes holds up to 62 MB of distributions, a search for destinations up to 0.2 GB of a tree: one at a
 * time bounds memory. Between the groups of such work come batches of questions, see `ModelDecoders`.
 *
 * @module
 */
import { FairQueue } from "./fair_queue.ts";
import { type Caller, MAX_QUEUE, queueFull } from "./rtt_batcher.ts";

/** The queue of long work. */
export class LongWork {
  readonly #queue = new FairQueue<() => void>();
  #isRunning = false;

  /** @param maxQueue How many callers may wait; the next one is refused. */
  constructor(readonly maxQueue: number = MAX_QUEUE) {}

  /** How many pieces of work wait. */
  get queueLength(): number {
    return this.#queue.length;
  }

  /**
   * Does work in its turn.
   *
   * @param work Ends by itself, soon after the signal.
   * @throws {ApiError} If too many callers wait.
   */
  async run<T>(work: () => Promise<T>, { lane, signal }: Caller): Promise<T> {
    signal?.throwIfAborted();
    if (this.#isRunning) await this.#turn(lane, signal);
    this.#isRunning = true;
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      const next = this.#queue.take();
      if (next) next();
      else this.#isRunning = false;
    }
  }

  async #turn(lane: object | undefined, signal: AbortSignal | undefined): Promise<void> {
    if (!lane && this.#queue.numLanes >= this.maxQueue) throw queueFull(this.maxQueue);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own = lane ?? {};
    const leave = () => {
      this.#queue.remove(resolve, own);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", leave);
    this.#queue.push(resolve, own);
    try {
      await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }
}
