/**
 * The section on bits: how many bits held-out measurements take, by token type and by position in their
 * context, with all times and without times. Contexts are drawn from the held-out rows as the loader draws
 * training contexts. One forward pass over a context yields the bits of each token, given all tokens before
 * it. In vocabulary v1 each measurement of a context is a sequence of its own.
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
import { getOrMake } from "../../base/collections.ts";
import { FIELD_GRAMMARS } from "../../data/tokens/field_grammar.ts";
import { type Field, MEASUREMENT_START } from "../../data/tokens/vocab_v2.ts";

export interface BitsSection {
  withTimes: ContextBits;
  withoutTimes: ContextBits;
}

interface BitsOptions {
  /** Maximum number of contexts of each kind; an epoch of the rows may have fewer. */
  numContexts: number;
  seed: number;
  /** How the model's training drew contexts (the defaults). Its shares of timestamp modes are not used. */
  sampling?: SamplingConfig;
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Contexts that are written at once; the model groups them as memory allows. */
const CONTEXTS_PER_PART = 32;

/**
 * @param rows The held-out rows. Contexts contain no others.
 * @throws {FormatError} If a row cannot be read.
 */
export async function evaluateBits(
  model: PingModel,
  rows: ProbeRowSource,
  options: BitsOptions,
): Promise<BitsSection> {
  const { seed, onProgress, numContexts } = options;
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

interface ContextPosition {
  row: number;
  index: number;
}

/** Draws distinct contexts of one epoch, in the order of the rows. */
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

export interface TokenTypeBits {
  /** A role's name, such as `DstIpv4`, or a byte after it, such as `DstIpv4 byte 1`. */
  tokenType: string;
  numTokens: number;
  meanBits: number;
}

/** The mean bits of a measurement's blocks; null if no measurement has that block. */
type FieldBits = Record<Field, number | null>;

export interface PositionBits {
  /** How many measurements precede these in their contexts. */
  position: number;
  numMeasurements: number;
  /** Mean over the measurements, without MeasurementStart. */
  meanBits: number;
  /** Means over the measurements that have the block. */
  fieldBits: FieldBits;
}

export interface ContextBits {
  numContexts: number;
  numMeasurements: number;
  /** All but the first of each context, which is always MeasurementStart. */
  numTokens: number;
  /** Mean bits of a measurement in one order of its fields, without MeasurementStart; null without any. */
  bitsPerMeasurement: number | null;
  /** Mean bits of a token, including MeasurementStart: the training loss, in bits; null without any. */
  bitsPerToken: number | null;
  fieldBits: FieldBits;
  /** In the order of the vocabulary's roles, then of bytes; types that do not occur are absent. */
  byTokenType: TokenTypeBits[];
  byPosition: PositionBits[];
}

class BitTotals {
  #numContexts = 0;
  readonly #all = new MeasurementTotals();
  readonly #positions: MeasurementTotals[] = [];
  /** Keyed by (role * 16 + role that continues its field or 0) * 32 + byte; byte 0 is the role itself. */
  readonly #types = new Map<number, Mean>();

  constructor(readonly vocabulary: "v1" | "v2") {}

  /**
   * Adds a context.
   *
   * @param logP log P of all tokens after the first, nats.
   */
  add(tokens: Uint16Array, logP: Float32Array): void {
    this.#numContexts++;
    const grammar = FIELD_GRAMMARS[this.vocabulary];
    let position = -1;
    let role = MEASUREMENT_START;
    let next = 0;
    let byte = 0;
    for (let i = 0; i < tokens.length; i++) {
      const token = tokens[i];
      const opens = grammar.opens(token);
      if (opens) [role, next] = [token, 0];
      else if (token < grammar.byteBase) next = token;
      byte = token < grammar.byteBase ? 0 : byte + 1;
      const bits = i === 0 ? 0 : -logP[i - 1] / Math.LN2;
      if (i > 0) this.#addType((role * 16 + next) * 32 + byte, bits);
      const field = role === MEASUREMENT_START ? null : grammar.fieldOf(role);
      if (field === null) position++;
      for (const totals of [this.#all, this.#positions[position] ??= new MeasurementTotals()]) {
        totals.add(field, opens, bits);
      }
    }
  }

  means(): ContextBits {
    const ofTypes = [...this.#types].sort(([a], [b]) => a - b);
    const numTokens = ofTypes.reduce((sum, [, { count }]) => sum + count, 0);
    const bits = ofTypes.reduce((sum, [, mean]) => sum + mean.sum, 0);
    return {
      numContexts: this.#numContexts,
      numMeasurements: this.#all.count,
      numTokens,
      bitsPerMeasurement: this.#all.meanBits(),
      bitsPerToken: numTokens === 0 ? null : bits / numTokens,
      fieldBits: this.#all.fieldBits(),
      byTokenType: ofTypes.map(([type, { sum, count }]) => ({
        tokenType: this.#nameOf(type),
        numTokens: count,
        meanBits: sum / count,
      })),
      byPosition: this.#positions.map((totals, position) => ({
        position,
        numMeasurements: totals.count,
        meanBits: totals.meanBits() ?? 0,
        fieldBits: totals.fieldBits(),
      })),
    };
  }

  #nameOf(type: number): string {
    const { roleNames } = FIELD_GRAMMARS[this.vocabulary];
    const [role, next, byte] = [type >> 9, type >> 5 & 15, type & 31];
    const name = next === 0 ? roleNames[role] : `${roleNames[role]} ${roleNames[next]}`;
    return byte === 0 ? name : `${name} byte ${byte}`;
  }

  #addType(type: number, bits: number): void {
    const mean = getOrMake(this.#types, type, () => ({ sum: 0, count: 0 }));
    mean.sum += bits;
    mean.count++;
  }
}

interface Mean {
  sum: number;
  count: number;
}

class MeasurementTotals {
  count = 0;
  readonly #fields: Record<Field, Mean> = {
    source: { sum: 0, count: 0 },
    destination: { sum: 0, count: 0 },
    result: { sum: 0, count: 0 },
    time: { sum: 0, count: 0 },
  };

  /**
   * Adds a token. @param field The field it belongs to; null for MeasurementStart. @param opens Whether it is
   * the first one of its field.
   */
  add(field: Field | null, opens: boolean, bits: number): void {
    if (field === null) {
      this.count++;
      return;
    }
    const mean = this.#fields[field];
    mean.sum += bits;
    if (opens) mean.count++;
  }

  meanBits(): number | null {
    const bits = Object.values(this.#fields).reduce((sum, field) => sum + field.sum, 0);
    return this.count === 0 ? null : bits / this.count;
  }

  fieldBits(): FieldBits {
    const meanOf = ({ sum, count }: Mean) => count === 0 ? null : sum / count;
    const { source, destination, result, time } = this.#fields;
    return {
      source: meanOf(source),
      destination: meanOf(destination),
      result: meanOf(result),
      time: meanOf(time),
    };
  }
}
