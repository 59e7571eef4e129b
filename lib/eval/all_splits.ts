/**
 * The report of one model on several splits, as one JSON object.
 *
 * @module
 */
import type { AdaptSection } from "./sections/adapt_section.ts";
import type { Interval } from "./metrics/bootstrap.ts";
import type { Coverage } from "./metrics/calibration.ts";
import { type ErrorMetrics, errorOf } from "./metrics/forecast_errors.ts";
import type { EvalReport } from "./report.ts";
import { type ComparedMetric, MEASURE_OF, type RttComparison } from "./metrics/rtt_comparison.ts";
import type { BaselineMetrics, RttMetrics } from "./sections/rtt_section.ts";
import type { PlannedSplit } from "./split_plan.ts";

/** The metrics of each split and number of context measurements. */
export const SPLIT_METRICS = ["medianAbsoluteMs", "likeliestAbsoluteMs", "nmae", "crpsMs"] as const;
/** One of {@link SPLIT_METRICS}. */
export type SplitMetric = typeof SPLIT_METRICS[number];

/** The level of the intervals whose coverage is reported. */
const COVERAGE_LEVEL = 0.9;

/** A number of the model, and its 95 % interval; null where there is none. */
export interface MetricOfModel {
  value: number | null;
  interval: Interval | null;
  /** Beside the best baseline; absent without baselines. */
  comparison?: RttComparison;
}

/** The coverage of the model's 90 % intervals. */
export interface CoverageOfModel extends Pick<Required<Coverage>, "share" | "interval"> {
  /** Corrected by the validation split, where there is one. */
  correctedShare?: number | null;
  /** The baseline whose share is the nearest to 90 %; only for all contexts together. */
  baseline?: { name: string; share: number };
}

/** A row of the table: predictions with one number of context measurements, or all of them. */
export interface ContextRow {
  /** Null for all together. */
  numContext: number | null;
  numMeasurements: number;
  metrics: Record<SplitMetric, MetricOfModel>;
  coverage: CoverageOfModel;
}

/** The metrics of adapted models. */
export const ADAPTED_METRICS = ["medianAbsoluteMs", "p90Relative", "nmae", "crpsMs"] as const;
/** One of {@link ADAPTED_METRICS}. */
type AdaptedMetric = typeof ADAPTED_METRICS[number];

/** Forecasts of adapted models, by the number of measurements of each address. */
export interface AdaptedRow {
  numGiven: number;
  numAddresses: number;
  numMeasurements: number;
  metrics: Record<AdaptedMetric, MetricOfModel>;
  coverage: CoverageOfModel;
}

/** The numbers of measurements in each part of a split. */
export interface SplitCounts {
  train: number;
  val: number;
  test: number;
}

export interface SplitResult extends PlannedSplit {
  /** The folder of its own report and page, within that of this report. */
  folder: string;
  counts: SplitCounts;
  numPredicted: number;
  /** With all numbers of context measurements together first; none where no measurement had a reply. */
  rows: ContextRow[];
  /** New addresses, after measurements of their own; absent where that was not asked for. */
  adapted?: AdaptedRow[];
}

export interface EmptySplit extends PlannedSplit {
  counts: SplitCounts;
}

/** The report of a model on several splits. */
export interface AllSplitsReport {
  run: Pick<EvalReport["run"], "version" | "checkpoint" | "step" | "numParameters" | "seed"> & {
    measurements: string[];
    groupBy: string;
    /** Measurements that the model was trained on, and their probe rows. */
    numTraining: number;
    train: string;
    trainFingerprint: string;
  };
  splits: SplitResult[];
  /** The splits that held out no measurement. */
  empty: EmptySplit[];
}

/** A split by the report of its evaluation. @param folder Folder of the report, within the folder of all splits. */
export function splitResult(split: EmptySplit, folder: string, report: EvalReport): SplitResult {
  const numPredicted = report.run.numMeasurements;
  const result: SplitResult = { ...split, folder, numPredicted, rows: contextRows(report) };
  if (report.adapted) result.adapted = adaptedRows(report.adapted);
  return result;
}

/** A row for each number of given measurements, in the order of the section. */
export function adaptedRows({ numAddresses, byCount }: AdaptSection): AdaptedRow[] {
  return byCount.map((group) => ({
    numGiven: group.numGiven,
    numAddresses,
    numMeasurements: group.model.numMeasurements,
    metrics: metricsOf(ADAPTED_METRICS, group, group.comparisons),
    coverage: coverageOf(group.model, undefined, group.baselines),
  }));
}

/** The rows of a split's report for the table of all splits. */
function contextRows({ rtt, calibration }: EvalReport): ContextRow[] {
  if (!rtt || rtt.model.overall.numMeasurements === 0) return [];
  const { model, likeliest, comparisons, baselines } = rtt;
  const rowOf = (
    numContext: number | null,
    of: Forecasts,
    corrected: Coverage[] | undefined,
  ): ContextRow => ({
    numContext,
    numMeasurements: of.model.numMeasurements,
    metrics: metricsOf(SPLIT_METRICS, of, comparisons.filter((each) => each.numContext === numContext)),
    coverage: coverageOf(of.model, corrected, numContext === null ? baselines : []),
  });
  return [
    rowOf(null, { model: model.overall, likeliest: likeliest.overall }, calibration?.coverage),
    ...model.byContext.map((ofContext, i) => {
      const forecasts = { model: ofContext, likeliest: likeliest.byContext[i] };
      return rowOf(ofContext.numContext, forecasts, calibration?.byContext[i]?.coverage);
    }),
  ];
}

/** The model's forecasts: its distributions, and its likeliest RTTs as single numbers. */
interface Forecasts {
  model: RttMetrics;
  likeliest: ErrorMetrics;
}

/** Metrics of forecasts, each beside the best baseline. */
function metricsOf<M extends ComparedMetric>(
  metrics: readonly M[],
  { model, likeliest }: Forecasts,
  comparisons: readonly RttComparison[],
): Record<M, MetricOfModel> {
  const entries = metrics.map((metric): [M, MetricOfModel] => {
    const errors = metric === "likeliestAbsoluteMs" ? likeliest : model;
    const measure = MEASURE_OF[metric];
    const comparison = comparisons.find((each) => each.metric === metric);
    const own: MetricOfModel = { value: errorOf(measure, errors), interval: errors.intervals[measure] };
    if (comparison) own.comparison = comparison;
    return [metric, own];
  });
  return Object.fromEntries(entries) as Record<M, MetricOfModel>;
}

/**
 * The coverage of 90 % intervals.
 *
 * @param corrected The same, corrected by the validation split.
 * @param baselines The one nearest to 90 % is reported.
 */
function coverageOf(
  { coverage }: Pick<RttMetrics, "coverage">,
  corrected: readonly Coverage[] | undefined,
  baselines: readonly Pick<BaselineMetrics, "name" | "coverage">[],
): CoverageOfModel {
  const at = (of: readonly Coverage[] | undefined) => of?.find(({ level }) => level === COVERAGE_LEVEL);
  const own = at(coverage);
  const result: CoverageOfModel = { share: own?.share ?? null, interval: own?.interval ?? null };
  if (corrected) result.correctedShare = at(corrected)?.share ?? null;
  for (const { name, coverage } of baselines) {
    const share = at(coverage)?.share ?? null;
    const best = result.baseline?.share ?? Infinity;
    if (share !== null && Math.abs(share - COVERAGE_LEVEL) < Math.abs(best - COVERAGE_LEVEL)) {
      result.baseline = { name, share };
    }
  }
  return result;
}
