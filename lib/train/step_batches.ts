/**
 * The micro-batches of each step, made one step ahead.
 *
 * @module
 */
import type { Batch, BatchLoader, DataPosition } from "../loader/batches.ts";

/** Gives the batches of one step after the other. */
export class StepBatches {
  readonly #loader: BatchLoader;
  readonly #batchSize: number;
  readonly #afterBatch: () => Promise<void>;
  #next: Batch[] = [];
  #position: DataPosition;

  /** @param batchSize Sequences of a step. @param afterBatch Called after each batch. */
  constructor(loader: BatchLoader, batchSize: number, afterBatch: () => Promise<void>) {
    this.#loader = loader;
    this.#batchSize = batchSize;
    this.#afterBatch = afterBatch;
    this.#position = loader.position;
  }

  /** Where the batches of the next step start, for checkpoints. */
  get position(): DataPosition {
    return this.#position;
  }

  /** Takes the batches of the next step. */
  async take(): Promise<Batch[]> {
    if (this.#next.length === 0) await this.prepare();
    const batches = this.#next;
    this.#next = [];
    this.#position = this.#loader.position;
    return batches;
  }

  /** Makes the batches of the next step ahead. */
  async prepare(): Promise<void> {
    let numSequences = 0;
    while (numSequences < this.#batchSize) {
      const batch = await this.#loader.next();
      this.#next.push(batch);
      numSequences += batch.batchSize;
      await this.#afterBatch();
    }
  }
}
