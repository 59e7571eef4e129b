/**
 * The section on bits: those of held-out measurements by token type and by position in their context, with all times and
 * without times. Contexts are drawn from the held-out rows as the loader draws those of the training. One forward pass
 * over a context gives the bits of each token, given all before it. In vocabulary v1 each measurement of a context is a
 * sequence of its own.
 *
 * @module
 */
import { contextForm } from "../../data/tokens/context_form.ts";
import {
  type Context,
  heldOutSampling,
  numContextsOfRow,
  sampleContext,
  type SamplingConfig,
} from "../../data/tokens/contexts.ts";
import { prepareRow } from "../../data/loader/prepared_row.ts";
import type { ProbeRowSource } from "../../data/loader/row_source.ts";
import { rttEncodingChoice } from "../../model/model_config.ts";
import type { PingModel } from "../../query/ping_model.ts";
import { drawDistinct, RandomStream } from "../../base/random.ts";
import { BitTotals, type ContextBits } from "./bit_totals.ts";

/** The bits of held-out measurements, in contexts with all times and in contexts without any. */
export interface BitsSection {
  withTimes: ContextBits;
  withoutTimes: ContextBits;
}

/** The contexts to draw. */
export interface BitsOptions {
  /** How many of each kind, at most; fewer where the rows yield fewer in an epoch (256). */
  numContexts?: number;
  seed: number;
  /** How the model's training drew contexts; its shares of timestamp modes are not used (the defaults). */
  sampling?: SamplingConfig;
  /** Reports how many contexts are done. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

const DEFAULT_NUM_CONTEXTS = 256;
/** Contexts that are written at once; the model groups them as memory allows. */
const CONTEXTS_PER_PART = 32;

/**
 * Computes the bits of contexts of held-out rows.
 *
 * @param rows The held-out rows. No others are in the contexts.
 * @throws {FormatError} If a row cannot be read.
 */
export async function evaluateBits(
  model: PingModel,
  rows: ProbeRowSource,
  options: BitsOptions,
): Promise<BitsSection> {
  const { seed, onProgress, numContexts = DEFAULT_NUM_CONTEXTS } = options;
  const sampling = heldOutSampling(options.sampling);
  const places = choosePositions(rows, { numContexts, seed, sampling });
  const total = 2 * places.length;
  const maxTokens = model.config.sequenceLength + 1;
  const form = contextForm(rttEncodingChoice(model.config));
  let done = 0;
  const bitsOf = async (timestampModes: SamplingConfig["timestampModes"]): Promise<ContextBits> => {
    const totals = new BitTotals(model.config.vocabulary);
    const drawing = { seed, sampling: { ...sampling, timestampModes }, maxTokens };
    for (let start = 0; start < places.length; start += CONTEXTS_PER_PART) {
      options.signal?.throwIfAborted();
      const part = places.slice(start, start + CONTEXTS_PER_PART);
      const sequences = drawContexts(rows, part, drawing).flatMap((drawn) => form.divide(drawn)).map(
        (context) => {
          const tokens = new Uint16Array(context.numTokens);
          form.write(context, tokens, 0);
          return tokens;
        },
      );
      const logP = await model.decoders.tokenLogProbabilities(sequences, Infinity);
      sequences.forEach((tokens, i) => totals.add(tokens, logP[i]));
      onProgress?.(done += part.length, total);
    }
    return totals.means();
  };
  return {
    withTimes: await bitsOf({ full: 1, partial: 0, none: 0 }),
    withoutTimes: await bitsOf({ full: 0, partial: 0, none: 1 }),
  };
}

/** A context of an epoch: its row and its index in the row. */
interface ContextPosition {
  row: number;
  index: number;
}

/** Draws contexts of one epoch, each at most once; in the order of the rows. */
function choosePositions(
  rows: ProbeRowSource,
  { numContexts, seed, sampling }: { numContexts: number; seed: number; sampling: SamplingConfig },
): ContextPosition[] {
  const places: ContextPosition[] = [];
  for (let row = 0; row < rows.numRows; row++) {
    const count = numContextsOfRow(rows.numMeasurements(row), sampling);
    for (let index = 0; index < count; index++) places.push({ row, index });
  }
  const random = new RandomStream(seed, "evaluate/bits");
  const chosen = drawDistinct(places.length, Math.min(numContexts, places.length), random).sort();
  return Array.from(chosen, (place) => places[place]);
}

function drawContexts(
  rows: ProbeRowSource,
  places: readonly ContextPosition[],
  { seed, sampling, maxTokens }: { seed: number; sampling: SamplingConfig; maxTokens: number },
): Context[] {
  return [...Map.groupBy(places, ({ row }) => row)].flatMap(([row, ofRow]) => {
    const prepared = prepareRow(rows.row(row), { path: rows.path, index: row });
    return ofRow.map(({ index }) => {
      // The loader's stream (lib/data/loader/blocks.ts) of the first epoch.
      const random = new RandomStream(seed, "loader/context", 0, row, index);
      return sampleContext(prepared, maxTokens, random, sampling);
    });
  });
}
