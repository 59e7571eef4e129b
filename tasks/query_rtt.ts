/**
 * `query rtt`: the exact distribution of the RTT between two addresses, or of each line of a file of queries.
 *
 * @module
 */
import { flag } from "../lib/cli/flags.ts";
import { drawHistogram, formatMs } from "../lib/cli/histogram.ts";
import { defineStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { UsageError, UserError } from "../lib/errors.ts";
import { type AnsweredQuery, answerQueries } from "../lib/query/answer_queries.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { type BadLine, readQueries } from "../lib/query/query_file.ts";
import type { RttDistribution } from "../lib/query/rtt_distribution.ts";
import { JsonLinesOutput } from "./json_lines_output.ts";
import { addressOf, contextOf, logContext, queryFlags, timeFlag, timeOf } from "./query_options.ts";

const JSON_BARS = 64;
const TEXT_BARS = 16;
/** Lines that cannot be answered and are shown one by one. */
const MAX_SHOWN_LINES = 20;

interface RttOptions {
  checkpoint: string;
  context: string | undefined;
  src: string | undefined;
  dst: string | undefined;
  time: string | undefined;
  queries: string | undefined;
  output: string | undefined;
  quantiles: string;
  json: boolean;
}

/** The stage `query rtt`. */
export const rttStage = defineStage({
  name: "query rtt",
  purpose: "the exact distribution of the RTT between two addresses, or for each line of a file",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --dst 198.51.100.7",
  flags: {
    ...queryFlags,
    src: flag.optionalText("source address (required without --queries)", { placeholder: "ADDRESS" }),
    dst: flag.optionalText("destination address, of the same IP version (required without --queries)", {
      placeholder: "ADDRESS",
    }),
    time: timeFlag,
    queries: flag.optionalText(
      "JSON lines or CSV with src, dst and perhaps time, answered with a JSON line each, in order; " +
        "a line that cannot be answered gives its number and reason, and exit code 1 at the end",
      { placeholder: "FILE" },
    ),
    output: flag.optionalText("where the answers to --queries go (default: standard output)", {
      placeholder: "FILE",
    }),
    quantiles: flag.text("quantiles to report, 0 to 1", {
      default: "0.05,0.25,0.5,0.75,0.95",
      placeholder: "Q,Q,…",
    }),
  },
  async run(options, stage) {
    const quantiles = quantilesOf(options.quantiles);
    return options.queries === undefined
      ? await answerOne(options, stage, quantiles)
      : await answerFile(options, stage, { queries: options.queries, quantiles });
  },
});

async function answerOne(
  options: RttOptions,
  stage: StageContext,
  quantiles: readonly number[],
): Promise<StageResult> {
  const { src, dst } = options;
  if (src === undefined || dst === undefined) {
    throw new UsageError(
      `Cannot run: --${src === undefined ? "src" : "dst"} ADDRESS is missing; add it, or --queries FILE`,
    );
  }
  if (options.output !== undefined) {
    throw new UsageError(`Cannot use --output ${options.output}: it is for the answers to --queries FILE`);
  }
  const [source, destination] = [addressOf("src", src), addressOf("dst", dst)];
  const timeS = timeOf(options.time);
  const context = await contextOf(options.context, stage);
  using model = await PingModel.load(options.checkpoint);
  const query = { source, destination, timeS, context };
  const numUsed = model.contextThatFits(query).length;
  logContext(stage, numUsed, context);
  const distribution = await model.rttDistribution(query);
  return {
    text: describe(distribution, quantiles, `${src} -> ${dst}`),
    json: {
      stage: "query rtt",
      ...{ src, dst, timeS, contextMeasurements: numUsed },
      ...numbersOf(distribution, quantiles),
      histogram: distribution.histogram(JSON_BARS),
      step: model.step,
    },
  };
}

async function answerFile(
  options: RttOptions,
  stage: StageContext,
  { queries, quantiles }: { queries: string; quantiles: readonly number[] },
): Promise<StageResult> {
  const { output } = options;
  for (const name of ["src", "dst", "time"] as const) {
    if (options[name] !== undefined) {
      throw new UsageError(`Cannot use --${name} ${options[name]}: with --queries it stands in the file`);
    }
  }
  if (options.json && output === undefined) {
    throw new UsageError("Cannot use --json: the answers take standard output; add --output FILE");
  }
  const context = await contextOf(options.context, stage);
  using model = await PingModel.load(options.checkpoint);
  using lines = new JsonLinesOutput(output);
  using progress = stage.progress("answering", { unit: "queries" });
  const bad: BadLine[] = [];
  let numAnswered = 0;
  for await (const answer of answerQueries(model, readQueries(queries), { context })) {
    stage.signal.throwIfAborted();
    if ("error" in answer) {
      bad.push(answer);
      if (bad.length <= MAX_SHOWN_LINES) progress.print(`${queries} line ${answer.line}: ${answer.error}`);
      lines.write(answer);
    } else {
      if (numAnswered++ === 0) logContext(stage, answer.numContext, context);
      lines.write(lineOf(answer, quantiles));
    }
    progress.update(numAnswered + bad.length);
  }
  lines.commit();
  if (bad.length > 0) {
    throw new UserError(
      `Cannot answer ${bad.length} of ${bad.length + numAnswered} lines of ${queries}: line ${bad[0].line}: ${
        bad[0].error
      }; the others are answered`,
    );
  }
  return {
    text: output === undefined ? "" : `${numAnswered} queries answered in ${output}`,
    json: { stage: "query rtt", queries, output, numAnswered, step: model.step },
  };
}

function lineOf({ query, numContext, distribution }: AnsweredQuery, quantiles: readonly number[]) {
  const { line, src, dst, timeS } = query;
  return { line, src, dst, timeS, contextMeasurements: numContext, ...numbersOf(distribution, quantiles) };
}

function numbersOf(distribution: RttDistribution, quantiles: readonly number[]) {
  const { pFailed, meanMs, canonicalMass } = distribution;
  const quantilesMs = Object.fromEntries(quantiles.map((q) => [q, distribution.quantileMs(q)]));
  return { pFailed, meanMs, quantilesMs, canonicalMass };
}

function describe(distribution: RttDistribution, quantiles: readonly number[], pair: string): string {
  return [
    `RTT ${pair}`,
    `  no reply   ${(distribution.pFailed * 100).toFixed(2)} %`,
    `  mean       ${formatMs(distribution.meanMs)} ms`,
    ...quantiles.map((q) =>
      `  ${`${+(q * 100).toFixed(4)} %`.padEnd(9)}  ${formatMs(distribution.quantileMs(q))} ms`
    ),
    ...(Deno.stdout.isTerminal() ? ["", ...drawHistogram(distribution.histogram(TEXT_BARS), 40)] : []),
  ].join("\n");
}

function quantilesOf(text: string): number[] {
  const quantiles = text.split(",").map(Number);
  if (quantiles.every((q) => q >= 0 && q <= 1)) return quantiles;
  throw new UsageError(`Cannot use --quantiles ${text}: numbers from 0 to 1 separated by commas were wanted`);
}
