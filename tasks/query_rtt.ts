/**
 * `query rtt`: the distribution of the RTT between two addresses or prefixes, or of each line of a file of
 * queries.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { OptionsOf } from "../lib/cli/command.ts";
import { ADAPT_DEFAULTS } from "../lib/query/adapt/adapt_defaults.ts";
import { usesAddress } from "../lib/query/adapt/free_rows.ts";
import { formatAddress, parseAddress } from "../lib/data/addresses/ip.ts";
import { withName } from "../lib/data/addresses/ip_prefix.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { UsageError, UserError } from "../lib/base/errors.ts";
import { readMeasurementFiles } from "../lib/query/files/measurement_files.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import { rttTable, writeRttTable } from "../lib/query/files/rtt_table.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { QUESTIONS } from "../lib/query/questions/questions.ts";
import { askRtt, rttAnswers } from "../lib/query/questions/rtt.ts";
import { answerQueries } from "../lib/query/rtt/answer_queries.ts";
import type { RttDistribution } from "../lib/query/rtt/rtt_distribution.ts";
import { readQueries } from "../lib/query/rtt/query_file.ts";
import { plotRttDistribution } from "../lib/query/rtt/rtt_plot.ts";
import { adaptProgress, noteAdaptation, noteEstimate } from "./adapt.ts";
import { logLeftOut } from "./reading.ts";
import { askedModel, contextOf, openContext, openLines } from "./query_options.ts";
import { askModel, givenQuestion } from "./query_questions.ts";
import { openOwn, signed } from "./own_outputs.ts";
import { makeOutputFile } from "./stage_files.ts";
import { queryRttCommand } from "./query_rtt.command.ts";

/** The most bad lines to log individually. */
const MAX_SHOWN_LINES = 20;
const MAX_ADAPT_MEASUREMENTS = 10_000;
const TERMINAL_BARS = 16;
const PLOT_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];

type Options = OptionsOf<typeof queryRttCommand>;

export const rttStage = defineStage(
  queryRttCommand,
  async (options, stage) =>
    options.queries === undefined
      ? await answerOne(options, stage)
      : await answerFile({ ...options, queries: options.queries }, stage),
);

async function answerOne(options: Options, stage: StageContext): Promise<StageResult> {
  const { src, dst } = options;
  if (src === undefined || dst === undefined) {
    throw new UsageError(
      `Cannot run: --${src === undefined ? "src" : "dst"} ADDRESS is missing; add it, or --queries FILE`,
    );
  }
  if (options.output !== undefined) {
    throw new UsageError(`Cannot use --output ${options.output}: it is for the answers to --queries FILE`);
  }
  if (options.table !== undefined && !options.table.endsWith(".parquet")) {
    throw new UsageError(`Cannot use --table ${options.table}: expected a name that ends with .parquet`);
  }
  const isShown = !options.json && Deno.stdout.isTerminal();
  const { histogram = isShown ? TERMINAL_BARS : undefined } = options;
  const given = await givenQuestion(QUESTIONS.rtt, { ...options, histogram }, stage);
  using plot = openOwn("query rtt --plot", options.plot, options.overwrite);
  using model = await fittedModel(options, stage, [src, dst]);
  const { quantiles = PLOT_QUANTILES, table, overwrite } = options;
  const kept: { distribution: RttDistribution; numDrawn: number }[] = [];
  const kind: typeof QUESTIONS.rtt = {
    ...QUESTIONS.rtt,
    ask: (asking, question) =>
      askRtt(asking, question, ({ distribution, numDraws }) => {
        if (plot || table !== undefined) kept.push({ distribution: distribution.copy(), numDrawn: numDraws });
      }),
  };
  const answer = await askModel(kind, given, model, stage);
  for (const { distribution, numDrawn } of kept) {
    const title = `${withName(answer.src, answer.src_name)} -> ${withName(answer.dst, answer.dst_name)}`;
    const subtitle = numDrawn > 0 ? `mixture of ${numDrawn} draws from the model` : "exact";
    const picture = { title, subtitle, quantiles };
    plot?.finish(signed((await plotRttDistribution(distribution, picture)).svg, "query rtt"));
    if (table !== undefined) {
      const { src, dst, time: timeS } = answer;
      await writeTable(table, { distribution, asked: { src, dst, timeS }, overwrite });
    }
  }
  return { text: QUESTIONS.rtt.text(answer), json: answer };
}

/** Writes the table of an answer unless it exists. @throws {UserError} If another file exists there. */
async function writeTable(
  path: string,
  { distribution, asked, overwrite }: {
    distribution: RttDistribution;
    asked: { src: string; dst: string; timeS: number | null };
    overwrite: boolean;
  },
): Promise<void> {
  const table = rttTable(distribution);
  const digest = createHash("sha256").update(table.probability).digest("hex");
  const options = { ...asked, probabilities: digest };
  const start = { stage: "query rtt", inputs: [], options, overwrite, besides: () => [] };
  await makeOutputFile(path, start, (work) => {
    writeRttTable(work.path, table);
    return Promise.resolve({ counts: {}, rows: table.probability.length });
  });
}

/** @throws {UserError} If a line cannot be answered, after all others are, unless `keepGoing` is set. */
async function answerFile(
  options: Options & { queries: string },
  stage: StageContext,
): Promise<StageResult> {
  const { queries, output, draws: numDraws, seed } = options;
  for (const name of ["src", "dst", "time", "probe"] as const) {
    if (options[name] !== undefined) {
      throw new UsageError(`Cannot use --${name} ${options[name]}: with --queries it is in the file`);
    }
  }
  for (const name of ["plot", "table"] as const) {
    if (options[name] !== undefined) {
      throw new UsageError(`Cannot use --${name} ${options[name]}: it is for one query, without --queries`);
    }
  }
  using lines = openLines("query rtt --output", options, "answers");
  const context = await contextOf(options, stage);
  using model = await fittedModel(options, stage);
  using progress = stage.progress("answering", { unit: "queries" });
  let firstBad: string | undefined;
  let numAnswered = 0;
  let numBad = 0;
  const onDraws = () => stage.signal.throwIfAborted();
  const { quantiles, at, cdf, histogram, measured } = options;
  const answerOf = await rttAnswers(model, { quantiles, at, cdf, histogram, measured });
  const answers = answerQueries(
    model,
    readQueries(readLines(queries, stage.signal), queries, undefined, model),
    { context, numDraws, seed, onDraws },
    (answered) => ({ line: answered.query.line, ...answerOf(answered) }),
  );
  for await (const answer of answers) {
    stage.signal.throwIfAborted();
    if ("error" in answer) {
      firstBad ??= `line ${answer.line}: ${answer.error}`;
      if (++numBad <= MAX_SHOWN_LINES) progress.print(`${queries} line ${answer.line}: ${answer.error}`);
    } else numAnswered++;
    lines.write(answer);
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
    json: { queries, output, num_answered: numAnswered, num_bad: numBad, step: model.step },
  };
}

/**
 * Loads the model of `--checkpoint`, fitted to the measurements of `--adapt` if given.
 *
 * @param ends The endpoints whose rows may change if they are addresses (default: all addresses that were not
 *   in the training data).
 */
async function fittedModel(
  options: Options,
  stage: StageContext,
  ends?: readonly string[],
): Promise<PingModel> {
  const model = await askedModel(options, stage);
  const { adapt } = options;
  if (adapt === undefined) return model;
  const addresses = ends?.flatMap((text) => parseAddress(model.names.addressOf(text) ?? text) ?? [])
    .map(formatAddress);
  const asked = addresses && new Set(addresses);
  const { reading, readings } = await openContext(options, stage.log);
  const { measurements, ...leftOut } = await readMeasurementFiles([adapt], {
    reading,
    most: MAX_ADAPT_MEASUREMENTS,
    isWanted: (measurement) => !asked || usesAddress(measurement, asked),
  });
  readings.end();
  logLeftOut(leftOut, stage.log);
  const { signal } = stage;
  noteEstimate(measurements.length, ADAPT_DEFAULTS.steps, stage.log);
  using progress = adaptProgress(stage, ADAPT_DEFAULTS.steps);
  const adaptation = await model.adapt(measurements, {
    signal,
    ...progress.options,
    ...(addresses ? { addresses } : {}),
  });
  noteAdaptation(adaptation, stage.log);
  return model;
}

if (import.meta.main) serveStage(rttStage);
