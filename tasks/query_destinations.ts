/**
 * `query destinations`: the most probable destinations given a source and an RTT.
 *
 * @module
 */
import { type commonFlags, flag, type Values } from "../lib/cli/flags.ts";
import { defineStage, type StageContext } from "../lib/cli/stage.ts";
import { formatTable } from "../lib/text/table.ts";
import { shortened, UsageError } from "../lib/errors.ts";
import { codesOf, type DestinationQuery } from "../lib/query/destinations/destination_prompt.ts";
import { rankDestinations } from "../lib/query/destinations/destination_ranking.ts";
import { sampleDestinations } from "../lib/query/destinations/destination_samples.ts";
import {
  type LikelyDestination,
  type LikelyDestinations,
  likelyDestinations,
  prefixLengthOf,
} from "../lib/query/destinations/destinations.ts";
import type { PingModel } from "../lib/query/ping_model.ts";
import { loadModel } from "../lib/query_files/load_model.ts";
import { contextThatFits } from "../lib/query/query_tokens.ts";
import { formatPrefix } from "../lib/addresses/ip_prefix.ts";
import { type Measured, measuredBy, seenJson, times } from "../lib/addresses/known_addresses.ts";
import { JsonLinesOutput } from "./json_lines_output.ts";
import { addressOf, contextOf, logContext, queryFlags, readBy, timeFlag, timeOf } from "./query_options.ts";

const FLAGS = {
  ...queryFlags,
  src: flag.requiredText("source address; the destinations have the same IP version", {
    placeholder: "ADDRESS",
  }),
  rtt: flag.requiredText("RTT in ms, to the 0.05 % of an RTT code; or the smallest and the largest", {
    placeholder: "MS[..MS]",
  }),
  time: timeFlag,
  top: flag.integer("number of destinations to list", { default: 20, min: 1, max: 100_000 }),
  prefixLength: flag.optionalInteger("list prefixes of this many bits (default: whole addresses)", {
    min: 0,
    max: 128,
  }),
  samples: flag.optionalInteger("draw this many instead of searching, by --seed; 0.7 kB for each", {
    min: 1,
    max: 2 ** 20,
  }),
  candidates: flag.optionalInteger(
    "instead of searching, rank this many likely destinations of the source by the probability of the RTT or range",
    { min: 1, max: 1024 },
  ),
  maxCodes: flag.integer(
    "largest number of RTT codes to compute for a range; a wider range is sampled at this many",
    {
      default: 32,
      min: 1,
      max: 1024,
    },
  ),
  maxExpansions: flag.integer(
    "end the search after this many prefixes, with or without proof; each takes 2 kB for each RTT code, 2 GB at most",
    { default: 4096, min: 1, max: 2 ** 22 },
  ),
  output: flag.optionalText("write the destinations as JSON lines (default: a table on standard output)", {
    placeholder: "FILE",
  }),
};

type Asked = Values<typeof FLAGS & typeof commonFlags>;

/** The stage `query destinations`. */
export const destinationsStage = defineStage({
  name: "query destinations",
  purpose: "the most probable destinations given a source and an RTT, by exact search or by drawing",
  example: "--checkpoint runs/demo/train --src 192.0.2.1 --rtt 20..25 --prefix-length 24",
  flags: FLAGS,
  async run(options, stage) {
    const source = addressOf("src", options.src);
    const rttMs = rttRangeOf(options.rtt);
    requireOneWay(options);
    const timeS = timeOf(options.time);
    const question = { source, rttMs, timeS };
    codesOf(question);
    const prefixLength = prefixLengthOf(question, options.prefixLength);
    const context = await contextOf(options.context, stage, timeS);
    const query = { ...question, context };
    using model = await loadModel(options.checkpoint);
    const whole = { ...query, destination: source };
    const contextMeasurements = contextThatFits(whole, model.config.sequenceLength).length;
    logContext(stage, contextMeasurements, context);
    const { below, ...answer } = await answerOf(model, query, { asked: options, stage });
    const { trainingData } = model;
    const listed = answer.destinations.map((each) => ({
      ...each,
      measured: trainingData && measuredBy(trainingData, source, each.prefix),
    }));
    if (trainingData?.known.isTruncated) {
      below.push(
        "the model lists only the most measured addresses and pairs: others count as never measured",
      );
    }
    const destinations = listed.map(jsonOf);
    const { src, output } = options;
    if (output !== undefined) {
      using lines = new JsonLinesOutput(output, { stage: "query destinations", inputs: readBy(options) });
      for (const destination of destinations) lines.write(destination);
      lines.commit();
    }
    const asked = { src, rttMs, timeS, contextMeasurements, prefixLength };
    return {
      text: [tableOf(listed), ...below].join("\n"),
      json: { stage: "query destinations", ...asked, ...answer, destinations, output, step: model.step },
    };
  },
});

/** The common part of all ways to answer; each adds its own numbers for `--json`. */
interface Answer {
  destinations: readonly LikelyDestination[];
  unlistedProbability: number;
  /** Lines below the table. */
  below: string[];
  [more: string]: unknown;
}

async function answerOf(
  model: PingModel,
  query: DestinationQuery,
  { asked, stage }: { asked: Asked; stage: StageContext },
): Promise<Answer> {
  const { top, samples, candidates, prefixLength, maxExpansions } = asked;
  const { signal } = stage;
  if (candidates !== undefined) {
    const options = { numCandidates: candidates, top, prefixLength, maxExpansions, signal };
    const [answer] = await rankDestinations(model, [query], options);
    const line =
      `probabilities among the ${answer.candidates} likeliest destinations of the source; before the RTT ` +
      `was known, these had a probability of ${percent(answer.priorMass)} together`;
    return { ...answer, below: [line] };
  }
  using progress = samples === undefined
    ? stage.progress("searching", { unit: "prefixes" })
    : stage.progress("drawing", { total: samples, unit: "destinations" });
  const options = { top, prefixLength, signal, onProgress: (done: number) => progress.update(done) };
  if (samples === undefined) {
    const answer = await likelyDestinations(model, query, {
      ...options,
      maxCodes: asked.maxCodes,
      maxExpansions,
    });
    progress.finish();
    return { ...answer, below: proofOf(answer) };
  }
  const answer = await sampleDestinations(model, query, { ...options, seed: asked.seed, count: samples });
  progress.finish();
  const { numDistinct, unlistedProbability } = answer;
  const line = `${
    percent(unlistedProbability)
  } of ${samples} draws fell elsewhere; ${numDistinct} different were drawn`;
  return { ...answer, samples, below: [line] };
}

/** @throws {UsageError} If options of different ways to answer are given together. */
function requireOneWay({ candidates, samples }: Asked): void {
  if (candidates === undefined || samples === undefined) return;
  throw new UsageError("Cannot use --candidates with --samples: one of the two is expected");
}

/** A destination, and how often the source measured it; undefined if unknown. */
type ListedDestination = LikelyDestination & { measured: Measured | undefined };

function tableOf(destinations: readonly ListedDestination[]): string {
  const hasErrors = destinations.some(({ standardError }) => standardError > 0);
  const isKnown = destinations.some(({ measured }) => measured);
  const rows = destinations.map(({ prefix, probability, standardError, measured }) => [
    formatPrefix(prefix),
    percent(probability),
    ...(hasErrors ? [percent(standardError)] : []),
    ...(measured ? [times(measured)] : []),
  ]);
  const head = [
    "destination",
    "probability",
    ...(hasErrors ? ["standard error"] : []),
    ...(isKnown ? ["by this source"] : []),
  ];
  return formatTable([head, ...rows], { left: isKnown ? [0, head.length - 1] : [0] });
}

/** The search's knowledge about destinations that it does not list. */
function proofOf(answer: LikelyDestinations): string[] {
  const { unlistedProbability, unlistedAtMost, isProven, numExpanded, codes } = answer;
  const bound = isProven
    ? "none of them more probable than those above"
    : `some of them perhaps up to ${
      percent(unlistedAtMost)
    }: the search ended after ${numExpanded} prefixes, ` +
      "raise --max-expansions or lower --max-codes";
  const lines = [`${percent(unlistedProbability)} on all others, ${bound}`];
  if (codes.used < codes.inRange) {
    lines.push(`computed for ${codes.used} of the ${codes.inRange} RTT codes of the range: --max-codes`);
  }
  return lines;
}

function jsonOf({ prefix, probability, standardError, measured }: ListedDestination) {
  return {
    prefix: formatPrefix(prefix),
    probability,
    standardError,
    measured: measured ? seenJson(measured) : null,
  };
}

function percent(share: number): string {
  const digits = share >= 0.01 || share === 0 ? (100 * share).toFixed(2) : (100 * share).toPrecision(3);
  return `${digits} %`;
}

/** `20` or `20..25`. @throws {UsageError} If it is neither. */
function rttRangeOf(text: string): readonly [number, number] {
  const ends = text.split("..").map((end) => /^\s*\d+(\.\d+)?\s*$/.test(end) ? Number(end) : NaN);
  const [lowMs, highMs = lowMs] = ends;
  if (ends.length <= 2 && lowMs <= highMs) return [lowMs, highMs];
  throw new UsageError(
    `Cannot use --rtt ${
      shortened(text)
    }: expected an RTT in ms of at least 0, or two as in 20..25, the lesser first`,
  );
}
