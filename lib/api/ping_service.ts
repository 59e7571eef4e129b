/**
 * Answers the requests of many callers with one model: in a server, or in a worker of a browser.
 *
 * All share one GPU. `ModelDecoders` runs work in the order in which it was asked for, one group of at most 8,192 rows at
 * a time, for each of its two decoders; groups of different callers alternate. What follows:
 *
 * - Questions between addresses, single ones and lines of a batch, go to one queue (`RttBatcher`). Each of its batches is
 *   one group. Callers take turns there, so a single question is in the next batch, whatever the number of lines before
 *   it, unless more callers ask than a batch holds.
 * - Scores of lines go to the GPU in parts of a few groups. A question waits for one group of each request for scores.
 * - A search for destinations keeps the decoder for continuations to its end, which may be a minute. Questions between
 *   addresses and scores use the other decoder, and wait for a step of the search at most. Likelihoods and RTTs between
 *   prefixes need the same decoder, so all these wait in one queue (`LongWork`).
 *
 * @module
 */
import { isAddress } from "../addresses/ip_prefix.ts";
import { measurementBits } from "../query/likelihood/likelihood.ts";
import type { PingModel } from "../query/ping_model.ts";
import { encodeQuery } from "../query/query_tokens.ts";
import { prepareQuery } from "../query/rtt/answer_queries.ts";
import { exactAnswer, type PrefixAnswer, rttBetweenPrefixes } from "../query/rtt/prefix_query.ts";
import { examplesOf } from "./examples.ts";
import { ApiError, computed, problemOf } from "./api_error.ts";
import { readDestinationsQuestion } from "./destinations_answer.ts";
import { inOrder } from "./in_order.ts";
import { type Answered, flat, itemsOf, type Line, linesOf, listed } from "./lines.ts";
import { LongWork } from "./long_work.ts";
import type { PingApi } from "./ping_api.ts";
import { type AskedRtt, readFields, readMeasurement, readRttQuestion, readSource } from "./read_question.ts";
import { rttAnswerOf } from "./rtt_answer.ts";
import { type BatchOptions, type Caller, RttBatcher } from "./rtt_batcher.ts";
import { scoreMeasurements } from "./score_lines.ts";
import {
  type ApiMeasurement,
  type DestinationsApiAnswer,
  type DestinationsApiQuestion,
  type LikelihoodApiAnswer,
  type LikelihoodApiQuestion,
  likelihoodQuestionSchema,
  type LineError,
  type ModelApiAnswer,
  type ModelInfo,
  type RttApiAnswer,
  type RttApiQuestion,
  type RttApiWanted,
  rttWantedSchema,
  type ScoreApiAnswer,
  type ScoreApiOptions,
  scoreOptionsSchema,
} from "./schemas.ts";
import { snakeKeys } from "./snake_case.ts";

/** Lines of one caller that are taken in before the first of them is answered: two batches, of which one runs. */
const LINES_AT_ONCE = 124;
/** How many earlier lines a line sees, unless said otherwise; as for `score`. */
const DEFAULT_CONTEXT = 20;

/** What a service needs beside the model. */
export interface PingServiceOptions {
  /** What is said of the model. */
  info: ModelInfo;
  /** How questions are merged. `maxQueue` holds for long work too. */
  batch?: BatchOptions;
}

/** The operations on a model. Inputs are checked, whatever they are. */
export class PingService implements PingApi {
  readonly #model: PingModel;
  readonly #info: ModelInfo;
  #examples: Promise<ModelApiAnswer["examples"]> | undefined;
  readonly #batcher: RttBatcher;
  readonly #longWork: LongWork;

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

  /** See {@link PingApi}. @throws {UserError|ApiError} See `problemOf`; so do the others. */
  async rtt(question: RttApiQuestion, signal?: AbortSignal): Promise<RttApiAnswer> {
    return await this.#answer(readRttQuestion(question), { signal });
  }

  /** See {@link PingApi}. */
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
   * @param defaults What lines want that do not say it.
   * @returns What came of each line, in order.
   */
  rttLines(
    lines: AsyncIterable<string>,
    defaults: RttApiWanted = {},
    signal?: AbortSignal,
  ): AsyncGenerator<({ line: number } & RttApiAnswer) | LineError> {
    return flat(this.#answerLines(linesOf(lines), defaults, signal));
  }

  /** See {@link PingApi}. */
  async destinations(
    question: DestinationsApiQuestion,
    signal?: AbortSignal,
  ): Promise<DestinationsApiAnswer> {
    const answer = readDestinationsQuestion(this.#model, question);
    return await this.#inTurn(() => answer(signal), { signal });
  }

  /** See {@link PingApi}. */
  async likelihood(question: LikelihoodApiQuestion, signal?: AbortSignal): Promise<LikelihoodApiAnswer> {
    const { context: earlier, ...asked } = readFields(likelihoodQuestionSchema, question);
    const measurement = readMeasurement(asked);
    const { context } = readSource({ ...asked, context: earlier });
    encodeQuery({ ...measurement, context }, this.#model.config.sequenceLength);
    const measured = { measurement, rttMs: asked.rtt, context };
    const [bits] = await this.#inTurn(() => measurementBits(this.#model, [measured]), { signal });
    const { meanBits, spreadBits, totalBits } = bits;
    const orders = bits.orders.map(({ blocks, bits }) => ({
      order: blocks.map(({ field }) => field).join(),
      bits,
      blockBits: Object.fromEntries(blocks.map(({ field, bits }) => [field, bits])),
    }));
    const numbers = snakeKeys({ meanBits, spreadBits, totalBits, orders });
    return { ...asked, timestamp: measurement.timeS, ...numbers, step: this.#model.step };
  }

  /** See {@link PingApi}. */
  async score(
    measurements: readonly ApiMeasurement[],
    options: ScoreApiOptions = {},
    signal?: AbortSignal,
  ): Promise<(ScoreApiAnswer | LineError)[]> {
    return await listed(this.#scores(itemsOf(requireArray(measurements)), options, signal));
  }

  /**
   * Scores lines of JSON, each a measurement, as they come.
   *
   * @param lines Empty ones are skipped, but counted.
   * @returns What came of each line, in order.
   */
  scoreLines(
    lines: AsyncIterable<string>,
    options: ScoreApiOptions = {},
    signal?: AbortSignal,
  ): AsyncGenerator<({ line: number } & ScoreApiAnswer) | LineError> {
    return flat(this.#scores(linesOf(lines), options, signal));
  }

  /** See {@link PingApi}. */
  async model(): Promise<ModelApiAnswer> {
    this.#examples ??= this.#inTurn(() => examplesOf(this.#model), {}).catch((error) => {
      this.#examples = undefined;
      throw error;
    });
    return { ...this.#info, adapter: this.#model.gpu.info.name, examples: await this.#examples };
  }

  async *#answerLines(
    lines: AsyncIterable<Line>,
    defaults: RttApiWanted,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Answered<RttApiAnswer>> {
    const wanted = readFields(rttWantedSchema, defaults);
    const caller = { lane: {}, signal };
    const answer = async ({ line, read }: Line) => {
      try {
        return { line, answer: await this.#answer(readRttQuestion(read(), wanted), caller) };
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
    options: ScoreApiOptions,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Answered<ScoreApiAnswer>> {
    const { context = DEFAULT_CONTEXT, seed = 0 } = readFields(scoreOptionsSchema, options);
    yield* scoreMeasurements(this.#model, lines, { context, seed, signal });
  }
}

/** @throws {ApiError} If a request of several is none. */
function requireArray<T>(value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value;
  throw new ApiError(400, "Cannot answer: found no array, one was wanted");
}
