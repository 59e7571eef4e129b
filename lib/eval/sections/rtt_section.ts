/**
 * The section on RTTs: how well the model predicts them, by the number of context measurements, beside baselines on the
 * same measurements.
 *
 * @module
 */
import type { PingModel } from "../../query/ping_model.ts";
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import type { BaselineForecasts } from "../baselines/baseline_forecasts.ts";
import type { EvalCase } from "../cases.ts";
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
import {
  CRPS_LIMIT_MS,
  errorCdf,
  type ErrorMetrics,
  type MethodMetrics,
  type ScoredErrors,
  scoreErrors,
} from "../metrics/forecast_errors.ts";
import { PLACE_BASELINES } from "../baselines/standard.ts";
import { type RttComparison, rttComparisons } from "../metrics/rtt_comparison.ts";
import { meanOf } from "../../base/sample_statistics.ts";
import { type FailureSection, failureSection } from "./failure_section.ts";
import { type ForecastOptions, forecastRtts, type RttForecasts, selectForecasts } from "./rtt_forecasts.ts";

/** Forecasts of the model. */
export interface RttMetrics extends ErrorMetrics {
  coverage: Coverage[];
  /** Share of the measurements in each twentieth of their forecast distributions. */
  pit: number[];
  /** Mean -log2 P(the RTT's code | a reply); null of none. Its 95 % interval; null of few. */
  codeBits: number | null;
  codeBitsInterval: Interval | null;
}

/** Forecasts of a method without a model. */
export interface BaselineMetrics extends MethodMetrics<ErrorMetrics> {
  name: string;
  /** Chosen on the validation split, or on a share of the training rows. */
  settings?: string;
  /** Coverage over all measurements; absent where the method predicts single numbers only. */
  coverage?: Coverage[];
}

/** How the 95 % intervals of an evaluation are computed; see bootstrap.ts. */
export interface Resampling {
  /** The common property of a cluster's measurements, and how many clusters there are. */
  by: ClusterBy;
  numClusters: number;
  numResamples: number;
  confidence: number;
}

/** How well RTTs are predicted, over the measurements with a reply. */
export interface RttSection {
  contexts: number[];
  /** Whether each measurement was predicted with each number of context; otherwise they take turns. */
  isEveryContext: boolean;
  /** The resamples of all intervals, also those of failures. */
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
  /** Overall against the best of the baselines that know places; absent without them. */
  placeComparisons?: RttComparison[];
  /** Measurements for the training of baselines, and later ones that they observed: all of them, and the used ones. */
  numTraining: number;
  numTrainingUsed: number;
  numObservable: number;
  numObserved: number;
  /** Mass of the forecasts that was spread evenly over unlikely RTTs: the mean and the largest; null of none. */
  meanSpreadMass: number | null;
  maxSpreadMass: number | null;
}

const NUM_PIT_BINS = 20;

/** How forecasts are compared with the measurements and with baselines. */
export interface ComparedOptions extends Pick<ForecastOptions, "contexts" | "everyContext" | "signal"> {
  /** Forecasts of the same cases. */
  baselines: BaselineForecasts;
  clusters: Clusters;
  seed: number;
  onScored?: (done: number, total: number) => void;
}

/**
 * Predicts the cases.
 *
 * @throws {UserError} If a measurement does not fit the model's sequence.
 */
export async function evaluateRtt(
  model: PingModel,
  cases: readonly EvalCase[],
  options: ForecastOptions & ComparedOptions,
): Promise<{ rtt: RttSection; failures: FailureSection; forecasts: RttForecasts }> {
  const forecasts = await forecastRtts(model, cases, options);
  return { forecasts, ...await compareForecasts(forecasts, cases, options) };
}

/** Scores forecasts of the model and of baselines. */
export async function compareForecasts(
  forecasts: RttForecasts,
  cases: readonly EvalCase[],
  options: ComparedOptions,
): Promise<{ rtt: RttSection; failures: FailureSection }> {
  const { contexts, everyContext = false, baselines, clusters } = options;
  const { caseIndex, predictedMs, likeliestMs, crpsMs } = forecasts;
  const bootstrap = new ClusterBootstrap(caseIndex.map((i) => clusters.ofCase[i]), options);
  const scorer = new Scorer(forecasts, cases, { ...options, bootstrap });
  const model = await scorer.score(predictedMs, crpsMs);
  const likeliest = await scorer.score(likeliestMs);
  const scored = await scoreBaselines(scorer, caseIndex);
  const modelMetrics = model.map(({ metrics }, i) => ({
    ...metrics,
    ...sharpnessOf(forecasts, scorer.groups[i], bootstrap),
  }));
  const spreadMass = at(forecasts.spreadMass, scorer.answered);
  const { numTraining, numTrainingUsed, numObservable, numObserved, trainingFailedShare } = baselines;
  const ofPlaces = new Map(PLACE_BASELINES.flatMap((name) => {
    const errors = scored.errors.get(name);
    return errors ? [[name, errors]] : [];
  }));
  const rtt = {
    contexts: [...contexts],
    isEveryContext: everyContext,
    resampling: resamplingOf(clusters),
    crpsLimitMs: CRPS_LIMIT_MS,
    model: scorer.metricsOf(modelMetrics, predictedMs),
    likeliest: scorer.metricsOf(likeliest.map(({ metrics }) => metrics), likeliestMs),
    baselines: scored.metrics,
    comparisons: rttComparisons([null, ...contexts], { model, likeliest }, scored.errors),
    ...ofPlaces.size > 0 && { placeComparisons: rttComparisons([null], { model, likeliest }, ofPlaces) },
    numTraining,
    numTrainingUsed,
    numObservable,
    numObserved,
    meanSpreadMass: meanOf(spreadMass),
    maxSpreadMass: spreadMass.length === 0 ? null : spreadMass.reduce((a, b) => Math.max(a, b)),
  };
  const failures = failureSection({ ...forecasts, isFailed: scorer.isFailed }, {
    contexts,
    bootstrap,
    trainingShare: trainingFailedShare,
  });
  return { rtt, failures };
}

async function scoreBaselines(
  scorer: Scorer,
  caseIndex: Uint32Array,
): Promise<{ errors: Map<string, ScoredErrors[]>; metrics: BaselineMetrics[] }> {
  const { bootstrap, baselines } = scorer.options;
  const { answered } = scorer;
  const errors = new Map<string, ScoredErrors[]>();
  const metrics: BaselineMetrics[] = [];
  for (const [name, { predictedMs, settings, distribution }] of baselines.methods) {
    const ofPlaces = at(predictedMs, caseIndex);
    const own = await scorer.score(ofPlaces, distribution && at(distribution.crpsMs, caseIndex));
    const ofName: BaselineMetrics = {
      name,
      ...scorer.metricsOf(own.map(({ metrics }) => metrics), ofPlaces),
    };
    if (settings !== undefined) ofName.settings = settings;
    if (distribution) {
      const indexes = answered.map((place) => caseIndex[place]);
      const ranges = { below: at(distribution.below, indexes), upTo: at(distribution.upTo, indexes) };
      ofName.coverage = resampledCoverages(ranges, bootstrap, answered);
    }
    errors.set(name, own);
    metrics.push(ofName);
  }
  return { errors, metrics };
}

/** How sharp the model's distributions are, and how well calibrated. */
function sharpnessOf(
  forecasts: RttForecasts,
  places: readonly number[],
  bootstrap: ClusterBootstrap,
): Omit<RttMetrics, keyof ErrorMetrics> {
  const part = selectForecasts(forecasts, places);
  return {
    coverage: resampledCoverages(part, bootstrap, places),
    pit: pitHistogram(part, NUM_PIT_BINS),
    codeBits: meanOf(part.codeBits),
    codeBitsInterval: intervalOf(bootstrap.mean(part.codeBits, places)),
  };
}

/** How the intervals of clustered measurements are computed. */
export function resamplingOf({ by, count }: Pick<Clusters, "by" | "count">): Resampling {
  return { by, numClusters: count, numResamples: NUM_RESAMPLES, confidence: CONFIDENCE };
}

/** Scores methods, each in the same groups of measurements with a reply. */
class Scorer {
  /** 1 if no reply came. */
  readonly isFailed: Uint8Array;
  /** The places of the forecasts of measurements with a reply. */
  readonly answered: readonly number[];
  /** All of them, then those with each number of context measurements. */
  readonly groups: readonly (readonly number[])[];
  readonly #measuredMs: Float64Array;
  readonly #pacer: EventLoopPacer;
  #numScored = 0;

  constructor(
    { caseIndex, numContext }: RttForecasts,
    cases: readonly EvalCase[],
    readonly options: ComparedOptions & { bootstrap: ClusterBootstrap },
  ) {
    this.#measuredMs = Float64Array.from(caseIndex, (i) => cases[i].rttMs ?? NaN);
    this.isFailed = Uint8Array.from(caseIndex, (i) => cases[i].rttMs === null ? 1 : 0);
    const answered = caseIndex.keys().toArray().filter((place) => this.isFailed[place] === 0);
    const ofContexts = options.contexts.map((count) =>
      answered.filter((place) => numContext[place] === count)
    );
    this.answered = answered;
    this.groups = [answered, ...ofContexts];
    this.#pacer = new EventLoopPacer({ signal: options.signal });
  }

  /** A method's errors in each group. @param crpsMs Absent where the method predicts single numbers. */
  async score(predictedMs: Float64Array, crpsMs?: Float64Array): Promise<ScoredErrors[]> {
    const { bootstrap, baselines, onScored } = this.options;
    const errors = this.groups.map((places) => {
      const scored = { predictedMs: at(predictedMs, places), measuredMs: at(this.#measuredMs, places) };
      return scoreErrors({ ...scored, crpsMs: crpsMs && at(crpsMs, places) }, bootstrap, places);
    });
    onScored?.(++this.#numScored, 2 + baselines.methods.size);
    await this.#pacer.yieldToEventLoop();
    return errors;
  }

  /** A method's metrics as they are reported. @param ofGroups Metrics of each group. */
  metricsOf<M extends ErrorMetrics>(
    [overall, ...rest]: readonly M[],
    predictedMs: Float64Array,
  ): MethodMetrics<M> {
    const measuredMs = at(this.#measuredMs, this.answered);
    return {
      overall,
      byContext: this.options.contexts.map((numContext, i) => ({ numContext, ...rest[i] })),
      errorCdf: errorCdf({ predictedMs: at(predictedMs, this.answered), measuredMs }),
    };
  }
}

function at(values: Float64Array, places: Iterable<number>): Float64Array {
  return Float64Array.from(places, (place) => values[place]);
}
