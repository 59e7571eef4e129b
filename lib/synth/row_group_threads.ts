/**
 * The row groups of a campaign in the order of the file, made by this thread or by workers: the same bytes for any
 * number of them, since a group depends on its place alone.
 *
 * @module
 */
import { startThread, type Thread } from "../threads/thread.ts";
import { ROW_GROUP_ROWS } from "../measurement/parquet_writer.ts";
import type { Campaign } from "./campaign.ts";
import { type MadeRowGroup, RowGroupMaker } from "./row_groups.ts";

/** Groups that a worker makes or has made and nobody has taken: one more than it works at, so that it never waits. */
const GROUPS_AHEAD = 2;
const WORKER = new URL("./row_group_worker.ts", import.meta.url);

/** How {@link makeRowGroups} works. */
export interface RowGroupOptions {
  /** Threads that make groups: 1 for this one; more are workers, while this one only takes what they made. */
  numThreads: number;
  /** Ends the work when it is aborted. */
  signal?: AbortSignal;
  /** The worker's module; row_group_worker.ts by default. */
  module?: URL;
}

/**
 * Makes all row groups of a campaign. Memory holds two groups of a worker, some 3 MB each.
 *
 * @throws {Error} If a worker dies.
 */
export async function* makeRowGroups(
  campaign: Campaign,
  options: RowGroupOptions,
): AsyncGenerator<MadeRowGroup> {
  const numGroups = Math.ceil(campaign.numRows / ROW_GROUP_ROWS);
  const numWorkers = Math.min(options.numThreads, numGroups);
  if (numWorkers > 1) return yield* madeByWorkers(campaign, numGroups, { ...options, numWorkers });
  const maker = new RowGroupMaker(campaign);
  for (let index = 0; index < numGroups; index++) {
    await new Promise((resolve) => setTimeout(resolve, 0)); // so that signals are heard
    options.signal?.throwIfAborted();
    yield maker.make(index);
  }
}

async function* madeByWorkers(
  campaign: Campaign,
  numGroups: number,
  { numWorkers, signal, module = WORKER }: RowGroupOptions & { numWorkers: number },
): AsyncGenerator<MadeRowGroup> {
  using started = new DisposableStack();
  const workers = Array.from({ length: numWorkers }, () => started.use(new RowGroupWorker(campaign, module)));
  const stop = () => workers.forEach((worker) => worker.fail(signal?.reason));
  signal?.addEventListener("abort", stop);
  started.defer(() => signal?.removeEventListener("abort", stop));
  const coming: Promise<MadeRowGroup>[] = [];
  let numWanted = 0;
  for (let numTaken = 0; numTaken < numGroups; numTaken++) {
    const end = Math.min(numGroups, numTaken + GROUPS_AHEAD * numWorkers);
    for (; numWanted < end; numWanted++) coming.push(workers[numWanted % numWorkers].make(numWanted));
    signal?.throwIfAborted();
    yield await coming[0];
    coming.shift();
  }
}

/** A worker, which answers in order. */
class RowGroupWorker {
  readonly #worker: Thread;
  readonly #wanted: PromiseWithResolvers<MadeRowGroup>[] = [];
  #failure: unknown;

  constructor(campaign: Campaign, module: URL) {
    this.#worker = startThread(module);
    this.#worker.onmessage = ({ data }: MessageEvent<MadeRowGroup>) => this.#wanted.shift()?.resolve(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.fail(new Error(`Internal error: a worker thread of synth died: ${event.message}`));
    };
    this.#worker.postMessage(campaign);
  }

  make(index: number): Promise<MadeRowGroup> {
    const wanted = Promise.withResolvers<MadeRowGroup>();
    wanted.promise.catch(() => {}); // whoever awaits it sees the failure; after that nobody may
    this.#wanted.push(wanted);
    this.#worker.postMessage(index);
    if (this.#failure) this.fail(this.#failure);
    return wanted.promise;
  }

  /** Fails what is wanted now and later. */
  fail(failure: unknown): void {
    this.#failure = failure;
    for (const { reject } of this.#wanted.splice(0)) reject(failure);
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}
