/**
 * The forecasts of baselines for new addresses. They learn from the same measurements as the model: all of the
 * training, and a few of each address.
 *
 * The baselines are trained again for each number of given measurements. Their settings and distributions are chosen in
 * the same situation: by new addresses of the validation split, with as many given measurements. Where there are none, a
 * share of the training measurements is used.
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
  /** Called after each baseline. */
  readonly onDone: () => void;
  readonly signal?: AbortSignal | undefined;
}

/** What baselines forecast. @param unseen Whose judged measurements are forecast. */
export async function forecastUnseen(
  unseen: UnseenCases,
  { baselines, training, numGiven, validation, onDone, signal }: AdaptBaselineOptions,
): Promise<BaselineForecasts> {
  const methods = await forecastsOf(baselines, unseen.judged, {
    training: both(training, givenOf(unseen, numGiven)),
    tuning: tuningOf(training, validation, numGiven),
    known: () => [],
    onDone,
    signal,
  });
  return {
    methods,
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
