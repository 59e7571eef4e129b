/**
 * Queues for the GPU that many callers share: questions are merged into batches, and long work runs one piece
 * at a time.
 *
 * Questions of several callers are merged into GPU batches (dynamic batching). While a batch runs, the next
 * one fills, so a busy GPU never waits. When the GPU is idle, a batch starts as soon as it has as many
 * questions as the last one, or after `maxWaitMs`. Callers that got their answers together ask again
 * together; without the wait, the first of them would get a batch of its own and all others would wait for
 * it. A single caller has had batches of one, so it does not wait.
 *
 * @module
 */
import { addToCount, getOrMake } from "../../base/collections.ts";
import type { PingModel } from "../../query/ping_model.ts";
import { encodeQuery, type RttQuery } from "../../query/query_tokens.ts";
import type { RttDistribution } from "../../query/rtt/rtt_distribution.ts";
import { ApiError, computed } from "./api_error.ts";

const MAX_QUEUE = 1024;

export interface BatchOptions {
  /**
   * Maximum questions per batch (62: each takes 132 of the 8,192 rows that a decoder takes at once; see
   * `model_decoders.ts`).
   */
  maxBatch?: number;
  /** Maximum time that a question waits for others while the GPU is idle, ms (10). */
  maxWaitMs?: number;
  /** How many callers may wait before further ones are rejected (1,024). */
  maxQueue?: number;
  onBatch?: (size: number) => void;
}

export interface Caller {
  /** Identifies a caller with many questions; absent for a caller with only one. */
  readonly lane?: object;
  /** The client, which may have several callers; absent for a client with only one. */
  readonly client?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly query: RttQuery;
  settle(distribution: RttDistribution): void;
  fail(error: unknown): void;
}

function queueFull(maxQueue: number): ApiError {
  return new ApiError(429, `Cannot answer: ${maxQueue} requests are already waiting; ask again in a second`);
}

/** Waits for a promise. An abort removes the caller from its queue and throws the signal's reason. */
async function untilSignal<T>(
  { promise, reject }: PromiseWithResolvers<T>,
  signal: AbortSignal | undefined,
  leave: () => void,
): Promise<T> {
  const end = () => {
    leave();
    reject(signal?.reason);
  };
  signal?.addEventListener("abort", end);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener("abort", end);
  }
}

/** Maximum bytes of questions being answered. A question takes about 20 times its length in memory. */
const MAX_AT_WORK_BYTES = 4 * 2 ** 20;
/** Questions up to this length have a separate budget, so they do not wait for longer ones. */
const SMALL_BYTES = 2 ** 14;

/** Bounds the memory that questions use. They wait as text, in the order of arrival. */
export class SizeGate {
  readonly #small = new Room();
  readonly #large = new Room();

  /** Runs `work` once the budget allows it. @param bytes Length of the question. */
  async run<T>(bytes: number, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const room = bytes <= SMALL_BYTES ? this.#small : this.#large;
    const counted = Math.min(bytes, MAX_AT_WORK_BYTES);
    await room.enter(counted, signal);
    try {
      return await work();
    } finally {
      room.leave(counted);
    }
  }
}

/** A budget of {@link MAX_AT_WORK_BYTES}. */
class Room {
  readonly #waiting: { bytes: number; enter: () => void }[] = [];
  #numBytes = 0;

  async enter(bytes: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const entered = Promise.withResolvers<void>();
    const waiting = { bytes, enter: entered.resolve };
    this.#waiting.push(waiting);
    this.#admit();
    await untilSignal(entered, signal, () => {
      const place = this.#waiting.indexOf(waiting);
      if (place < 0) return;
      this.#waiting.splice(place, 1);
      this.#admit();
    });
  }

  leave(bytes: number): void {
    this.#numBytes -= bytes;
    this.#admit();
  }

  #admit(): void {
    for (;;) {
      const next = this.#waiting[0];
      if (!next || this.#numBytes + next.bytes > MAX_AT_WORK_BYTES) return;
      this.#waiting.shift();
      this.#numBytes += next.bytes;
      next.enter();
    }
  }
}

/** Merges questions about exact distributions into batches. */
export class RttBatcher {
  readonly #model: Pick<PingModel, "config" | "likelyRttDistributions">;
  readonly #options: Required<BatchOptions>;
  readonly #queue = new FairQueue<Waiting>();
  #isRunning = false;
  /** Number of questions to wait for while the GPU is idle. */
  #expected = 1;
  #timer: { id: ReturnType<typeof setTimeout>; isLast: boolean } | undefined;

  constructor(model: Pick<PingModel, "config" | "likelyRttDistributions">, options: BatchOptions = {}) {
    this.#model = model;
    this.#options = { maxBatch: 62, maxWaitMs: 10, maxQueue: MAX_QUEUE, onBatch: () => {}, ...options };
  }

  get queueLength(): number {
    return this.#queue.length;
  }

  /**
   * Asks for the exact distribution of an RTT.
   *
   * @param use Maps the distribution to the result. The distribution is valid only until it returns.
   * @throws {UserError} If the model cannot answer the query.
   * @throws {ApiError} If too many callers wait.
   */
  async ask<T>(
    query: RttQuery,
    use: (distribution: RttDistribution) => T,
    { lane, client, signal }: Caller = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    // Checked here so that a fault affects only this question and not its batch.
    encodeQuery(query, this.#model.config.sequenceLength);
    if (!lane && this.#queue.numLanes >= this.#options.maxQueue) throw queueFull(this.#options.maxQueue);
    const answered = Promise.withResolvers<T>();
    const question: Waiting = {
      query,
      settle(distribution) {
        try {
          answered.resolve(use(distribution));
        } catch (error) {
          answered.reject(error);
        }
      },
      fail: answered.reject,
    };
    this.#queue.push(question, lane ?? {}, { client });
    this.#schedule();
    return await untilSignal(answered, signal, () => this.#queue.remove(question));
  }

  #schedule(): void {
    if (this.#isRunning || this.#queue.length === 0) return;
    const { maxBatch, maxWaitMs } = this.#options;
    const isEnough = this.#queue.length >= Math.min(this.#expected, maxBatch);
    if (this.#timer && (this.#timer.isLast || !isEnough)) return;
    clearTimeout(this.#timer?.id);
    // Deferred, so that questions of the same turn of the event loop share a batch.
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

interface Queued<T> {
  readonly item: T;
  readonly lane: Lane;
  readonly rank: number;
}

/** The items of a caller. */
interface Lane {
  readonly caller: object;
  readonly client: string | undefined;
  numItems: number;
  lastRank: number;
}

/**
 * A queue in which callers share by cost (start-time fair queueing). The rank of an item is the rank of the
 * caller's previous item, or of the last item taken if it is higher, plus the cost of the item times the number
 * of the client's callers that wait. A caller with thousands of lines delays a single question by at most one item per caller, cheap work passes
 * expensive work, and a client with many callers gets no more than one with a single caller.
 */
class FairQueue<T> {
  /** By rank. */
  readonly #items: Queued<T>[] = [];
  readonly #lanes = new Map<object, Lane>();
  /** Number of lanes by client. */
  readonly #numOfClient = new Map<string, number>();
  #rank = 0;

  get length(): number {
    return this.#items.length;
  }

  get numLanes(): number {
    return this.#lanes.size;
  }

  push(item: T, caller: object, { client, cost = 1 }: Pick<Caller, "client"> & { cost?: number }): void {
    const lane = getOrMake(this.#lanes, caller, () => {
      this.#count(client, 1);
      return { caller, client, numItems: 0, lastRank: this.#rank };
    });
    const share = client === undefined ? 1 : this.#numOfClient.get(client) ?? 1;
    const rank = Math.max(this.#rank, lane.lastRank) + cost * share;
    lane.lastRank = rank;
    lane.numItems++;
    const place = this.#items.findLastIndex((each) => each.rank <= rank) + 1;
    this.#items.splice(place, 0, { item, lane, rank });
  }

  take(): T | undefined {
    const next = this.#items[0];
    if (!next) return undefined;
    this.#rank = next.rank;
    this.#leave(0);
    return next.item;
  }

  remove(item: T): void {
    const place = this.#items.findIndex((each) => each.item === item);
    if (place >= 0) this.#leave(place);
  }

  #leave(place: number): void {
    const [{ lane }] = this.#items.splice(place, 1);
    if (--lane.numItems > 0) return;
    this.#lanes.delete(lane.caller);
    this.#count(lane.client, -1);
  }

  #count(client: string | undefined, change: number): void {
    if (client !== undefined) addToCount(this.#numOfClient, client, change);
  }
}

/**
 * Runs work that takes many GPU groups, one piece at a time; callers take turns (see {@link FairQueue}). A
 * search for destinations uses up to 0.2 GB for its tree, so running one at a time bounds memory. Batches of
 * questions run between the groups of such work; see `ModelDecoders`.
 */
export class LongWork {
  readonly #queue = new FairQueue<() => void>();
  #isRunning = false;

  /** @param maxQueue How many callers may wait before further ones are rejected. */
  constructor(readonly maxQueue: number = MAX_QUEUE) {}

  get queueLength(): number {
    return this.#queue.length;
  }

  /**
   * @param work Must end soon after the signal is aborted.
   * @param cost In the same unit for all work.
   * @throws {ApiError} If too many callers wait.
   */
  async run<T>(work: () => Promise<T>, caller: Caller, cost = 1): Promise<T> {
    const { signal } = caller;
    signal?.throwIfAborted();
    if (this.#isRunning) await this.#turn(caller, cost);
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

  async #turn({ lane, client, signal }: Caller, cost: number): Promise<void> {
    if (!lane && this.#queue.numLanes >= this.maxQueue) throw queueFull(this.maxQueue);
    const begun = Promise.withResolvers<void>();
    this.#queue.push(begun.resolve, lane ?? {}, { client, cost });
    await untilSignal(begun, signal, () => this.#queue.remove(begun.resolve));
  }
}
