/**
 * Batches for the trainer.
 *
 * Sequences come from blocks of rows, epoch after epoch, without end. Their order does not depend on the batch size.
 * All ranks of a training read the same batches, and each trains on its share of them (`shareOf`). A checkpoint keeps
 * the position in the stream, a {@link DataPosition}.
 *
 * @module
 */
import { ConfigError } from "../../base/errors.ts";
import type { RttEncodingChoice } from "../tokens/vocab_v1.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";
import { type Batch, copySequence, paddingBatch, type SequenceBlock } from "./batch.ts";
import type { BlockWorkerSetup } from "./block_worker.ts";
import {
  type BlockJob,
  BlockMaker,
  type BlockOptions,
  blocksFrom,
  type BlockStream,
  type DataPosition,
  type LoaderOptions,
  SequenceCursor,
  STREAM_START,
} from "./blocks.ts";
import { contextForm } from "../tokens/context_form.ts";
import type { ArrayRecordRowSource, ProbeRowSource } from "./row_source.ts";
import { DEFAULT_SAMPLING, heldOutSampling, type SamplingConfig } from "../tokens/contexts.ts";

export type { Batch, SequenceArrays } from "./batch.ts";
export type { DataPosition, LoaderOptions } from "./blocks.ts";

/** Memory for decoded rows: small data are decoded once; large data do not profit, since rows repeat after an epoch. */
const DEFAULT_CACHE_BYTES = 100e6;
const MAX_SEQUENCE_LENGTH = 0xffff;
const MAX_WORKERS = 1024;
const WORKER = new URL("./block_worker.ts", import.meta.url);

/** Gives batches of packed contexts without end. */
export class BatchLoader implements Disposable {
  readonly #cursor: SequenceCursor;
  readonly #options: LoaderOptions;
  readonly #pool: Disposable | undefined;

  private constructor(stream: BlockStream, options: LoaderOptions, pool?: Disposable) {
    this.#cursor = new SequenceCursor(stream, options.position ?? STREAM_START);
    this.#options = options;
    this.#pool = pool;
  }

  /**
   * Opens a loader.
   *
   * @param source The rows.
   * @param options Seed, sizes and position.
   * @throws {ConfigError} If an option is out of range.
   * @throws {UserError} If the source has no rows or the position is not in the source.
   */
  static open(source: ProbeRowSource, options: LoaderOptions): BatchLoader {
    checkOptions(options);
    return new BatchLoader(streamHere(source, options), options);
  }

  /**
   * Opens a loader whose batches worker threads make ahead; they are the same as without workers.
   *
   * Blocks depend only on (seed, epoch, block), so the workers make them in turn. They read the files themselves,
   * and make two blocks ahead each, some 8 MB in all. The caller must dispose of the loader.
   *
   * @param source The rows; it stays open.
   * @param options As for {@link open}; `numWorkers`: threads, 0 for none.
   * @throws {ConfigError} If an option is out of range.
   * @throws {UserError} If the source has no rows, the position is not in the source, or a file cannot be read.
   */
  static async openWithWorkers(
    source: ArrayRecordRowSource,
    options: LoaderOptions & { numWorkers: number },
  ): Promise<BatchLoader> {
    const { numWorkers, ...loaderOptions } = options;
    checkInteger("numWorkers", numWorkers, { low: 0, high: MAX_WORKERS });
    // This checks the position before a thread starts.
    const inThread = BatchLoader.open(source, loaderOptions);
    if (numWorkers === 0) return inThread;
    const { path, blockRows, numBlocks } = inThread.#cursor.stream;
    const blocksOf = blockOptions({ ...loaderOptions, blockRows });
    blocksOf.cacheBytes = Math.floor(blocksOf.cacheBytes / numWorkers);
    const setup: BlockWorkerSetup = { files: source.rowFiles, options: blocksOf };
    const workers = { name: "loader", module: WORKER, numWorkers };
    const pool = new WorkerPool<BlockJob, SequenceBlock>(setup, workers);
    try {
      await pool.ready;
    } catch (error) {
      pool[Symbol.dispose]();
      throw error;
    }
    const spent: SharedArrayBuffer[] = [];
    const blocks = pool.inOrder(blocksFrom(inThread.position, numBlocks, spent));
    return new BatchLoader({ path, blockRows, numBlocks, blocks, spent }, loaderOptions, pool);
  }

  /** The chosen number of rows of a block; positions are valid for one value only. */
  get blockRows(): number {
    return this.#cursor.stream.blockRows;
  }

  /** The position of the next batch. */
  get position(): DataPosition {
    return this.#cursor.position;
  }

  /**
   * The next batch.
   *
   * @throws {FormatError} If a row cannot be read.
   * @throws {UserError} If no row has a measurement.
   */
  async next(): Promise<Batch> {
    return await takeBatch(this.#cursor, this.#options, this.#options.batchSize);
  }

  /** Ends the workers, if there are any. */
  [Symbol.dispose](): void {
    this.#pool?.[Symbol.dispose]();
  }
}

/**
 * A fixed set of batches for evaluation: the same for the same data, T, number of sequences, seed and sampling,
 * whatever the batch size; positions beyond the last sequence are padding. The sampling is {@link heldOutSampling}'s.
 *
 * @param source The validation rows.
 * @param options `numSequences`: total number; `batchSize`: number per batch; `seed`: 0 by default, not the run's.
 * @throws {ConfigError} If an option is out of range.
 * @throws {UserError} If the source has no rows or no measurements.
 */
export async function validationBatches(
  source: ProbeRowSource,
  options: {
    sequenceLength: number;
    numSequences: number;
    batchSize: number;
    seed?: number;
    sampling?: SamplingConfig;
    rttEncoding?: RttEncodingChoice | undefined;
  },
): Promise<Batch[]> {
  const { batchSize, numSequences } = options;
  const seeded = { ...options, sampling: heldOutSampling(options.sampling), seed: options.seed ?? 0 };
  checkOptions(seeded);
  const cursor = new SequenceCursor(streamHere(source, seeded), STREAM_START);
  const batches: Batch[] = [];
  for (let first = 0; first < numSequences; first += batchSize) {
    batches.push(await takeBatch(cursor, options, Math.min(batchSize, numSequences - first)));
  }
  return batches;
}

/** The next sequences as a batch; the rest of it is padding. */
async function takeBatch(
  cursor: SequenceCursor,
  { batchSize, sequenceLength }: { batchSize: number; sequenceLength: number },
  numSequences: number,
): Promise<Batch> {
  const batch = paddingBatch(batchSize, sequenceLength);
  for (let row = 0; row < numSequences; row++) copySequence(batch, row, await cursor.next());
  return batch;
}

/** The blocks from the first position's on, each made on demand. */
function streamHere(source: ProbeRowSource, options: LoaderOptions): BlockStream {
  const maker = new BlockMaker(source, blockOptions(options));
  const { blockRows, numBlocks } = maker;
  const spent: SharedArrayBuffer[] = [];
  const blocks = blocksFrom(options.position ?? STREAM_START, numBlocks, spent).map((job) => maker.make(job));
  return { path: source.path, blockRows, numBlocks, blocks, spent };
}

function blockOptions(options: LoaderOptions): BlockOptions {
  return {
    seed: options.seed,
    sequenceLength: options.sequenceLength,
    sampling: options.sampling ?? DEFAULT_SAMPLING,
    rttEncoding: options.rttEncoding,
    cacheBytes: options.cacheBytes ?? DEFAULT_CACHE_BYTES,
    ...(options.blockRows === undefined ? {} : { blockRows: options.blockRows }),
  };
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
