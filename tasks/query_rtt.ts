/**
 * `query rtt`: the distribution of the RTT between two addresses or prefixes, or of each line of a file of queries.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { OptionsOf } from "../lib/cli/command.ts";
import { ADAPT_DEFAULTS } from "../lib/query/adapt/adapt.ts";
import { rowNotes, usesAddress } from "../lib/query/adapt/free_rows.ts";
import { formatAddress, parseAddress } from "../lib/data/addresses/ip.ts";
import { type Basis, basisJson, rttsText } from "../lib/data/addresses/known_addresses.ts";
import { isAddress } from "../lib/data/addresses/ip_prefix.ts";
import { defineStage, serveStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { UsageError, UserError } from "../lib/base/errors.ts";
import { readMeasurementFiles } from "../lib/query/files/measurement_files.ts";
import { readLines } from "../lib/query/files/read_lines.ts";
import { rttTable, writeRttTable } from "../lib/query/files/rtt_table.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { contextThatFits } from "../lib/query/query_tokens.ts";
import { type AnsweredQuery, answerQueries, notesOn } from "../lib/query/rtt/answer_queries.ts";
import { rttBetweenPrefixes } from "../lib/query/rtt/prefix_query.ts";
import { readQueries } from "../lib/query/rtt/query_file.ts";
import { plotRttDistribution } from "../lib/query/rtt/rtt_plot.ts";
import { type RttSummary, summaryOf } from "../lib/query/rtt/rtt_summary.ts";
import { adaptProgress, noteAdaptation, noteEstimate } from "./adapt.ts";
import { logLeftOut } from "./reading.ts";
import {
  askedModel,
  contextOf,
  endsOf,
  logContext,
  numbersOf,
  openLines,
  percent,
  requireEnd,
  timeOf,
} from "./query_options.ts";
import { openOwn, signed } from "./own_outputs.ts";
import { makeOutputFile } from "./stage_files.ts";
import { STAGES } from "./stages.ts";
import { drawHistogram, formatMs } from "../lib/base/text.ts";
import type { RttDistribution } from "../lib/query/rtt/rtt_distribution.ts";

const JSON_BARS = 64;
const TEXT_BARS = 16;
const LABEL_WIDTH = 12;
/** The largest number of bad lines that are logged one by one. */
const MAX_SHOWN_LINES = 20;
/** The largest number of measurements of `--adapt` that are fitted. */
const MAX_ADAPT_MEASUREMENTS = 10_000;

type Options = OptionsOf<typeof STAGES.query.kinds.rtt>;

type Wanted = Record<"quantiles" | "at", number[]>;

export const rttStage = defineStage(STAGES.query.kinds.rtt, async (options, stage) => {
  const summary = {
    quantiles: numbersOf("quantiles", options.quantiles, [0, 1]),
    at: options.at === undefined ? [] : numbersOf("at", options.at, [0, Number.MAX_VALUE]),
  };
  return options.queries === undefined
    ? await answerOne(options, stage, summary)
    : await answerFile({ ...options, queries: options.queries }, stage, summary);
});

async function answerOne(options: Options, stage: StageContext, summary: Wanted): Promise<StageResult> {
  const { src, dst, calibration } = options;
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
  requireEnd("src", src);
  requireEnd("dst", dst);
  const timeS = timeOf(options.time);
  const context = await contextOf(options, stage, timeS);
  using plot = openOwn("query rtt --plot", options.plot, options.overwrite);
  const addresses = [src, dst].flatMap((text) => parseAddress(text) ?? []).map(formatAddress);
  using model = await fittedModel(options, stage, addresses);
  const { source, destination, notes: asked } = endsOf({ src, dst }, model);
  const query = { source, destination, timeS, context };
  const whole = { ...query, source: source.bytes, destination: destination.bytes };
  const contextMeasurements = contextThatFits(whole, model.config.sequenceLength).length;
  logContext(stage, contextMeasurements, context);
  using progress = stage.progress("computing distributions", { unit: "pairs" });
  const answer = await rttBetweenPrefixes(model, query, {
    numDraws: options.draws,
    seed: options.seed,
    onProgress(done) {
      stage.signal.throwIfAborted();
      progress.update(done);
    },
  });
  progress.finish();
  const { distribution, numDraws } = answer.mixture;
  const notes = [
    ...asked,
    ...rowNotes(model)([source, destination].filter(isAddress).map(({ bytes }) => bytes)),
  ];
  for (const note of notes) stage.log(note);
  const { names } = model;
  const title = `${names.shown(src)} -> ${names.shown(dst)}${calibration === undefined ? "" : ", corrected"}`;
  const { quantiles } = summary;
  if (plot) {
    const subtitle = numDraws > 0 ? `mixture of ${numDraws} draws from the model` : "exact";
    const svg = await plotRttDistribution(distribution, { title, subtitle, quantiles });
    plot.finish(signed(svg, "query rtt"));
  }
  if (options.table !== undefined) {
    const asked = { src, dst, timeS };
    await writeTable(options.table, { distribution, asked, overwrite: options.overwrite });
  }
  const numbers = summaryOf(answer, summary);
  const basis = model.basisOf(query);
  return {
    text: describeAnswer(numbers, { title, quantiles, distribution, basis }),
    json: {
      stage: "query rtt",
      src,
      dst,
      ...names.namedEnds({ src, dst }),
      timeS,
      contextMeasurements,
      calibration,
      ...numbers,
      basis: basisJson(basis),
      ...(notes.length > 0 && { notes }),
      histogram: distribution.histogram(JSON_BARS),
      step: model.step,
    },
  };
}

/** Writes the table of an answer, unless it is there. @throws {UserError} If a file of something else is there. */
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

/**
 * Answers a file of queries.
 *
 * @throws {UserError} After all others are answered, if a line cannot be answered and `keepGoing` is not set.
 */
async function answerFile(
  options: Options & { queries: string },
  stage: StageContext,
  summary: Wanted,
): Promise<StageResult> {
  const { queries, output, draws: numDraws, seed } = options;
  for (const name of ["src", "dst", "time"] as const) {
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
  const notesOnRows = rowNotes(model);
  const answers = answerQueries(
    model,
    readQueries(readLines(queries, stage.signal), queries, undefined, model.places),
    { context, numDraws, seed, onDraws },
    (answered) => lineOf(answered, summary, { model, notesOnRows }),
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
    json: { stage: "query rtt", queries, output, numAnswered, numBad, step: model.step },
  };
}

function lineOf(
  answered: AnsweredQuery,
  summary: Wanted,
  { model, notesOnRows }: { model: PingModel; notesOnRows: ReturnType<typeof rowNotes> },
) {
  const { line, src, dst, timeS } = answered.query;
  const notes = [
    ...notesOn(answered),
    ...notesOnRows([src, dst].flatMap((text) => parseAddress(text) ?? [])),
  ];
  return {
    line,
    src,
    dst,
    ...model.names.namedEnds({ src, dst }),
    timeS,
    contextMeasurements: answered.numContextUsed,
    ...summaryOf(answered.answer, summary),
    basis: basisJson(model.basisOf(answered.query)),
    ...(notes.length > 0 && { notes }),
  };
}

/**
 * The model of `--checkpoint`, corrected by `--calibration` and fitted to `--adapt` if these are given.
 *
 * @param addresses The addresses whose rows may change (default: those that were not in the training data).
 */
async function fittedModel(
  options: Options,
  stage: StageContext,
  addresses?: readonly string[],
): Promise<PingModel> {
  const model = await askedModel(options, stage);
  const { adapt } = options;
  if (adapt === undefined) return model;
  const asked = addresses && new Set(addresses);
  const { measurements, rejected, skipped } = await readMeasurementFiles([adapt], {
    most: MAX_ADAPT_MEASUREMENTS,
    isWanted: (measurement) => !asked || usesAddress(measurement, asked),
  });
  logLeftOut({ rejected, skipped }, stage.log);
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

/**
 * An answer as text.
 *
 * @param options `title`: source and destination; `distribution`: drawn on a terminal; `basis`: the basis of the
 *   answer.
 */
function describeAnswer(
  summary: RttSummary,
  options: { title: string; quantiles: readonly number[]; distribution: RttDistribution; basis: Basis },
): string {
  const { pFailed, meanMs, likeliest, quantilesMs, at = [], drawn } = summary;
  const errors = drawn?.standardErrors;
  const { text, rtts = [] } = options.basis;
  const line = (label: string, value: string) => `  ${label.padEnd(LABEL_WIDTH)}${value}`;
  const ms = (value: number, error?: number) =>
    `${formatMs(value)} ms${error === undefined ? "" : ` ± ${formatMs(error)}`}`;
  const lines = [
    `RTT ${options.title}`,
    line("median", ms(options.distribution.quantileMs(0.5), errors?.quantilesMs[0.5])),
    line("rests on", text),
    ...(rtts.length > 0 ? [line("measured", rttsText(rtts))] : []),
    line("no reply", percent(pFailed, errors?.pFailed)),
    line(
      "likeliest",
      `${formatMs(likeliest.rttMs)} ms, ${percent(likeliest.probability)} in an interval 1 % wide`,
    ),
    ...options.quantiles.filter((q) => q !== 0.5).map((q) =>
      line(`${+(q * 100).toFixed(4)} %`, ms(quantilesMs[q], errors?.quantilesMs[q]))
    ),
    line("mean", ms(meanMs, errors?.meanMs)),
    ...at.flatMap((each, i) => describeLikelihood(each, errors?.cdf?.[i])),
  ];
  if (drawn) lines.push(...describeDraws(drawn));
  if (Deno.stdout.isTerminal()) {
    lines.push("", ...drawHistogram(options.distribution.histogram(TEXT_BARS), 40));
  }
  return lines.join("\n");
}

function describeLikelihood(
  likelihood: NonNullable<RttSummary["at"]>[number],
  error: number | undefined,
): string[] {
  const { rttMs, cdf, probability, bits, lowMs, highMs } = likelihood;
  const bounds = highMs === null
    ? `${formatMs(lowMs)} ms or more`
    : `${+lowMs.toFixed(3)}-${+highMs.toFixed(3)} ms`;
  return [
    `  P(RTT <= ${rttMs} ms) ${percent(cdf, error)}`,
    `    in ${bounds}: ${percent(probability)}, ${bits === null ? "no mass" : `${bits.toFixed(2)} bits`}`,
  ];
}

function describeDraws(drawn: NonNullable<RttSummary["drawn"]>): string[] {
  const { numDraws, numDistinct, sourceProbability, destinationProbability, standardErrors } = drawn;
  const lines = [`  of ${numDraws} draws from the model, ${numDistinct} different; ± is a standard error`];
  if (sourceProbability !== null) lines.push(`  P(source in its prefix) ${percent(sourceProbability)}`);
  if (destinationProbability !== null) {
    const error = standardErrors.destinationProbability || undefined;
    lines.push(`  P(destination in its prefix) ${percent(destinationProbability, error)}`);
  }
  return lines;
}

if (import.meta.main) serveStage(rttStage);
