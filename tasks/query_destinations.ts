/**
 * `query destinations`: the most probable destinations given a source and an RTT.
 *
 * @module
 */
import { type commonFlags, flag, type Values } from "../lib/cli/flags.ts";
import { defineStage, type StageContext } from "../lib/cli/stage.ts";
import { formatTable } from "../lib/text/table.ts";
import { shortened, UsageError } from "../lib/errors.ts";
import {
  codesOf,
  destinationContextThatFits,
  type DestinationQuery,
} from "../lib/query/destinations/destination_prompt.ts";
import { rankDestinations } from "../lib/query/destinations/destination_ranking.ts";
import { sampleDestinations } from "../lib/query/destinations/destination_samples.ts";
import {
  type LikelyDestination,
  type LikelyDestinations,
  listed,
  prefixLengthOf,
} from "../lib/query/destinations/destinations.ts";
import { PingModel } from "../lib/query/ping_model.ts";
import { formatPrefix } from "../lib/addresses/ip_prefix.ts";
import { JsonLinesOutput } from "./json_lines_output.ts";
import { addressOf, contextOf, logContext, queryFlags, readBy, timeFlag, timeOf } from "./query_options.ts";

const FLAGS = {
  ...queryFlags,
  src: flag.requiredText("source address; the destinations are of its IP version", {
    placeholder: "ADDRESS",
  }),
  rtt: flag.requiredText("RTT in ms, to the 0.05 % of an RTT code; or the least and the greatest", {
    placeholder: "MS[..MS]",
  }),
  time: timeFlag,
  top: flag.integer("how many destinations", { default: 20, min: 1, max: 100_000 }),
  prefixLength: flag.optionalInteger("ask for prefixes of this many bits (default: whole addresses)", {
    min: 0,
    max: 128,
  }),
  samples: flag.optionalInteger("draw this many instead of searching; with --seed; 0.7 kB for each", {
    min: 1,
    max: 2 ** 20,
  }),
  candidates: flag.optionalInteger(
    "rank this many likely destinations of the source by how probable they make the RTT, instead of searching",
    { min: 1, max: 1024 },
  ),
  maxCodes: flag.integer("RTT codes that a range is stood for by, at most; all of them up to that many", {
    default: 32,
    min: 1,
    max: 1024,
  }),
  maxExpansions: flag.integer(
    "prefixes to look into before giving up the proof; 2 kB for each and RTT code, no more than 2 GB hold",
    { default: 4096, min: 1, max: 2 ** 22 },
  ),
  output: flag.optionalText(
    "where the destinations go as JSON lines (default: standard output, as a table)",
    { placeholder: "FILE" },
  ),
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
    using model = await PingModel.load(options.checkpoint);
    const numUsed = destinationContextThatFits(query, model.config.sequenceLength).length;
    logContext(stage, numUsed, context);
    const { samples, candidates } = options;
    const answer = candidates !== undefined
      ? await rank(model, query, { asked: { ...options, candidates }, stage })
      : samples !== undefined
      ? await draw(model, query, { asked: { ...options, samples }, stage })
      : await search(model, query, { asked: options, stage });
    if (options.output !== undefined) writeLines(options.output, answer.destinations, readBy(options));
    const { text, destinations, ...numbers } = answer;
    return {
      text,
      json: {
        stage: "query destinations",
        ...{ src: options.src, rttMs, timeS, contextMeasurements: numUsed, prefixLength },
        ...{ destinations: destinations.map(jsonOf), ...numbers },
        ...{ output: options.output, step: model.step },
      },
    };
  },
});

/** What the two ways to answer have in common, and what each adds for `--json`. */
interface Answer {
  text: string;
  destinations: readonly LikelyDestination[];
  unlistedProbability: number;
  [more: string]: unknown;
}

interface Surroundings {
  asked: Asked;
  stage: StageContext;
}

async function search(
  model: PingModel,
  query: DestinationQuery,
  { asked, stage }: Surroundings,
): Promise<Answer> {
  using progress = stage.progress("searching", { unit: "prefixes" });
  const { top, prefixLength, maxCodes, maxExpansions } = asked;
  const answer = await model.destinations(query, {
    ...{ top, prefixLength, maxCodes, maxExpansions },
    signal: stage.signal,
    onProgress: (numExpanded) => progress.update(numExpanded),
  });
  progress.finish();
  return { text: [tableOf(answer), ...proofOf(answer)].join("\n"), ...answer };
}

async function draw(
  model: PingModel,
  query: DestinationQuery,
  { asked, stage }: { asked: Asked & { samples: number }; stage: StageContext },
): Promise<Answer> {
  const { top, prefixLength, seed, samples: count } = asked;
  using progress = stage.progress("drawing", { total: count, unit: "destinations" });
  const answer = await sampleDestinations(model, query, {
    ...{ top, prefixLength, seed, count },
    signal: stage.signal,
    onProgress: (numDrawn) => progress.update(numDrawn),
  });
  progress.finish();
  const { numDistinct, unlistedProbability } = answer;
  const lines = [
    tableOf(answer),
    `${percent(unlistedProbability)} of ${count} draws fell elsewhere; ${numDistinct} different were drawn`,
  ];
  return { text: lines.join("\n"), ...answer, samples: count };
}

async function rank(
  model: PingModel,
  query: DestinationQuery,
  { asked, stage }: { asked: Asked & { candidates: number }; stage: StageContext },
): Promise<Answer> {
  const { top, candidates: numCandidates } = asked;
  const [{ destinations: ranked, priorMass }] = await rankDestinations(model, [query], {
    numCandidates,
    maxExpansions: asked.maxExpansions,
    signal: stage.signal,
  });
  const destinations = ranked.slice(0, top).map(({ address: bytes, probability }) => ({
    prefix: { bytes, length: 8 * bytes.length },
    probability,
    standardError: 0,
  }));
  const answer = listed(destinations);
  const text = [
    tableOf(answer),
    `probabilities among the ${ranked.length} likeliest destinations of the source, which were ${
      percent(priorMass)
    } probable before the RTT was known`,
  ].join("\n");
  return { text, ...answer, candidates: ranked.length, priorMass };
}

/** @throws {UsageError} If options of different ways to answer are given together. */
function requireOneWay({ candidates, samples, prefixLength }: Asked): void {
  if (candidates === undefined) return;
  const other = samples !== undefined
    ? "--samples"
    : prefixLength !== undefined
    ? "--prefix-length"
    : undefined;
  if (!other) return;
  throw new UsageError(
    `Cannot use --candidates with ${other}: candidates are ranked whole, one of the two was wanted`,
  );
}

function tableOf({ destinations }: Pick<Answer, "destinations">): string {
  const hasErrors = destinations.some(({ standardError }) => standardError > 0);
  const head = ["destination", "probability", ...(hasErrors ? ["standard error"] : [])];
  const rows = destinations.map(({ prefix, probability, standardError }) => [
    formatPrefix(prefix),
    percent(probability),
    ...(hasErrors ? [percent(standardError)] : []),
  ]);
  return formatTable([head, ...rows], { left: [0] });
}

/** What the search knows of what it does not list. */
function proofOf(answer: LikelyDestinations): string[] {
  const { unlistedProbability, unlistedAtMost, isProven, numExpanded, codes } = answer;
  const bound = isProven
    ? `none of it more probable than those above`
    : `some of it perhaps up to ${
      percent(unlistedAtMost)
    }: ended after ${numExpanded} prefixes, raise --max-expansions or lower --max-codes`;
  return [
    `${percent(unlistedProbability)} on all others, ${bound}`,
    ...(codes.used < codes.inRange
      ? [`${codes.used} of the range's ${codes.inRange} RTT codes stand for all`]
      : []),
  ];
}

function jsonOf({ prefix, probability, standardError }: LikelyDestination) {
  return { prefix: formatPrefix(prefix), probability, standardError };
}

function writeLines(
  path: string,
  destinations: readonly LikelyDestination[],
  inputs: readonly string[],
): void {
  using lines = new JsonLinesOutput(path, { stage: "query destinations", inputs });
  for (const destination of destinations) lines.write(jsonOf(destination));
  lines.commit();
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
    }: an RTT in ms of 0 or more, or two as in 20..25, the lesser first, were wanted`,
  );
}
