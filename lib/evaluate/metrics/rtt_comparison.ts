/** The model against the best of the baselines. @module */
import { differenceInterval, type Interval, type Replicates } from "./bootstrap.ts";
import { type ErrorMeasure, errorOf, type ResampledErrors } from "./forecast_errors.ts";

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

/** What a comparison shows: `none` where chance alone may have made the difference. */
export type Verdict = "better" | "worse" | "none";

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

/** A method's errors before they have their intervals. */
export interface ScoredMethod {
  overall: ResampledErrors;
  byContext: readonly ({ numContext: number } & ResampledErrors)[];
}

/**
 * Compares in each metric, overall and by context; without what was not measured. The best baseline is chosen by the
 * same measurements, which favours it a little.
 *
 * @param forecasts Of the model: with its medians as point forecasts, and with the likeliest RTTs.
 */
export function rttComparisons(
  forecasts: { model: ScoredMethod; likeliest: ScoredMethod },
  baselines: readonly (ScoredMethod & { name: string })[],
): RttComparison[] {
  const groups: { numContext: number | null; of: (method: ScoredMethod) => ResampledErrors }[] = [
    { numContext: null, of: ({ overall }) => overall },
    ...forecasts.model.byContext.map(({ numContext }, i) => ({
      numContext,
      of: (method: ScoredMethod) => method.byContext[i],
    })),
  ];
  return groups.flatMap(({ numContext, of }) =>
    (Object.keys(MEASURE_OF) as ComparedMetric[]).flatMap((metric) => {
      const measure = MEASURE_OF[metric];
      const valueOf = ({ values, replicates }: ResampledErrors) => ({
        value: errorOf(measure, values),
        replicates: replicates[measure],
      });
      const model = valueOf(of(metric === "likeliestAbsoluteMs" ? forecasts.likeliest : forecasts.model));
      const best = bestOf(baselines.map((method) => ({ name: method.name, ...valueOf(of(method)) })));
      if (model.value === null || !best) return [];
      const interval = differenceInterval(model.replicates, best.replicates);
      return [{
        ...{ metric, numContext, model: model.value, bestBaseline: best.name, baseline: best.value },
        ratio: best.value === 0 ? null : model.value / best.value,
        ...{ differenceInterval: interval, verdict: verdictOf(interval) },
      }];
    })
  );
}

/** What the interval of an error minus another shows. */
export function verdictOf(interval: Interval | null): Verdict {
  if (interval === null || (interval[0] <= 0 && interval[1] >= 0)) return "none";
  return interval[1] < 0 ? "better" : "worse";
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
