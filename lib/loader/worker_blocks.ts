/**
 * Blocks made by worker threads ahead of their use.
 *
 * Blocks depend on nothing but (seed, epoch, block), so the workers take them in turn, and what comes out is the
 * same for any number of workers. Each has a fixed number of orders at most, so the look-ahead is bounded, and
 * answers them in order; a finished block lies in shared memory, whose buffers go round.
 *
 * @module
 */
import { type MessagePort as NodeMessagePort, receiveMessageOnPort } from "node:worker_threads";
import { ensure, UserError } from "../errors.ts";
import { blockIn, type SequenceBlock } from "./batch.ts";
import {
  type BlockIndex,
  type BlockOrder,
  type BlockReply,
  type OpenMessage,
  type OpenReply,
  POSTED,
  PROGRESS,
  STATE_LENGTH,
  type WorkerFailure,
} from "./block_protocol.ts";
import { BlockMaker, type BlockOptions, type BlockSource } from "./blocks.ts";
import { startThread, type Thread } from "../threads/thread.ts";
import type { ArrayRecordRowSource } from "./row_source.ts";
import { blockAfter } from "./sequence_cursor.ts";

/** One in the making and one that waits: a worker is idle only while all its blocks wait to be used. */
const ORDERS_PER_WORKER = 2;
/** A worker that reads no row for so long has died. ASSUMPTION: a row takes at most seconds. */
const MAX_STALL_MS = 60_000;
/** A stall is waited for in so many parts: a process that was stopped for an hour loses one of them, not all. */
const NUM_STALL_CHECKS = 60;

/** How {@link WorkerBlocks} works. */
export interface WorkerBlockOptions extends BlockOptions {
  /** Threads, 1 or more; they share the bound on cached rows evenly. */
  numWorkers: number;
  /** The first block. */
  first: BlockIndex;
  /** How long a worker may make no progress before it is taken for dead, milliseconds; a minute by default. */
  maxStallMs?: number;
  /** The worker's module; block_worker.ts by default. */
  module?: URL;
}

/** Gives blocks one after another, made by workers. */
export class WorkerBlocks implements BlockSource {
  readonly path: string;
  readonly blockRows: number;
  readonly numBlocks: number;
  readonly #workers: BlockWorker[];
  /** Blocks are taken from the workers in turn; this one is next. */
  #turn = 0;
  #nextTaken: BlockIndex;
  #nextOrdered: BlockIndex;
  /** The buffer of the block that was taken last. */
  #taken: SharedArrayBuffer | undefined;
  readonly #sequenceLength: number;

  private constructor(plan: BlockMaker, workers: BlockWorker[], first: BlockIndex) {
    this.path = plan.path;
    this.blockRows = plan.blockRows;
    this.numBlocks = plan.numBlocks;
    this.#sequenceLength = plan.options.sequenceLength;
    this.#workers = workers;
    this.#nextTaken = this.#nextOrdered = first;
    for (let i = 0; i < ORDERS_PER_WORKER * workers.length; i++) {
      this.#order(workers[i % workers.length], undefined);
    }
  }

  /**
   * Starts the workers, which read the rows' files on their own.
   *
   * @throws {UserError} If there are no rows or a worker cannot start.
   */
  static async open(source: ArrayRecordRowSource, options: WorkerBlockOptions): Promise<WorkerBlocks> {
    const { numWorkers, first, maxStallMs = MAX_STALL_MS, module, ...blockOptions } = options;
    const plan = new BlockMaker(source, { ...blockOptions, cacheBytes: 0 });
    const workers = Array.from(
      { length: numWorkers },
      (_, i) => new BlockWorker({ name: `loader worker ${i + 1} of ${numWorkers}`, maxStallMs, module }),
    );
    const cacheBytes = Math.floor(blockOptions.cacheBytes / numWorkers);
    try {
      await Promise.all(workers.map((worker) =>
        worker.open({
          files: source.rowFiles,
          options: { ...blockOptions, cacheBytes, blockRows: plan.blockRows },
        })
      ));
    } catch (error) {
      for (const worker of workers) worker[Symbol.dispose]();
      throw error;
    }
    return new WorkerBlocks(plan, workers, first);
  }

  /**
   * The next block, until the next call; it waits, with the whole thread, until the block is there.
   *
   * @throws {UserError} If a row cannot be read or a worker has died.
   */
  make(epoch: number, block: number): SequenceBlock {
    const { epoch: nextEpoch, block: nextBlock } = this.#nextTaken;
    ensure(epoch === nextEpoch && block === nextBlock, "blocks are taken from workers out of their order");
    const worker = this.#workers[this.#turn];
    const reply = worker.receive();
    if ("failure" in reply) throw errorOf(reply.failure, worker.name);
    ensure(reply.epoch === epoch && reply.block === block, "a worker answered out of order");
    this.#turn = (this.#turn + 1) % this.#workers.length;
    this.#nextTaken = blockAfter(this.#nextTaken, this.numBlocks);
    this.#order(worker, this.#taken);
    this.#taken = reply.buffer;
    return blockIn(reply.buffer, {
      numSequences: reply.numSequences,
      sequenceLength: this.#sequenceLength,
    });
  }

  /** Ends the workers, whatever they are at. */
  [Symbol.dispose](): void {
    for (const worker of this.#workers) worker[Symbol.dispose]();
  }

  #order(worker: BlockWorker, spent: SharedArrayBuffer | undefined): void {
    worker.order({ ...this.#nextOrdered, spent });
    this.#nextOrdered = blockAfter(this.#nextOrdered, this.numBlocks);
  }
}

/** One worker, from this side. */
class BlockWorker implements Disposable {
  readonly name: string;
  readonly #maxStallMs: number;
  readonly #worker: Thread;
  readonly #channel = new MessageChannel();
  readonly #state = new Int32Array(new SharedArrayBuffer(4 * STATE_LENGTH));
  /** What the worker raised outside of an order, which is a bug. */
  #crash: string | undefined;

  constructor({ name, maxStallMs, module }: { name: string; maxStallMs: number; module: URL | undefined }) {
    this.name = name;
    this.#maxStallMs = maxStallMs;
    this.#worker = startThread(module ?? new URL("./block_worker.ts", import.meta.url));
  }

  /** Hands over what to work on and waits until the worker is ready. */
  async open(message: Pick<OpenMessage, "files" | "options">): Promise<void> {
    const { port2 } = this.#channel;
    const reply = await new Promise<OpenReply>((resolve) => {
      this.#worker.onmessage = ({ data }: MessageEvent<OpenReply>) => resolve(data);
      this.#worker.onerror = (event) => {
        event.preventDefault();
        this.#crash = event.message;
        resolve({ failure: { message: event.message, isUserError: false } });
      };
      const whole: OpenMessage = {
        ...message,
        port: port2,
        state: this.#state.buffer as SharedArrayBuffer,
      };
      this.#worker.postMessage(whole, [port2]);
    });
    if (reply.failure) throw errorOf(reply.failure, this.name);
  }

  order(order: BlockOrder): void {
    this.#channel.port1.postMessage(order);
  }

  /** Waits for the answer to the oldest order. */
  receive(): BlockReply {
    for (let numStalls = 0; numStalls < NUM_STALL_CHECKS;) {
      // Read before the port: a message that comes in between changes the number and so ends the wait.
      const numPosted = Atomics.load(this.#state, POSTED);
      const progress = Atomics.load(this.#state, PROGRESS);
      // Deno's type wants Node's port; what Deno takes is its own.
      const received = receiveMessageOnPort(this.#channel.port1 as unknown as NodeMessagePort);
      if (received) return (received as { message: BlockReply }).message;
      if (this.#crash !== undefined) {
        throw errorOf({ message: this.#crash, isUserError: false }, this.name);
      }
      Atomics.wait(this.#state, POSTED, numPosted, this.#maxStallMs / NUM_STALL_CHECKS);
      numStalls = Atomics.load(this.#state, PROGRESS) === progress ? numStalls + 1 : 0;
    }
    throw new UserError(
      `Cannot make batches: ${this.name} has done nothing for ${this.#maxStallMs / 1000} s; ` +
        "run the same command again, with --workers 0 if this happens again",
    );
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
    this.#channel.port1.close();
  }
}

function errorOf({ message, isUserError }: WorkerFailure, name: string): Error {
  return isUserError ? new UserError(message) : new Error(`Internal error: ${name} failed: ${message}`);
}
