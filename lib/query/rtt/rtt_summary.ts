/**
 * What is reported of an answer: the numbers for programs.
 *
 * @module
 */
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../data/tokens/rtt_code.ts";
import type { PrefixAnswer } from "./prefix_query.ts";
import type { LikeliestRtt, RttDistribution } from "./rtt_distribution.ts";

/**
 * Significant digits of a mean. Codes tell RTTs apart to 0.05 %, and the last digits of the GPU's floats depend on what
 * is computed together.
 */
const MEAN_DIGITS = 4;

/** What a summary is to hold. */
export interface SummaryOptions {
  /** Quantiles, 0 to 1. */
  readonly quantiles: readonly number[];
  /** RTTs whose probability is wanted, ms (none). */
  readonly atMs?: readonly number[];
}

/** How likely one RTT is. */
export interface RttLikelihood {
  /** The RTT, ms. */
  readonly rttMs: number;
  /** P(RTT <= rttMs | a reply came), the RTT's whole bucket counted. */
  readonly cdf: number;
  /** P(the RTT lies in its bucket | a reply came). */
  readonly probability: number;
  /** The bucket, ms: from `lowMs` to below `highMs`; Infinity for the last. */
  readonly lowMs: number;
  /** See `lowMs`; null where the bucket has no end. */
  readonly highMs: number | null;
  /** -log2 P(a reply comes and its RTT lies in the bucket); null where that has no mass. */
  readonly bits: number | null;
}

/** The numbers of an answer, as JSON has them. */
export interface RttSummary {
  /** Probability that no reply comes. */
  readonly pFailed: number;
  /** Mean of the replies that a ping tool can report, ms, to four digits; see `RttDistribution.meanMs`. */
  readonly meanMs: number;
  /** The RTT that more replies are near than any other; see `RttDistribution.likeliest`. */
  readonly likeliest: LikeliestRtt;
  /** Quantile -> ms. */
  readonly quantilesMs: Readonly<Record<string, number>>;
  /** The mass that the model gave to what is an RTT. */
  readonly canonicalMass: number;
  /** The RTTs asked for; absent if none were. */
  readonly at?: readonly RttLikelihood[];
  /** Between prefixes; absent between two addresses, where all is exact. */
  readonly drawn?: DrawnSummary;
}

/** What is known of an answer because it was drawn. */
export interface DrawnSummary {
  /** How many draws. */
  readonly numDraws: number;
  /** How many of them are different. */
  readonly numDistinct: number;
  /** P(the source lies in its prefix); null where it is an address. */
  readonly sourceProbability: number | null;
  /** P(the destination lies in its prefix | the source); null where it is an address. */
  readonly destinationProbability: number | null;
  /** Standard errors of the numbers of the same names. */
  readonly standardErrors: {
    readonly pFailed: number;
    readonly meanMs: number;
    readonly quantilesMs: Readonly<Record<string, number>>;
    readonly cdf?: readonly number[];
    readonly destinationProbability: number;
  };
}

/** The numbers of an answer. */
export function summaryOf(answer: PrefixAnswer, options: SummaryOptions): RttSummary {
  const { quantiles, atMs = [] } = options;
  const { distribution } = answer.mixture;
  const { pFailed, meanMs, canonicalMass } = distribution;
  return {
    pFailed,
    meanMs: Number(meanMs.toPrecision(MEAN_DIGITS)),
    likeliest: distribution.likeliest(),
    quantilesMs: byQuantile(quantiles, (q) => distribution.quantileMs(q)),
    canonicalMass,
    ...(atMs.length > 0 && { at: atMs.map((rttMs) => likelihoodOf(distribution, rttMs)) }),
    ...(answer.mixture.numDraws > 0 && { drawn: drawnSummary(answer, { quantiles, atMs }) }),
  };
}

function likelihoodOf(distribution: RttDistribution, rttMs: number): RttLikelihood {
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

function drawnSummary(answer: PrefixAnswer, { quantiles, atMs = [] }: SummaryOptions): DrawnSummary {
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
      ...(atMs.length > 0 && { cdf: atMs.map((rttMs) => mixture.cdfError(rttMs)) }),
      destinationProbability: destinationProbabilityError,
    },
  };
}

function byQuantile(quantiles: readonly number[], value: (q: number) => number): Record<string, number> {
  return Object.fromEntries(quantiles.map((q) => [q, value(q)]));
}
