/** `rtt`: the distribution of the RTT between two addresses, prefixes or places. @module */
import * as z from "zod";
import { getOrMake } from "../../base/collections.ts";
import { drawHistogram, formatMs, percentText } from "../../base/text.ts";
import { isAddress, withName } from "../../data/addresses/ip_prefix.ts";
import { basisJson, basisSchema } from "../../data/addresses/known_addresses.ts";
import { rttsText } from "../../data/addresses/measured_text.ts";
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../data/tokens/rtt_code.ts";
import type { PingModel } from "../ping_model.ts";
import type { AnsweredQuery } from "../rtt/answer_queries.ts";
import {
  type MeasuredJson,
  measuredJson,
  measuredSchema,
  quantilesMs,
  USUAL_QUANTILES,
} from "../rtt/measured_history.ts";
import type { PrefixAnswer } from "../rtt/prefix_query.ts";
import type { RttDistribution } from "../rtt/rtt_distribution.ts";
import { type ParsedQuestion, parseQuestion } from "../rtt/rtt_question.ts";
import {
  answeredTime,
  type Asking,
  context,
  draws,
  dst,
  endNames,
  fields,
  notes,
  probe,
  question,
  seed,
  SERVED_DRAWS,
  src,
  step,
  time,
} from "./question.ts";

/** Significant digits of a mean. Further digits depend on what the GPU computes together. */
const MEAN_DIGITS = 4;
/** Quantiles that span the points of the distribution function. */
const CDF_ENDS = [0.001, 0.999] as const;
const LABEL_WIDTH = 12;

const wantedShape = {
  quantiles: z.array(z.number().min(0).max(1)).max(200).optional()
    .describe("quantiles to report, 0 to 1 (0.05,0.25,0.5,0.75,0.95)").meta({ examples: [[0.1, 0.9]] }),
  at: z.array(z.number().min(0)).max(200).optional()
    .describe("RTTs in ms: report P(RTT <= each) and the probability of each").meta({
      examples: [[50, 100]],
    }),
  cdf: z.int().min(2).max(1000).optional().describe("number of points of the distribution function to report")
    .meta({ examples: [50] }),
  histogram: z.int().min(1).max(1000).optional().describe("number of histogram bars to report")
    .meta({ examples: [16] }),
  measured: z.boolean().optional().describe(
    "report the measurements of two addresses that the model remembers: totals, by time and by hour of the day",
  ).meta({ examples: [true] }),
};
const wantedSchema = z.object(wantedShape);
/** The parts of a distribution to report. */
type RttWanted = z.infer<typeof wantedSchema>;

const asked = fields({ src, dst, time, context, probe, ...wantedShape, draws: draws(2 ** 17), seed });

const answer = z.object({
  src: z.string(),
  dst: z.string(),
  ...endNames,
  time: answeredTime,
  context_measurements: z.int().describe("number of context measurements used"),
  p_failed: z.number().describe("P(no reply)"),
  median_ms: z.number().describe("median of the replies"),
  mean_ms: z.number().describe(
    "mean of the replies up to 60 s, the longest that ping tools wait, to four digits",
  ),
  likeliest: z.object({ rtt_ms: z.number(), probability: z.number() })
    .describe("the RTT with the most replies near it, and P(within 1 % around it)"),
  quantiles_ms: quantilesMs.describe("RTT by quantile"),
  floor_ms: z.number().nullable().describe(
    "the round-trip time of light in fibre between the places, a lower bound on RTTs; null if a place is unknown or wrong",
  ),
  is_corrected: z.literal(true).optional()
    .describe("present if an evaluation's calibration corrected the quantiles"),
  canonical_mass: z.number().describe("the probability that the model gave to valid RTTs"),
  at: z.array(z.object({
    rtt_ms: z.number(),
    cdf: z.number().describe("P(RTT <= this), including its whole interval"),
    probability: z.number().describe("P(RTT in the interval)"),
    low_ms: z.number().describe("start of the interval of RTTs that the model does not distinguish"),
    high_ms: z.number().nullable().describe("end of the interval (exclusive); null if there is none"),
    bits: z.number().nullable().describe(
      "-log2 P(a reply with an RTT in the interval); null if the probability is 0",
    ),
  })).optional().describe("the requested RTTs"),
  cdf: z.array(z.object({ rtt_ms: z.number(), cdf: z.number() })).optional()
    .describe("P(RTT <= this) at RTTs evenly spaced in logarithms, from the 0.1 % to the 99.9 % quantile"),
  drawn: z.object({
    num_draws: z.int(),
    num_distinct: z.int(),
    source_probability: z.number().nullable().describe("P(source in its prefix); null for an address"),
    destination_probability: z.number().nullable()
      .describe("P(destination in its prefix | source); null for an address"),
    standard_errors: z.object({
      p_failed: z.number(),
      median_ms: z.number(),
      mean_ms: z.number(),
      quantiles_ms: quantilesMs,
      cdf: z.array(z.number()).optional(),
      destination_probability: z.number(),
    }),
  }).optional().describe("for prefixes: what was drawn from them, and the sampling error of the numbers"),
  histogram: z.array(z.object({
    low_ms: z.number().describe("left edge, inclusive"),
    high_ms: z.number().describe("right edge, exclusive"),
    probability: z.number(),
  })).optional().describe("the replies, in bars evenly spaced in logarithms"),
  measured: measuredSchema.optional().describe(
    "the measurements of the pair that the model remembers, if asked for; absent if there are none",
  ),
  basis: basisSchema.describe(
    "what the answer is based on: how often the addresses and the pair were measured",
  ),
  notes,
  step,
});
type RttAnswer = z.infer<typeof answer>;

export const rtt = question({
  name: "rtt",
  summary: "the distribution of the RTT between two addresses, prefixes or places",
  question: asked,
  served: { draws: draws(SERVED_DRAWS) },
  answer,
  ask: (asking, question) => askRtt(asking, question),
  text(answer) {
    const { p_failed, median_ms, mean_ms, likeliest, quantiles_ms, floor_ms, at = [], basis } = answer;
    const { drawn, histogram } = answer;
    const errors = drawn?.standard_errors;
    const line = (label: string, value: string) => `  ${label.padEnd(LABEL_WIDTH)}${value}`;
    const ms = (value: number, error?: number) =>
      `${formatMs(value)}${error === undefined ? "" : ` ± ${formatMs(error)}`}`;
    const quantiles = Object.entries(quantiles_ms).filter(([q]) => q !== "0.5");
    const bars = histogram?.map(({ low_ms: lowMs, high_ms: highMs, probability }) => ({
      lowMs,
      highMs,
      probability,
    }));
    return [
      `RTT ${withName(answer.src, answer.src_name)} -> ${withName(answer.dst, answer.dst_name)}` +
      (answer.is_corrected ? ", corrected" : ""),
      line("median", ms(median_ms, errors?.median_ms)),
      ...basis.moment ? [line("time", basis.moment.text)] : [],
      line("rests on", basis.text),
      ...basis.rtts ? [line("measured", rttsText(basis.rtts))] : [],
      line("no reply", percentText(p_failed, errors?.p_failed)),
      line(
        "likeliest",
        `${formatMs(likeliest.rtt_ms)}, ` +
          `${percentText(likeliest.probability)} of the replies in 1 % around it`,
      ),
      ...quantiles.map(([q, rttMs]) =>
        line(`${+(Number(q) * 100).toFixed(4)} %`, ms(rttMs, errors?.quantiles_ms[q]))
      ),
      line("mean", ms(mean_ms, errors?.mean_ms)),
      ...floor_ms === null ? [] : [line("light needs", ms(floor_ms))],
      ...at.flatMap((each, i) => likelihoodLines(each, errors?.cdf?.[i])),
      ...drawn ? drawnLines(drawn) : [],
      ...bars ? ["", ...drawHistogram(bars, 40)] : [],
      ...answer.measured ? measuredLines(answer.measured) : [],
    ].join("\n");
  },
});

/** Answers a question about an RTT. @param onMixture Receives the distribution; valid until this returns. */
export async function askRtt(
  asking: Asking,
  { src, dst, time, context, probe, draws: numDraws, seed, ...wanted }: z.output<typeof asked>,
  onMixture: (mixture: PrefixAnswer["mixture"]) => void = () => {},
): Promise<RttAnswer> {
  const { model } = asking;
  const query = parseQuestion({ src, dst, time, context, probe }, model.places);
  const { prepareQuery } = await import("../rtt/answer_queries.ts");
  const { DEFAULT_NUM_DRAWS, exactAnswer, rttBetweenPrefixes } = await import("../rtt/prefix_query.ts");
  const answerOf = await rttAnswers(model, wanted);
  const { first, ...prepared } = prepareQuery(model, { src, dst, ...query }, []);
  const { source, destination } = query;
  const made = (answer: PrefixAnswer) => {
    onMixture(answer.mixture);
    return answerOf({ ...prepared, numContextUsed: first.context.length, answer });
  };
  if (isAddress(source) && isAddress(destination)) {
    return await asking.exact(first, (distribution) => made(exactAnswer(distribution)));
  }
  const options = {
    ...(numDraws !== undefined && { numDraws }),
    ...(seed !== undefined && { seed }),
    onProgress: (done: number) => asking.onProgress(done),
  };
  const between = { ...query, context: first.context };
  return await asking.inTurn(
    numDraws ?? DEFAULT_NUM_DRAWS,
    async () => made(await rttBetweenPrefixes(model, between, options)),
  );
}

export async function rttAnswers(
  model: PingModel,
  wanted: RttWanted,
): Promise<(answered: AnsweredQuery<ParsedQuestion & { src: string; dst: string }>) => RttAnswer> {
  const { notesOn } = await import("../rtt/answer_queries.ts");
  const { rowNotes } = await import("../adapt/free_rows.ts");
  const notesOnRows = getOrMake(notesOfModels, model, () => rowNotes(model));
  return (answered) => {
    const { query: { src, dst, source, destination, timeS }, numContextUsed } = answered;
    const addresses = [source, destination].filter(isAddress).map(({ bytes }) => bytes);
    const notes = [...notesOn(answered), ...notesOnRows(addresses)];
    if (answered.answer.mixture.distribution.pFailed >= UNLIKELY_REPLY) {
      notes.push("a reply is unlikely: the RTTs are those of a reply, if one comes");
    }
    const summary = summaryOf(answered.answer, wanted);
    const measured = wanted.measured ? model.measured(answered.query) : undefined;
    return {
      src,
      dst,
      ...model.names.namedEnds({ src, dst }),
      time: timeS,
      context_measurements: numContextUsed,
      ...summary,
      ...(measured &&
        {
          measured: measuredJson(measured, {
            quantiles: wanted.quantiles,
            edgesMs: edgesOf(summary.histogram),
          }),
        }),
      ...(model.calibration && { is_corrected: true }),
      basis: basisJson(model.basisOf(answered.query)),
      ...(notes.length > 0 && { notes }),
      step: model.step,
    };
  };
}

/** From this P(no reply) on, an answer says what its RTTs mean. */
const UNLIKELY_REPLY = 0.9;

const notesOfModels = new WeakMap<PingModel, (addresses: readonly Uint8Array[]) => string[]>();

/** Mean of the replies that ping tools report, ms, to {@link MEAN_DIGITS} digits. */
export function roundedMeanMs({ meanMs }: Pick<RttDistribution, "meanMs">): number {
  return Number(meanMs.toPrecision(MEAN_DIGITS));
}

export function summaryOf(answer: PrefixAnswer, wanted: RttWanted = {}) {
  const { quantiles = USUAL_QUANTILES, at = [], cdf, histogram } = wanted;
  const { distribution } = answer.mixture;
  const { pFailed, canonicalMass, floorMs } = distribution;
  const { rttMs: rtt_ms, probability } = distribution.likeliest();
  return {
    p_failed: pFailed,
    median_ms: distribution.quantileMs(0.5),
    mean_ms: roundedMeanMs(distribution),
    likeliest: { rtt_ms, probability },
    quantiles_ms: byQuantile(quantiles, (q) => distribution.quantileMs(q)),
    // Rounded down, so that it stays a lower bound.
    floor_ms: floorMs && Math.floor(1000 * floorMs) / 1000,
    canonical_mass: canonicalMass,
    ...(at.length > 0 && { at: at.map((rttMs) => likelihoodOf(distribution, rttMs)) }),
    ...(answer.mixture.numDraws > 0 && { drawn: drawnSummary(answer, quantiles, at) }),
    ...(cdf !== undefined && { cdf: cdfPoints(distribution, cdf) }),
    ...(histogram !== undefined && {
      histogram: distribution.histogram(histogram).map(({ lowMs: low_ms, highMs: high_ms, probability }) => (
        { low_ms, high_ms, probability }
      )),
    }),
  };
}

function edgesOf(bars: RttAnswer["histogram"]): number[] | undefined {
  return bars && [bars[0].low_ms, ...bars.map(({ high_ms }) => high_ms)];
}

/** P(RTT <= rtt_ms | reply) at RTTs evenly spaced on a logarithmic axis. */
function cdfPoints(distribution: RttDistribution, numPoints: number): { rtt_ms: number; cdf: number }[] {
  const [low, high] = CDF_ENDS.map((q) => distribution.quantileMs(q));
  return Array.from({ length: numPoints }, (_, i) => {
    const rtt_ms = low * (high / low) ** (i / (numPoints - 1));
    return { rtt_ms, cdf: distribution.cdf(rtt_ms) };
  });
}

function likelihoodOf(distribution: RttDistribution, rttMs: number) {
  const index = distribution.indexOf(rttMs);
  const { lowMs, highMs } = rttCodeBounds(CANONICAL_RTT_CODES[index]);
  const probability = distribution.probabilities[index];
  const joint = (1 - distribution.pFailed) * probability;
  return {
    rtt_ms: rttMs,
    cdf: distribution.cdf(rttMs),
    probability,
    low_ms: lowMs,
    high_ms: highMs === Infinity ? null : highMs,
    bits: joint > 0 ? -Math.log2(joint) : null,
  };
}

function drawnSummary(answer: PrefixAnswer, quantiles: readonly number[], at: readonly number[]) {
  const { mixture, sourceProbability, destinationProbability, destinationProbabilityError } = answer;
  const { numDraws, numDistinct, pFailedError, meanErrorMs } = mixture;
  return {
    num_draws: numDraws,
    num_distinct: numDistinct,
    source_probability: sourceProbability,
    destination_probability: destinationProbability,
    standard_errors: {
      p_failed: pFailedError,
      median_ms: mixture.quantileErrorMs(0.5),
      mean_ms: meanErrorMs,
      quantiles_ms: byQuantile(quantiles, (q) => mixture.quantileErrorMs(q)),
      ...(at.length > 0 && { cdf: at.map((rttMs) => mixture.cdfError(rttMs)) }),
      destination_probability: destinationProbabilityError,
    },
  };
}

function byQuantile(quantiles: readonly number[], value: (q: number) => number): Record<string, number> {
  return Object.fromEntries(quantiles.map((q) => [q, value(q)]));
}

function likelihoodLines(
  { rtt_ms, cdf, probability, bits, low_ms, high_ms }: NonNullable<RttAnswer["at"]>[number],
  error: number | undefined,
): string[] {
  const bounds = high_ms === null
    ? `${formatMs(low_ms)} or more`
    : `${+low_ms.toFixed(3)}-${+high_ms.toFixed(3)} ms`;
  return [
    `  P(RTT <= ${rtt_ms} ms) ${percentText(cdf, error)}`,
    `    in ${bounds}: ${percentText(probability)}, ${bits === null ? "no mass" : `${bits.toFixed(2)} bits`}`,
  ];
}

function measuredLines({ from, to, by_hour = [], ...all }: MeasuredJson): string[] {
  const line = (
    label: string,
    { measurements, without_reply, quantiles_ms }: typeof all | typeof by_hour[0],
  ) => {
    const rtts = Object.entries(quantiles_ms ?? {}).map(([q, rttMs]) =>
      `${+(Number(q) * 100).toFixed(4)} % ${formatMs(rttMs)}`
    );
    return `  ${label}: ${
      [`${measurements} measurements, ${without_reply} without reply`, ...rtts].join(", ")
    }`;
  };
  return [
    "",
    line(`${from} to ${to}`, all),
    ...by_hour.map((each) => line(`${String(each.hour).padStart(2, "0")}:00 UTC`, each)),
  ];
}

function drawnLines(
  { num_draws, num_distinct, source_probability, destination_probability, standard_errors }: NonNullable<
    RttAnswer["drawn"]
  >,
): string[] {
  const lines = [`  of ${num_draws} draws from the model, ${num_distinct} different; ± is a standard error`];
  if (source_probability !== null) lines.push(`  P(source in its prefix) ${percentText(source_probability)}`);
  if (destination_probability !== null) {
    const error = standard_errors.destination_probability || undefined;
    lines.push(`  P(destination in its prefix) ${percentText(destination_probability, error)}`);
  }
  return lines;
}
