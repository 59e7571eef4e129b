/**
 * P(no reply) of a pool: the network's, and the share of the training measurements that had none, of the pair, the source
 * and the destination. How much the share counts is fitted by kind of question, as the weights of RTTs are.
 *
 * The share of the pair is shrunk towards what its ends let expect, whose log-odds add up as if they were independent of
 * each other, and that of an end towards that of all: beta-binomial shares (Gelman et al., "Bayesian Data Analysis", 3rd
 * ed. 2013, section 2.4).
 *
 * @module
 */

/** Measurements, and how many of them had no reply. */
export interface Tried {
  readonly measurements: number;
  readonly failures: number;
}

/** Counts of replies and losses that bear on a question. */
export interface KnownTries {
  /** Between both ends, in both directions. */
  readonly ofPair: Tried;
  /** From the source, and to the destination. */
  readonly ofSource: Tried;
  readonly ofDestination: Tried;
  readonly ofAll: Tried;
}

/** The worth of the share of all for an end, and of both ends' for their pair, in measurements. */
const END_WORTH = 2;
const PAIR_WORTH = 4;

/** The least share, of replies as of failures: no outcome is impossible. */
const LEAST_SHARE = 1e-6;

/** P(no reply) by what is known. */
export function failureShare({ ofPair, ofSource, ofDestination, ofAll }: KnownTries): number {
  const usual = (ofAll.failures + 1) / (ofAll.measurements + 2);
  const [source, destination] = [ofSource, ofDestination].map((end) => shrunk(end, usual, END_WORTH));
  const logOdds = logit(source) + logit(destination) - logit(usual);
  const share = shrunk(ofPair, 1 / (1 + Math.exp(-logOdds)), PAIR_WORTH);
  return Math.min(1 - LEAST_SHARE, Math.max(LEAST_SHARE, share));
}

function shrunk({ measurements, failures }: Tried, towards: number, worth: number): number {
  return (failures + worth * towards) / (measurements + worth);
}

function logit(p: number): number {
  return Math.log(p / (1 - p));
}

export const NUM_FAILURE_KINDS = 5;

/** The kind of a question: 4 if its pair was measured, else 2 if its source was, plus 1 if its destination was. */
export function failureKind({ ofPair, ofSource, ofDestination }: KnownTries): number {
  if (ofPair.measurements > 0) return 4;
  return (ofSource.measurements > 0 ? 2 : 0) + (ofDestination.measurements > 0 ? 1 : 0);
}

/** A measurement as the weights are fitted to it. */
export interface FailureCase {
  readonly kind: number;
  /** P(no reply) by the model, and by {@link failureShare}. */
  readonly ofModel: number;
  readonly share: number;
  readonly isFailed: boolean;
  readonly weight: number;
}

/** The weight of the share before any measurement, and what it is worth as a prior, measurements. */
const FIRST_WEIGHT = 0.2;
const PRIOR_CASES = 12;
const NUM_ITERATIONS = 200;

/** The weight of the share in each kind, by expectation maximisation; the prior of a kind is the fit of all together. */
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
