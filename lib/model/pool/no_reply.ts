/**
 * P(no reply) of a pool: a mixture of the network's probability and the share of training measurements
 * without a reply, for the pair, the source and the destination. The weight of the share is fitted per kind
 * of question, like the weights of RTTs.
 *
 * The share of an endpoint is shrunk towards the share of all measurements. The share of a pair is shrunk
 * towards what its endpoints suggest, whose log-odds add up as if they were independent. Both are
 * beta-binomial shares (Gelman et al., "Bayesian Data Analysis", 3rd ed. 2013, section 2.4).
 *
 * @module
 */

/** A number of measurements, and how many of them had no reply. */
export interface Tried {
  readonly measurements: number;
  readonly failures: number;
}

export interface KnownTries {
  /** Between both endpoints, in both directions. */
  readonly ofPair: Tried;
  /** Whether the network's context has measurements between them. */
  readonly isInContext: boolean;
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

/** P(no reply) from the counts alone. */
export function failureShare({ ofPair, ofSource, ofDestination, ofAll }: KnownTries): number {
  const usual = (ofAll.failures + 1) / (ofAll.measurements + 2);
  const [source, destination] = [ofSource, ofDestination].map((end) => shrunk(end, usual, END_WORTH));
  const logOdds = logit(source) + logit(destination) - logit(usual);
  const share = shrunk(ofPair, 1 / (1 + Math.exp(-logOdds)), PAIR_WORTH);
  return Math.min(1 - LEAST_SHARE, Math.max(LEAST_SHARE, share));
}

/**
 * P(no reply) by the network. Without measurements of the pair in its context the network knows none, so the
 * pair's share is shrunk towards its probability.
 */
export function failureByNetwork(ofModel: number, { ofPair, isInContext }: KnownTries): number {
  return isInContext ? ofModel : shrunk(ofPair, ofModel, PAIR_WORTH);
}

function shrunk({ measurements, failures }: Tried, towards: number, worth: number): number {
  return (failures + worth * towards) / (measurements + worth);
}

function logit(p: number): number {
  return Math.log(p / (1 - p));
}

export const NUM_FAILURE_KINDS = 5;

/** The kind: 4 if the pair was measured, else 2 if the source was, plus 1 if the destination was. */
export function failureKind({ ofPair, ofSource, ofDestination }: KnownTries): number {
  if (ofPair.measurements > 0) return 4;
  return (ofSource.measurements > 0 ? 2 : 0) + (ofDestination.measurements > 0 ? 1 : 0);
}

export interface FailureCase {
  readonly kind: number;
  /** P(no reply) by {@link failureByNetwork}, and by {@link failureShare}. */
  readonly ofModel: number;
  readonly share: number;
  readonly isFailed: boolean;
  readonly weight: number;
}

/** The weight of the share before any measurement, and how many measurements this prior counts as. */
const FIRST_WEIGHT = 0.2;
const PRIOR_CASES = 12;
const NUM_ITERATIONS = 200;

/** Fits the share's weight in each kind by expectation maximisation. The prior is the fit of all kinds. */
export function fitFailures(cases: readonly FailureCase[]): Float64Array {
  const fit = (chosen: readonly FailureCase[], prior: number) => {
    let fitted = prior;
    for (let iteration = 0; iteration < NUM_ITERATIONS; iteration++) {
      let counted = PRIOR_CASES * prior;
      let total = PRIOR_CASES;
      for (const { ofModel, share, isFailed, weight } of chosen) {
        const [p, q] = isFailed ? [share, ofModel] : [1 - share, 1 - ofModel];
        counted += weight * fitted * p / (fitted * p + (1 - fitted) * q);
        total += weight;
      }
      fitted = counted / total;
    }
    return fitted;
  };
  const ofAll = fit(cases, FIRST_WEIGHT);
  return Float64Array.from(
    { length: NUM_FAILURE_KINDS },
    (_, kind) => fit(cases.filter((each) => each.kind === kind), ofAll),
  );
}
