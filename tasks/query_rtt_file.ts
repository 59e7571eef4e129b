/**
 * `query rtt --queries`: an answer for each line of a file.
 *
 * @module
 */
import type { StageContext, StageResult } from "../lib/cli/stage.ts";
import { UsageError, UserError } from "../lib/errors.ts";
import { type AnsweredQuery, answerQueries } from "../lib/query/rtt/answer_queries.ts";
import { readQueries } from "../lib/query/rtt/query_file.ts";
import { noteOnMean, summaryOf, type SummaryOptions } from "../lib/query/rtt/rtt_summary.ts";
import { JsonLinesOutput } from "./json_lines_output.ts";
import { adaptModel, contextOf, loadModel, readBy, type RttOptions } from "./query_options.ts";

/** Lines that cannot be answered and are shown one by one. */
const MAX_SHOWN_LINES = 20;

/** What `query rtt` is called with where it answers a file. */
type FileOptions = RttOptions & { queries: string };

/**
 * Answers a file of queries.
 *
 * @throws {UserError} After all others are answered, if a line cannot be and `keepGoing` is not asked for.
 */
export async function answerFile(
  options: FileOptions,
  stage: StageContext,
  summary: SummaryOptions,
): Promise<StageResult> {
  const { queries, output } = options;
  refuseOptions(options);
  const context = await contextOf(options.context, stage);
  using model = await loadModel(options);
  await adaptModel(model, { path: options.adapt }, stage);
  using lines = new JsonLinesOutput(output, { stage: "query rtt", inputs: readBy(options) });
  using progress = stage.progress("answering", { unit: "queries" });
  let firstBad: string | undefined;
  let [numAnswered, numBad] = [0, 0];
  const drawing = {
    numDraws: options.draws,
    seed: options.seed,
    onDraws: () => stage.signal.throwIfAborted(),
  };
  for await (const answer of answerQueries(model, readQueries(queries), { context, ...drawing })) {
    stage.signal.throwIfAborted();
    if ("error" in answer) {
      firstBad ??= `line ${answer.line}: ${answer.error}`;
      if (++numBad <= MAX_SHOWN_LINES) progress.print(`${queries} line ${answer.line}: ${answer.error}`);
      lines.write(answer);
    } else {
      numAnswered++;
      lines.write(lineOf(answer, summary));
    }
    progress.update(numAnswered + numBad);
  }
  lines.commit();
  const unanswered = `${numBad} of ${numBad + numAnswered} lines of ${queries}`;
  if (firstBad !== undefined && !options.keepGoing) {
    throw new UserError(`Cannot answer ${unanswered}: ${firstBad}; the others are answered`);
  }
  if (firstBad !== undefined) stage.log(`${unanswered} could not be answered`);
  return {
    text: output === undefined ? "" : `${numAnswered} queries answered in ${output}`,
    json: { stage: "query rtt", queries, output, numAnswered, numBad, step: model.step },
  };
}

function refuseOptions(options: FileOptions): void {
  for (const name of ["src", "dst", "time"] as const) {
    if (options[name] !== undefined) {
      throw new UsageError(`Cannot use --${name} ${options[name]}: with --queries it stands in the file`);
    }
  }
  if (options.plot !== undefined) {
    throw new UsageError(`Cannot use --plot ${options.plot}: it is for one query, without --queries`);
  }
  if (options.json && options.output === undefined) {
    throw new UsageError("Cannot use --json: the answers take standard output; add --output FILE");
  }
}

function lineOf({ query, answer, ...context }: AnsweredQuery, summary: SummaryOptions) {
  const { line, src, dst, timeS } = query;
  const { numContext, numContextUsed, numContextLater } = context;
  const tooLong = numContextUsed < numContext
    ? `the newest ${numContextUsed} of ${numContext} context measurements were used: more do not fit`
    : undefined;
  const tooLate = numContextLater > 0
    ? `${numContextLater} context measurements are after the query's time and were left out`
    : undefined;
  const notes = [...query.notes, tooLate, tooLong, noteOnMean(answer.mixture.distribution)].filter((note) =>
    note !== undefined
  );
  return {
    ...{ line, src, dst, timeS, contextMeasurements: numContextUsed },
    ...summaryOf(answer, summary),
    ...(notes.length > 0 && { notes }),
  };
}
