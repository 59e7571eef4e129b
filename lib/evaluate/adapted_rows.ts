/** What is told of forecasts of adapted models, a row for each number of given measurements. @module */
import type { AdaptSection } from "./adapt_section.ts";
import { coverageOf, type CoverageOfModel, type MetricOfModel } from "./all_splits.ts";
import { errorOf } from "./forecast_errors.ts";

/** The metrics that are told. */
export const ADAPTED_METRICS = ["medianAbsoluteMs", "p90Relative", "nmae", "crpsMs"] as const;
/** One of {@link ADAPTED_METRICS}. */
export type AdaptedMetric = typeof ADAPTED_METRICS[number];

/** Forecasts after so many measurements of each address. */
export interface AdaptedRow {
  numGiven: number;
  numAddresses: number;
  numMeasurements: number;
  metrics: Record<AdaptedMetric, MetricOfModel>;
  coverage: CoverageOfModel;
}

/** The rows of a section, in the order of its counts. */
export function adaptedRows({ numAddresses, byCount }: AdaptSection): AdaptedRow[] {
  return byCount.map(({ numGiven, model, baselines, comparisons }) => {
    const told = (metric: AdaptedMetric): MetricOfModel => {
      const comparison = comparisons.find((each) => each.metric === metric);
      const value = { value: errorOf(metric, model), interval: model.intervals[metric] };
      return { ...value, ...(comparison ? { comparison } : {}) };
    };
    return {
      ...{ numGiven, numAddresses, numMeasurements: model.numMeasurements },
      metrics: {
        medianAbsoluteMs: told("medianAbsoluteMs"),
        p90Relative: told("p90Relative"),
        nmae: told("nmae"),
        crpsMs: told("crpsMs"),
      },
      coverage: coverageOf(model, undefined, baselines),
    };
  });
}
