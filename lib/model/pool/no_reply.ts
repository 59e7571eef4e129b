/**
 * P(no reply) of a pool: what the endpoints suggest, updated by the measurements of the pair. For a pair that
 * was not measured, it is mixed with the network's probability, with a weight per kind of question.
 *
 * The share of an endpoint is shrunk towards the share of all measurements; the log-odds of both endpoints
 * add up as if they were independent. Shares are beta-binomial (Gelman et al., "Bayesian Data Analysis", 3rd
 * ed. 2013, section 2.4).
 *
 * @module
 */
import type { PairLosses } from "./asked_pair.ts";
import { stack } from "./stacking.ts";

/** A number of measurements, and how many of them had no reply. */
export interface Tried {
  readonly measurements: number;
  readonly failures: number;
}

export interface KnownTries {
  /** From the source, and to the destination. */
  readonly ofSource: Tried;
  readonly ofDestination: Tried;
  readonly ofAll: Tried;
}

/** How many measurements the priors of an endpoint's and of a pair's share count as. */
const END_WORTH = 2;
const PAIR_WORTH = 4;

/** Lower bound of the shares of replies and of failures: no outcome is impossible. */
const LEAST_SHARE = 1e-6;

/** P(no reply) as the endpoints suggest. */
export function failureOfEnds({ ofSource, ofDestination, ofAll }: KnownTries): number {
  const usual = (ofAll.failures + 1) / (ofAll.measurements + 2);
  const [source, destination] = [ofSource, ofDestination].map((end) => shrunk(end, usual, END_WORTH));
  return possible(1 / (1 + Math.exp(logit(usual) - logit(source) - logit(destination))));
}

/**
 * P(no reply) of a pair that was measured: all its measurements shrunk towards what its endpoints suggest, and
 * those that count at the asked time shrunk towards all.
 */
export function failureOfPair(ofEnds: number, { share: now, worth, ...all }: PairLosses): number {
  const share = shrunk(all, ofEnds, PAIR_WORTH);
  return possible(worth === Infinity ? share : (worth * now + PAIR_WORTH * share) / (worth + PAIR_WORTH));
}

function possible(share: number): number {
  return Math.min(1 - LEAST_SHARE, Math.max(LEAST_SHARE, share));
}

function shrunk({ measurements, failures }: Tried, towards: number, worth: number): number {
  return (failures + worth * towards) / (measurements + worth);
}

function logit(p: number): number {
  return Math.log(p / (1 - p));
}

export const NUM_FAILURE_KINDS = 4;

/** The kind of a pair that was not measured: 2 if the source was, plus 1 if the destination was. */
export function failureKind({ ofSource, ofDestination }: KnownTries): number {
  return (ofSource.measurements > 0 ? 2 : 0) + (ofDestination.measurements > 0 ? 1 : 0);
}

export interface FailureCase {
  readonly kind: number;
  /** P(no reply) by the network, and by {@link failureOfEnds}. */
  readonly ofModel: number;
  readonly ofEnds: number;
  readonly isFailed: boolean;
  readonly weight: number;
}

/** The weight of the endpoints before any measurement, and how many measurements this prior counts as. */
const FIRST_WEIGHT = 0.2;
const PRIOR_CASES = 12;
const NUM_ITERATIONS = 200;

/** Fits the endpoints' weight in each kind. The prior is the fit of all kinds. */
export function fitFailures(cases: readonly FailureCase[]): Float64Array {
  const fit = (chosen: readonly FailureCase[], prior: number) => {
    const of = ({ ofEnds, ofModel, isFailed }: FailureCase) =>
      [ofEnds, ofModel].map((chance) => isFailed ? chance : 1 - chance);
    const [weight] = stack(
      {
        masses: Float64Array.from(chosen.flatMap(of)),
        counts: Float64Array.from(chosen, ({ weight }) => weight),
      },
      Float64Array.of(prior, 1 - prior),
      { worth: PRIOR_CASES, numIterations: NUM_ITERATIONS },
    );
    return weight;
  };
  const ofAll = fit(cases, FIRST_WEIGHT);
  return Float64Array.from(
    { length: NUM_FAILURE_KINDS },
    (_, kind) => fit(cases.filter((each) => each.kind === kind), ofAll),
  );
}
