/**
 * What methods without the model forecast for addresses that training never met, fitted to exactly what the model is
 * given: all training measurements, and a few of each address.
 *
 * For each number of given measurements all are trained anew, the given ones among the training. Settings are chosen,
 * and numbers made distributions, in the same situation: by addresses of the validation split that training never met
 * either, of each of which as many are given; where there are none, by a share of the training measurements.
 *
 * @module
 */
import { type BaselineForecasts, forecastsOf, merged } from "../baselines/baseline_forecasts.ts";
import type { Baseline, BaselineMeasurement, Tuning } from "../baselines/baseline.ts";
import type { EvalCase } from "../cases.ts";
import type { MeasurementTable } from "../baselines/measurement_table.ts";
import { tuningRows } from "../baselines/tuning_rows.ts";
import type { UnseenCases } from "./unseen_addresses.ts";

/** What baselines are fitted to. */
export interface AdaptBaselineOptions {
  /** By name, untrained. */
  readonly baselines: ReadonlyMap<string, Baseline>;
  readonly training: MeasurementTable;
  /** How many measurements of each address they are given. */
  readonly numGiven: number;
  /** What was drawn of the validation split; absent where there is none. */
  readonly validation?: UnseenCases | undefined;
  /** Told that one more baseline is done. */
  readonly onDone: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** What baselines forecast. @param unseen Whose judged measurements are forecast. */
export async function forecastUnseen(
  unseen: UnseenCases,
  { baselines, training, numGiven, validation, onDone, signal }: AdaptBaselineOptions,
): Promise<BaselineForecasts> {
  const forecasts = await forecastsOf(baselines, unseen.judged, {
    training: both(training, givenOf(unseen, numGiven)),
    tuning: tuningOf(training, validation, numGiven),
    known: () => [],
    onDone,
    signal,
  });
  return {
    ...forecasts,
    numTraining: training.numSeen,
    numTrainingUsed: training.length,
    numObservable: 0,
    numObserved: 0,
    trainingFailedShare: null,
  };
}

function tuningOf(
  table: MeasurementTable,
  validation: UnseenCases | undefined,
  numGiven: number,
): Tuning {
  const heldOut = (validation?.judged ?? []).map(measurementOf);
  const tuning = tuningRows(table, { validation: heldOut, history: "train" });
  if (!validation || heldOut.length === 0) return tuning;
  return { training: both(tuning.training, givenOf(validation, numGiven)), heldOut, known: [] };
}

/** The first measurements of each address, by time. */
function givenOf({ given }: UnseenCases, numGiven: number): BaselineMeasurement[] {
  return given.flatMap((ofAddress) => ofAddress.slice(0, numGiven)).map(measurementOf)
    .sort((a, b) => a.timeS - b.timeS);
}

function measurementOf({ sourceKey, dstAddr, rttMs, measurement: { timeS } }: EvalCase) {
  return { source: sourceKey, destination: dstAddr, timeS, rttMs: rttMs ?? NaN };
}

function both(
  training: Iterable<BaselineMeasurement>,
  given: readonly BaselineMeasurement[],
): Iterable<BaselineMeasurement> {
  return { [Symbol.iterator]: () => merged(training, given) };
}
