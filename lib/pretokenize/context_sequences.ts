/**
 * Sequences of vocabulary v2: the contexts of one epoch, as the loader draws them, one a sequence.
 *
 * Contexts are not packed: masks for several contexts in a row of tokens depend on
 * the trainer, and trainers that pack use lengths. Rows are in the order of the files, each with all its
 * contexts; the loader shuffles, and so should other trainers. A context has up to T + 1 tokens, T inputs and the
 * last one's target.
 *
 * @module
 */
import { numContextsOfRow, sampleContext } from "../loader/contexts.ts";
import { type PreparedRow, prepareRow } from "../loader/prepared_row.ts";
import type { ProbeRowSource } from "../loader/row_source.ts";
import { DEFAULT_SAMPLING } from "../loader/sampling_config.ts";
import { RandomStream } from "../random/philox.ts";
import { TokenWriter } from "../tokens/vocab_v2.ts";
import type { TokenShards } from "./token_shards.ts";

/** The options of drawing contexts; with the loader's values the contexts are the same. */
export interface ContextSequenceOptions {
  /** The seed, 0..2^53 - 1. */
  seed: number;
  /** 0 or more. */
  epoch: number;
  /** T, tokens of a sequence. */
  sequenceLength: number;
  /** Called after each row. */
  onRow: () => Promise<void>;
}

/**
 * Writes the contexts of all rows as sequences.
 *
 * @param source The rows.
 * @param shards Takes the sequences.
 * @throws {FormatError} If a row cannot be read.
 * @throws {UserError} If the disk is full.
 */
export async function writeContextSequences(
  source: ProbeRowSource,
  shards: TokenShards,
  { seed, epoch, sequenceLength, onRow }: ContextSequenceOptions,
): Promise<void> {
  const maxTokens = sequenceLength + 1;
  const tokens = new Uint16Array(maxTokens);
  for (let index = 0; index < source.numRows; index++) {
    let prepared = shards.isWanted ? prepare(source, index) : undefined;
    const numMeasurements = prepared?.timeS.length ?? source.numMeasurements(index);
    const numContexts = numContextsOfRow(numMeasurements, DEFAULT_SAMPLING);
    for (let i = 0; i < numContexts; i++) {
      if (!shards.isWanted) {
        await shards.skip();
        continue;
      }
      prepared ??= prepare(source, index);
      // The loader's stream (loader/blocks.ts): the same contexts.
      const random = new RandomStream(seed, "loader/context", epoch, index, i);
      const context = sampleContext(prepared, maxTokens, random, DEFAULT_SAMPLING);
      const writer = new TokenWriter(tokens);
      for (const measurement of context.measurements) writer.write(measurement, measurement.order);
      await shards.append(tokens.subarray(0, writer.at));
    }
    await onRow();
  }
}

function prepare(source: ProbeRowSource, index: number): PreparedRow {
  return prepareRow(source.row(index), { path: source.path, index });
}
