/**
 * Draws whole measurements from the model: addresses and the time token by token, then the result from the
 * distribution that `query rtt` returns for them.
 *
 * Given fields come first, in the order source, destination, time. The network draws the others in an order
 * of its choice, and times only in the period of the training data. It also draws a result, which is discarded.
 * The destinations of a given source address are drawn from the candidates of `query destinations`, with their
 * probabilities before the RTT is known, if training measured destinations of its IP version.
 *
 * @module
 */
import { ensure, UserError } from "../../base/errors.ts";
import { RandomStream } from "../../base/random.ts";
import {
  byteRange,
  type IpPrefix,
  isAddress,
  isPlace,
  prefixOfAddress,
} from "../../data/addresses/ip_prefix.ts";
import { periodOf } from "../../data/addresses/known_addresses.ts";
import { encodeRttCode } from "../../data/tokens/rtt_code.ts";
import {
  BYTE_BASE,
  decodeTokens,
  type Field,
  MEASUREMENT_START,
  QUERY_ORDER,
  timeLength,
  type TokenMeasurement,
  TokenWriter,
} from "../../data/tokens/vocab_v2.ts";
import { MeasurementGrammar } from "./measurement_grammar.ts";
import { byteTokens, type DrawnRow, drawRows, drawToken } from "../draws.ts";
import { type CandidateOptions, candidatesOf } from "../destinations/candidates.ts";
import { promptOf, SEARCH_LIMITS } from "../destinations/destination_ranking.ts";
import { tablesOf } from "../destinations/source_prior.ts";
import type { PingModel } from "../ping_model.ts";
import { contextThatFits, requireEarlier } from "../query_tokens.ts";
import { prefixChooser, tokensInPlace } from "../rtt/prefix_query.ts";
import { FIRST_INDEXES } from "../../model/pool/kernel_mixture.ts";
import { FIRST_BYTES } from "../rtt/rtt_bytes.ts";
import { RttDistribution } from "../rtt/rtt_distribution.ts";

/** The given fields of the measurements to draw. */
export interface SampleQuery {
  /** Source address, 4 or 16 bytes, or a prefix that contains it; drawn if absent. */
  source?: Uint8Array | IpPrefix | undefined;
  /** The same for the destination. */
  destination?: Uint8Array | IpPrefix | undefined;
  /** Unix seconds; if null, drawn or omitted. */
  timeS: number | null;
  /** Earlier measurements, oldest first. The newest that fit are used. */
  context: readonly TokenMeasurement[];
}

export interface Sample extends TokenMeasurement {
  /** The order in which its fields were drawn; includes `time` only if it has one. */
  readonly order: readonly Field[];
}

export interface SampleOptions extends Partial<Pick<CandidateOptions, "onSearch" | "signal">> {
  count: number;
  /** Seed. A measurement depends only on it, the query and the measurement's index. */
  seed: number;
  /** Divides log-probabilities; values below 1 favour probable measurements (1). */
  temperature?: number;
  /** Draws from only this many of the most probable tokens (all). */
  topK?: number | undefined;
}

type Changes = Pick<SampleOptions, "temperature" | "topK">;

/**
 * Draws measurements.
 *
 * @throws {UserError} If the addresses differ in version or do not fit the model's sequence, or the context
 *   is not before the time.
 */
export async function* sampleMeasurements(
  model: PingModel,
  asked: SampleQuery,
  options: SampleOptions,
): AsyncGenerator<Sample> {
  const query = await withDestinations(model, asked, options);
  const [source, destination] = [query.source, query.destination].map((end) => end && prefixOf(end));
  const isOfPlaces = source !== undefined && destination !== undefined && isPlace(source) &&
    isPlace(destination);
  const { context } = query;
  let drawn: Sample[] = [];
  let first = 0;
  for await (const measurement of drawMeasurements(model, query, options)) {
    if (drawn.push(measurement) < MEASUREMENTS_AT_ONCE && first + drawn.length < options.count) continue;
    const results = await drawResults(model, { drawn, first, context, isOfPlaces }, options);
    yield* drawn.map((each, i): Sample => ({ ...each, rttCode: results[i] }));
    first += drawn.length;
    drawn = [];
  }
}

/** Nodes expanded in search of candidates, an eighth of those of `query destinations`: rare ones are rarely drawn. */
const MAX_EXPANSIONS = 64;

/** Adds the candidates as the destinations of a source address, if none is given. */
async function withDestinations(
  model: PingModel,
  query: SampleQuery,
  options: SampleOptions,
): Promise<SampleQuery> {
  const { source: given, destination } = query;
  const source = given && prefixOf(given);
  if (!source || destination || !isAddress(source)) return query;
  const { bytes } = source;
  const isKnown = tablesOf(model.trainingData).some((table) =>
    table.destinations().some((known) => known.bytes.length === bytes.length)
  );
  if (!isKnown) return query;
  const prompted = promptOf({ ...query, source: bytes }, model.config.sequenceLength);
  const { onSearch, signal } = options;
  const limits = { ...SEARCH_LIMITS, maxExpansions: MAX_EXPANSIONS };
  const [candidates] = await candidatesOf(model, [prompted], { ...limits, onSearch, signal });
  const shares = sharesOf(candidates.map(({ prior }) => prior), options);
  const prefixes = candidates.map(({ address }, i) => ({
    prefix: prefixOfAddress(address),
    share: shares[i],
  }));
  const mixture = { name: "", numNetworks: 0, has: () => true, take: () => prefixes };
  return { ...query, destination: { bytes, length: 0, mixture } };
}

/** Number of measurements whose results are drawn together. */
const MEASUREMENTS_AT_ONCE = 1024;

async function* drawMeasurements(
  model: PingModel,
  query: SampleQuery,
  options: SampleOptions,
): AsyncGenerator<Sample> {
  const { summary, adaptation } = model.trainingData;
  const prompt = encodePrompt(query, model.config.sequenceLength, periodOf([summary, adaptation?.summary]));
  const { timeS } = query;
  const [source, destination] = [query.source, query.destination].map((end) => end && prefixOf(end));
  if (source && destination && isAddress(source) && isAddress(destination) && timeS !== null) {
    const ends = { source: source.bytes, destination: destination.bytes };
    const sample = { ...ends, timeS, rttCode: null, order: QUERY_ORDER };
    for (let i = 0; i < options.count; i++) yield sample;
    return;
  }
  const begin = (index: number) => new SampledRow(model, prompt, index, options);
  const { count } = options;
  for await (const row of drawRows(model.decoders, prompt.tokens, { count, begin })) yield row.measurement();
}

/** Draws results by inverting the measurements' distributions. @param asked `first`: index of the first. */
async function drawResults(
  model: PingModel,
  { drawn, first, context, isOfPlaces }: {
    drawn: readonly Sample[];
    first: number;
    context: readonly TokenMeasurement[];
    isOfPlaces: boolean;
  },
  { seed, temperature = 1, topK = Infinity }: SampleOptions,
): Promise<(number | null)[]> {
  const levels = drawn.map((_, i) => {
    const random = new RandomStream(seed, "query/sample/result", first + i);
    return { ofReply: random.float64(), ofCode: random.float64() };
  });
  const questions = [
    ...Map.groupBy(drawn.keys(), (i) => `${drawn[i].source} ${drawn[i].destination} ${drawn[i].timeS}`)
      .values(),
  ];
  const isChanged = temperature !== 1 || topK < FIRST_BYTES.length;
  const isWhole = isChanged || questions.some(({ length }) => 2 * length > FIRST_BYTES.length);
  const results: (number | null)[] = [];
  await model.likelyRttDistributions(
    questions.map(([i]) => ({ ...drawn[i], context, isOfPlaces })),
    (distribution, question) => {
      const drawnFrom = isChanged ? changed(distribution, { temperature, topK }) : distribution;
      for (const i of questions[question]) {
        const { ofReply, ofCode } = levels[i];
        results[i] = ofReply < drawnFrom.pFailed ? null : encodeRttCode(drawnFrom.quantileMs(ofCode));
      }
    },
    isWhole ? undefined : { quantilesOfEach: questions.map((all) => all.map((i) => levels[i].ofCode)) },
  );
  return results;
}

/** Applies {@link SampleOptions} to masses. @returns Shares, which sum to 1. */
function sharesOf(masses: ArrayLike<number>, { temperature = 1, topK = Infinity }: Changes): number[] {
  const sorted = Array.from(masses).sort((a, b) => b - a);
  const least = sorted[Math.min(topK, sorted.length) - 1];
  // Relative to the maximum, since a power may underflow.
  const weights = Array.from(
    masses,
    (mass) => mass >= least ? Math.pow(mass / sorted[0], 1 / temperature) : 0,
  );
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => weight / sum);
}

/** Applies them to the outcomes, first bytes and second bytes of a distribution. */
function changed(
  { pFailed, probabilities, canonicalMass, floorMs }: RttDistribution,
  changes: Changes,
): RttDistribution {
  const codesOf = (place: number) => probabilities.subarray(FIRST_INDEXES[place], FIRST_INDEXES[place + 1]);
  const firsts = sharesOf(FIRST_BYTES.map((_, place) => codesOf(place).reduce((a, b) => a + b, 0)), changes);
  const codes = Float64Array.from(firsts.flatMap((first, place) => {
    if (first === 0) return Array.from(codesOf(place), () => 0);
    return sharesOf(codesOf(place), changes).map((share) => first * share);
  }));
  return new RttDistribution(sharesOf([pFailed, 1 - pFailed], changes)[0], codes, canonicalMass, { floorMs });
}

/**
 * The part of the context that fits in the model's sequence with the longest sample. @throws {UserError} If
 * the query is invalid.
 */
export function sampleContextThatFits(
  query: SampleQuery,
  sequenceLength: number,
): readonly TokenMeasurement[] {
  const { context, source, destination } = query;
  if (source && destination && prefixOf(source).bytes.length !== prefixOf(destination).bytes.length) {
    throw new UserError(
      "Cannot sample between IPv4 and IPv6: expected two addresses of the same version",
    );
  }
  const { bytes } = prefixOf(source ?? destination ?? new Uint8Array(16));
  const lastTimeS = context.findLast(({ timeS }) => timeS !== null)?.timeS ?? null;
  // A gap of 256 s takes the maximum number of tokens.
  const timeS = lastTimeS === null ? 0 : lastTimeS + 256;
  const fitting = contextThatFits({ source: bytes, destination: bytes, timeS, context }, sequenceLength);
  requireEarlier(fitting, query.timeS);
  return fitting;
}

function prefixOf(end: Uint8Array | IpPrefix): IpPrefix {
  return end instanceof Uint8Array ? prefixOfAddress(end) : end;
}

/** Maximum number of prefixes that represent a place. */
const MAX_PREFIXES = 1024;

interface Prompt {
  /** The context, MeasurementStart and the given fields up to the first drawn byte. */
  tokens: Uint16Array;
  /** Index of the drawn measurement's MeasurementStart. */
  start: number;
  hasEarlierTime: boolean;
  /** See {@link MeasurementGrammar}. */
  period: readonly [first: number, last: number] | undefined;
  /** The given tokens after `tokens`. */
  given: readonly GivenToken[];
}

/** A token that is at least partly given. */
interface GivenToken {
  /** The possible tokens, for a point of the source and one of the destination in [0, 1). */
  readonly tokensAt: (at: Readonly<Record<Side, number>>) => readonly number[];
  /** If an address of a place ends with this token: its number of bytes, else 0. */
  readonly numBytes: number;
}

type Side = "source" | "destination";

/** @param period The first and the last time to draw. */
function encodePrompt(
  query: SampleQuery,
  sequenceLength: number,
  period: readonly [startS: number, endS: number] | undefined,
): Prompt {
  const { timeS } = query;
  const ends = new Map(
    (["source", "destination"] as const).flatMap((side) => {
      const end = query[side];
      return end ? [[side, prefixOf(end)] as const] : [];
    }),
  );
  const [first] = ends.values();
  const out = new Uint16Array(sequenceLength + 1);
  const writer = new TokenWriter(out);
  const fitting = sampleContextThatFits(query, sequenceLength);
  for (const earlier of fitting) writer.write(earlier, QUERY_ORDER);
  const { at: start, previousTimeS } = writer;
  // Writes a whole measurement with the given fields first, and cuts it after them. Drawn addresses come
  // after the time, as in `drawAddresses`.
  const filler = first?.bytes ?? new Uint8Array(4);
  const bytesOf = (side: Side) => ends.get(side)?.bytes ?? filler;
  const whole = { source: bytesOf("source"), destination: bytesOf("destination"), rttCode: null, timeS };
  const isDrawn = ends.values().some((end) => !isAddress(end));
  const fields: readonly Field[] = isDrawn
    ? ["time", "source", "destination"]
    : ["source", "destination", "time"];
  const isGiven = (field: Field) => field === "time" ? timeS !== null : ends.has(field as Side);
  const order = [...fields.filter(isGiven), ...fields.filter((field) => !isGiven(field)), "result" as const];
  writer.write(whole, order);
  const numBytes = 1 + filler.length;
  const numGiven = ends.size * numBytes + timeLength(timeS, previousTimeS);
  const tokens = out.slice(0, start + 1 + numGiven);
  const sides = [...ends];
  const choosers = new Map(sides.map(([side, end]) => [side, prefixChooser(end, MAX_PREFIXES)]));
  // The possible bytes of an address, for each token after the time.
  const given = Array.from(
    tokens.subarray(isDrawn ? tokens.length - ends.size * numBytes : tokens.length),
    (token, i) => {
      const [side, end] = sides[Math.floor(i / numBytes)];
      const index = i % numBytes - 1;
      if (index < 0) return { isFixed: true, numBytes: 0, tokensAt: () => [token] };
      const { first, last } = byteRange(end, index);
      const chosen = choosers.get(side);
      return {
        isFixed: first === last,
        numBytes: isPlace(end) && index === filler.length - 1 ? filler.length : 0,
        tokensAt: (at: Readonly<Record<Side, number>>) =>
          byteTokens(byteRange(chosen?.(at[side]) ?? end, index)),
      };
    },
  );
  const numFixed = given.findIndex(({ isFixed }) => !isFixed);
  const rest = numFixed < 0 ? [] : given.slice(numFixed);
  return {
    tokens: tokens.subarray(0, tokens.length - rest.length),
    start,
    hasEarlierTime: previousTimeS !== null,
    period: period && previousTimeS !== null ? [0, period[1] - previousTimeS] : period,
    given: rest,
  };
}

class SampledRow implements DrawnRow {
  readonly #tokens: number[];
  readonly #grammar: MeasurementGrammar;
  readonly #random: RandomStream;
  readonly #temperature: number;
  readonly #topK: number;
  /** Given tokens not yet written. */
  readonly #given: { readonly tokens: readonly number[]; readonly numBytes: number }[];
  readonly #model: Pick<PingModel, "isMisplaced">;

  constructor(
    model: Pick<PingModel, "isMisplaced">,
    { tokens, start, hasEarlierTime, period, given }: Prompt,
    index: number,
    { seed, temperature = 1, topK = Infinity }: SampleOptions,
  ) {
    this.#model = model;
    this.#tokens = [...tokens];
    this.#grammar = new MeasurementGrammar(hasEarlierTime, period);
    for (const token of tokens.subarray(start + 1)) this.#grammar.push(token);
    this.#random = new RandomStream(seed, "query/sample", index);
    this.#temperature = temperature;
    this.#topK = topK;
    const places = new RandomStream(seed, "query/sample/place", index);
    const at = { source: places.float64(), destination: places.float64() };
    this.#given = given.map(({ tokensAt, numBytes }) => ({ tokens: tokensAt(at), numBytes }));
  }

  get isComplete(): boolean {
    return this.#grammar.isComplete;
  }

  get lastToken(): number {
    return this.#tokens[this.#tokens.length - 1];
  }

  draw(logP: Float32Array): void {
    if (this.isComplete) return;
    const given = this.#given.shift();
    const before = () => this.#tokens.slice(1 - (given?.numBytes ?? 0)).map((token) => token - BYTE_BASE);
    const allowed = given?.numBytes
      ? tokensInPlace(this.#model, before(), given.tokens)
      : given?.tokens ?? this.#grammar.allowed();
    const tokens = allowed.length <= this.#topK
      ? allowed
      : allowed.toSorted((a, b) => logP[b] - logP[a]).slice(0, this.#topK);
    const token = drawToken(logP, { tokens, random: this.#random, temperature: this.#temperature });
    this.#grammar.push(token);
    if (token !== MEASUREMENT_START) this.#tokens.push(token);
  }

  measurement(): Sample {
    const measurement = decodeTokens(Uint16Array.from(this.#tokens)).at(-1);
    ensure(measurement, "a sample has a measurement");
    const { position: _, order, ...sample } = measurement;
    return { ...sample, order: [...order.filter((field) => field !== "result"), "result"] };
  }
}
