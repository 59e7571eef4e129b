/**
 * Whole measurements drawn from the model, token by token; tokens that no measurement has there are left out.
 *
 * What is given stands first, in the order source, destination, time; the model draws the rest, its order included.
 *
 * @module
 */
import { ensure, UserError } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import {
  type DecodedMeasurement,
  decodeTokens,
  MEASUREMENT_START,
  QUERY_ORDER,
  timeLength,
  type TokenMeasurement,
  TokenWriter,
} from "../../data/tokens/vocab_v2.ts";
import { MeasurementGrammar } from "./measurement_grammar.ts";
import { type DrawnRow, drawRows, drawToken } from "../draws.ts";
import type { PingModel } from "../ping_model.ts";
import { contextThatFits, requireEarlier } from "../query_tokens.ts";

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
  /** Divides log-probabilities; below 1 draws likelier measurements (1). */
  temperature?: number;
  /** How many of the most probable tokens may be drawn (all). */
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
  const { count } = options;
  const begin = (index: number) => new SampledRow(prompt, index, options);
  for await (const row of drawRows(model.decoders, prompt.tokens, { count, begin })) {
    yield row.measurement();
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
      "Cannot sample between addresses of different versions: expected two addresses of one version",
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
class SampledRow implements DrawnRow {
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

  get lastToken(): number {
    return this.#tokens[this.#tokens.length - 1];
  }

  draw(logP: Float32Array): void {
    if (this.isComplete) return;
    const allowed = this.#grammar.allowed();
    const tokens = allowed.length <= this.#topK
      ? allowed
      : allowed.toSorted((a, b) => logP[b] - logP[a]).slice(0, this.#topK);
    const token = drawToken(logP, { tokens, random: this.#random, temperature: this.#temperature });
    this.#grammar.push(token);
    if (token !== MEASUREMENT_START) this.#tokens.push(token);
  }

  measurement(): DecodedMeasurement {
    const measurement = decodeTokens(Uint16Array.from(this.#tokens)).at(-1);
    ensure(measurement, "a sample has a measurement");
    return measurement;
  }
}
