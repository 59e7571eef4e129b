/**
 * Scores measurements in the order in which they come, each given those before it.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { PingModel } from "../query/ping_model.ts";
import { encodeQuery } from "../query/query_tokens.ts";
import { type ScoreCase, scoreResults } from "../score/score_results.ts";
import { computed } from "./api_error.ts";
import { LineHistories } from "./line_histories.ts";
import type { Answered, Line } from "./lines.ts";
import { readFields, readMeasurement } from "./read_question.ts";
import { type ApiMeasurement, type LineError, measurementSchema, type ScoreApiAnswer } from "./schemas.ts";

/** Measurements that are scored together: under a second on two cores. */
const PART_ROWS = 256;

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
  const histories = new LineHistories(context, model.config.sequenceLength);
  let part: (Entry | LineError)[] = [];
  for await (const line of lines) {
    const entry = entryOf(line, histories, model.config.sequenceLength);
    part.push(entry);
    if (part.length < PART_ROWS) continue;
    signal?.throwIfAborted();
    yield* scorePart(model, part, seed);
    part = [];
  }
  signal?.throwIfAborted();
  yield* scorePart(model, part, seed);
}

function entryOf(
  { line, read }: Line,
  histories: LineHistories,
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
  const { scores } = await computed(() => scoreResults(model, cases, { seed }));
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
