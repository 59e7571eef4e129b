/**
 * Scores measurements in the order in which they come, each given those before it.
 *
 * A measurement gets the context that `score` gives it where they come in order of time (`lib/context`). One that comes
 * late sees only what is not after it.
 *
 * @module
 */
import { pairNameOf, SourceHistory } from "../context/source_history.ts";
import { UserError } from "../errors.ts";
import { parseTimeUs } from "../measurement/time_text.ts";
import type { PingModel } from "../query/ping_model.ts";
import { encodeQuery } from "../query/query_tokens.ts";
import { type ScoreCase, scoreResults } from "../score/score_results.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import type { Answered, Line } from "./lines.ts";
import { readFields, readMeasurement } from "./read_question.ts";
import { type ApiMeasurement, type LineError, measurementSchema, type ScoreApiAnswer } from "./schemas.ts";

/** Measurements that are scored together, contexts included: some 16,000 tokens, two groups of the decoder. */
const PART_MEASUREMENTS = 1024;
/** The most measurements that are remembered for the contexts of later ones, about 5 MB; the oldest sources go first. */
const MAX_REMEMBERED = 2 ** 14;

/** A line that waits for its part. */
interface Entry {
  readonly asked: ApiMeasurement;
  readonly case: ScoreCase;
}

/**
 * Scores measurements, in parts of a bounded number.
 *
 * @param options `context`: how many measurements a context has at most; `seed`: of the random share of p-values.
 * @returns What came of each line, in order.
 */
export async function* scoreMeasurements(
  model: PingModel,
  lines: AsyncIterable<Line>,
  { context, seed, signal }: { context: number; seed: number; signal?: AbortSignal | undefined },
): AsyncGenerator<Answered<ScoreApiAnswer>> {
  const histories = new SourceHistories(context);
  let part: (Entry | LineError)[] = [];
  let numMeasurements = 0;
  for await (const line of lines) {
    const entry = entryOf(line, histories, model.config.sequenceLength);
    part.push(entry);
    numMeasurements += "error" in entry ? 1 : 1 + entry.case.context.length;
    if (numMeasurements < PART_MEASUREMENTS) continue;
    signal?.throwIfAborted();
    yield* scorePart(model, part, seed);
    part = [];
    numMeasurements = 0;
  }
  signal?.throwIfAborted();
  yield* scorePart(model, part, seed);
}

function entryOf(
  { line, read }: Line,
  histories: SourceHistories,
  sequenceLength: number,
): Entry | LineError {
  try {
    const asked = readFields(measurementSchema, read());
    const measurement = readMeasurement(asked);
    const context = histories.contextOf(measurement, asked.timestamp);
    encodeQuery({ ...measurement, context }, sequenceLength);
    return { asked, case: { measurement, context, number: line - 1 } };
  } catch (error) {
    if (error instanceof UserError) return { line, error: error.message };
    throw error;
  }
}

async function* scorePart(
  model: PingModel,
  part: readonly (Entry | LineError)[],
  seed: number,
): AsyncGenerator<Answered<ScoreApiAnswer>> {
  const cases = part.flatMap((entry) => "error" in entry ? [] : [entry.case]);
  const { scores } = await scoreResults(model, cases, { seed });
  let numScored = 0;
  for (const entry of part) {
    if ("error" in entry) {
      yield entry;
      continue;
    }
    const { asked: { src_addr, dst_addr, rtt }, case: { measurement, number } } = entry;
    const { logLikelihood, pValue } = scores[numScored++];
    const asScored = { src_addr, dst_addr, timestamp: measurement.timeS, rtt };
    yield { line: number + 1, answer: { ...asScored, log_likelihood: logLikelihood, p_value: pValue } };
  }
}

/** A source's history, and the newest time in it. */
interface Remembered {
  readonly history: SourceHistory;
  newestUs: number;
}

/** The histories of the sources of one request. */
class SourceHistories {
  /** By source; measurements with a time and those without are apart. The source that was added to last is last. */
  readonly #sources = new Map<string, Remembered>();
  #numKept = 0;

  constructor(readonly maxContext: number) {}

  /** The context of a measurement, to which the measurement is added for those after it. */
  contextOf(measurement: TokenMeasurement, timestamp: ApiMeasurement["timestamp"]): TokenMeasurement[] {
    const { source, timeS } = measurement;
    const key = `${source} ${timeS === null}`;
    const remembered = this.#sources.get(key) ??
      { history: new SourceHistory(this.maxContext, MAX_REMEMBERED / 2), newestUs: 0 };
    const { history } = remembered;
    // Without times, each line is later than those before it.
    remembered.newestUs = Math.max(remembered.newestUs, timeUsOf(timestamp) ?? remembered.newestUs + 1);
    const pair = pairNameOf(measurement);
    const context = history.contextOf(pair, remembered.newestUs)
      .filter((each) => each.timeS === null || timeS === null || each.timeS <= timeS)
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
      if (this.#numKept <= MAX_REMEMBERED) return;
      this.#numKept -= history.numKept;
      this.#sources.delete(key);
    }
  }
}

/** Undefined without a time. The measurement was read, so a time is one. */
function timeUsOf(timestamp: ApiMeasurement["timestamp"]): number | undefined {
  const parsed = parseTimeUs(String(timestamp ?? ""));
  return "timeUs" in parsed ? parsed.timeUs : undefined;
}
