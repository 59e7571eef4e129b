/** The model against the best of the baselines. @module */
import type { ErrorMetrics, MethodMetrics } from "./forecast_errors.ts";

/** How metrics are read off what was scored. */
const METRICS = {
  medianAbsoluteMs: ({ medianAbsoluteMs }: ErrorMetrics) => medianAbsoluteMs,
  likeliestAbsoluteMs: ({ medianAbsoluteMs }: ErrorMetrics) => medianAbsoluteMs,
  meanAbsoluteMs: ({ meanAbsoluteMs }: ErrorMetrics) => meanAbsoluteMs,
  p90Relative: ({ relative }: ErrorMetrics) => relative.p90,
  crpsMs: ({ crpsMs }: ErrorMetrics) => crpsMs,
};

/**
 * A metric in which methods are compared; smaller is better. `likeliestAbsoluteMs` is the median absolute error of the
 * RTT that the model finds likeliest, beside that of the baselines; the others are of the model's median and its whole
 * distribution.
 */
export type ComparedMetric = keyof typeof METRICS;

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
}

type Scored = Pick<MethodMetrics<ErrorMetrics>, "overall" | "byContext">;

/**
 * Compares in each metric, overall and by context; without what was not measured.
 *
 * @param forecasts Of the model: with its medians as point forecasts, and with the likeliest RTTs.
 */
export function rttComparisons(
  forecasts: { model: Scored; likeliest: Scored },
  baselines: readonly (Scored & { name: string })[],
): RttComparison[] {
  const groups: { numContext: number | null; of: (method: Scored) => ErrorMetrics }[] = [
    { numContext: null, of: ({ overall }) => overall },
    ...forecasts.model.byContext.map(({ numContext }, i) => ({
      numContext,
      of: (method: Scored) => method.byContext[i],
    })),
  ];
  return groups.flatMap(({ numContext, of }) =>
    (Object.keys(METRICS) as ComparedMetric[]).flatMap((metric) => {
      const valueOf = METRICS[metric];
      const ofModel = valueOf(of(metric === "likeliestAbsoluteMs" ? forecasts.likeliest : forecasts.model));
      const [best] = baselines.map((method) => ({ name: method.name, value: valueOf(of(method)) }))
        .filter((each): each is { name: string; value: number } => each.value !== null)
        .sort((a, b) => a.value - b.value);
      if (ofModel === null || !best) return [];
      const ratio = best.value === 0 ? null : ofModel / best.value;
      return [{ metric, numContext, model: ofModel, bestBaseline: best.name, baseline: best.value, ratio }];
    })
  );
}
