/** The model against the best of the baselines. @module */
import { differenceInterval, type Interval, type Replicates } from "./bootstrap.ts";
import { type ErrorMeasure, errorOf, type ScoredErrors } from "./forecast_errors.ts";

/** The measure of errors that each compared metric is. */
export const MEASURE_OF = {
  medianAbsoluteMs: "medianAbsoluteMs",
  likeliestAbsoluteMs: "medianAbsoluteMs",
  meanAbsoluteMs: "meanAbsoluteMs",
  nmae: "nmae",
  p50Relative: "p50Relative",
  p90Relative: "p90Relative",
  crpsMs: "crpsMs",
} as const satisfies Record<string, ErrorMeasure>;

/**
 * A metric in which methods are compared; smaller is better. `likeliestAbsoluteMs` is the median absolute error of the
 * RTT that the model finds likeliest, beside that of the baselines; the others are of the model's median and its whole
 * distribution.
 */
export type ComparedMetric = keyof typeof MEASURE_OF;

/** The result of a comparison: `none` where the difference may be chance. */
export type Verdict = "better" | "worse" | "none";

/** The result where larger numbers are better. */
export const REVERSED = { better: "worse", worse: "better", none: "none" } as const;

/** The model against the best baseline in one metric. */
export interface RttComparison {
  metric: ComparedMetric;
  /** Measurements of context that the model had; null for all measurements together. */
  numContext: number | null;
  model: number;
  bestBaseline: string;
  baseline: number;
  /** `model` divided by `baseline`: below 1 the model is better. Null where the baseline makes no error. */
  ratio: number | null;
  /** The 95 % interval of `model` minus `baseline`, both of the same resamples; null where there were too few. */
  differenceInterval: Interval | null;
  verdict: Verdict;
}

/**
 * Compares the model with the baselines in each group of measurements and each metric. A metric without a value is left
 * out. The best baseline is chosen by the same measurements, which favours it a little.
 *
 * @param numContexts The number of context measurements of each group; null for all measurements together.
 * @param forecasts The model's errors in each group: those of its medians, and those of its likeliest RTTs.
 */
export function rttComparisons(
  numContexts: readonly (number | null)[],
  forecasts: { model: readonly ScoredErrors[]; likeliest: readonly ScoredErrors[] },
  baselines: ReadonlyMap<string, readonly ScoredErrors[]>,
): RttComparison[] {
  return numContexts.flatMap((numContext, group) =>
    (Object.keys(MEASURE_OF) as ComparedMetric[]).flatMap((metric) => {
      const measure = MEASURE_OF[metric];
      const valueOf = ({ metrics, replicates }: ScoredErrors) => ({
        value: errorOf(measure, metrics),
        replicates: replicates[measure],
      });
      const model = valueOf(forecasts[metric === "likeliestAbsoluteMs" ? "likeliest" : "model"][group]);
      const best = bestOf([...baselines].map(([name, errors]) => ({ name, ...valueOf(errors[group]) })));
      if (model.value === null || !best) return [];
      const interval = differenceInterval(model.replicates, best.replicates);
      return [{
        metric,
        numContext,
        model: model.value,
        bestBaseline: best.name,
        baseline: best.value,
        ratio: best.value === 0 ? null : model.value / best.value,
        differenceInterval: interval,
        verdict: verdictOf(interval),
      }];
    })
  );
}

/** The result by the interval of one error minus another. */
export function verdictOf(interval: Interval | null): Verdict {
  if (interval === null || (interval[0] <= 0 && interval[1] >= 0)) return "none";
  return interval[1] < 0 ? "better" : "worse";
}

/** The most cases that are advised. */
const MOST_CASES = 1e7;
/** Standard errors between a true difference and 0 for the 95 % interval to exclude 0, in half and in 80 % of samples. */
const [EVEN_POWER_ERRORS, USUAL_POWER_ERRORS] = [1.96, 1.96 + 0.8416];

/**
 * About how many cases would show a difference that these do not, if its true size is the present one: with 80 % power,
 * so that four of five samples of that size have an interval without 0 (normal approximation; J. Cohen, Statistical Power
 * Analysis for the Behavioral Sciences, 1988). The interval shrinks with the square root of the cases, where the new
 * ones are of as many more clusters. Rounded up to two digits; null where the difference is shown already, is 0, or
 * would take over 10 million.
 *
 * @param comparison `model` minus `baseline` and the 95 % interval of that difference, in one unit.
 * @param numCases The cases that the interval is of.
 */
export function casesToShow(
  { model, baseline, differenceInterval }: Pick<RttComparison, "model" | "baseline" | "differenceInterval">,
  numCases: number,
): number | null {
  if (verdictOf(differenceInterval) !== "none" || differenceInterval === null) return null;
  const difference = model - baseline;
  // The half of the interval towards 0: 1.96 standard errors of the paired difference.
  const reach = difference > 0 ? difference - differenceInterval[0] : differenceInterval[1] - difference;
  const power = USUAL_POWER_ERRORS / EVEN_POWER_ERRORS;
  const cases = numCases * (power * reach / Math.abs(difference)) ** 2;
  if (!(cases <= MOST_CASES)) return null;
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(cases)) - 1);
  return Math.ceil(cases / unit) * unit;
}

interface Rival {
  name: string;
  value: number | null;
  replicates: Replicates;
}

function bestOf(rivals: readonly Rival[]): (Rival & { value: number }) | undefined {
  return rivals.filter((rival): rival is Rival & { value: number } => rival.value !== null)
    .sort((a, b) => a.value - b.value).at(0);
}
