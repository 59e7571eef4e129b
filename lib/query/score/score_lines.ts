/** Scores measurements in the order of arrival, each given the earlier ones. @module */
import { pairNameOf, SourceHistory } from "../../data/tokens/source_history.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { type ApiMeasurement, type LineError, measurementSchema } from "../questions/question.ts";
import type { ScoreAnswer } from "../questions/score.ts";
import { readFields } from "../questions/read_fields.ts";
import { parseTimed } from "../rtt/rtt_question.ts";
import { UserError } from "../../base/errors.ts";
import type { PingModel } from "../ping_model.ts";
import { encodeQuery } from "../query_tokens.ts";
import { LossRuns } from "./loss_runs.ts";
import { type ScoreCase, scoreResults } from "./score_results.ts";
import type { Answered, Line } from "../questions/lines.ts";

/** How many earlier lines a line sees by default, as in `score`. */
const DEFAULT_CONTEXT = 20;
/** Measurements scored at once, in less than a second on two cores. */
const PART_ROWS = 256;

interface Entry {
  readonly pair: string;
  readonly asked: ApiMeasurement;
  readonly case: ScoreCase;
}

/**
 * Scores measurements in order, a bounded number at a time.
 *
 * @param options `context`: maximum number of measurements in a context (20); `seed`: of the random share of
 *   p-values (0); `compute`: runs each part.
 */
export async function* scoreMeasurements(
  model: PingModel,
  lines: AsyncIterable<Line>,
  { context = DEFAULT_CONTEXT, seed = 0, signal, compute }: {
    context?: number | undefined;
    seed?: number | undefined;
    signal?: AbortSignal | undefined;
    compute: <T>(work: () => Promise<T>) => Promise<T>;
  },
): AsyncGenerator<Answered<ScoreAnswer>> {
  const histories = new LineHistories(context, model.config.sequenceLength);
  const runs = new LossRuns();
  let part: (Entry | LineError)[] = [];
  for await (const line of lines) {
    const entry = entryOf(line, histories, model.config.sequenceLength);
    part.push(entry);
    if (part.length < PART_ROWS) continue;
    signal?.throwIfAborted();
    yield* scorePart(model, part, { seed, runs, compute });
    part = [];
  }
  signal?.throwIfAborted();
  yield* scorePart(model, part, { seed, runs, compute });
}

function entryOf({ line, read }: Line, histories: LineHistories, sequenceLength: number): Entry | LineError {
  try {
    const asked = readFields(measurementSchema, read());
    const { measurement, exactS } = parseTimed(asked);
    const context = histories.contextOf(measurement, exactS);
    encodeQuery({ ...measurement, context }, sequenceLength);
    return { pair: pairNameOf(measurement), asked, case: { measurement, context, number: line - 1 } };
  } catch (error) {
    if (error instanceof UserError) return { line, error: error.message };
    throw error;
  }
}

async function* scorePart(
  model: PingModel,
  part: readonly (Entry | LineError)[],
  { seed, runs, compute }: {
    seed: number;
    runs: LossRuns;
    compute: <T>(work: () => Promise<T>) => Promise<T>;
  },
): AsyncGenerator<Answered<ScoreAnswer>> {
  const cases = part.flatMap((entry) => "error" in entry ? [] : [entry.case]);
  const { scores } = await compute(() => scoreResults(model, cases, { seed }));
  let numScored = 0;
  for (const entry of part) {
    if ("error" in entry) {
      yield entry;
      continue;
    }
    const { pair, asked: { src, dst, rtt }, case: { measurement, number } } = entry;
    const { logLikelihood, pValue } = scores[numScored++];
    yield {
      line: number + 1,
      ...{ src, dst, ...model.names.namedEnds({ src, dst }), time: measurement.timeS, rtt },
      log_likelihood: logLikelihood,
      p_value: pValue,
      loss_run_p_value: runs.add(pair, rtt === null, logLikelihood),
    };
  }
}

/** Maximum remembered measurements, about 5 MB. The least recently updated source is dropped first. */
const MAX_REMEMBERED = 2 ** 14;

interface Remembered {
  readonly history: SourceHistory;
  newestUs: number;
}

/**
 * The histories of all sources. If the lines of a source are in time order, contexts are the same as those of
 * {@link SourceHistory}, as in `score`. A late line sees only measurements that are not later than itself.
 */
export class LineHistories {
  /** By source, least recently updated first. Measurements with and without a time are kept apart. */
  readonly #sources = new Map<string, Remembered>();
  #numKept = 0;

  /** The arguments are those of {@link SourceHistory}; `maxKept` is the total for all sources. */
  constructor(
    readonly maxContext: number,
    readonly sequenceLength: number = Infinity,
    readonly maxKept: number = MAX_REMEMBERED,
  ) {}

  get numKept(): number {
    return this.#numKept;
  }

  /**
   * The context of the next line, oldest first. The line is then remembered for later ones.
   *
   * @param exactS The time of the line, Unix seconds to the microsecond, or null.
   */
  contextOf(measurement: TokenMeasurement, exactS: number | null): TokenMeasurement[] {
    const { source, timeS } = measurement;
    const key = `${source} ${timeS === null}`;
    const remembered = this.#sources.get(key) ??
      { history: new SourceHistory(this.maxContext, this.sequenceLength, this.maxKept / 2), newestUs: 0 };
    const { history } = remembered;
    // A line without a time counts as later than the previous ones.
    const ownUs = exactS === null ? remembered.newestUs + 1 : Math.round(exactS * 1e6);
    const isLate = ownUs < remembered.newestUs;
    remembered.newestUs = Math.max(remembered.newestUs, ownUs);
    const pair = pairNameOf(measurement);
    const context =
      (isLate
        ? history.contextOf(pair, remembered.newestUs)
        : history.growingContextOf(pair, remembered.newestUs, measurement))
        .filter((earlier) => (earlier.timeS ?? 0) <= (timeS ?? 0))
        .sort((a, b) => (a.timeS ?? 0) - (b.timeS ?? 0));
    this.#sources.delete(key);
    this.#sources.set(key, remembered);
    this.#numKept -= history.numKept;
    history.add(pair, remembered.newestUs, measurement);
    this.#numKept += history.numKept;
    this.#forget();
    return context;
  }

  #forget(): void {
    for (const [key, { history }] of this.#sources) {
      if (this.#numKept <= this.maxKept) return;
      this.#numKept -= history.numKept;
      this.#sources.delete(key);
    }
  }
}
