/** Answers a stream of queries in order, many at once on the GPU, in parts of bounded size. @module */
import { UserError } from "../../base/errors.ts";
import { isAddress } from "../../data/addresses/ip_prefix.ts";
import type { TokenMeasurement } from "../../data/tokens/vocab_v2.ts";
import { contextThatFits, encodeQuery, knownAt, type RttQuery } from "../query_tokens.ts";
import type { PingModel } from "../ping_model.ts";
import {
  exactAnswer,
  type PrefixAnswer,
  rttBetweenPrefixes,
  type RttMixtureOptions,
} from "./prefix_query.ts";
import type { BadLine, FileQuery } from "./query_file.ts";
import type { ParsedQuestion } from "./rtt_question.ts";

/** Queries computed together: several decoder groups, which alternate. */
const QUERIES_PER_PART = 248;
/** The same if only quantiles are needed, since a decoder holds more of those. */
const QUANTILE_QUERIES_PER_PART = 2048;

export interface AnsweredQuery<Query extends ParsedQuestion = FileQuery> {
  readonly query: Query;
  /** Measurements of its context that are not after its time. */
  readonly numContext: number;
  /** Measurements of the shared context left out because they are after its time. */
  readonly numContextLater: number;
  /** Measurements of its context that were used: the newest that fit. */
  readonly numContextUsed: number;
  readonly answer: PrefixAnswer;
}

export interface AnswerOptions extends Pick<RttMixtureOptions, "numDraws" | "seed"> {
  /** Context, oldest first, of queries without their own; measurements after a query's time are left out. */
  context: readonly TokenMeasurement[];
  /** The quantiles needed for a query; only they and P(no reply) are then exact, which is faster (all). */
  quantiles?: (query: ParsedQuestion) => readonly number[];
  /** Called with the number of draws computed for a query between prefixes. */
  onDraws?: (done: number, total: number) => void;
}

/** A query that the model can answer, with the context that it uses. */
interface PreparedQuery<Query extends ParsedQuestion>
  extends Pick<AnsweredQuery<Query>, "query" | "numContext" | "numContextLater"> {
  /** The query between the first addresses of the prefixes. */
  readonly first: RttQuery;
}

/**
 * Answers queries in order. Queries that the model cannot answer become bad lines.
 *
 * @param lines Queries, and bad lines, which are passed through.
 * @param use Maps an answer to a result. The answer's distribution is valid until it returns; `copy()` keeps
 *   it.
 */
export async function* answerQueries<T>(
  model: PingModel,
  lines: Iterable<FileQuery | BadLine> | AsyncIterable<FileQuery | BadLine>,
  options: AnswerOptions,
  use: (answered: AnsweredQuery) => T,
): AsyncGenerator<T | BadLine> {
  const queriesPerPart = options.quantiles ? QUANTILE_QUERIES_PER_PART : QUERIES_PER_PART;
  let part: (PreparedQuery<FileQuery> | BadLine)[] = [];
  for await (const line of lines) {
    part.push("error" in line ? line : prepare(model, line, options));
    if (part.length < queriesPerPart) continue;
    yield* answerPart(model, part, options, use);
    part = [];
  }
  yield* answerPart(model, part, options, use);
}

function prepare(
  model: PingModel,
  line: FileQuery,
  { context }: AnswerOptions,
): PreparedQuery<FileQuery> | BadLine {
  try {
    return prepareQuery(model, line, context);
  } catch (error) {
    if (error instanceof UserError) return { line: line.line, error: error.message };
    throw error;
  }
}

/**
 * Adds the context to a query.
 *
 * @param known Measurements, oldest first, for queries without their own context.
 * @throws {UserError} If the model cannot answer it.
 */
export function prepareQuery<Query extends ParsedQuestion>(
  { config: { sequenceLength } }: Pick<PingModel, "config">,
  asked: Query,
  known: readonly TokenMeasurement[],
): PreparedQuery<Query> {
  const { source, destination, timeS, probe } = asked;
  const context = asked.context ?? knownAt(known, timeS);
  const numContextLater = asked.context ? 0 : known.length - context.length;
  const ends = { source: source.bytes, destination: destination.bytes };
  const whole = { ...ends, timeS, context, ...(probe !== undefined && { probe }) };
  const first = { ...whole, context: contextThatFits(whole, sequenceLength) };
  encodeQuery(first, sequenceLength);
  const query = { ...asked, context: asked.context && first.context };
  return { query, first, numContext: context.length, numContextLater };
}

export function notesOn(
  { query, numContext, numContextLater, numContextUsed }: AnsweredQuery<ParsedQuestion>,
): string[] {
  const notes = [...query.notes];
  if (numContextLater > 0) {
    notes.push(`${numContextLater} context measurements are after the query's time and were left out`);
  }
  if (numContextUsed < numContext) {
    notes.push(
      `the newest ${numContextUsed} of ${numContext} context measurements were used: more do not fit`,
    );
  }
  return notes;
}

/** Answers queries between addresses together on the GPU, and the others one at a time. */
async function* answerPart<T>(
  model: PingModel,
  part: readonly (PreparedQuery<FileQuery> | BadLine)[],
  options: AnswerOptions,
  use: (answered: AnsweredQuery) => T,
): AsyncGenerator<T | BadLine> {
  const isExact = ({ query: { source, destination } }: PreparedQuery<FileQuery>) =>
    isAddress(source) && isAddress(destination);
  const useOf = ({ first, ...prepared }: PreparedQuery<FileQuery>, answer: PrefixAnswer) =>
    use({ ...prepared, numContextUsed: first.context.length, answer });
  const exact = part.flatMap((line) => "error" in line || !isExact(line) ? [] : [line]);
  const results: T[] = [];
  const { quantiles } = options;
  await model.likelyRttDistributions(
    exact.map(({ first }) => first),
    (distribution, i) => results.push(useOf(exact[i], exactAnswer(distribution))),
    quantiles && { quantilesOfEach: exact.map(({ query }) => quantiles(query)) },
  );
  let numYielded = 0;
  const drawing = { ...options, onProgress: options.onDraws };
  for (const line of part) {
    if ("error" in line) yield line;
    else if (isExact(line)) yield results[numYielded++];
    else {
      const asked = { ...line.query, context: line.first.context };
      yield useOf(line, await rttBetweenPrefixes(model, asked, drawing));
    }
  }
}
