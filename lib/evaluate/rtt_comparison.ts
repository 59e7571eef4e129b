/** The model against the best of the baselines. @module */
import type { ErrorMetrics, MethodMetrics } from "./forecast_errors.ts";

/**
 * The metrics in which methods are compared; smaller is better. `likeliestAbsoluteMs` is the median absolute error of
 * the RTT that the model finds likeliest, beside that of the baselines; the others are those of {@link ErrorMetrics},
 * of the model's median and its whole distribution.
 */
export const COMPARED_METRICS = [
  "medianAbsoluteMs",
  "likeliestAbsoluteMs",
  "meanAbsoluteMs",
  "p90Relative",
  "crpsMs",
] as const;
/** One of {@link COMPARED_METRICS}. */
export type ComparedMetric = typeof COMPARED_METRICS[number];

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
    COMPARED_METRICS.flatMap((metric) => {
      const { model, likeliest } = forecasts;
      const ofModel = valueOf(of(metric === "likeliestAbsoluteMs" ? likeliest : model), metric);
      const [best] = baselines.map((method) => ({ name: method.name, value: valueOf(of(method), metric) }))
        .filter((each): each is { name: string; value: number } => each.value !== null)
        .sort((a, b) => a.value - b.value);
      if (ofModel === null || !best) return [];
      const ratio = best.value === 0 ? null : ofModel / best.value;
      return [{ metric, numContext, model: ofModel, bestBaseline: best.name, baseline: best.value, ratio }];
    })
  );
}

function valueOf(metrics: ErrorMetrics, metric: ComparedMetric): number | null {
  if (metric === "p90Relative") return metrics.relative.p90;
  return metrics[metric === "likeliestAbsoluteMs" ? "medianAbsoluteMs" : metric];
}
