/**
 * Part of an evaluation: how well the model predicts RTTs, by the number of measurements of context, beside methods
 * without a model on the same measurements.
 *
 * @module
 */
import type { PingModel } from "../../query/ping_model.ts";
import type { BaselineForecasts } from "../baselines/baseline_forecasts.ts";
import {
  ClusterBootstrap,
  type ClusterBy,
  type Clusters,
  CONFIDENCE,
  type Interval,
  intervalOf,
  NUM_RESAMPLES,
} from "../metrics/bootstrap.ts";
import { type Coverage, pitHistogram, resampledCoverages } from "../metrics/calibration.ts";
import type { EvalCase } from "../cases.ts";
import { CRPS_LIMIT_MS } from "../metrics/crps.ts";
import { type FailureSection, failureSection } from "./failure_section.ts";
import {
  errorCdf,
  type ErrorMetrics,
  type MethodMetrics,
  type ResampledErrors,
  resampledErrors,
  type ScoredForecasts,
  withIntervals,
} from "../metrics/forecast_errors.ts";
import { meanOf } from "../metrics/sample_statistics.ts";
import { type RttComparison, rttComparisons, type ScoredMethod } from "../metrics/rtt_comparison.ts";
import { type ForecastOptions, forecastRtts, type RttForecasts, selectForecasts } from "./rtt_forecasts.ts";

/** Forecasts of the model. */
export interface RttMetrics extends ErrorMetrics {
  coverage: Coverage[];
  /** Share of the measurements in each twentieth of their forecast distributions. */
  pit: number[];
  /** Mean -log2 P(the RTT's code | a reply), and its 95 % interval; null of nothing, and of too few. */
  codeBits: number | null;
  codeBitsInterval: Interval | null;
}

/** Forecasts of a method without a model. */
export interface BaselineMetrics extends MethodMetrics<ErrorMetrics> {
  name: string;
  /** Those that were chosen on the validation split, or on a share of the training rows. */
  settings?: string;
  /** Overall, of methods that forecast distributions; without the context, which they do not depend on. */
  coverage?: Coverage[];
}

/** What the 95 % intervals of an evaluation are made of; see bootstrap.ts. */
export interface Resampling {
  /** What measurements of one cluster have in common, and how many clusters there are. */
  by: ClusterBy;
  numClusters: number;
  numResamples: number;
  confidence: number;
}

/** How well RTTs are predicted, of those measurements that had a reply. */
export interface RttSection {
  contexts: number[];
  /** Whether each measurement was predicted with each number of context, or they took turns. */
  isEveryContext: boolean;
  /** What the intervals of all numbers are made of, those of failures too. */
  resampling: Resampling;
  /** RTTs count as at most this in CRPS, ms. */
  crpsLimitMs: number;
  /** Point forecasts are the distributions' medians. */
  model: MethodMetrics<RttMetrics>;
  /** With the likeliest RTTs of the model as single numbers; see `RttDistribution.likeliest`. */
  likeliest: MethodMetrics<ErrorMetrics>;
  baselines: BaselineMetrics[];
  /** The model against the best baseline of each metric: overall (`numContext` null) and by context. */
  comparisons: RttComparison[];
  /** Measurements that baselines were trained on and that they observed later, used of those there are. */
  numTraining: number;
  numTrainingUsed: number;
  numObservable: number;
  numObserved: number;
  /** Mass of the forecasts that was spread evenly over unlikely RTTs: the mean and the largest; null of nothing. */
  meanSpreadMass: number | null;
  maxSpreadMass: number | null;
}

const NUM_PIT_BINS = 20;

/** What forecasts are compared with, and by which groups of them chance is told. */
export interface ComparedOptions extends Pick<ForecastOptions, "contexts" | "everyContext"> {
  /** What the baselines forecast for the same cases. */
  baselines: BaselineForecasts;
  clusters: Clusters;
}

/** How RTTs are evaluated. */
export interface RttOptions extends ForecastOptions, ComparedOptions {
  seed: number;
  /** Told the resamples done. */
  onResample?: (done: number, total: number) => void;
}

/**
 * Predicts the cases.
 *
 * @throws {UserError} If a measurement does not fit the model's sequence.
 */
export async function evaluateRtt(
  model: PingModel,
  cases: readonly EvalCase[],
  options: RttOptions,
): Promise<{ rtt: RttSection; failures: FailureSection; forecasts: RttForecasts }> {
  const forecasts = await forecastRtts(model, cases, options);
  return { forecasts, ...await compareForecasts(forecasts, cases, options) };
}

/** Scores forecasts of the model and of baselines. */
export async function compareForecasts(
  forecasts: RttForecasts,
  cases: readonly EvalCase[],
  options: ComparedOptions & Pick<RttOptions, "seed" | "onResample" | "signal">,
): Promise<{ rtt: RttSection; failures: FailureSection }> {
  const { baselines, contexts, clusters, onResample, signal } = options;
  const clusterOf = Uint32Array.from(forecasts.caseIndex, (i) => clusters.ofCase[i]);
  const bootstrap = new ClusterBootstrap(clusterOf, options);
  const isFailed = Uint8Array.from(forecasts.caseIndex, (i) => cases[i].rttMs === null ? 1 : 0);
  const rtt = rttSection(forecasts, cases, { ...options, bootstrap });
  const failures = failureSection({ ...forecasts, isFailed }, {
    ...{ contexts, bootstrap, trainingShare: baselines.trainingFailedShare },
  });
  await bootstrap.run({
    ...(onResample ? { onProgress: onResample } : {}),
    signal,
  });
  return { rtt: rtt(), failures: failures() };
}

/** Scores forecasts of RTTs. @returns What gives the section, to be called when the bootstrap has run. */
function rttSection(
  forecasts: RttForecasts,
  cases: readonly EvalCase[],
  options: ComparedOptions & { bootstrap: ClusterBootstrap },
): () => RttSection {
  const { contexts, everyContext = false, baselines, clusters, bootstrap } = options;
  const places = forecasts.caseIndex.keys().filter((place) =>
    cases[forecasts.caseIndex[place]].rttMs !== null
  ).toArray();
  const answered = selectForecasts(forecasts, places);
  const { caseIndex, predictedMs, likeliestMs, crpsMs, spreadMass } = answered;
  const measuredMs = Float64Array.from(caseIndex, (i) => cases[i].rttMs ?? NaN);
  const groups = groupByContext(answered, { contexts, places, measuredMs });
  const scoreOf = (scored: ScoredForecasts) => scoreGroups(groups, { scored, bootstrap });
  const model = scoreOf({ predictedMs, measuredMs, crpsMs });
  const likeliest = scoreOf({ predictedMs: likeliestMs, measuredMs });
  const sharpness = mapGroups(groups, (group) => scoreSharpness(answered, { group, bootstrap }));
  const methods = [...baselines.predictedMs].map(([name, ofCases]) => {
    const at = (values: Float64Array) => Float64Array.from(caseIndex, (i) => values[i]);
    const own = baselines.distributions?.get(name);
    const crpsMs = own && at(own.crpsMs);
    const coverage = own &&
      resampledCoverages({ below: at(own.below), upTo: at(own.upTo) }, bootstrap, places);
    return { name, coverage, ...scoreOf({ predictedMs: at(ofCases), measuredMs, crpsMs }) };
  });
  const { numTraining, numTrainingUsed, numObservable, numObserved } = baselines;
  return () => ({
    contexts: [...contexts],
    isEveryContext: everyContext,
    resampling: {
      ...{ by: clusters.by, numClusters: clusters.count },
      ...{ numResamples: NUM_RESAMPLES, confidence: CONFIDENCE },
    },
    crpsLimitMs: CRPS_LIMIT_MS,
    model: {
      ...finished(model, (errors, i) => ({ ...withIntervals(errors), ...sharpness[i]() })),
      errorCdf: model.errorCdf,
    },
    likeliest: { ...finished(likeliest, withIntervals), errorCdf: likeliest.errorCdf },
    baselines: methods.map(({ name, coverage, errorCdf, ...method }) => {
      const settings = baselines.settings?.get(name);
      return {
        ...{ name, ...(settings === undefined ? {} : { settings }), ...finished(method, withIntervals) },
        ...{ errorCdf, ...(coverage ? { coverage: coverage() } : {}) },
      };
    }),
    comparisons: rttComparisons({ model, likeliest }, methods),
    ...{ numTraining, numTrainingUsed, numObservable, numObserved },
    meanSpreadMass: meanOf(spreadMass),
    maxSpreadMass: spreadMass.length === 0 ? null : spreadMass.reduce((a, b) => Math.max(a, b)),
  });
}

/** Forecasts that are scored together. */
interface Group {
  /** Their indexes among the answered ones, and their places in the bootstrap. */
  indexes: readonly number[];
  places: readonly number[];
  measuredMs: Float64Array;
}

/** All of them first, then those of each number of context measurements. */
type Groups = readonly [all: Group, ...byContext: (Group & { numContext: number })[]];

function groupByContext(
  { numContext }: RttForecasts,
  { contexts, places, measuredMs }: Pick<Group, "places" | "measuredMs"> & { contexts: readonly number[] },
): Groups {
  const all = numContext.keys().toArray();
  return [
    { indexes: all, places, measuredMs },
    ...contexts.map((count) => {
      const indexes = all.filter((i) => numContext[i] === count);
      const ofIndexes = { places: indexes.map((i) => places[i]), measuredMs: at(measuredMs, indexes) };
      return { numContext: count, indexes, ...ofIndexes };
    }),
  ];
}

function at(values: Float64Array, indexes: readonly number[]): Float64Array {
  return Float64Array.from(indexes, (i) => values[i]);
}

function mapGroups<T>(groups: Groups, score: (group: Group) => T): T[] {
  return groups.map(score);
}

function scoreGroups(
  groups: Groups,
  { scored, bootstrap }: { scored: ScoredForecasts; bootstrap: ClusterBootstrap },
): ScoredMethod & { errorCdf: number[] } {
  const { predictedMs, crpsMs } = scored;
  const [overall, ...byContext] = mapGroups(groups, ({ indexes, places, measuredMs }) => {
    const part = { predictedMs: at(predictedMs, indexes), crpsMs: crpsMs && at(crpsMs, indexes) };
    return resampledErrors({ ...part, measuredMs }, bootstrap, places);
  });
  const [, ...named] = groups;
  return {
    overall,
    byContext: byContext.map((errors, i) => ({ numContext: named[i].numContext, ...errors })),
    errorCdf: errorCdf(scored),
  };
}

/** How sure the model's distributions are, and whether rightly. @returns To be called when the bootstrap has run. */
function scoreSharpness(
  forecasts: RttForecasts,
  { group: { indexes, places }, bootstrap }: { group: Group; bootstrap: ClusterBootstrap },
): () => Omit<RttMetrics, keyof ErrorMetrics> {
  const part = selectForecasts(forecasts, indexes);
  const coverage = resampledCoverages(part, bootstrap, places);
  const codeBits = bootstrap.mean(part.codeBits, places);
  return () => ({
    coverage: coverage(),
    pit: pitHistogram(part, NUM_PIT_BINS),
    codeBits: meanOf(part.codeBits),
    codeBitsInterval: intervalOf(codeBits),
  });
}

/** A method's metrics. @param finish Told the errors and the place of their group: 0 overall, then by context. */
function finished<M extends ErrorMetrics>(
  { overall, byContext }: ScoredMethod,
  finish: (errors: ResampledErrors, group: number) => M,
): Omit<MethodMetrics<M>, "errorCdf"> {
  return {
    overall: finish(overall, 0),
    byContext: byContext.map(({ numContext, ...errors }, i) => ({ numContext, ...finish(errors, i + 1) })),
  };
}
