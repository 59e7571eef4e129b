/**
 * The numbers of an answer, for programs.
 *
 * @module
 */
import * as z from "zod";
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../data/tokens/rtt_code.ts";
import type { PrefixAnswer } from "./prefix_query.ts";
import type { RttDistribution } from "./rtt_distribution.ts";

/**
 * Significant digits of a mean. Codes tell RTTs apart to 0.05 %, and the last digits of the GPU's floats depend on what
 * is computed together.
 */
const MEAN_DIGITS = 4;

/** The quantiles of an answer, unless others are wanted. */
const DEFAULT_QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95];

/** The parts of a distribution that a question can ask for, as questions over HTTP name them. */
export const rttWantedSchema = z.object({
  quantiles: z.array(z.number().min(0).max(1)).max(200).optional()
    .describe("quantiles from 0 to 1 (0.05,0.25,0.5,0.75,0.95)").meta({ examples: [[0.1, 0.9]] }),
  at: z.array(z.number().min(0)).max(200).optional()
    .describe("RTTs in ms: the probability of each and of at most each").meta({ examples: [[50, 100]] }),
  cdf: z.int().min(2).max(1000).optional().describe("points of the distribution function")
    .meta({ examples: [50] }),
});
/** See {@link rttWantedSchema}. */
export type RttWanted = z.infer<typeof rttWantedSchema>;

const quantilesMs = z.record(z.string(), z.number());

/** The numbers of an answer, as JSON has them. */
export const rttSummarySchema = z.object({
  pFailed: z.number().describe("P(no reply)"),
  meanMs: z.number().describe(
    "mean of the replies up to 60 s, the longest that ping tools wait, to four digits",
  ),
  likeliest: z.object({ rttMs: z.number(), probability: z.number() })
    .describe("the RTT that more replies are near than any other, and P(within the hundredth around it)"),
  quantilesMs: quantilesMs.describe("RTT by quantile"),
  canonicalMass: z.number().describe("the mass that the model gave to what is an RTT"),
  at: z.array(z.object({
    rttMs: z.number(),
    cdf: z.number().describe("P(RTT <= this), its whole interval counted"),
    probability: z.number().describe("P(RTT in the interval)"),
    lowMs: z.number().describe("begin of the interval of RTTs that the model does not tell apart"),
    highMs: z.number().nullable().describe("end of the interval, outside; null where it has none"),
    bits: z.number().nullable().describe(
      "-log2 P(a reply with an RTT in the interval); null where that is 0",
    ),
  })).optional().describe("the RTTs asked for"),
  cdf: z.array(z.object({ rttMs: z.number(), cdf: z.number() })).optional()
    .describe("P(RTT <= this) at RTTs evenly spaced in logarithms, from the 0.1 % to the 99.9 % quantile"),
  drawn: z.object({
    numDraws: z.int(),
    numDistinct: z.int(),
    sourceProbability: z.number().nullable().describe("P(source in its prefix); null of an address"),
    destinationProbability: z.number().nullable()
      .describe("P(destination in its prefix | source); null of an address"),
    standardErrors: z.object({
      pFailed: z.number(),
      meanMs: z.number(),
      quantilesMs,
      cdf: z.array(z.number()).optional(),
      destinationProbability: z.number(),
    }),
  }).optional().describe("between prefixes: what was drawn of them, and how far the numbers may be off"),
});
/** See {@link rttSummarySchema}. */
export type RttSummary = z.infer<typeof rttSummarySchema>;

/** The quantiles between which points of the distribution function lie. */
const CDF_ENDS = [0.001, 0.999] as const;

/**
 * The numbers of an answer.
 *
 * @param wanted Default: the quantiles of `query rtt`, nothing else.
 */
export function summaryOf(answer: PrefixAnswer, wanted: RttWanted = {}): RttSummary {
  const { quantiles = DEFAULT_QUANTILES, at = [], cdf } = wanted;
  const { distribution } = answer.mixture;
  const { pFailed, meanMs, canonicalMass } = distribution;
  return {
    pFailed,
    meanMs: Number(meanMs.toPrecision(MEAN_DIGITS)),
    likeliest: distribution.likeliest(),
    quantilesMs: byQuantile(quantiles, (q) => distribution.quantileMs(q)),
    canonicalMass,
    ...(at.length > 0 && { at: at.map((rttMs) => likelihoodOf(distribution, rttMs)) }),
    ...(answer.mixture.numDraws > 0 && { drawn: drawnSummary(answer, quantiles, at) }),
    ...(cdf !== undefined && { cdf: cdfPoints(distribution, cdf) }),
  };
}

/** P(RTT <= rttMs | a reply came) at RTTs evenly spaced on a logarithmic axis. */
function cdfPoints(distribution: RttDistribution, numPoints: number): { rttMs: number; cdf: number }[] {
  const [low, high] = CDF_ENDS.map((q) => distribution.quantileMs(q));
  return Array.from({ length: numPoints }, (_, i) => {
    const rttMs = low * (high / low) ** (i / (numPoints - 1));
    return { rttMs, cdf: distribution.cdf(rttMs) };
  });
}

function likelihoodOf(distribution: RttDistribution, rttMs: number) {
  const index = distribution.indexOf(rttMs);
  const { lowMs, highMs } = rttCodeBounds(CANONICAL_RTT_CODES[index]);
  const probability = distribution.probabilities[index];
  const joint = (1 - distribution.pFailed) * probability;
  return {
    rttMs,
    cdf: distribution.cdf(rttMs),
    probability,
    lowMs,
    highMs: highMs === Infinity ? null : highMs,
    bits: joint > 0 ? -Math.log2(joint) : null,
  };
}

function drawnSummary(answer: PrefixAnswer, quantiles: readonly number[], at: readonly number[]) {
  const { mixture, sourceProbability, destinationProbability, destinationProbabilityError } = answer;
  const { numDraws, numDistinct, pFailedError, meanErrorMs } = mixture;
  return {
    numDraws,
    numDistinct,
    sourceProbability,
    destinationProbability,
    standardErrors: {
      pFailed: pFailedError,
      meanMs: meanErrorMs,
      quantilesMs: byQuantile(quantiles, (q) => mixture.quantileErrorMs(q)),
      ...(at.length > 0 && { cdf: at.map((rttMs) => mixture.cdfError(rttMs)) }),
      destinationProbability: destinationProbabilityError,
    },
  };
}

function byQuantile(quantiles: readonly number[], value: (q: number) => number): Record<string, number> {
  return Object.fromEntries(quantiles.map((q) => [q, value(q)]));
}
