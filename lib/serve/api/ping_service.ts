/**
 * Answers the requests of many callers with one model: in a server, or in a worker of a browser.
 *
 * All share one GPU. `ModelDecoders` runs work in the order in which it was asked for, one group of at most 8,192 rows at
 * a time, for each of its two decoders; groups of different callers alternate. So:
 *
 * - Questions between addresses, single ones and lines of a batch, go to one queue (`RttBatcher`). Each of its batches is
 *   one group. Callers take turns there, so a single question is in the next batch, whatever the number of lines before
 *   it, unless more callers ask than a batch holds.
 * - Scores of lines go to the GPU in parts of a few groups. A question waits for one group of each request for scores.
 * - A search for destinations keeps the decoder for continuations to its end, which may be a minute. Questions between
 *   addresses and scores use the other decoder, and wait for a step of the search at most. Likelihoods and RTTs between
 *   prefixes need the same decoder, so all these wait in one queue (`LongWork`), and with them the candidates of which
 *   the nearest is asked for, which are many.
 *
 * @module
 */
import type { AddressNames } from "../../data/addresses/address_names.ts";
import { faultOfPrefix, isAddress, parsePrefix } from "../../data/addresses/ip_prefix.ts";
import { basisJson } from "../../data/addresses/known_addresses.ts";
import {
  codeRangeOf,
  destinationsJson,
  prefixLengthOf,
  rankDestinationsFrom,
} from "../../query/destinations/destination_ranking.ts";
import type { PingModel } from "../../query/ping_model.ts";
import { contextThatFits, encodeQuery } from "../../query/query_tokens.ts";
import {
  type AskedRtt,
  readFields,
  readMatrixQuestion,
  readMeasurement,
  readNearestQuestion,
  readRttQuestion,
  readSource,
} from "./read_question.ts";
import {
  type ApiMeasurement,
  type DestinationsApiAnswer,
  type DestinationsApiQuestion,
  destinationsQuestionSchema,
  type LikelihoodApiAnswer,
  type LikelihoodApiQuestion,
  likelihoodQuestionSchema,
  type LineError,
  type MapApiAnswer,
  type MapApiQuestion,
  mapQuestionSchema,
  type MatrixApiAnswer,
  type MatrixApiQuestion,
  MAX_CANDIDATES,
  type ModelApiAnswer,
  type ModelInfo,
  type NearestApiAnswer,
  type NearestApiQuestion,
  type PlacesApiAnswer,
  type PlacesApiQuestion,
  placesQuestionSchema,
  type RttApiAnswer,
  type RttApiQuestion,
  rttDefaultsSchema,
  type ScoreApiAnswer,
  type ScoreApiOptions,
  scoreOptionsSchema,
} from "./schemas.ts";
import { formatAddress } from "../../data/addresses/ip.ts";
import { sampleMeasurements } from "../../query/likelihood/sample.ts";
import { type BatchOptions, type Caller, LongWork, RttBatcher, SizeGate } from "./queues.ts";
import { type AnsweredQuery, notesOn, prepareQuery } from "../../query/rtt/answer_queries.ts";
import { type RttWanted, summaryOf } from "../../query/rtt/rtt_summary.ts";
import { snakeKeys } from "./snake_case.ts";
import { parseWithin } from "../../query/rtt/rtt_question.ts";
import { RttMaps } from "../../query/rtt/rtt_map.ts";
import { destinationNames, matrixRowJson, RttMatrix } from "../../query/rtt/rtt_matrix.ts";
import { nearestOf } from "../../query/nearest/nearest.ts";
import { bitsJson, measurementBits } from "../../query/likelihood/likelihood.ts";
import { exactAnswer, type PrefixAnswer, rttBetweenPrefixes } from "../../query/rtt/prefix_query.ts";
import { ApiError, computed, problemOf } from "./api_error.ts";
import {
  type Answered,
  flat,
  inOrder,
  itemsOf,
  type Line,
  linesOf,
  listed,
  measurementItems,
  measurementLines,
} from "./lines.ts";
import { scoreMeasurements } from "./score_lines.ts";
import { placeText } from "../../data/addresses/place_index.ts";

// Questions for destinations.

/**
 * Reads a question for destinations.
 *
 * @returns The answering function; it ends soon after the signal.
 * @throws {UserError} If it is invalid.
 */
function readDestinationsQuestion(
  model: PingModel,
  value: unknown,
): (signal?: AbortSignal) => Promise<DestinationsApiAnswer> {
  const { rtt, within, prefix_length, ...question } = readFields(destinationsQuestionSchema, value);
  const { src, time, context, top, candidates, max_expansions, draws, seed } = question;
  const { notes, ...source } = readSource({ src, time, context }, model.places);
  const query = { ...source, rttMs: rtt };
  const isWithin = within === undefined ? undefined : parseWithin(within, model.places);
  codeRangeOf(rtt);
  const { bytes } = query.source;
  const prefixLength = prefixLengthOf({ source: bytes }, prefix_length);
  const whole = { ...query, source: bytes, destination: bytes };
  const fitting = contextThatFits(whole, model.config.sequenceLength);
  const asked = {
    src,
    rtt,
    time: query.timeS,
    prefix_length: prefixLength,
    context_measurements: fitting.length,
  };
  return async (signal) => {
    const ranked = await rankDestinationsFrom(model, query, {
      ...(top !== undefined && { top }),
      ...(candidates !== undefined && { numCandidates: candidates }),
      ...(max_expansions !== undefined && { maxExpansions: max_expansions }),
      ...(draws !== undefined && { numDraws: draws }),
      ...(seed !== undefined && { seed }),
      isWithin,
      prefixLength,
      signal,
    });
    return {
      ...asked,
      ...endNames(model, asked),
      ...snakeKeys(destinationsJson(ranked, query.source, model)),
      ...(notes.length > 0 && { notes: [...notes] }),
      step: model.step,
    };
  };
}

// Pairs of addresses to begin with, for people who do not know what the model knows.

const MAX_EXAMPLES = 4;
/** How many pairs are tried. */
const NUM_TRIED = 16;
/** The largest P(no reply) of an example, if any has less. */
const MAX_EXAMPLE_LOSS = 0.1;
/** Below 1: what the model is sure of is what it has seen. */
const TEMPERATURE = 0.5;

/** Pairs that were measured often and reply; drawn from the model if its data is unknown. Always the same. */
async function examplesOf(model: PingModel): Promise<ModelApiAnswer["examples"]> {
  const asked = { timeS: null, context: [] };
  const known = model.trainingData?.known.mostMeasured(NUM_TRIED) ?? [];
  const drawn = { count: NUM_TRIED, seed: 0, temperature: TEMPERATURE };
  const pairs = known.length > 0 ? known : await Array.fromAsync(sampleMeasurements(model, asked, drawn));
  const tried = new Map<string, { ends: { src: string; dst: string }; pFailed: number }>();
  const use = ({ pFailed }: { pFailed: number }, i: number) => {
    const { source, destination } = pairs[i];
    const ends = { src: formatAddress(source), dst: formatAddress(destination) };
    tried.set(`${ends.src} ${ends.dst}`, { ends, pFailed });
  };
  await model.likelyRttDistributions(pairs.map((pair) => ({ ...pair, ...asked })), use);
  const all = [...tried.values()];
  const replying = all.filter(({ pFailed }) => pFailed <= MAX_EXAMPLE_LOSS);
  const chosen = replying.length > 0 ? replying : all.sort((a, b) => a.pFailed - b.pFailed);
  return chosen.slice(0, MAX_EXAMPLES).map(({ ends }) => ({ ...ends, ...endNames(model, ends) }));
}

/** Names of the ends of an answer. */
function endNames(
  { names }: Pick<PingModel, "names">,
  { src, dst }: { src: string; dst?: string },
) {
  return snakeKeys(names.namedEnds({ src, ...(dst !== undefined && { dst }) }));
}

// The distribution of an RTT as it is answered.

/** The answer to a question. */
function rttAnswerOf(
  answered: AnsweredQuery<AskedRtt["query"]>,
  wanted: RttWanted,
  model: Pick<PingModel, "step" | "basisOf" | "names">,
): RttApiAnswer {
  const { query: { src, dst, timeS }, answer, numContextUsed } = answered;
  const notes = notesOn(answered);
  const ends = { src, dst };
  return {
    ...ends,
    ...endNames(model, ends),
    time: timeS,
    context_measurements: numContextUsed,
    ...snakeKeys(summaryOf(answer, wanted)),
    basis: basisJson(model.basisOf(answered.query)),
    ...(notes.length > 0 && { notes }),
    step: model.step,
  };
}

/** Lines of one caller that are taken in before the first of them is answered: two batches, of which one runs. */
const LINES_AT_ONCE = 124;
/** How many earlier lines a line sees, unless said otherwise; as for `score`. */
const DEFAULT_CONTEXT = 20;

/** The options of a service, besides the model. */
interface PingServiceOptions {
  /** The description of the model. */
  info: ModelInfo;
  /** How questions are merged. `maxQueue` holds for long work too. */
  batch?: BatchOptions;
}

/** The operations on a model. Inputs are checked, whatever they are. */
export class PingService {
  readonly #model: PingModel;
  readonly #info: ModelInfo;
  #examples: Promise<ModelApiAnswer["examples"]> | undefined;
  readonly #batcher: RttBatcher;
  readonly #longWork: LongWork;
  /** Bounds the memory of large questions. */
  readonly gate = new SizeGate();
  #maps: RttMaps | undefined;
  #search: PlaceSearch | undefined;

  /** @param model Stays the caller's, who closes it when nothing is being answered. */
  constructor(model: PingModel, { info, batch = {} }: PingServiceOptions) {
    this.#model = model;
    this.#info = info;
    this.#batcher = new RttBatcher(model, batch);
    this.#longWork = new LongWork(batch.maxQueue);
  }

  /** How many questions and pieces of long work wait. */
  get queueLength(): number {
    return this.#batcher.queueLength + this.#longWork.queueLength;
  }

  /** The distribution of an RTT. @throws {UserError|ApiError} See `problemOf`; so do the others. */
  async rtt(question: RttApiQuestion, signal?: AbortSignal): Promise<RttApiAnswer> {
    return await this.#answer(readRttQuestion(question, {}, this.#model.places), { signal });
  }

  /** The distributions of many RTTs, one answer or error for each question, in order. */
  async rttBatch(
    questions: readonly RttApiQuestion[],
    signal?: AbortSignal,
  ): Promise<(RttApiAnswer | LineError)[]> {
    return await listed(this.#answerLines(itemsOf(requireArray(questions)), {}, signal));
  }

  /**
   * Answers lines of JSON, each a question, as they come.
   *
   * @param lines Empty ones are skipped, but counted. A line may say itself what it wants.
   * @param defaults The parts to answer with, for lines that do not name them.
   * @returns The answer or error of each line, in order.
   */
  rttLines(
    lines: AsyncIterable<string>,
    defaults: RttWanted = {},
    signal?: AbortSignal,
  ): AsyncGenerator<({ line: number } & RttApiAnswer) | LineError> {
    return flat(this.#answerLines(linesOf(lines), defaults, signal));
  }

  /** The most probable destinations for an RTT. */
  async destinations(
    question: DestinationsApiQuestion,
    signal?: AbortSignal,
  ): Promise<DestinationsApiAnswer> {
    const answer = readDestinationsQuestion(this.#model, question);
    return await this.#inTurn(() => answer(signal), { signal });
  }

  /** The nearest of some candidates. */
  async nearest(question: NearestApiQuestion, signal?: AbortSignal): Promise<NearestApiAnswer> {
    const { queries, options } = readNearestQuestion(this.#model, question);
    const goOn = () => signal?.throwIfAborted();
    const bounds = { maxCandidates: MAX_CANDIDATES, counted: "candidate", context: [] } as const;
    const answer = await this.#inTurn(
      () => nearestOf(this.#model, queries, { ...options, ...bounds, onDraws: goOn, onProgress: goOn }),
      { signal },
    );
    const [{ src, timeS }] = queries;
    const asked = { src, ...endNames(this.#model, { src }), time: timeS };
    return { ...asked, ...snakeKeys(answer), step: this.#model.step };
  }

  /** The RTTs between nodes. */
  async matrix(question: MatrixApiQuestion, signal?: AbortSignal): Promise<MatrixApiAnswer> {
    const goOn = () => signal?.throwIfAborted();
    const asked = { ...await readMatrixQuestion(this.#model, question), onDraws: goOn };
    const { nodes, destinations, timeS, quantiles } = asked;
    const matrix = new RttMatrix(this.#model, asked);
    const { numCells, blockCells, width } = matrix;
    const numbers = new Float64Array(numCells * width);
    await this.#inTurn(async () => {
      for (let first = 0; first < numCells; first += blockCells) {
        goOn();
        numbers.set(await matrix.block(first), first * width);
      }
    }, { signal });
    const size = destinations.length * width;
    const rows = nodes.map((_, i) =>
      matrixRowJson(matrix.row(i, numbers.subarray(i * size, (i + 1) * size)), quantiles)
    );
    const asDestinations = destinations.map(({ dst }) => dst);
    const named = snakeKeys(destinationNames(destinations));
    return {
      destinations: asDestinations,
      ...named,
      time: timeS,
      rows: snakeKeys(rows),
      step: this.#model.step,
    };
  }

  /** A part of a map: the RTTs from one source to some places. */
  async map(question: MapApiQuestion, signal?: AbortSignal): Promise<MapApiAnswer> {
    const { level = "country", first = 0, count = 256, ...from } = readFields(mapQuestionSchema, question);
    const maps = this.#maps ??= new RttMaps(this.#model);
    const { source, timeS, context } = readSource(from, this.#model.places);
    const { src } = from;
    const areas = maps.areas(level, source);
    const { position = null, places } = await this.#inTurn(async () => {
      const origin = await maps.origin(source, { timeS, context });
      const places = [];
      for await (const place of maps.rtts(areas.slice(first, first + count), origin)) {
        signal?.throwIfAborted();
        places.push(place);
      }
      return { position: origin.position, places };
    }, { signal });
    const asked = { src, ...endNames(this.#model, { src }), time: timeS, level, first };
    return { ...asked, position, total: areas.length, places: snakeKeys(places), step: this.#model.step };
  }

  /** Meanings of a text: addresses, names, places, ASes. It asks no model, so it waits for none. */
  async places(question: PlacesApiQuestion, _signal?: AbortSignal): Promise<PlacesApiAnswer> {
    const { q, count = 8 } = readFields(placesQuestionSchema, question);
    this.#search ??= new PlaceSearch(this.#model);
    return await Promise.resolve({ q, places: this.#search.find(q, count) });
  }

  /** Names that answers show beside addresses. */
  get names(): AddressNames {
    return this.#model.names;
  }

  /** How probable a measurement is. */
  async likelihood(question: LikelihoodApiQuestion, signal?: AbortSignal): Promise<LikelihoodApiAnswer> {
    const { context: earlier, ...asked } = readFields(likelihoodQuestionSchema, question);
    const measurement = readMeasurement(asked);
    const { context } = readSource({ ...asked, context: earlier });
    encodeQuery({ ...measurement, context }, this.#model.config.sequenceLength);
    const measured = { measurement, rttMs: asked.rtt, context };
    const [bits] = await this.#inTurn(() => measurementBits(this.#model, [measured]), { signal });
    return {
      ...asked,
      ...endNames(this.#model, asked),
      time: measurement.timeS,
      ...snakeKeys(bitsJson(bits)),
      step: this.#model.step,
    };
  }

  /** How surprising each measurement is, given those before it; one answer or error for each, in order. */
  async score(
    measurements: readonly ApiMeasurement[],
    options: ScoreApiOptions = {},
    signal?: AbortSignal,
  ): Promise<(ScoreApiAnswer | LineError)[]> {
    const lines = measurementItems(requireArray(measurements));
    return await listed(this.#scores(lines, readFields(scoreOptionsSchema, options), signal));
  }

  /**
   * Scores measurements as they come: lines of JSON, or a text of a format that is read.
   *
   * @param lines Empty ones are skipped, but counted.
   * @param isText Whether they are not lines of JSON.
   * @returns The answer or error of each line, in order.
   */
  scoreLines(
    lines: AsyncIterable<string>,
    options: ScoreApiOptions = {},
    signal?: AbortSignal,
    isText = false,
  ): AsyncGenerator<({ line: number } & ScoreApiAnswer) | LineError> {
    const { src, dst, ...scoring } = readFields(scoreOptionsSchema, options);
    const measurements = measurementLines(lines, { isText, src, dst, withIds: false });
    return flat(this.#scores(measurements, scoring, signal));
  }

  /** The description of the model. */
  async model(_signal?: AbortSignal): Promise<ModelApiAnswer> {
    this.#examples ??= this.#inTurn(() => examplesOf(this.#model), {}).catch((error) => {
      this.#examples = undefined;
      throw error;
    });
    return { ...this.#info, adapter: this.#model.gpu.info.name, examples: await this.#examples };
  }

  async *#answerLines(
    lines: AsyncIterable<Line>,
    defaults: RttWanted,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Answered<RttApiAnswer>> {
    const wanted = readFields(rttDefaultsSchema, defaults);
    const caller = { lane: {}, signal };
    const answer = async ({ line, read, lengthBytes = 0 }: Line) => {
      try {
        const work = async () =>
          await this.#answer(readRttQuestion(read(), wanted, this.#model.places), caller);
        return { line, answer: await this.gate.run(lengthBytes, work, signal) };
      } catch (error) {
        if (!(error instanceof Error) || problemOf(error).status !== 400) throw error;
        return { line, error: error.message };
      }
    };
    yield* inOrder(lines, answer, LINES_AT_ONCE);
  }

  async #answer({ query, wanted, draws }: AskedRtt, caller: Caller): Promise<RttApiAnswer> {
    const model = this.#model;
    const { first, ...prepared } = prepareQuery(model, query, []);
    const made = (answer: PrefixAnswer) => {
      const answered = { ...prepared, numContextUsed: first.context.length, answer };
      return rttAnswerOf(answered, wanted, model);
    };
    if (isAddress(query.source) && isAddress(query.destination)) {
      return await this.#batcher.ask(first, (distribution) => made(exactAnswer(distribution)), caller);
    }
    const asked = { ...query, context: first.context };
    const onProgress = () => caller.signal?.throwIfAborted();
    return await this.#inTurn(
      async () => made(await rttBetweenPrefixes(model, asked, { ...draws, onProgress })),
      caller,
    );
  }

  async #inTurn<T>(work: () => Promise<T>, caller: Caller): Promise<T> {
    return await this.#longWork.run(() => computed(work), caller);
  }

  async *#scores(
    lines: AsyncIterable<Line>,
    { context = DEFAULT_CONTEXT, seed = 0 }: Pick<ScoreApiOptions, "context" | "seed">,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Answered<ScoreApiAnswer>> {
    yield* scoreMeasurements(this.#model, lines, { context, seed, signal });
  }
}

/** What the page asks, of a server or of the model in a worker of the browser. */
export type PingApi = Pick<
  PingService,
  "rtt" | "rttBatch" | "destinations" | "map" | "places" | "score" | "model"
>;

/** @throws {ApiError} If a request of several is invalid. */
function requireArray<T>(value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value;
  throw new ApiError(400, "Cannot answer: found no array, expected one");
}

type FoundPlace = PlacesApiAnswer["places"][number];

/** Meanings of a text while it is typed: an address, a name of one, a known address that begins so, a place or an AS. */
class PlaceSearch {
  readonly #model: Pick<PingModel, "names" | "places" | "trainingData">;
  /** All known addresses; found when first asked for. */
  #known: readonly string[] | undefined;

  constructor(model: Pick<PingModel, "names" | "places" | "trainingData">) {
    this.#model = model;
  }

  /**
   * Finds what a text may stand for.
   *
   * @param limit How many are found at most.
   * @returns The text itself if it is an address or prefix; then addresses by name, known addresses, places. If there are many,
   *   half of them are places.
   */
  find(text: string, limit: number): FoundPlace[] {
    const wanted = text.trim();
    const { names, places } = this.#model;
    const cell = /^(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)$/.exec(wanted);
    if (cell && places) {
      return [{ text: wanted, position: { latitude: Number(cell[1]), longitude: Number(cell[2]) } }];
    }
    const isWhole = faultOfPrefix(wanted) === undefined;
    const addresses = [
      ...(isWhole ? [wanted] : names.search(wanted, limit).map(({ prefix }) => prefix)),
      ...this.#knownFrom(wanted.toLowerCase(), limit),
    ];
    const found = isWhole ? [] : (places?.searchPlaces(wanted, limit) ?? []).map(({ name, position }) => (
      { text: name, position: position ?? null }
    ));
    const room = Math.max(limit - found.length, Math.ceil(limit / 2));
    const listed = [...new Set(addresses)].slice(0, room).map((address) => this.#describe(address));
    return [...listed, ...found].slice(0, limit);
  }

  #describe(text: string): FoundPlace {
    const { names, places } = this.#model;
    const known = places?.describe(parsePrefix(text).bytes) ?? {};
    const { latitude, longitude } = known;
    const place = placeText(known);
    return {
      text,
      ...names.named(text),
      ...(place !== undefined && { place }),
      position: latitude === undefined || longitude === undefined ? null : { latitude, longitude },
    };
  }

  /** Known addresses and named prefixes that begin with digits. */
  #knownFrom(wanted: string, limit: number): string[] {
    if (!/^(?:\d|[\da-f]*:)[\d.:a-f/]*$/.test(wanted)) return [];
    this.#known ??= [
      ...Array.from(this.#model.names.entries(), ([prefix]) => prefix),
      ...Array.from(this.#model.trainingData?.known.addresses() ?? [], ({ bytes }) => formatAddress(bytes)),
    ];
    const found = new Set<string>();
    for (const each of this.#known) {
      if (found.size === limit) break;
      if (each.startsWith(wanted)) found.add(each);
    }
    return [...found];
  }
}
