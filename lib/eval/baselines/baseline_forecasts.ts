/**
 * Baseline forecasts for the cases of an evaluation. Baselines know at least as much as the model.
 *
 * Each baseline is trained on the training measurements. Then it observes the other known measurements in
 * time order and forecasts each case at its time. If training measurements are later than cases, those of the
 * cases' sources are part of this second pass, so that the last value is the last one before the case. They
 * are marked, so that medians count them once.
 *
 * @module
 */
import { EventLoopPacer } from "../../io/threads/stage_hooks.ts";
import { WorkerPool } from "../../io/threads/worker_pool.ts";
import type { MassRanges } from "../../query/rtt/quantile_calibration.ts";
import {
  askInOrder,
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
  type Tuning,
} from "./baseline.ts";
import type { EvalCase } from "../cases.ts";
import { crpsOfSampleMs } from "../metrics/forecast_errors.ts";
import type { EvalRows, EvalRowsOptions } from "../eval_rows.ts";
import { MeasurementTable } from "./measurement_table.ts";
import { ALL_KERNELS, KERNEL_AVERAGE, PairKernelBaseline } from "./pair_kernels.ts";
import { tuningRows } from "./tuned.ts";

const WORKER = new URL("./baseline_worker.ts", import.meta.url);

interface BaselineCase extends Pick<EvalCase, "srcAddr" | "dstAddr" | "rttMs"> {
  readonly measurement: Pick<EvalCase["measurement"], "timeS">;
}

/** The files that the thread opens, and the options of {@link forecastWithBaselines}. */
export interface BaselineJob
  extends Omit<EvalRowsOptions, "checked">, Pick<BaselineOptions, "seed" | "maxMeasurements"> {
  readonly dataDir: string;
  /** The checkpoint whose places are used, and files that override them. */
  readonly checkpoint: string;
  readonly geo?: readonly string[] | undefined;
  readonly names: readonly string[];
  readonly cases: readonly BaselineCase[];
}

/**
 * Runs {@link forecastWithBaselines} in a thread.
 *
 * @returns `take` awaits the forecasts and reports progress from then on.
 */
export function forecastInThread(
  cases: readonly EvalCase[],
  job: Omit<BaselineJob, "cases">,
  signal: AbortSignal | undefined,
): Disposable & { take: (onProgress: BaselineOptions["onProgress"]) => Promise<BaselineForecasts> } {
  const pool = new WorkerPool<BaselineJob, BaselineForecasts, [done: number, total: number]>(undefined, {
    name: "eval",
    module: WORKER,
    numWorkers: 1,
    signal,
  });
  const sent = cases.map(({ srcAddr, dstAddr, rttMs, measurement: { timeS } }) => ({
    srcAddr,
    dstAddr,
    rttMs,
    measurement: { timeS },
  }));
  let shown: BaselineOptions["onProgress"];
  const forecasts = pool.ask(0, { ...job, cases: sent }, ([done, total]) => shown?.(done, total));
  forecasts.catch(() => {}); // Thrown by take().
  const take = async (onProgress: BaselineOptions["onProgress"]) => {
    shown = onProgress;
    return await forecasts;
  };
  return { take, [Symbol.dispose]: () => pool[Symbol.dispose]() };
}

interface BaselineOptions {
  seed: number;
  /** Limit of training measurements, and of held-out ones, in memory. Larger sets are sampled. */
  maxMeasurements: number;
  /** Untrained, by name. */
  baselines: ReadonlyMap<string, Baseline>;
  /** Counts the probe rows read and the baselines done. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** One entry per case. */
interface BaselineForecast {
  /** NaN if the baseline has no forecast. */
  predictedMs: Float64Array;
  settings?: string | undefined;
  /** Scores of its distributions, NaN without a reply; absent for point predictions. */
  distribution?: MassRanges & { crpsMs: Float64Array };
}

export interface BaselineForecasts {
  methods: ReadonlyMap<string, BaselineForecast>;
  /** Training measurements, and how many answered ones the baselines learned from. */
  numTraining: number;
  numTrainingUsed: number;
  /** Known measurements of other splits, and how many answered ones the baselines learned from. */
  numObservable: number;
  numObserved: number;
  /** P(no reply) of each case by method; empty without training measurements. */
  pFailed: ReadonlyMap<string, Float64Array>;
}

/**
 * Trains the baselines and collects their forecasts.
 *
 * @param rows The rows that the cases were drawn from.
 * @throws {FormatError} If a row cannot be read.
 */
export async function forecastWithBaselines(
  rows: EvalRows,
  cases: readonly BaselineCase[],
  options: BaselineOptions,
): Promise<BaselineForecasts> {
  const { baselines, onProgress, signal } = options;
  const others = rows.history === "all" ? [...rows.others, rows.heldOut] : [];
  const numRows = [rows.training, ...others].reduce((sum, { numRows }) => sum + numRows, 0);
  let done = 0;
  const advance = () => onProgress?.(++done, numRows + baselines.size);
  const reading = { ...options, onRow: advance };
  const validation = rows.validation && await MeasurementTable.read([rows.validation], { ...options });
  const training = await MeasurementTable.read([rows.training], reading);
  const observable = await MeasurementTable.read(others, reading);
  const methods = await forecastsOf(baselines, cases, {
    training,
    tuning: tuningRows(training, { validation, history: rows.history }),
    known: knownMeasurements(training, observable, cases),
    onDone: advance,
    signal,
  });
  return {
    methods,
    numTraining: training.numSeen,
    numTrainingUsed: training.length,
    numObservable: observable.numSeen,
    numObserved: observable.length,
    pFailed: failuresOf(training, observable, { cases, names: baselines }),
  };
}

/** The forecasts of a range of cases. @param end Index after the last one. */
export function forecastsBetween(
  forecasts: BaselineForecasts,
  first: number,
  end: number,
): BaselineForecasts {
  const part = (values: Float64Array) => values.slice(first, end);
  const methods = [...forecasts.methods].map(([name, { predictedMs, distribution, ...rest }]) => {
    const forecast: BaselineForecast = { ...rest, predictedMs: part(predictedMs) };
    if (distribution) {
      const { crpsMs, below, upTo } = distribution;
      forecast.distribution = { crpsMs: part(crpsMs), below: part(below), upTo: part(upTo) };
    }
    return [name, forecast] as const;
  });
  const pFailed = [...forecasts.pFailed].map(([name, ofName]) => [name, part(ofName)] as const);
  return { ...forecasts, methods: new Map(methods), pFailed: new Map(pFailed) };
}

interface BaselineKnowledge {
  readonly training: Iterable<BaselineMeasurement>;
  readonly tuning: Tuning;
  /** Measurements to observe between the cases, oldest first. */
  readonly known: () => Iterable<BaselineMeasurement>;
  readonly onDone?: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** Trains baselines and collects their forecasts. @param baselines Untrained, by name. */
export async function forecastsOf(
  baselines: ReadonlyMap<string, Baseline>,
  cases: readonly BaselineCase[],
  { training, tuning, known, onDone, signal }: BaselineKnowledge,
): Promise<Map<string, BaselineForecast>> {
  const queries = queriesOf(cases);
  const methods = new Map<string, BaselineForecast>();
  const pacer = new EventLoopPacer({ signal });
  for (const [name, baseline] of baselines) {
    await pacer.yieldToEventLoop();
    baseline.train(training, tuning);
    const floats = () => new Float64Array(cases.length).fill(NaN);
    const forecast: BaselineForecast = { predictedMs: floats(), settings: baseline.settings };
    const distribution = { crpsMs: floats(), below: floats(), upTo: floats() };
    const ask = (query: BaselineQuery & { place: number }) => {
      const predictedMs = baseline.predictMs(query);
      if (predictedMs === undefined) return;
      const { place } = query;
      forecast.predictedMs[place] = predictedMs;
      const { rttMs } = cases[place];
      if (rttMs === null) return;
      const sample = baseline.predictSampleMs?.(query);
      if (sample) forecast.distribution = distribution;
      const values = sample ?? Float64Array.of(predictedMs);
      distribution.crpsMs[place] = crpsOfSampleMs(values, rttMs);
      distribution.below[place] = values.filter((ms) => ms < rttMs).length / values.length;
      distribution.upTo[place] = values.filter((ms) => ms <= rttMs).length / values.length;
    };
    askInOrder(baseline, queries, { known: known(), ask });
    methods.set(name, forecast);
    onDone?.();
  }
  return methods;
}

/**
 * P(no reply) of each case: the share of the training measurements and, if it is one of the baselines, the
 * average of kernels over the pair's outcomes, whose CRPS is the Brier score. The share counts as one more
 * outcome.
 */
function failuresOf(
  training: MeasurementTable,
  observable: MeasurementTable,
  { cases, names }: { cases: readonly BaselineCase[]; names: { has(name: string): boolean } },
): Map<string, Float64Array> {
  if (training.numSeen === 0) return new Map();
  const share = training.numFailed / training.numSeen;
  const found = new Map([["share in training", new Float64Array(cases.length).fill(share)]]);
  if (!names.has(KERNEL_AVERAGE)) return found;
  const kernels = new PairKernelBaseline(ALL_KERNELS);
  kernels.train(training.outcomes());
  const pFailed = new Float64Array(cases.length);
  const ask = (query: BaselineQuery & { place: number }) => {
    pFailed[query.place] = kernels.meanWith(share, query);
  };
  askInOrder(kernels, queriesOf(cases), { known: observable.outcomes(), ask });
  return found.set(KERNEL_AVERAGE, pFailed);
}

/**
 * Questions in time order, with the places of their cases. Times are in whole seconds, so measurements of the
 * same second are not known.
 */
function queriesOf(cases: readonly BaselineCase[]): (BaselineQuery & { place: number })[] {
  return cases.map(({ srcAddr, dstAddr, measurement: { timeS } }, place) => ({
    source: srcAddr,
    destination: dstAddr,
    timeS,
    place,
  })).sort((a, b) => a.timeS - b.timeS);
}

function knownMeasurements(
  training: MeasurementTable,
  observable: MeasurementTable,
  cases: readonly BaselineCase[],
): () => Iterable<BaselineMeasurement> {
  const firstTimeS = cases.reduce((first, { measurement }) => Math.min(first, measurement.timeS), Infinity);
  if (training.lastTimeS < firstTimeS) return () => observable;
  const sources = new Set(cases.map(({ srcAddr }) => srcAddr));
  return () => merged(ofSources(training, sources), observable);
}

function* ofSources(
  measurements: Iterable<BaselineMeasurement>,
  sources: ReadonlySet<string>,
): Generator<BaselineMeasurement> {
  for (const measurement of measurements) {
    if (sources.has(measurement.source)) yield { ...measurement, isRepeated: true };
  }
}

/** Merges two series in time order. */
export function* merged(
  a: Iterable<BaselineMeasurement>,
  b: Iterable<BaselineMeasurement>,
): Generator<BaselineMeasurement> {
  const [first, second] = [a[Symbol.iterator](), b[Symbol.iterator]()];
  let x = first.next();
  let y = second.next();
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
