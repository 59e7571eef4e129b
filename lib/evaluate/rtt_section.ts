/**
 * Part of an evaluation: how well the model predicts RTTs, by the number of measurements of context, beside methods
 * without a model on the same measurements.
 *
 * @module
 */
import type { PingModel } from "../query/ping_model.ts";
import type { BaselineForecasts } from "./baseline_forecasts.ts";
import { type Coverage, coverages, pitHistogram } from "./calibration.ts";
import type { EvalCase } from "./cases.ts";
import { CRPS_LIMIT_MS } from "./crps.ts";
import { type FailureSection, failureSection } from "./failure_section.ts";
import { errorCdf, type ErrorMetrics, errorMetrics, type MethodMetrics } from "./forecast_errors.ts";
import { meanOf } from "./means.ts";
import { type ForecastOptions, forecastRtts, type RttForecasts, selectForecasts } from "./rtt_forecasts.ts";
import { type RttComparison, rttComparisons } from "./rtt_comparison.ts";

export type { FailureSection } from "./failure_section.ts";

/** Forecasts of the model. */
export interface RttMetrics extends ErrorMetrics {
  coverage: Coverage[];
  /** Share of the measurements in each twentieth of their forecast distributions. */
  pit: number[];
  /** Mean -log2 P(the RTT's code | a reply); null of nothing. */
  codeBits: number | null;
}

/** How well RTTs are predicted, of those measurements that had a reply. */
export interface RttSection {
  contexts: number[];
  /** Whether each measurement was predicted with each number of context, or they took turns. */
  isEveryContext: boolean;
  /** RTTs count as at most this in CRPS, ms. */
  crpsLimitMs: number;
  /** Point forecasts are the distributions' medians. */
  model: MethodMetrics<RttMetrics>;
  /** With the likeliest RTTs of the model as single numbers; see `RttDistribution.likeliest`. */
  likeliest: MethodMetrics<ErrorMetrics>;
  baselines: ({ name: string } & MethodMetrics<ErrorMetrics>)[];
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

/** How RTTs are evaluated. */
export interface RttOptions extends ForecastOptions {
  /** What the baselines forecast for the same cases. */
  baselines: BaselineForecasts;
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
  const { baselines, contexts, everyContext = false } = options;
  const isFailed = Uint8Array.from(forecasts.caseIndex, (i) => cases[i].rttMs === null ? 1 : 0);
  return {
    forecasts,
    rtt: rttSection(forecasts, cases, { baselines, contexts, everyContext }),
    failures: failureSection({ ...forecasts, isFailed }, {
      contexts,
      trainingShare: baselines.trainingFailedShare,
    }),
  };
}

/** Scores forecasts of the model and of baselines. */
export function rttSection(
  forecasts: RttForecasts,
  cases: readonly EvalCase[],
  options: { contexts: readonly number[]; everyContext: boolean; baselines: BaselineForecasts },
): RttSection {
  const { contexts, everyContext, baselines } = options;
  const places = forecasts.caseIndex.keys().toArray();
  const isAnswered = (place: number) => cases[forecasts.caseIndex[place]].rttMs !== null;
  const answered = selectForecasts(forecasts, places.filter(isAnswered));
  const { caseIndex, predictedMs, spreadMass } = answered;
  const measuredMs = Float64Array.from(caseIndex, (i) => cases[i].rttMs ?? NaN);
  const groups = groupByContext(answered, contexts);
  const ofModel = scoreGroups(groups, (places) => modelMetrics(selectForecasts(answered, places), cases));
  const model = { ...ofModel, errorCdf: errorCdf({ predictedMs, measuredMs }) };
  const scoreNumbers = (predictedMs: Float64Array): MethodMetrics<ErrorMetrics> => {
    const at = (places: readonly number[]) => ({
      predictedMs: Float64Array.from(places, (place) => predictedMs[place]),
      measuredMs: Float64Array.from(places, (place) => measuredMs[place]),
    });
    const metrics = scoreGroups(groups, (places) => errorMetrics(at(places)));
    return { ...metrics, errorCdf: errorCdf({ predictedMs, measuredMs }) };
  };
  const likeliest = scoreNumbers(answered.likeliestMs);
  const methods = [...baselines.predictedMs].map(([name, ofCases]) => ({
    name,
    ...scoreNumbers(Float64Array.from(caseIndex, (i) => ofCases[i])),
  }));
  const { numTraining, numTrainingUsed, numObservable, numObserved } = baselines;
  return {
    contexts: [...contexts],
    isEveryContext: everyContext,
    crpsLimitMs: CRPS_LIMIT_MS,
    ...{ model, likeliest },
    baselines: methods,
    comparisons: rttComparisons({ model, likeliest }, methods),
    ...{ numTraining, numTrainingUsed, numObservable, numObserved },
    meanSpreadMass: meanOf(spreadMass),
    maxSpreadMass: spreadMass.length === 0 ? null : spreadMass.reduce((a, b) => Math.max(a, b)),
  };
}

/** Places among forecasts. */
interface Groups {
  all: readonly number[];
  byContext: readonly { numContext: number; places: readonly number[] }[];
}

function groupByContext({ numContext }: RttForecasts, contexts: readonly number[]): Groups {
  const all = numContext.keys().toArray();
  return {
    all,
    byContext: contexts.map((count) => ({
      numContext: count,
      places: all.filter((place) => numContext[place] === count),
    })),
  };
}

function scoreGroups<M extends ErrorMetrics>(
  { all, byContext }: Groups,
  score: (places: readonly number[]) => M,
): Omit<MethodMetrics<M>, "errorCdf"> {
  return {
    overall: score(all),
    byContext: byContext.map(({ numContext, places }) => ({ numContext, ...score(places) })),
  };
}

function modelMetrics(forecasts: RttForecasts, cases: readonly EvalCase[]): RttMetrics {
  const measuredMs = Float64Array.from(forecasts.caseIndex, (i) => cases[i].rttMs ?? NaN);
  return {
    ...errorMetrics({ ...forecasts, measuredMs }),
    coverage: coverages(forecasts),
    pit: pitHistogram(forecasts, NUM_PIT_BINS),
    codeBits: meanOf(forecasts.codeBits),
  };
}
