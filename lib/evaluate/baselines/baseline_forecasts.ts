/**
 * What methods without the model forecast for the cases of an evaluation, given at least what the model may know.
 *
 * Each is trained on the training measurements; then it goes over the measurements that may be known once more in
 * time, learning from each, and forecasts each case when its time has come. Where training measurements are later than
 * cases, those of the cases' sources are part of that second pass, so that "last seen" means last seen before the case.
 *
 * @module
 */
import { Breather } from "../../threads/stage_hooks.ts";
import type { MassRanges } from "../../query/quantile_calibration.ts";
import {
  askInOrder,
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
  type Tuning,
} from "./baseline.ts";
import { standardBaselines } from "./standard.ts";
import type { EvalCase } from "../cases.ts";
import { crpsOfSampleMs } from "../metrics/crps.ts";
import type { EvalRows } from "../eval_rows.ts";
import { MeasurementTable } from "./measurement_table.ts";
import { tuningRows } from "./tuning_rows.ts";

/** How baselines are trained. */
export interface BaselineOptions {
  seed: number;
  /** How many training measurements, and again how many held-out ones, are kept in memory; of more a sample. */
  maxMeasurements: number;
  /** The baselines by name; by default all. */
  baselines?: ReadonlyMap<string, Baseline>;
  /** Told how many probe rows are read and baselines done. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Forecast distributions beside what was measured, one entry per case; NaN without a reply. */
export interface BaselineDistributions extends MassRanges {
  /** Of the distribution, or of the single number where there is only that. */
  crpsMs: Float64Array;
}

/** The forecasts. */
export interface BaselineForecasts {
  /** By the baseline's name: one RTT in ms per case, NaN where it could not say. */
  predictedMs: Map<string, Float64Array>;
  /** What those with distributions forecast, by name; see {@link BaselineDistributions}. */
  distributions?: Map<string, BaselineDistributions>;
  /** The settings that were chosen for a baseline, by its name. */
  settings?: Map<string, string>;
  /** Training measurements, and how many of the answered ones the baselines learned from. */
  numTraining: number;
  numTrainingUsed: number;
  /** Measurements of other splits that might be known, and how many of the answered ones the baselines learned from. */
  numObservable: number;
  numObserved: number;
  /** The share of the training measurements without a reply; null of none. */
  trainingFailedShare: number | null;
}

/**
 * Trains the baselines and lets them forecast.
 *
 * @param rows The rows that the cases were drawn from.
 * @param cases The cases.
 * @throws {FormatError} If a row cannot be read.
 */
export async function forecastWithBaselines(
  rows: EvalRows,
  cases: readonly EvalCase[],
  options: BaselineOptions,
): Promise<BaselineForecasts> {
  const { seed, onProgress, signal } = options;
  const baselines = options.baselines ?? standardBaselines(seed);
  const others = rows.history === "all" ? [...rows.others, rows.heldOut] : [];
  const numRows = [rows.training, ...others].reduce((sum, { numRows }) => sum + numRows, 0);
  let done = 0;
  const advance = () => onProgress?.(++done, numRows + baselines.size);
  const reading = { ...options, onRow: advance };
  const validation = rows.validation && await MeasurementTable.read([rows.validation], { ...options });
  const training = await MeasurementTable.read([rows.training], reading);
  const observable = await MeasurementTable.read(others, reading);
  const forecasts = await forecastsOf(baselines, cases, {
    training,
    tuning: tuningRows(training, { validation, history: rows.history }),
    known: knownMeasurements(training, observable, cases),
    onDone: advance,
    signal,
  });
  return {
    ...forecasts,
    numTraining: training.numSeen,
    numTrainingUsed: training.length,
    numObservable: observable.numSeen,
    numObserved: observable.length,
    trainingFailedShare: training.numSeen === 0 ? null : training.numFailed / training.numSeen,
  };
}

/** What baselines learn from, by time. */
export interface BaselineKnowledge {
  /** As in `Baseline.train`. */
  readonly training: Iterable<BaselineMeasurement>;
  readonly tuning: Tuning;
  /** What each learns from between the cases. */
  readonly known: () => Iterable<BaselineMeasurement>;
  /** Told that one more baseline is done. */
  readonly onDone?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** Trains baselines and lets them forecast. @param baselines By name, untrained. */
export async function forecastsOf(
  baselines: ReadonlyMap<string, Baseline>,
  cases: readonly EvalCase[],
  { training, tuning, known, onDone, signal }: BaselineKnowledge,
): Promise<Pick<Required<BaselineForecasts>, "predictedMs" | "distributions" | "settings">> {
  const order = cases.keys().toArray().sort((a, b) =>
    cases[a].measurement.timeS - cases[b].measurement.timeS
  );
  const queries = order.map((place) => ({ ...queryOf(cases[place]), place }));
  const predictedMs = new Map<string, Float64Array>();
  const [distributions, settings] = [new Map<string, BaselineDistributions>(), new Map<string, string>()];
  const breather = new Breather({ signal });
  for (const [name, baseline] of baselines) {
    await breather.breathe();
    baseline.train(training, tuning);
    const forecasts = newForecasts(cases.length);
    const ask = (query: BaselineQuery & { place: number }) =>
      record(forecasts, query.place, { baseline, query, rttMs: cases[query.place].rttMs });
    askInOrder(baseline, queries, { known: known(), ask });
    predictedMs.set(name, forecasts.predictedMs);
    if (forecasts.isDistribution) distributions.set(name, forecasts);
    if (baseline.settings !== undefined) settings.set(name, baseline.settings);
    onDone?.();
  }
  return { predictedMs, distributions, settings };
}

interface Forecasts extends BaselineDistributions {
  predictedMs: Float64Array;
  isDistribution: boolean;
}

function newForecasts(count: number): Forecasts {
  const floats = () => new Float64Array(count).fill(NaN);
  return { predictedMs: floats(), crpsMs: floats(), below: floats(), upTo: floats(), isDistribution: false };
}

function record(
  forecasts: Forecasts,
  place: number,
  { baseline, query, rttMs }: { baseline: Baseline; query: BaselineQuery; rttMs: number | null },
): void {
  const predictedMs = baseline.predictMs(query);
  if (predictedMs === undefined) return;
  forecasts.predictedMs[place] = predictedMs;
  if (rttMs === null) return;
  const sample = baseline.predictSampleMs?.(query);
  forecasts.isDistribution ||= sample !== undefined;
  const values = sample ?? Float64Array.of(predictedMs);
  forecasts.crpsMs[place] = crpsOfSampleMs(values, rttMs);
  forecasts.below[place] = values.filter((ms) => ms < rttMs).length / values.length;
  forecasts.upTo[place] = values.filter((ms) => ms <= rttMs).length / values.length;
}

/** A case as baselines are asked for it. Its time is in whole seconds: nothing of the same second is known. */
function queryOf({ sourceKey, dstAddr, measurement: { timeS } }: EvalCase): BaselineQuery {
  return { source: sourceKey, destination: dstAddr, timeS };
}

/** What is learned from between the cases, by time. */
function knownMeasurements(
  training: MeasurementTable,
  observable: MeasurementTable,
  cases: readonly EvalCase[],
): () => Iterable<BaselineMeasurement> {
  const firstTimeS = cases.reduce((first, { measurement }) => Math.min(first, measurement.timeS), Infinity);
  if (training.lastTimeS < firstTimeS) return () => observable;
  const sources = new Set(cases.map(({ sourceKey }) => sourceKey));
  return () => merged(ofSources(training, sources), observable);
}

function* ofSources(
  measurements: Iterable<BaselineMeasurement>,
  sources: ReadonlySet<string>,
): Generator<BaselineMeasurement> {
  for (const measurement of measurements) if (sources.has(measurement.source)) yield measurement;
}

/** Two series in the order of time as one. */
export function* merged(
  a: Iterable<BaselineMeasurement>,
  b: Iterable<BaselineMeasurement>,
): Generator<BaselineMeasurement> {
  const [first, second] = [a[Symbol.iterator](), b[Symbol.iterator]()];
  let [x, y] = [first.next(), second.next()];
  while (!x.done || !y.done) {
    if (!x.done && (y.done || x.value.timeS <= y.value.timeS)) {
      yield x.value;
      x = first.next();
    } else if (!y.done) {
      yield y.value;
      y = second.next();
    }
  }
}
