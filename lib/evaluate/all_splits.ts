/**
 * One model on several splits: what is told of each, as one JSON object.
 *
 * @module
 */
import type { AdaptSection } from "./adapt_section.ts";
import type { Interval } from "./bootstrap.ts";
import type { Coverage } from "./calibration.ts";
import { errorOf } from "./forecast_errors.ts";
import type { EvalReport } from "./report.ts";
import type { RttComparison } from "./rtt_comparison.ts";
import type { BaselineMetrics, RttMetrics } from "./rtt_section.ts";
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

/** What the evaluation of a split says of addresses never seen, if anything. */
export function adaptedOf({ adapted }: EvalReport): Pick<SplitResult, "adapted"> {
  return adapted ? { adapted: adaptedRows(adapted) } : {};
}

/** A row for each number of given measurements, in the order of the section. */
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

/** What the evaluation of a split says of each number of context measurements. */
export function contextRows({ rtt, calibration }: EvalReport): ContextRow[] {
  if (!rtt || rtt.model.overall.numMeasurements === 0) return [];
  const corrected = [
    calibration?.coverage,
    ...(calibration?.byContext ?? []).map(({ coverage }) => coverage),
  ];
  const groups = [
    { numContext: null, model: rtt.model.overall, likeliest: rtt.likeliest.overall },
    ...rtt.model.byContext.map((model, i) => ({
      ...{ numContext: model.numContext, model, likeliest: rtt.likeliest.byContext[i] },
    })),
  ];
  return groups.map(({ numContext, model, likeliest }, i) => {
    const told = (metric: SplitMetric, value: number | null, interval: Interval | null): MetricOfModel => {
      const comparison = rtt.comparisons.find((each) =>
        each.metric === metric && each.numContext === numContext
      );
      return { value, interval, ...(comparison ? { comparison } : {}) };
    };
    const { intervals } = model;
    return {
      ...{ numContext, numMeasurements: model.numMeasurements },
      metrics: {
        medianAbsoluteMs: told("medianAbsoluteMs", model.medianAbsoluteMs, intervals.medianAbsoluteMs),
        likeliestAbsoluteMs: told(
          "likeliestAbsoluteMs",
          likeliest.medianAbsoluteMs,
          likeliest.intervals.medianAbsoluteMs,
        ),
        nmae: told("nmae", model.nmae, intervals.nmae),
        crpsMs: told("crpsMs", model.crpsMs, intervals.crpsMs),
      },
      coverage: coverageOf(model, corrected[i], numContext === null ? rtt.baselines : []),
    };
  });
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
