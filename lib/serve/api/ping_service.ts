/**
 * Answers the requests of many clients with one model, in a server or a browser's worker.
 *
 * All clients share one GPU. `ModelDecoders` has two decoders. Each runs its work in the order of arrival,
 * one group of at most 8,192 rows at a time, so the groups of different callers alternate. As a result:
 *
 * - Questions between addresses, single ones and lines of a batch, share one queue (`RttBatcher`), and each
 *   of its batches is one group. Callers and clients take turns, so a single question is in the next batch no
 *   matter how many lines precede it, unless there are more callers than a batch has room for.
 * - Scores of lines run in parts of a few groups. A question waits for one group of each scoring request.
 * - A search for destinations occupies the decoder for continuations until it ends, up to a minute. Questions
 *   between addresses and scores use the other decoder and wait for at most one step of the search.
 *   Likelihoods and RTTs between prefixes need the same decoder as searches, so all of them share one queue
 *   (`LongWork`), in which cheap work passes expensive work. Questions for the nearest candidate wait there
 *   too, because they have many candidates.
 *
 * @module
 */
import { formatAddress } from "../../data/addresses/ip.ts";
import type { AddressNames } from "../../data/addresses/address_names.ts";
import type { PingModel } from "../../query/ping_model.ts";
import {
  type ApiMeasurement,
  type Asking,
  type Question,
  type ReadingLine,
  servedSchema,
} from "../../query/questions/question.ts";
import {
  type AnswerOf,
  type QuestionName,
  type QuestionOf,
  QUESTIONS,
} from "../../query/questions/questions.ts";
import { withAddresses } from "../../query/rtt/rtt_question.ts";
import { defaultsSchema, readFields } from "../../query/questions/read_fields.ts";
import { score, type ScoreAnswer, type ScoreOptions } from "../../query/questions/score.ts";
import { computed, problemOf } from "./api_error.ts";
import {
  type Answered,
  inOrder,
  type JsonLine,
  jsonLines,
  linesOf,
  measurementLines,
  type ReadMeasurements,
} from "../../query/questions/lines.ts";
import { type BatchOptions, type Caller, LongWork, RttBatcher, SizeGate } from "./queues.ts";
import type { ModelAnswer, ModelInfo } from "./schemas.ts";
import { scoreMeasurements } from "../../query/score/score_lines.ts";

/** Pairs of sources and candidates: some seconds on two cores. */
const MOST_PAIRS = 4096;
/** Lines of a caller that are processed before the first is answered: two batches, one of them running. */
const LINES_AT_ONCE = 124;

interface PingServiceOptions {
  info: ModelInfo;
  /** How to batch questions. `maxQueue` limits long work too. */
  batch?: BatchOptions;
  /** How to read measurements (in this thread). */
  readMeasurements?: ReadMeasurements;
}

type Asked = {
  readonly [N in QuestionName]: (
    question: QuestionOf<N>,
    signal?: AbortSignal,
    /** Identifies the client, for its share of the GPU. */
    client?: string,
  ) => Promise<AnswerOf<N>>;
};

/** Operations on a model: one method per kind of question, and those below. All inputs are validated. */
export interface PingService extends Asked {}
export class PingService {
  readonly #model: PingModel;
  readonly #info: ModelInfo;
  #examples: Promise<ModelAnswer["examples"]> | undefined;
  readonly #batcher: RttBatcher;
  readonly #longWork: LongWork;
  readonly gate = new SizeGate();
  readonly readMeasurements: ReadMeasurements;

  /** @param model Owned by the caller, who closes it when no request is being answered. */
  constructor(
    model: PingModel,
    { info, batch = {}, readMeasurements = measurementLines }: PingServiceOptions,
  ) {
    this.#model = model;
    this.#info = info;
    this.readMeasurements = readMeasurements;
    this.#batcher = new RttBatcher(model, batch);
    this.#longWork = new LongWork(batch.maxQueue);
    const methods = Object.values<Question>(QUESTIONS).map((kind) => {
      const schema = servedSchema(kind);
      return [
        kind.name,
        (value: unknown, signal?: AbortSignal, client?: string) =>
          this.#ask(kind, () => readFields(schema, value), { signal, client }),
      ];
    });
    Object.assign(this, Object.fromEntries(methods));
  }

  get queueLength(): number {
    return this.#batcher.queueLength + this.#longWork.queueLength;
  }

  get names(): AddressNames {
    return this.#model.names;
  }

  /** Predicts many RTT distributions: one answer or error per question, in order. */
  async rttBatch(
    questions: readonly QuestionOf<"rtt">[],
    signal?: AbortSignal,
  ): Promise<Answered<AnswerOf<"rtt">>[]> {
    return await Array.fromAsync(this.lines("rtt", jsonLines(questions), {}, signal));
  }

  /**
   * Answers JSON lines, each a question, in order as they arrive.
   *
   * @param lines Empty lines are skipped but counted.
   * @param defaults Fields for lines that lack them.
   */
  async *lines<N extends QuestionName>(
    name: N,
    lines: AsyncIterable<string>,
    defaults: Record<string, unknown> = {},
    signal?: AbortSignal,
    client?: string,
  ): AsyncGenerator<Answered<AnswerOf<N>>> {
    const kind: Question = QUESTIONS[name];
    const schema = servedSchema(kind);
    const wanted = readFields(defaultsSchema(schema), defaults);
    const caller = { lane: {}, client, signal };
    const answer = async ({ line, read, lengthBytes }: JsonLine) => {
      try {
        const work = () => this.#ask(kind, () => ({ ...wanted, ...readFields(schema, read()) }), caller);
        return { line, ...await this.gate.run(lengthBytes, work, signal) as AnswerOf<N> };
      } catch (error) {
        if (!(error instanceof Error) || problemOf(error).status !== 400) throw error;
        return { line, error: error.message };
      }
    };
    yield* inOrder(linesOf(lines), answer, LINES_AT_ONCE);
  }

  /** Scores how surprising each measurement is, given the earlier ones: one answer or error for each. */
  async score(
    measurements: readonly ApiMeasurement[],
    signal?: AbortSignal,
  ): Promise<Answered<ScoreAnswer>[]> {
    return await Array.fromAsync(this.scoreLines(jsonLines(measurements), {}, signal));
  }

  /**
   * Scores measurements in order as they arrive: JSON lines, or a text in a known format.
   *
   * @param lines Empty lines are skipped but counted.
   * @param isText False for JSON lines. @param onReading Called with the readings of other formats.
   */
  scoreLines(
    lines: AsyncIterable<string>,
    options: ScoreOptions = {},
    signal?: AbortSignal,
    isText = false,
    onReading?: (line: ReadingLine) => void,
  ): AsyncGenerator<Answered<ScoreAnswer>> {
    const { src, dst, ...wanted } = readFields(score.options, options);
    const asked = { isText, src, dst, withIds: false, onReading };
    const measurements = this.readMeasurements(lines, asked, signal);
    return scoreMeasurements(this.#model, measurements, { ...wanted, signal, compute: computed });
  }

  async model(): Promise<ModelAnswer> {
    this.#examples ??= this.#inTurn(NUM_TRIED, () => examplesOf(this.#model), {}).catch((error) => {
      this.#examples = undefined;
      throw error;
    });
    return { ...this.#info, adapter: this.#model.gpu.info.name, examples: await this.#examples };
  }

  async #ask(kind: Question, read: () => Record<string, unknown>, caller: Caller): Promise<unknown> {
    const asking: Asking = {
      model: this.#model,
      signal: caller.signal,
      exact: (query, use) => this.#batcher.ask(query, use, caller),
      inTurn: (cost, work) => this.#inTurn(cost, work, caller),
      mostPairs: MOST_PAIRS,
      onProgress: () => caller.signal?.throwIfAborted(),
    };
    return await kind.ask(asking, withAddresses(read(), this.names));
  }

  async #inTurn<T>(cost: number, work: () => Promise<T>, caller: Caller): Promise<T> {
    return await this.#longWork.run(() => computed(work), caller, cost);
  }
}

/** The operations that the page uses, on a server or on the model in the browser's worker. */
export type PingApi = Pick<
  PingService,
  "rtt" | "rttBatch" | "destinations" | "nearest" | "advise" | "map" | "place" | "places" | "score" | "model"
>;

const MAX_EXAMPLES = 4;
const NUM_TRIED = 16;
/** The largest P(no reply) of an example, unless all pairs exceed it. */
const MAX_EXAMPLE_LOSS = 0.1;

/** Chooses often-measured pairs that reply. */
async function examplesOf(model: PingModel): Promise<ModelAnswer["examples"]> {
  const asked = { timeS: null, context: [] };
  const pairs = model.trainingData.known.mostMeasured(NUM_TRIED);
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
  return chosen.slice(0, MAX_EXAMPLES).map(({ ends }) => ({ ...ends, ...model.names.namedEnds(ends) }));
}
