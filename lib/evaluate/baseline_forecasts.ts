/**
 * What methods without the model forecast for the cases of an evaluation, given at least what the model may know.
 *
 * Each is trained on the training measurements; then it goes over the measurements that may be known once more in
 * time, learning from each, and forecasts each case when its time has come. Where training measurements are later than
 * cases, those of the cases' sources are part of that second pass, so that "last seen" means last seen before the case.
 *
 * @module
 */
import { Breather } from "../preprocess/stage_hooks.ts";
import {
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
  predictInOrder,
} from "./baselines/baseline.ts";
import { standardBaselines } from "./baselines/standard.ts";
import type { EvalCase } from "./cases.ts";
import type { EvalRows } from "./eval_rows.ts";
import { MeasurementTable } from "./measurement_table.ts";

/** How baselines are trained. */
export interface BaselineOptions {
  seed: number;
  /** How many training measurements, and again how many held-out ones, are kept in memory; of more a sample. */
  maxMeasurements: number;
  /** The baselines by name; by default all. */
  baselines?: ReadonlyMap<string, Baseline>;
  /** Told how many probe rows are read and baselines done. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal;
}

/** The forecasts. */
export interface BaselineForecasts {
  /** By the baseline's name: one RTT in ms per case, NaN where it could not say. */
  predictedMs: Map<string, Float64Array>;
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
  const training = await MeasurementTable.read([rows.training], reading);
  const observable = await MeasurementTable.read(others, reading);
  const order = cases.keys().toArray().sort((a, b) =>
    cases[a].measurement.timeS - cases[b].measurement.timeS
  );
  const queries = order.map((place) => queryOf(cases[place]));
  const known = knownMeasurements(training, observable, cases);
  const predictedMs = new Map<string, Float64Array>();
  const breather = new Breather(signal ? { signal } : {});
  for (const [name, baseline] of baselines) {
    await breather.breathe();
    baseline.train(training);
    const inOrder = predictInOrder(baseline, queries, { known: known() });
    const ofCases = new Float64Array(cases.length);
    order.forEach((place, i) => ofCases[place] = inOrder[i]);
    predictedMs.set(name, ofCases);
    advance();
  }
  return {
    predictedMs,
    numTraining: training.numSeen,
    numTrainingUsed: training.length,
    numObservable: observable.numSeen,
    numObserved: observable.length,
    trainingFailedShare: training.numSeen === 0 ? null : training.numFailed / training.numSeen,
  };
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
function* merged(
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
