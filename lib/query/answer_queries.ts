/**
 * Answers a stream of queries in order, many at once on the GPU, in parts of a bounded number.
 *
 * @module
 */
import { UserError } from "../errors.ts";
import type { TokenMeasurement } from "../tokens/vocab_v2.ts";
import type { PingModel } from "./ping_model.ts";
import type { BadLine, FileQuery } from "./query_file.ts";
import type { RttDistribution } from "./rtt_distribution.ts";

/** Two of the decoder's largest groups; their distributions take 62 MB. */
const QUERIES_PER_PART = 124;

/** A query with its distribution. */
export interface AnsweredQuery {
  /** What was asked. */
  readonly query: FileQuery;
  /** How many of the context measurements were used. */
  readonly numContext: number;
  /** Of its result. */
  readonly distribution: RttDistribution;
}

/**
 * Answers queries; those that the model cannot answer come out as bad lines.
 *
 * @param lines Queries and lines that are none, which are handed on.
 * @param options `context`: measurements made before, oldest first, for every query.
 * @returns What came of each line, in order.
 */
export async function* answerQueries(
  model: PingModel,
  lines: AsyncIterable<FileQuery | BadLine>,
  { context }: { context: readonly TokenMeasurement[] },
): AsyncGenerator<AnsweredQuery | BadLine> {
  let part: (FileQuery | BadLine)[] = [];
  for await (const line of lines) {
    part.push("error" in line ? line : answerable(model, line, context));
    if (part.length < QUERIES_PER_PART) continue;
    yield* await answerPart(model, part, context);
    part = [];
  }
  yield* await answerPart(model, part, context);
}

function answerable(
  model: PingModel,
  query: FileQuery,
  context: readonly TokenMeasurement[],
): FileQuery | BadLine {
  try {
    model.encodeQuery({ ...query, context });
    return query;
  } catch (error) {
    if (error instanceof UserError) return { line: query.line, error: error.message };
    throw error;
  }
}

async function answerPart(
  model: PingModel,
  part: readonly (FileQuery | BadLine)[],
  context: readonly TokenMeasurement[],
): Promise<(AnsweredQuery | BadLine)[]> {
  const queries = part.flatMap((line) => "error" in line ? [] : [{ ...line, context }]);
  const distributions = (await model.rttDistributions(queries)).values();
  return part.map((line) => {
    if ("error" in line) return line;
    const numContext = model.contextThatFits({ ...line, context }).length;
    return { query: line, numContext, distribution: nextOf(distributions) };
  });
}

function nextOf<T>(values: Iterator<T, undefined>): T {
  const { value, done } = values.next();
  if (done) throw new Error("Internal error: there are fewer distributions than queries");
  return value;
}
