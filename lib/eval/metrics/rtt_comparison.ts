/**
 * Comparisons of the model with the best baseline.
 *
 * @module
 */
import { differenceInterval, type Interval, type Replicates } from "./bootstrap.ts";
import { type ErrorMeasure, errorOf, type ScoredErrors } from "./forecast_errors.ts";

/** The error measure behind each compared metric. */
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
 * A metric for comparing methods; smaller is better. `likeliestAbsoluteMs` compares the median absolute error
 * of the model's likeliest RTT with that of the baselines. The other metrics are of the model's median and
 * its whole distribution.
 */
export type ComparedMetric = keyof typeof MEASURE_OF;

/** `none`: the difference may be chance. */
export type Verdict = "better" | "worse" | "none";

export const REVERSED = { better: "worse", worse: "better", none: "none" } as const;

export interface RttComparison {
  metric: ComparedMetric;
  /** Context size of the model; null for all measurements together. */
  numContext: number | null;
  model: number;
  bestBaseline: string;
  baseline: number;
  /** `model` divided by `baseline`: below 1 the model is better. Null if the baseline makes no error. */
  ratio: number | null;
  /** The paired 95 % interval of `model` minus `baseline`; null with too few clusters. */
  differenceInterval: Interval | null;
  verdict: Verdict;
}

/**
 * Compares the model with the baselines for each group of measurements and each metric, leaving out metrics
 * without a value. The best baseline is chosen on the same measurements, which favours it slightly.
 *
 * @param numContexts The context size of each group; null for all measurements together.
 * @param forecasts The model's errors in each group: of its medians, and of its likeliest RTTs.
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

/** @param interval Interval of the model's error minus another method's. */
export function verdictOf(interval: Interval | null): Verdict {
  if (interval === null || (interval[0] <= 0 && interval[1] >= 0)) return "none";
  return interval[1] < 0 ? "better" : "worse";
}

/** No larger number is suggested. */
const MOST_CASES = 1e7;
/**
 * Standard errors between a true difference and 0 such that the 95 % interval excludes 0 in half and in 80 %
 * of samples.
 */
const [EVEN_POWER_ERRORS, USUAL_POWER_ERRORS] = [1.96, 1.96 + 0.8416];

/**
 * About how many cases would show a difference that these do not, if its true size is the present one: with
 * 80 % power, so that four of five such samples have an interval without 0 (normal approximation; J. Cohen,
 * Statistical Power Analysis for the Behavioral Sciences, 1988). The interval shrinks with the square root of
 * the number of cases, provided that clusters grow in number, not in size. Rounded up to two digits; null if
 * the difference is shown already, is 0, or would take over 10 million cases.
 *
 * @param comparison `model` minus `baseline` and the 95 % interval of that difference, in one unit.
 * @param numCases The cases behind the interval.
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
