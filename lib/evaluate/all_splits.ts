/**
 * One model on several splits: what is told of each, as one JSON object.
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

/** The metrics that are told of each split and number of context measurements. */
export const SPLIT_METRICS = ["medianAbsoluteMs", "likeliestAbsoluteMs", "nmae", "crpsMs"] as const;
/** One of {@link SPLIT_METRICS}. */
export type SplitMetric = typeof SPLIT_METRICS[number];

/** The level of the intervals whose coverage is told. */
const COVERAGE_LEVEL = 0.9;

/** A number of the model, and its 95 % interval; null where there is none. */
export interface MetricOfModel {
  value: number | null;
  interval: Interval | null;
  /** Beside the best baseline; absent without baselines. */
  comparison?: RttComparison;
}

/** What the model's 90 % intervals hold. */
export interface CoverageOfModel extends Pick<Required<Coverage>, "share" | "interval"> {
  /** Corrected by the validation split, where there is one. */
  correctedShare?: number | null;
  /** The baseline whose share is the nearest to what it should be; told of all contexts together only. */
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

/** The metrics that are told of forecasts of adapted models. */
export const ADAPTED_METRICS = ["medianAbsoluteMs", "p90Relative", "nmae", "crpsMs"] as const;
/** One of {@link ADAPTED_METRICS}. */
type AdaptedMetric = typeof ADAPTED_METRICS[number];

/** Forecasts of adapted models, after so many measurements of each address. */
export interface AdaptedRow {
  numGiven: number;
  numAddresses: number;
  numMeasurements: number;
  metrics: Record<AdaptedMetric, MetricOfModel>;
  coverage: CoverageOfModel;
}

/** Measurements by what became of them. */
export interface SplitCounts {
  train: number;
  val: number;
  test: number;
}

/** A split that was evaluated. */
export interface SplitResult extends PlannedSplit {
  /** The folder of its own report and page, within that of this report. */
  folder: string;
  counts: SplitCounts;
  numPredicted: number;
  /** With all numbers of context measurements together first; none where no measurement had a reply. */
  rows: ContextRow[];
  /** Addresses never seen, after measurements of their own; absent where that was not asked for. */
  adapted?: AdaptedRow[];
}

/** A split of which nothing could be predicted. */
export interface EmptySplit extends PlannedSplit {
  counts: SplitCounts;
}

/** What a model comes to on several splits. */
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
  /** Those that held out nothing that could be predicted. */
  empty: EmptySplit[];
}

/** A split by the report of its evaluation. @param folder That of its report, within that of all splits. */
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

/** What the evaluation of a split says of each number of context measurements. */
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
    const own = { value: errorOf(measure, errors), interval: errors.intervals[measure] };
    return [metric, { ...own, ...(comparison ? { comparison } : {}) }];
  });
  return Object.fromEntries(entries) as Record<M, MetricOfModel>;
}

/**
 * What 90 % intervals hold.
 *
 * @param corrected The same, corrected by the validation split.
 * @param baselines Of which the nearest to 90 % is told.
 */
function coverageOf(
  { coverage }: Pick<RttMetrics, "coverage">,
  corrected: readonly Coverage[] | undefined,
  baselines: readonly Pick<BaselineMetrics, "name" | "coverage">[],
): CoverageOfModel {
  const at = (of: readonly Coverage[] | undefined) => of?.find(({ level }) => level === COVERAGE_LEVEL);
  const shares = baselines.flatMap(({ name, coverage }) => {
    const share = at(coverage)?.share;
    return typeof share === "number" ? [{ name, share }] : [];
  });
  const distance = ({ share }: { share: number }) => Math.abs(share - COVERAGE_LEVEL);
  const baseline = shares.sort((a, b) => distance(a) - distance(b)).at(0);
  const own = at(coverage);
  return {
    ...{ share: own?.share ?? null, interval: own?.interval ?? null },
    ...(corrected ? { correctedShare: at(corrected)?.share ?? null } : {}),
    ...(baseline ? { baseline } : {}),
  };
}
