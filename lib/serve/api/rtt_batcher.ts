/**
 * Merges questions of several callers into batches of the GPU (dynamic batching).
 *
 * While a batch runs, the next one collects, so a busy GPU never waits. When the GPU is idle, a batch starts as soon as
 * it has as many questions as the last one had, or after `maxWaitMs`. Callers who got their answers together ask again
 * together; without the wait, the first of them would be a batch of its own, and all others would wait for it. A caller
 * alone has had batches of one, and does not wait.
 *
 * @module
 */
import type { PingModel } from "../../query/ping_model.ts";
import { encodeQuery, type RttQuery } from "../../query/query_tokens.ts";
import type { RttDistribution } from "../../query/rtt/rtt_distribution.ts";
import { ApiError, computed } from "./api_error.ts";
import { FairQueue } from "./fair_queue.ts";

/** How many callers may wait in a queue, unless said otherwise. */
export const MAX_QUEUE = 1024;

/** How questions are merged. */
export interface BatchOptions {
  /**
   * The most questions of a batch (62: 132 rows for each, of 8,192 that a decoder holds at once; see `model_decoders.ts`).
   */
  maxBatch?: number;
  /** How long a question waits for others while the GPU is idle, at most, ms (10). */
  maxWaitMs?: number;
  /** How many callers may wait; the next one is refused (1,024). */
  maxQueue?: number;
  /** Called with the number of questions of each batch. */
  onBatch?: (size: number) => void;
}

/** The caller, and how long it waits. */
export interface Caller {
  /** An object that stands for a caller with many questions, whose next one is taken in turn; alone by default. */
  readonly lane?: object;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly query: RttQuery;
  settle(distribution: RttDistribution): void;
  fail(error: unknown): void;
}

/** The error for a caller who comes when too many wait. */
export function queueFull(maxQueue: number): ApiError {
  return new ApiError(429, `Cannot answer: ${maxQueue} requests wait already; ask again in a second`);
}

/** The queue of questions for exact distributions. */
export class RttBatcher {
  readonly #model: Pick<PingModel, "config" | "likelyRttDistributions">;
  readonly #options: Required<BatchOptions>;
  readonly #queue = new FairQueue<Waiting>();
  #isRunning = false;
  /** How many questions to wait for while the GPU is idle. */
  #expected = 1;
  #timer: { id: ReturnType<typeof setTimeout>; isLast: boolean } | undefined;

  /** @param model Answers a batch. */
  constructor(model: Pick<PingModel, "config" | "likelyRttDistributions">, options: BatchOptions = {}) {
    this.#model = model;
    this.#options = { maxBatch: 62, maxWaitMs: 10, maxQueue: MAX_QUEUE, onBatch: () => {}, ...options };
  }

  /** How many questions wait. */
  get queueLength(): number {
    return this.#queue.length;
  }

  /**
   * Asks for the exact distribution of an RTT.
   *
   * @param use Gets it, and makes of it what is answered. It is valid until `use` returns.
   * @returns The result of `use`.
   * @throws {UserError} If the model cannot be asked this.
   * @throws {ApiError} If too many callers wait.
   */
  async ask<T>(
    query: RttQuery,
    use: (distribution: RttDistribution) => T,
    { lane, signal }: Caller = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    // Found here, the fault is this question's alone.
    encodeQuery(query, this.#model.config.sequenceLength);
    if (!lane && this.#queue.numLanes >= this.#options.maxQueue) throw queueFull(this.#options.maxQueue);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const own = lane ?? {};
    const question: Waiting = {
      query,
      settle(distribution) {
        try {
          resolve(use(distribution));
        } catch (error) {
          reject(error);
        }
      },
      fail: reject,
    };
    const leave = () => {
      this.#queue.remove(question, own);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", leave);
    this.#queue.push(question, own);
    this.#schedule();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }

  #schedule(): void {
    if (this.#isRunning || this.#queue.length === 0) return;
    const { maxBatch, maxWaitMs } = this.#options;
    const isEnough = this.#queue.length >= Math.min(this.#expected, maxBatch);
    if (this.#timer && (this.#timer.isLast || !isEnough)) return;
    clearTimeout(this.#timer?.id);
    // Not at once: the questions that are asked in the same turn of the event loop go together.
    const id = setTimeout(() => void this.#run(), isEnough ? 0 : maxWaitMs);
    this.#timer = { id, isLast: isEnough };
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    const batch: Waiting[] = [];
    while (batch.length < this.#options.maxBatch) {
      const question = this.#queue.take();
      if (!question) break;
      batch.push(question);
    }
    if (batch.length === 0) return;
    this.#isRunning = true;
    this.#expected = batch.length;
    this.#options.onBatch(batch.length);
    try {
      const queries = batch.map(({ query }) => query);
      await computed(() =>
        this.#model.likelyRttDistributions(queries, (distribution, i) => batch[i].settle(distribution))
      );
    } catch (error) {
      for (const question of batch) question.fail(error);
    }
    this.#isRunning = false;
    if (this.#queue.length >= this.#options.maxBatch) void this.#run();
    this.#schedule();
  }
}
