/**
 * Whole measurements drawn from the model, token by token; tokens that no measurement has there are left out.
 *
 * What is given stands first, in the order source, destination, time; the model draws the rest, its order included.
 *
 * @module
 */
import { ensure, UserError } from "../errors.ts";
import { RandomStream } from "../random/philox.ts";
import {
  type DecodedMeasurement,
  decodeTokens,
  MEASUREMENT_START,
  QUERY_ORDER,
  timeLength,
  type TokenMeasurement,
  TokenWriter,
} from "../tokens/vocab_v2.ts";
import { vocabSize } from "../model/model_config.ts";
import { MeasurementGrammar } from "./measurement_grammar.ts";
import { MAX_CONTINUATIONS } from "./decoder_extent.ts";
import type { PingModel } from "./ping_model.ts";
import { contextThatFits, requireEarlier } from "./query_tokens.ts";
import { rowOf } from "./token_rows.ts";

/** What is known of the measurements to draw. */
export interface SampleQuery {
  /** Source address, 4 or 16 bytes; drawn if absent. */
  source?: Uint8Array | undefined;
  /** Destination address; drawn if absent. */
  destination?: Uint8Array | undefined;
  /** When, Unix seconds; drawn, or left out, if null. */
  timeS: number | null;
  /** Measurements made before, oldest first; the newest that fit are used. */
  context: readonly TokenMeasurement[];
}

/** How measurements are drawn. */
export interface SampleOptions {
  /** How many. */
  count: number;
  /** Seed; a measurement depends on it, the query and the measurement's number alone. */
  seed: number;
  /** What log-probabilities are divided by: below 1 for the likelier ones (1). */
  temperature?: number;
  /** Of how many most probable tokens each is drawn (all). */
  topK?: number | undefined;
}

/**
 * Draws measurements.
 *
 * @throws {UserError} If the addresses are of different versions or do not fit the model's sequence, or the context is
 *   not before the time.
 */
export async function* sampleMeasurements(
  model: PingModel,
  query: SampleQuery,
  options: SampleOptions,
): AsyncGenerator<DecodedMeasurement> {
  const prompt = encodePrompt(query, model.config.sequenceLength);
  const V = vocabSize(model.config);
  for (let first = 0; first < options.count;) {
    let rows: SampledRow[] = [];
    const numWanted = Math.min(MAX_CONTINUATIONS, options.count - first);
    first += await model.continuePrompt(prompt.tokens, numWanted, (logP, numRows) => {
      if (rows.length === 0) {
        rows = Array.from({ length: numRows }, (_, i) => new SampledRow(prompt, first + i, options));
      }
      const isShared = logP.length === V;
      rows.forEach((row, i) => row.draw(isShared ? logP : rowOf(logP, i, V)));
      return rows.every((row) => row.isComplete) ? undefined : rows.map((row) => row.lastToken);
    });
    for (const row of rows) yield row.measurement();
  }
}

/** The context of the samples that fits the model's sequence beside the longest of them. */
export function sampleContextThatFits(
  query: SampleQuery,
  sequenceLength: number,
): readonly TokenMeasurement[] {
  const { context } = query;
  const bytes = query.source ?? query.destination ?? new Uint8Array(16);
  const lastTimeS = context.findLast(({ timeS }) => timeS !== null)?.timeS ?? null;
  // A gap of 256 s takes as many tokens as any.
  const timeS = lastTimeS === null ? 0 : lastTimeS + 256;
  return contextThatFits({ source: bytes, destination: bytes, timeS, context }, sequenceLength);
}

interface Prompt {
  /** The context, MeasurementStart and what is given. */
  tokens: Uint16Array;
  /** Where the asked measurement's MeasurementStart stands. */
  start: number;
  hasEarlierTime: boolean;
}

function encodePrompt(query: SampleQuery, sequenceLength: number): Prompt {
  const { source, destination, timeS } = query;
  if (source && destination && source.length !== destination.length) {
    throw new UserError(
      "Cannot sample between addresses of different versions: two addresses of one version were wanted",
    );
  }
  const out = new Uint16Array(sequenceLength + 1);
  const writer = new TokenWriter(out);
  const fitting = sampleContextThatFits(query, sequenceLength);
  requireEarlier(fitting, timeS);
  for (const earlier of fitting) writer.write(earlier, QUERY_ORDER);
  const { at: start, previousTimeS } = writer;
  const isGiven = {
    source: source !== undefined,
    destination: destination !== undefined,
    time: timeS !== null,
  };
  // A whole measurement is written, what is given first, and cut after that.
  const filler = source ?? destination ?? new Uint8Array(4);
  const whole = { source: source ?? filler, destination: destination ?? filler, rttCode: null, timeS };
  const fields = ["source", "destination", "time"] as const;
  writer.write(whole, [
    ...fields.filter((field) => isGiven[field]),
    ...fields.filter((field) => !isGiven[field]),
    "result",
  ]);
  const numAddresses = Number(isGiven.source) + Number(isGiven.destination);
  const numGiven = numAddresses * (1 + filler.length) + timeLength(timeS, previousTimeS);
  return { tokens: out.slice(0, start + 1 + numGiven), start, hasEarlierTime: previousTimeS !== null };
}

/** One measurement while it is drawn. */
class SampledRow {
  readonly #tokens: number[];
  readonly #grammar: MeasurementGrammar;
  readonly #random: RandomStream;
  readonly #temperature: number;
  readonly #topK: number;

  constructor(
    { tokens, start, hasEarlierTime }: Prompt,
    index: number,
    { seed, temperature = 1, topK = Infinity }: SampleOptions,
  ) {
    this.#tokens = [...tokens];
    this.#grammar = new MeasurementGrammar(hasEarlierTime);
    for (const token of tokens.subarray(start + 1)) this.#grammar.push(token);
    this.#random = new RandomStream(seed, "query/sample", index);
    this.#temperature = temperature;
    this.#topK = topK;
  }

  get isComplete(): boolean {
    return this.#grammar.isComplete;
  }

  /** What the model is to read next; of no meaning when the row is complete. */
  get lastToken(): number {
    return this.#tokens[this.#tokens.length - 1];
  }

  /** Draws the next token, if there is one. @param logP Log-probabilities of it, (V) nats. */
  draw(logP: Float32Array): void {
    if (this.isComplete) return;
    const token = this.#choose(this.#grammar.allowed(), logP);
    this.#grammar.push(token);
    if (token !== MEASUREMENT_START) this.#tokens.push(token);
  }

  measurement(): DecodedMeasurement {
    const measurement = decodeTokens(Uint16Array.from(this.#tokens)).at(-1);
    ensure(measurement, "a sample has a measurement");
    return measurement;
  }

  #choose(allowed: readonly number[], logP: Float32Array): number {
    const candidates = allowed.length <= this.#topK
      ? allowed
      : allowed.toSorted((a, b) => logP[b] - logP[a]).slice(0, this.#topK);
    let greatest = -Infinity;
    for (const token of candidates) greatest = Math.max(greatest, logP[token]);
    const weights = candidates.map((token) => Math.exp((logP[token] - greatest) / this.#temperature));
    let rest = this.#random.float64() * weights.reduce((sum, weight) => sum + weight, 0);
    for (let i = 0; i < weights.length; i++) {
      rest -= weights[i];
      if (rest < 0) return candidates[i];
    }
    return candidates[weights.indexOf(1)];
  }
}
