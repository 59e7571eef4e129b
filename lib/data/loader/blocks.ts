/**
 * Makes blocks of sequences from rows, in an endless stream: block after block, epoch after epoch.
 *
 * An epoch visits every row once, in a pseudo-random order that is cut into blocks of rows. Memory holds one
 * block at a time: its contexts, packed into sequences and shuffled. A block depends only on (seed, epoch,
 * block), so any worker can make any block at any time.
 *
 * With several campaigns, each block visits a fixed number of rows of each campaign. These numbers give each
 * campaign its share of the tokens (`campaignExponent`; Conneau and Lample, Cross-lingual Language Model
 * Pretraining, 2019, section 3.1, for languages). An epoch has as many visits as there are rows, but a small
 * campaign is visited more often: each campaign's rows have an order of their own, and a new one once all
 * were visited.
 *
 * @module
 */
import { UserError } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import { type ContextForm, contextForm } from "../tokens/context_form.ts";
import {
  type Context,
  DEFAULT_SAMPLING,
  numContextsOfRow,
  sampleContext,
  type SamplingConfig,
} from "../tokens/contexts.ts";
import type { RttEncodingChoice } from "../tokens/vocab_v1.ts";
import { type SequenceBlock, writeSequences } from "./batch.ts";
import { packContexts } from "./packing.ts";
import { Permutation } from "./permutation.ts";
import { type PreparedRow, PreparedRowCache } from "./prepared_row.ts";
import type { ProbeRowSource } from "./row_source.ts";

/** Approximate number of tokens in a block: about 500 sequences, which pack well, in 5 MB. */
const TOKENS_PER_BLOCK = 2 ** 19;
const MIN_ROWS_PER_BLOCK = 16;
const MAX_ROWS_PER_BLOCK = 4096;
/** Number of rows to read to estimate how many tokens a row yields. */
const NUM_PROBED_ROWS = 64;
/** Tokens of an IPv4 measurement with a short gap; accurate enough for an estimate. */
const TYPICAL_MEASUREMENT_TOKENS = 16;

/** Memory for prepared rows. More would not help with large data, whose rows only repeat after an epoch. */
export const DEFAULT_CACHE_BYTES = 100e6;

/** Plain JSON. */
export interface LoaderOptions {
  /** The run's seed, 0..2^53 - 1. */
  seed: number;
  /** T, the tokens per sequence, 47 (55 for vocabulary v1) to 65535. */
  sequenceLength: number;
  /** B, the sequences per batch. */
  batchSize: number;
  /** The first position; the beginning of epoch 0 by default. */
  position?: DataPosition;
  /** How to draw contexts; {@link DEFAULT_SAMPLING} by default. */
  sampling?: SamplingConfig;
  /** How vocabulary v1 encodes RTTs; undefined for v2. */
  rttEncoding?: RttEncodingChoice | undefined;
  /** Rows per block; chosen from the row sizes by default. Positions are only valid for the same number. */
  blockRows?: number;
  /** Maximum memory for cached rows; {@link DEFAULT_CACHE_BYTES} by default. Blocks do not depend on it. */
  cacheBytes?: number;
}

/** A position in the stream of sequences; plain JSON. */
export interface DataPosition {
  /** From 0. */
  epoch: number;
  block: number;
  sequence: number;
}

/** A block to make, and an unused block's buffer, which is reused if it is large enough. */
export interface BlockJob extends Omit<DataPosition, "sequence"> {
  spent: SharedArrayBuffer | undefined;
}

/** The rows of a campaign. */
interface Campaign {
  readonly first: number;
  readonly numRows: number;
  /** Rows that a block visits. */
  readonly perBlock: number;
}

/** A visit to a row in an epoch of its campaign. */
interface Visit {
  readonly row: number;
  readonly epoch: number;
}

export class BlockMaker {
  readonly blockRows: number;
  /** Number of blocks per epoch. The last may have fewer rows. */
  readonly numBlocks: number;
  readonly #seed: number;
  readonly #sequenceLength: number;
  readonly #sampling: SamplingConfig;
  readonly #campaigns: readonly Campaign[];
  readonly #cache: PreparedRowCache;
  readonly #form: ContextForm;
  /** Restarted for each context. */
  readonly #contextRandom: RandomStream;

  /** @throws {UserError} If there are no rows. */
  constructor(readonly source: ProbeRowSource, options: LoaderOptions) {
    if (source.numRows === 0) {
      throw new UserError(
        `Cannot read ${source.path}: it contains no probe rows; check the split`,
      );
    }
    this.#seed = options.seed;
    this.#sequenceLength = options.sequenceLength;
    this.#sampling = options.sampling ?? DEFAULT_SAMPLING;
    ({ blockRows: this.blockRows, campaigns: this.#campaigns } = planBlocks(source, options, this.#sampling));
    this.numBlocks = Math.ceil(source.numRows / this.blockRows);
    this.#cache = new PreparedRowCache(source, options.cacheBytes ?? DEFAULT_CACHE_BYTES);
    this.#form = contextForm(options.rttEncoding);
    this.#contextRandom = new RandomStream(options.seed, "loader/context");
  }

  /** The sequences of a block, in training order. */
  make({ epoch, block, spent }: BlockJob): SequenceBlock {
    const visits = this.#visitsOf(epoch, block);
    const contexts: Context[] = [];
    for (const visit of visits) this.#addContextsOf(visit, contexts);
    const choice = new RandomStream(this.#seed, "loader/extra", epoch, block);
    const drawExtra = () =>
      this.#draw(this.#cache.get(visits[choice.below(visits.length)].row), choice).at(0);
    const sequences = packContexts(contexts, this.#maxTokens, drawExtra);
    new RandomStream(this.#seed, "loader/sequences", epoch, block).shuffle(sequences);
    return writeSequences(sequences, this.#sequenceLength, { form: this.#form, spent });
  }

  /** A sequence's last target is one token after its last input token. */
  get #maxTokens(): number {
    return this.#sequenceLength + 1;
  }

  #visitsOf(epoch: number, block: number): Visit[] {
    if (this.#campaigns.length > 1) {
      const index = epoch * this.numBlocks + block;
      return this.#campaigns.flatMap((each) => this.#ordered(each, index * each.perBlock, each.perBlock));
    }
    const { numRows } = this.source;
    const first = block * this.blockRows;
    const length = Math.min(this.blockRows, numRows - first);
    return this.#ordered(this.#campaigns[0], epoch * numRows + first, length);
  }

  /** Visits to a campaign's rows, of which each epoch has a new order. @param from Counts all visits. */
  #ordered({ first, numRows }: Campaign, from: number, length: number): Visit[] {
    let order: Permutation | undefined;
    return Array.from({ length }, (_, i) => {
      const rank = (from + i) % numRows;
      const epoch = Math.floor((from + i) / numRows);
      if (!order || rank === 0) order = new Permutation(numRows, this.#seed, "loader/rows", epoch);
      return { row: first + order.at(rank), epoch };
    });
  }

  #addContextsOf({ row, epoch }: Visit, contexts: Context[]): void {
    const prepared = this.#cache.get(row);
    const numContexts = numContextsOfRow(prepared.timeS.length, this.#sampling);
    for (let i = 0; i < numContexts; i++) {
      this.#contextRandom.restart(epoch, row, i);
      contexts.push(...this.#draw(prepared, this.#contextRandom));
    }
  }

  /** Draws a context and converts it for the vocabulary; empty for a row without measurements. */
  #draw(row: PreparedRow, random: RandomStream): Context[] {
    if (row.timeS.length === 0) return [];
    return this.#form.divide(sampleContext(row, this.#maxTokens, random, this.#sampling));
  }
}

/**
 * Estimates from the sizes of some rows how many rows yield about {@link TOKENS_PER_BLOCK} tokens, and how
 * many of them each campaign contributes.
 */
function planBlocks(
  source: ProbeRowSource,
  options: Pick<LoaderOptions, "blockRows" | "sequenceLength">,
  sampling: SamplingConfig,
): { blockRows: number; campaigns: Campaign[] } {
  const starts = source.campaigns ?? [0];
  const ranges = starts.map((first, i) => ({ first, numRows: (starts[i + 1] ?? source.numRows) - first }))
    .filter(({ numRows }) => numRows > 0);
  if (ranges.length === 1 && options.blockRows !== undefined) {
    return { blockRows: options.blockRows, campaigns: [{ ...ranges[0], perBlock: options.blockRows }] };
  }
  const sized = ranges.map((range) => {
    const probed = probeRows(source, range, options.sequenceLength, sampling);
    const numMeasurements = range.numRows * probed.numMeasurements / probed.numRows;
    return {
      rowsPerToken: probed.numRows / Math.max(1, probed.numTokens),
      weight: Math.max(1, numMeasurements) ** sampling.campaignExponent,
    };
  });
  const total = sized.reduce((sum, { weight }) => sum + weight, 0);
  // Rows of a campaign per token of a block.
  const shares = sized.map(({ weight, rowsPerToken }) => weight / total * rowsPerToken);
  const all = shares.reduce((sum, share) => sum + share, 0);
  const rows = Math.round(TOKENS_PER_BLOCK * all);
  const blockRows = options.blockRows ?? Math.max(MIN_ROWS_PER_BLOCK, Math.min(rows, MAX_ROWS_PER_BLOCK));
  const campaigns = ranges.map((range, i) => ({
    ...range,
    perBlock: Math.max(1, Math.round(blockRows * shares[i] / all)),
  }));
  return { blockRows, campaigns };
}

/** Counts the measurements and estimates the tokens of some of a campaign's rows. */
function probeRows(
  source: ProbeRowSource,
  { first, numRows }: Pick<Campaign, "first" | "numRows">,
  sequenceLength: number,
  sampling: SamplingConfig,
): { numRows: number; numMeasurements: number; numTokens: number } {
  const numProbed = Math.min(NUM_PROBED_ROWS, numRows);
  // A fixed seed, because the block size must not depend on the run's seed.
  const order = new Permutation(numRows, 0, "loader/block-rows");
  let [numMeasurements, numTokens] = [0, 0];
  for (let i = 0; i < numProbed; i++) {
    const ofRow = source.numMeasurements(first + order.at(i));
    numMeasurements += ofRow;
    const contextTokens = Math.min(ofRow * TYPICAL_MEASUREMENT_TOKENS, sequenceLength + 1);
    numTokens += numContextsOfRow(ofRow, sampling) * contextTokens;
  }
  return { numRows: numProbed, numMeasurements, numTokens };
}
