/**
 * Blocks of rows made into sequences.
 *
 * An epoch visits every row once, in a pseudo-random order that is cut into blocks of rows. A block is what is
 * held in memory at once: its contexts, packed into sequences and shuffled. What a block holds depends on
 * (seed, epoch, block) alone, so any block can be made at any time, by any worker.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { RandomStream } from "../random/philox.ts";
import type { RttEncodingChoice } from "../tokens/rtt_encoding.ts";
import { type SequenceBlock, writeSequences } from "./batch.ts";
import { type ContextForm, contextForm } from "./context_form.ts";
import { type Context, numContextsOfRow, sampleContext } from "./contexts.ts";
import { packContexts } from "./packing.ts";
import { Permutation } from "./permutation.ts";
import { PreparedRowCache } from "./prepared_row.ts";
import type { ProbeRowSource } from "./row_source.ts";
import type { SamplingConfig } from "./sampling_config.ts";

/** Contexts of a block together have about so many tokens: some 500 sequences, which pack well, in 5 MB. */
const TOKENS_PER_BLOCK = 2 ** 19;
const MIN_ROWS_PER_BLOCK = 16;
const MAX_ROWS_PER_BLOCK = 4096;
/** Rows looked at to guess how many tokens a row yields. */
const NUM_PROBED_ROWS = 64;
/** Tokens of an IPv4 measurement with a short gap; good enough for a guess. */
const TYPICAL_MEASUREMENT_TOKENS = 16;

/** What blocks depend on; plain JSON. */
export interface BlockOptions {
  /** The run's seed. */
  seed: number;
  /** T, tokens of a sequence. */
  sequenceLength: number;
  /** How contexts are drawn. */
  sampling: SamplingConfig;
  /** How RTTs are written in vocabulary v1; v2 is written without it. */
  rttEncoding?: RttEncodingChoice | undefined;
  /** Rows of a block; by default such that a block has about 2^19 tokens. */
  blockRows?: number;
  /** Bound on the memory of the prepared rows that are kept; no block depends on it. */
  cacheBytes: number;
}

/** Which block. */
export interface BlockIndex {
  /** Passes over all rows, from 0. */
  epoch: number;
  /** Block of rows within the epoch. */
  block: number;
}

/** A block to be made. */
export interface BlockJob extends BlockIndex {
  /** The buffer of a block that is used up, for the new one if it is large enough. */
  spent: SharedArrayBuffer | undefined;
}

/** The block after another, in this epoch or the next. */
export function blockAfter({ epoch, block }: BlockIndex, numBlocks: number): BlockIndex {
  return block + 1 === numBlocks ? { epoch: epoch + 1, block: 0 } : { epoch, block: block + 1 };
}

/** The blocks from one on, epoch after epoch, without end. @param spent Gives its buffers away. */
export function* blocksFrom(
  { epoch, block }: BlockIndex,
  numBlocks: number,
  spent: SharedArrayBuffer[],
): Generator<BlockJob, never> {
  let next = { epoch, block };
  for (;; next = blockAfter(next, numBlocks)) yield { ...next, spent: spent.pop() };
}

/** Makes the blocks of a source when they are asked for, in any order. */
export class BlockMaker {
  /** Rows of a block. */
  readonly blockRows: number;
  /** Blocks of an epoch; the last can have fewer rows. */
  readonly numBlocks: number;
  readonly #cache: PreparedRowCache;
  readonly #form: ContextForm;
  /** Restarted for each context. */
  readonly #contextRandom: RandomStream;

  /**
   * @param source The rows.
   * @param options What the blocks depend on.
   * @throws {UserError} If there are no rows.
   */
  constructor(readonly source: ProbeRowSource, readonly options: BlockOptions) {
    if (source.numRows === 0) {
      throw new UserError(
        `Cannot read ${source.path}: no probe rows in it, at least one was wanted; check the split`,
      );
    }
    this.blockRows = options.blockRows ?? guessBlockRows(source, options);
    this.numBlocks = Math.ceil(source.numRows / this.blockRows);
    this.#cache = new PreparedRowCache(source, options.cacheBytes);
    this.#form = contextForm(options.rttEncoding);
    this.#contextRandom = new RandomStream(options.seed, "loader/context");
  }

  /**
   * The sequences of a block, in the order of training.
   *
   * @throws {FormatError} If a row cannot be read.
   */
  make({ epoch, block, spent }: BlockJob): SequenceBlock {
    const rows = this.#rowsOf(epoch, block);
    const contexts: Context[] = [];
    for (const row of rows) this.#addContextsOf(epoch, row, contexts);
    const choice = new RandomStream(this.options.seed, "loader/extra", epoch, block);
    const drawExtra = () => this.#draw(rows[choice.below(rows.length)], choice);
    const sequences = packContexts(contexts, this.#maxTokens, drawExtra);
    new RandomStream(this.options.seed, "loader/sequences", epoch, block).shuffle(sequences);
    return writeSequences(sequences, this.options.sequenceLength, { writeContext: this.#form.write, spent });
  }

  /** The last target of a sequence is one token after its last input token. */
  get #maxTokens(): number {
    return this.options.sequenceLength + 1;
  }

  #rowsOf(epoch: number, block: number): number[] {
    const { numRows } = this.source;
    const order = new Permutation(numRows, this.options.seed, "loader/rows", epoch);
    const first = block * this.blockRows;
    const length = Math.min(this.blockRows, numRows - first);
    return Array.from({ length }, (_, i) => order.at(first + i));
  }

  #addContextsOf(epoch: number, row: number, contexts: Context[]): void {
    const { sampling } = this.options;
    const prepared = this.#cache.get(row);
    const numContexts = numContextsOfRow(prepared.timeS.length, sampling);
    for (let i = 0; i < numContexts; i++) {
      this.#contextRandom.restart(epoch, row, i);
      const drawn = sampleContext(prepared, this.#maxTokens, this.#contextRandom, sampling);
      contexts.push(...this.#form.divide(drawn));
    }
  }

  #draw(row: number, random: RandomStream): Context | undefined {
    const prepared = this.#cache.get(row);
    if (prepared.timeS.length === 0) return undefined;
    return this.#form.divide(sampleContext(prepared, this.#maxTokens, random, this.options.sampling))[0];
  }
}

/** Rows of a block that together yield about {@link TOKENS_PER_BLOCK} tokens, from the sizes of some rows. */
function guessBlockRows(source: ProbeRowSource, { sequenceLength, sampling }: BlockOptions): number {
  const numProbed = Math.min(NUM_PROBED_ROWS, source.numRows);
  // A fixed seed: the size of a block must not depend on the run's.
  const order = new Permutation(source.numRows, 0, "loader/block-rows");
  let numTokens = 0;
  for (let i = 0; i < numProbed; i++) {
    const numMeasurements = source.numMeasurements(order.at(i));
    const contextTokens = Math.min(numMeasurements * TYPICAL_MEASUREMENT_TOKENS, sequenceLength + 1);
    numTokens += numContextsOfRow(numMeasurements, sampling) * contextTokens;
  }
  const rows = Math.round(TOKENS_PER_BLOCK * numProbed / Math.max(1, numTokens));
  return Math.max(MIN_ROWS_PER_BLOCK, Math.min(rows, MAX_ROWS_PER_BLOCK));
}
