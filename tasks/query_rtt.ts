/**
 * `query rtt`: the distribution of the RTT between two addresses or prefixes, or of each line of a file of queries.
 *
 * @module
 */
import { defineStage, type StageContext, type StageResult } from "../lib/cli/stage.ts";
import { shortened, UsageError } from "../lib/errors.ts";
import { writeOutputFile } from "../lib/files/output_file.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { type PrefixAnswer, rttBetweenPrefixes } from "../lib/query/rtt/prefix_query.ts";
import { plotRttDistribution } from "../lib/query/rtt/rtt_plot.ts";
import { noteHostBits } from "../lib/query/rtt/rtt_question.ts";
import { noteOnMean, summaryOf, type SummaryOptions } from "../lib/query/rtt/rtt_summary.ts";
import { faultOfPrefix, type IpPrefix, isAddress, parsePrefix } from "../lib/addresses/ip_prefix.ts";
import {
  adaptModel,
  contextOf,
  loadModel,
  logContext,
  readBy,
  rttFlags,
  type RttOptions,
  timeOf,
} from "./query_options.ts";
import { answerFile } from "./query_rtt_file.ts";
import { describeAnswer } from "./query_rtt_text.ts";

const JSON_BARS = 64;

/** The stage `query rtt`. */
export const rttStage = defineStage({
  name: "query rtt",
  purpose: "the distribution of the RTT between two addresses or prefixes, or for each line of a file",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --dst 198.51.100.0/24",
  flags: rttFlags,
  async run(options, stage) {
    const summary = {
      quantiles: numbersOf("quantiles", options.quantiles, [0, 1]),
      atMs: options.at === undefined ? [] : numbersOf("at", options.at, [0, Number.MAX_VALUE]),
    };
    return options.queries === undefined
      ? await answerOne(options, stage, summary)
      : await answerFile({ ...options, queries: options.queries }, stage, summary);
  },
});

async function answerOne(
  options: RttOptions,
  stage: StageContext,
  summary: SummaryOptions,
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
  const [source, destination] = [prefixOf("src", src), prefixOf("dst", dst)];
  const notes = [noteHostBits(src), noteHostBits(dst)].filter((note) => note !== undefined);
  const timeS = timeOf(options.time);
  const context = await contextOf(options.context, stage, timeS);
  using model = await loadModel(options);
  const addresses = [source, destination].filter(isAddress).map(({ bytes }) => bytes);
  await adaptModel(model, { path: options.adapt, addresses }, stage);
  const query = { source, destination, timeS, context };
  const numUsed =
    model.contextThatFits({ ...query, source: source.bytes, destination: destination.bytes }).length;
  logContext(stage, numUsed, context);
  const answer = await answerWithProgress(model, query, { options, stage });
  const { distribution } = answer.mixture;
  const onMean = noteOnMean(distribution);
  if (onMean !== undefined) notes.push(onMean);
  for (const note of notes) stage.log(note);
  const title = `${src} -> ${dst}${options.calibration === undefined ? "" : ", corrected"}`;
  if (options.plot !== undefined) await writePlot(options.plot, answer, { options, summary, title });
  return {
    text: describeAnswer(answer, summary, title),
    json: {
      stage: "query rtt",
      ...{ src, dst, timeS, contextMeasurements: numUsed },
      ...(options.calibration !== undefined && { calibration: options.calibration }),
      ...summaryOf(answer, summary),
      ...(notes.length > 0 && { notes }),
      histogram: distribution.histogram(JSON_BARS),
      step: model.step,
    },
  };
}

async function answerWithProgress(
  model: PingModel,
  query: Parameters<typeof rttBetweenPrefixes>[1],
  { options: { draws, seed }, stage }: { options: RttOptions; stage: StageContext },
): Promise<PrefixAnswer> {
  using progress = stage.progress("computing distributions", { unit: "pairs" });
  const onProgress = (done: number) => {
    stage.signal.throwIfAborted();
    progress.update(done);
  };
  return await rttBetweenPrefixes(model, query, { numDraws: draws, seed, onProgress });
}

async function writePlot(
  path: string,
  { mixture }: PrefixAnswer,
  { options, summary, title }: { options: RttOptions; summary: SummaryOptions; title: string },
): Promise<void> {
  const { distribution, numDraws } = mixture;
  const subtitle = numDraws > 0 ? `mixture of ${numDraws} draws from the model` : "exact";
  const svg = await plotRttDistribution(distribution, { title, subtitle, quantiles: summary.quantiles });
  writeOutputFile(path, svg, { stage: "query rtt", inputs: readBy(options) });
}

function prefixOf(option: string, text: string): IpPrefix {
  const fault = faultOfPrefix(text);
  if (fault !== undefined) throw new UsageError(`Cannot use --${option} ${shortened(text)}: ${fault}`);
  return parsePrefix(text);
}

function numbersOf(option: string, text: string, [least, greatest]: readonly [number, number]): number[] {
  const numbers = text.split(",").map((part) => part.trim() === "" ? NaN : Number(part));
  if (numbers.every((number) => number >= least && number <= greatest)) return numbers;
  const wanted = greatest === 1 ? `numbers from ${least} to 1` : `numbers of at least ${least}`;
  throw new UsageError(
    `Cannot use --${option} ${shortened(text)}: ${wanted} separated by commas were wanted`,
  );
}
