/**
 * Batches for the trainer.
 *
 * Sequences come from blocks of rows, epoch after epoch, endlessly. Their order does not depend on the batch
 * size. All ranks of a training run read the same batches, and each trains on its share of them (`shareOf`).
 * A checkpoint stores the position in the stream, a {@link DataPosition}.
 *
 * @module
 */
import { ConfigError, ensure, UserError } from "../../base/errors.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";
import { contextForm } from "../tokens/context_form.ts";
import { heldOutSampling } from "../tokens/contexts.ts";
import { type Batch, copySequence, paddingBatch, type SequenceBlock } from "./batch.ts";
import type { BlockWorkerSetup } from "./block_worker.ts";
import {
  type BlockJob,
  BlockMaker,
  type DataPosition,
  DEFAULT_CACHE_BYTES,
  type LoaderOptions,
} from "./blocks.ts";
import type { ArrayRecordRowSource, ProbeRowSource } from "./row_source.ts";

export type { Batch, SequenceArrays } from "./batch.ts";
export type { DataPosition, LoaderOptions } from "./blocks.ts";

const STREAM_START: Readonly<DataPosition> = { epoch: 0, block: 0, sequence: 0 };
const MAX_SEQUENCE_LENGTH = 0xffff;
const MAX_WORKERS = 1024;
const WORKER = new URL("./block_worker.ts", import.meta.url);

/** An endless stream of batches of packed contexts. */
export class BatchLoader implements Disposable {
  readonly #maker: BlockMaker;
  readonly #options: LoaderOptions;
  #position: DataPosition;
  #current: SequenceBlock | undefined;
  /** Buffers of unused blocks, for reuse by later blocks. */
  readonly #spent: SharedArrayBuffer[] = [];
  /** The endless stream of blocks, starting at the first position. */
  #blocks: Iterator<SequenceBlock> | AsyncIterator<SequenceBlock>;
  #pool: WorkerPool<BlockJob, SequenceBlock> | undefined;

  private constructor(source: ProbeRowSource, options: LoaderOptions) {
    checkOptions(options);
    this.#options = options;
    this.#maker = new BlockMaker(source, options);
    const { epoch, block, sequence } = options.position ?? STREAM_START;
    this.#position = { epoch, block, sequence };
    const isPlace = [epoch, block, sequence].every((n) => Number.isSafeInteger(n) && n >= 0);
    if (!isPlace || block >= this.#maker.numBlocks) throw this.#noSuchPosition();
    this.#blocks = this.#jobs().map((job) => this.#maker.make(job));
  }

  /**
   * @throws {ConfigError} If an option is out of range.
   * @throws {UserError} If the source has no rows or does not contain the position.
   */
  static open(source: ProbeRowSource, options: LoaderOptions): BatchLoader {
    return new BatchLoader(source, options);
  }

  /**
   * Opens a loader whose batches are made ahead by worker threads. The batches are the same as without
   * workers.
   *
   * The workers take turns making blocks. They read the files themselves, and each stays two blocks ahead,
   * about 8 MB in all. The caller must dispose of the loader.
   *
   * @param options As for {@link open}; `numWorkers`: threads, 0 for none.
   * @throws {ConfigError} If an option is out of range.
   * @throws {UserError} If the source has no rows or does not contain the position, or a file cannot be read.
   */
  static async openWithWorkers(
    source: ArrayRecordRowSource,
    options: LoaderOptions & { numWorkers: number },
  ): Promise<BatchLoader> {
    const { numWorkers, ...loaderOptions } = options;
    checkInteger("numWorkers", numWorkers, { low: 0, high: MAX_WORKERS });
    const loader = new BatchLoader(source, loaderOptions);
    if (numWorkers === 0) return loader;
    const cacheBytes = Math.floor((options.cacheBytes ?? DEFAULT_CACHE_BYTES) / numWorkers);
    const setup: BlockWorkerSetup = {
      files: source.rowFiles,
      options: { ...loaderOptions, blockRows: loader.blockRows, cacheBytes },
    };
    loader.#pool = new WorkerPool(setup, { name: "loader", module: WORKER, numWorkers });
    try {
      await loader.#pool.ready;
    } catch (error) {
      loader[Symbol.dispose]();
      throw error;
    }
    loader.#blocks = loader.#pool.inOrder(loader.#jobs());
    return loader;
  }

  /** Number of rows per block. Positions are only valid for the same number. */
  get blockRows(): number {
    return this.#maker.blockRows;
  }

  get position(): DataPosition {
    return { ...this.#position };
  }

  /**
   * @param numSequences Number of sequences, at most the batch size; the rest of the batch is padding.
   * @throws {FormatError} If a row cannot be read.
   * @throws {UserError} If no row has a measurement.
   */
  async next(numSequences: number = this.#options.batchSize): Promise<Batch> {
    const batch = paddingBatch(this.#options.batchSize, this.#options.sequenceLength);
    for (let row = 0; row < numSequences; row++) {
      const block = await this.#blockOfNext();
      copySequence(batch, row, { block, index: this.#position.sequence++ });
    }
    return batch;
  }

  [Symbol.dispose](): void {
    this.#pool?.[Symbol.dispose]();
  }

  /** Returns the block of the next sequence, and moves the position to that sequence. */
  async #blockOfNext(): Promise<SequenceBlock> {
    if (!this.#current) {
      this.#current = await this.#take();
      if (this.#position.sequence > this.#current.numSequences) throw this.#noSuchPosition();
    }
    let numEmptyBlocks = 0;
    while (this.#position.sequence >= this.#current.numSequences) {
      if (this.#current.numSequences === 0 && ++numEmptyBlocks > this.#maker.numBlocks) {
        throw new UserError(
          `Cannot read ${this.#maker.source.path}: none of its rows has measurements; run probe-rows again`,
        );
      }
      this.#position = this.#blockAfter(this.#position);
      this.#current = await this.#take();
    }
    return this.#current;
  }

  async #take(): Promise<SequenceBlock> {
    if (this.#current) this.#spent.push(this.#current.buffer);
    const { value, done } = await this.#blocks.next();
    ensure(!done, "the stream of blocks has ended");
    return value;
  }

  /** The endless stream of blocks from the first position, epoch after epoch. */
  *#jobs(): Generator<BlockJob, never> {
    for (let next = this.position;; next = this.#blockAfter(next)) {
      yield { epoch: next.epoch, block: next.block, spent: this.#spent.pop() };
    }
  }

  /** The position of the first sequence in the next block, in this epoch or the next. */
  #blockAfter({ epoch, block }: DataPosition): DataPosition {
    const isLast = block + 1 === this.#maker.numBlocks;
    return { epoch: isLast ? epoch + 1 : epoch, block: isLast ? 0 : block + 1, sequence: 0 };
  }

  #noSuchPosition(): UserError {
    return new UserError(
      `Cannot resume at data position ${
        JSON.stringify(this.#position)
      }: it is not in ${this.#maker.source.path}; ` +
        "resume with the data and loader options that the checkpoint was made with",
    );
  }
}

/**
 * Makes a fixed set of batches for evaluation. It depends only on the data, T, the number of sequences, the
 * seed and the sampling, not on the batch size. Positions after the last sequence are padding. Contexts are
 * drawn with {@link heldOutSampling}.
 *
 * @param options `numSequences`: total number; `batchSize`: number per batch; `seed`: 0 by default, not the
 *   run's.
 * @throws {ConfigError} If an option is out of range.
 * @throws {UserError} If the source has no rows or no measurements.
 */
export async function validationBatches(
  source: ProbeRowSource,
  options: Omit<LoaderOptions, "seed" | "position"> & { numSequences: number; seed?: number },
): Promise<Batch[]> {
  const { numSequences, ...loaderOptions } = options;
  const sampling = heldOutSampling(options.sampling);
  const loader = BatchLoader.open(source, { ...loaderOptions, sampling, seed: options.seed ?? 0 });
  const batches: Batch[] = [];
  for (let first = 0; first < numSequences; first += options.batchSize) {
    batches.push(await loader.next(Math.min(options.batchSize, numSequences - first)));
  }
  return batches;
}

function checkOptions(options: LoaderOptions): void {
  const most = Number.MAX_SAFE_INTEGER;
  checkInteger("seed", options.seed, { low: 0, high: most });
  const lengths = { low: contextForm(options.rttEncoding).maxMeasurementTokens, high: MAX_SEQUENCE_LENGTH };
  checkInteger("sequenceLength", options.sequenceLength, lengths);
  checkInteger("batchSize", options.batchSize, { low: 1, high: most });
  checkInteger("blockRows", options.blockRows ?? 1, { low: 1, high: most });
  checkInteger("cacheBytes", options.cacheBytes ?? 0, { low: 0, high: most });
}

function checkInteger(key: string, value: number, { low, high }: { low: number; high: number }): void {
  if (Number.isSafeInteger(value) && value >= low && value <= high) return;
  throw new ConfigError(key, `found ${value}, expected an integer in ${low}..${high}`);
}
