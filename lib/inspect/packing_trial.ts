/**
 * Packs probe rows as the trainer would, to show what it will see: tokens, and the share of padding.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import { BatchLoader } from "../loader/batches.ts";
import { ArrayRecordRowSource } from "../loader/row_source.ts";
import { Breather } from "../threads/stage_hooks.ts";
import type { ArrayRecordReader } from "../array_record/reader.ts";
import { MEASUREMENT_START } from "../tokens/vocab_v2.ts";
import type { InspectOptions } from "./report.ts";
import { decodeV2, type TokenSample } from "./token_samples.ts";

/** How many sequences are packed at most; enough to know the padding within a tenth of a percent. */
const MAX_SEQUENCES = 256;

/** What the packing gave. */
export interface PackingTrial {
  numSequences: number;
  /** Share of positions that are padding, 0 to 1; null where nothing could be packed. */
  paddingShare: number | null;
  /** Why nothing could be packed. */
  problem?: string;
  /** The first measurements of the first sequence. */
  samples: TokenSample[];
}

/**
 * Packs up to {@link MAX_SEQUENCES} sequences of the first epoch.
 *
 * @param path The folder, for error messages.
 * @param readers The files, open; they stay open.
 * @returns What was seen, or why the rows cannot be packed.
 */
export async function tryPacking(
  path: string,
  readers: readonly ArrayRecordReader[],
  options: InspectOptions,
): Promise<PackingTrial> {
  const { sequenceLength, seed, samples, onCorrupt } = options;
  const breather = new Breather(options);
  try {
    const source = new ArrayRecordRowSource(path, readers, { onCorrupt });
    const loader = BatchLoader.open(source, { seed, batchSize: 1, sequenceLength });
    let numSequences = 0;
    let numPadding = 0;
    let first = new Uint16Array(0);
    while (numSequences < MAX_SEQUENCES && loader.position.epoch === 0) {
      await breather.breathe();
      const { tokens, numPaddingTokens } = await loader.next();
      if (numSequences === 0) first = tokens.slice(0, sequenceLength - numPaddingTokens);
      numSequences++;
      numPadding += numPaddingTokens;
    }
    const paddingShare = numPadding / (numSequences * sequenceLength);
    return { numSequences, paddingShare, samples: samplesOf(first, samples) };
  } catch (error) {
    // Rows that cannot be packed are a finding, not a failure of the inspection.
    if (!(error instanceof UserError) || options.signal?.aborted) throw error;
    return { numSequences: 0, paddingShare: null, problem: error.message, samples: [] };
  }
}

/** The first measurements; the last may end inside. */
function samplesOf(tokens: Uint16Array, numSamples: number): TokenSample[] {
  const starts = [...tokens.keys()].filter((at) => tokens[at] === MEASUREMENT_START);
  return starts.slice(0, numSamples).map((start, i) =>
    decodeV2(tokens.subarray(start, starts[i + 1]), tokens.subarray(0, start))
  );
}
