/**
 * Training batches of an encoding: contexts as the loader draws them, with its RTTs.
 *
 * Sequence i of the stream depends on (seed, i) alone: contexts of rows drawn in proportion to the contexts that a row
 * yields in an epoch of the loader, one after another until no measurement is sure to fit. That leaves more padding
 * than the loader's packing, the same for all encodings; padding is not learned from.
 *
 * @module
 */
import {
  type Batch,
  type ContextWriter,
  copySequence,
  paddingBatch,
  type SequenceBlock,
  writeContextV2,
  writeSequences,
} from "../../loader/batch.ts";
import type { BatchSource, LoaderOptions } from "../../loader/batches.ts";
import {
  type Context,
  MAX_MEASUREMENT_TOKENS,
  numContextsOfRow,
  sampleContext,
} from "../../loader/contexts.ts";
import { type PreparedRow, PreparedRowCache } from "../../loader/prepared_row.ts";
import type { ProbeRowSource } from "../../loader/row_source.ts";
import { DEFAULT_SAMPLING, heldOutSampling, type SamplingConfig } from "../../loader/sampling_config.ts";
import { UserError } from "../../errors.ts";
import { RandomStream } from "../../random/philox.ts";
import type { BatchMaker } from "../../train/run_data.ts";
import type { RttScheme } from "./rtt_scheme.ts";
import { extraLength, replaceResults } from "./scheme_tokens.ts";

const CACHE_BYTES = 100e6;
/** Longest sequence that a measurement of any encoding is sure to fit in: IPv6 with an absolute time, 8-byte RTT. */
export const MAX_SCHEME_MEASUREMENT_TOKENS = MAX_MEASUREMENT_TOKENS + 6;

/** Rows whose measurements are as long as an encoding makes them. */
export class SchemeRows {
  readonly #cache: PreparedRowCache;
  readonly #lengthened = new WeakMap<PreparedRow, PreparedRow>();
  /** Of the weights of all rows up to each. */
  readonly #cumulative: Float64Array;

  /**
   * @param source The rows.
   * @param scheme The encoding.
   * @param weightOf How likely a row of so many measurements is drawn, in proportion.
   */
  constructor(
    readonly source: ProbeRowSource,
    readonly scheme: RttScheme,
    weightOf: (numMeasurements: number) => number,
  ) {
    this.#cache = new PreparedRowCache(source, CACHE_BYTES);
    this.#cumulative = new Float64Array(source.numRows);
    for (let row = 0, sum = 0; row < source.numRows; row++) {
      this.#cumulative[row] = sum += weightOf(source.numMeasurements(row));
    }
    if (!(source.numRows > 0 && this.#cumulative[source.numRows - 1] > 0)) {
      throw new UserError(`Cannot read ${source.path}: no measurement in its rows; check the split`);
    }
  }

  /** Draws a row. */
  draw(random: RandomStream): PreparedRow {
    const total = this.#cumulative[this.#cumulative.length - 1];
    const target = random.float64() * total;
    return this.#get(this.#cumulative.findIndex((sum) => sum > target));
  }

  #get(index: number): PreparedRow {
    const row = this.#cache.get(index);
    let lengthened = this.#lengthened.get(row);
    if (!lengthened) {
      const untimedLength = row.untimedLength.map((length, i) =>
        length + extraLength(row.rttMs[i] < 0, this.scheme)
      );
      lengthened = { ...row, untimedLength };
      this.#lengthened.set(row, lengthened);
    }
    return lengthened;
  }
}

/** What is in sequences. */
export interface SequenceCounts {
  numMeasurements: number;
  /** Without padding. */
  numTokens: number;
  numPaddingTokens: number;
}

/** The endless stream of sequences of one encoding. */
export class SchemeSequences {
  readonly #rows: SchemeRows;
  readonly #sampling: SamplingConfig;

  /** @param source The rows. @param scheme The encoding. @param options As the loader's. */
  constructor(
    source: ProbeRowSource,
    readonly scheme: RttScheme,
    readonly options: Pick<LoaderOptions, "seed" | "sequenceLength" | "sampling">,
  ) {
    this.#sampling = options.sampling ?? DEFAULT_SAMPLING;
    this.#rows = new SchemeRows(source, scheme, (count) => numContextsOfRow(count, this.#sampling));
  }

  /** The contexts of a sequence. @param index 0 or more. */
  contexts(index: number): Context[] {
    const random = new RandomStream(this.options.seed, "evaluate/encodings/sequence", index);
    const contexts: Context[] = [];
    let room = this.options.sequenceLength + 1;
    while (room >= MAX_SCHEME_MEASUREMENT_TOKENS) {
      const context = sampleContext(this.#rows.draw(random), room, random, this.#sampling);
      contexts.push(context);
      room -= context.numTokens;
    }
    return contexts;
  }

  /** A sequence as arrays. @param index 0 or more. */
  make(index: number): SequenceBlock {
    const contexts = this.contexts(index);
    const numTokens = lengthOf(contexts);
    return writeSequences([{ contexts, numTokens }], this.options.sequenceLength, {
      allocate: (sizeBytes) => new ArrayBuffer(sizeBytes),
      writeContext: contextWriter(this.scheme),
    });
  }

  /** Counts what the sequences have, one after another without end. */
  *count(): Generator<SequenceCounts> {
    for (let index = 0;; index++) {
      const contexts = this.contexts(index);
      const numTokens = Math.min(lengthOf(contexts), this.options.sequenceLength);
      yield {
        numMeasurements: contexts.reduce((sum, { measurements }) => sum + measurements.length, 0),
        numTokens,
        numPaddingTokens: this.options.sequenceLength - numTokens,
      };
    }
  }
}

/** Makes a run's batches in an encoding. */
export function schemeBatchMaker(scheme: RttScheme): BatchMaker {
  return {
    openTraining: (rows, options) => new SchemeBatches(new SchemeSequences(rows, scheme, options), options),
    openValidation(rows, { numSequences, ...options }) {
      const seeded = { ...options, sampling: heldOutSampling(options.sampling), seed: options.seed ?? 0 };
      const batches = new SchemeBatches(new SchemeSequences(rows, scheme, seeded), seeded);
      return Array.from({ length: Math.ceil(numSequences / options.batchSize) }, () => batches.next());
    },
  };
}

/** Batches of the stream; a position's `block` is the index of the next sequence. */
class SchemeBatches implements BatchSource {
  readonly blockRows = 1;
  #next: number;

  constructor(readonly sequences: SchemeSequences, readonly options: LoaderOptions) {
    this.#next = options.position?.block ?? 0;
  }

  get position(): { epoch: number; block: number; sequence: number } {
    return { epoch: 0, block: this.#next, sequence: 0 };
  }

  next(): Batch {
    const { batchSize, sequenceLength } = this.options;
    const batch = paddingBatch(batchSize, sequenceLength);
    for (let row = 0; row < batchSize; row++) {
      copySequence(batch, row, { block: this.sequences.make(this.#next++), index: 0 });
    }
    return batch;
  }

  [Symbol.dispose](): void {}
}

/** Writes contexts of the encoding; v2 needs no more than its own tokens. */
function contextWriter(scheme: RttScheme): ContextWriter {
  return (context, out, start) => {
    const plain = new Uint16Array(context.numTokens);
    const end = writeContextV2(context, plain, 0);
    const rttsMs = context.measurements.map(({ rttMs }) => rttMs);
    return replaceResults(plain.subarray(0, end), rttsMs, { scheme, out, start });
  };
}

function lengthOf(contexts: readonly Context[]): number {
  return contexts.reduce((sum, { numTokens }) => sum + numTokens, 0);
}
