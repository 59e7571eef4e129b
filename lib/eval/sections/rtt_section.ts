/**
 * The section on RTTs: how well the model predicts them, by context size, compared with baselines on the same
 * measurements.
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

export interface RttMetrics extends ErrorMetrics {
  coverage: Coverage[];
  /** Share of the measurements in each twentieth of their forecast distributions. */
  pit: number[];
  /** Mean -log2 P(RTT code | a reply), null without any; its 95 % interval, null with too few clusters. */
  codeBits: number | null;
  codeBitsInterval: Interval | null;
}

export interface BaselineMetrics extends MethodMetrics<ErrorMetrics> {
  name: string;
  /** Chosen on the validation split, or on a share of the training rows. */
  settings?: string;
  /** Over all measurements; absent for point forecasts. */
  coverage?: Coverage[];
}

/** How the 95 % intervals of an evaluation are computed; see bootstrap.ts. */
export interface Resampling {
  /** What the measurements of a cluster have in common, and how many clusters there are. */
  by: ClusterBy;
  numClusters: number;
  numResamples: number;
  confidence: number;
}

/** Over the measurements with a reply. */
export interface RttSection {
  contexts: number[];
  /** Whether each measurement was predicted with each context size; otherwise they take turns. */
  isEveryContext: boolean;
  /** Resampling of all intervals, including those of failures. */
  resampling: Resampling;
  /** Longer RTTs are scored as this one in CRPS. */
  crpsLimitMs: number;
  /** With the medians as point forecasts. */
  model: MethodMetrics<RttMetrics>;
  /** With the model's likeliest RTTs as point forecasts; see `RttDistribution.likeliest`. */
  likeliest: MethodMetrics<ErrorMetrics>;
  /**
   * The noise within pairs: the errors that are left if a pair's other replies in the split are known, but not
   * their times. Of the measurements whose pair has others.
   */
  noise: MethodMetrics<ErrorMetrics>;
  baselines: BaselineMetrics[];
  /** The model against the best baseline of each metric: overall (`numContext` null) and by context size. */
  comparisons: RttComparison[];
  /** Overall against the best baseline that knows places; absent without them. */
  placeComparisons?: RttComparison[];
  /** Training measurements of baselines and later ones that they observed: all, and those used. */
  numTraining: number;
  numTrainingUsed: number;
  numObservable: number;
  numObserved: number;
  /** Probability that was spread over unlikely RTTs: mean and largest; null without forecasts. */
  meanSpreadMass: number | null;
  maxSpreadMass: number | null;
}

const NUM_PIT_BINS = 20;

/** How to compare forecasts with the measurements and with baselines. */
interface ComparedOptions extends Pick<ForecastOptions, "contexts" | "everyContext" | "signal"> {
  /** Forecasts for the same cases. */
  baselines: BaselineForecasts;
  clusters: Clusters;
  seed: number;
  onScored?: (done: number, total: number) => void;
}

/**
 * Predicts the cases and scores the forecasts.
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
  const noiseMs = Float64Array.from(caseIndex, (i) => cases[i].ofPair?.medianMs ?? NaN);
  const noise = await scorer.score(
    noiseMs,
    Float64Array.from(caseIndex, (i) => cases[i].ofPair?.crpsMs ?? NaN),
  );
  const scored = await scoreBaselines(scorer, caseIndex);
  const modelMetrics = model.map(({ metrics }, i) => ({
    ...metrics,
    ...sharpnessOf(forecasts, scorer.groups[i], bootstrap),
  }));
  const spreadMass = at(forecasts.spreadMass, scorer.answered);
  const { numTraining, numTrainingUsed, numObservable, numObserved } = baselines;
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
    noise: scorer.metricsOf(noise.map(({ metrics }) => metrics), noiseMs),
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
    baselines: new Map([...baselines.pFailed].map(([name, ofCases]) => [name, at(ofCases, caseIndex)])),
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

/** How sharp and how well calibrated the model's distributions are. */
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

export function resamplingOf({ by, count }: Pick<Clusters, "by" | "count">): Resampling {
  return { by, numClusters: count, numResamples: NUM_RESAMPLES, confidence: CONFIDENCE };
}

/** Scores methods on the same groups of measurements with a reply. */
class Scorer {
  /** 1 for no reply. */
  readonly isFailed: Uint8Array;
  /** Indexes of the forecasts of measurements with a reply. */
  readonly answered: readonly number[];
  /** All answered forecasts, then those with each context size. */
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

  /** A method's errors in each group. @param crpsMs Absent for point forecasts. */
  async score(predictedMs: Float64Array, crpsMs?: Float64Array): Promise<ScoredErrors[]> {
    const { bootstrap, baselines, onScored } = this.options;
    const errors = this.groups.map((places) => {
      const scored = { predictedMs: at(predictedMs, places), measuredMs: at(this.#measuredMs, places) };
      return scoreErrors({ ...scored, crpsMs: crpsMs && at(crpsMs, places) }, bootstrap, places);
    });
    onScored?.(++this.#numScored, 3 + baselines.methods.size);
    await this.#pacer.yieldToEventLoop();
    return errors;
  }

  /** A method's metrics as reported. @param ofGroups Metrics of each group. */
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
