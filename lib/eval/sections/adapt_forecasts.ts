/**
 * The forecasts of the model for new addresses, after it was adapted to a few measurements of each.
 *
 * The addresses are fitted together, as `adapt` fits those of a file. The given measurements have a known address at the
 * other end, so the rows of each address follow its own measurements alone. A fit of each address by itself would still
 * give slightly other numbers: a new row of a shorter prefix belongs to all new addresses under it, a row starts from
 * the mean of the known addresses that any of them was measured with, and sums are rounded in another order. An address
 * that finds no free row is fitted in a further round, which starts from the trained model again.
 *
 * @module
 */
import { type BaselineForecasts, forecastsOf, merged } from "../baselines/baseline_forecasts.ts";
import type { Baseline, BaselineMeasurement, Tuning } from "../baselines/baseline.ts";
import type { EvalCase } from "../cases.ts";
import type { MeasurementTable } from "../baselines/measurement_table.ts";
import { tuningRows } from "../baselines/tuning_rows.ts";
import type { UnseenCases } from "./unseen_addresses.ts";
import { ADAPT_DEFAULTS } from "../../query/adapt/adapt.ts";
import { PingModel } from "../../query/ping_model.ts";
import type { LoadedCheckpoint } from "../../train/checkpoint_files.ts";
import { forecastRtts, joinForecasts, type RttForecasts } from "./rtt_forecasts.ts";

// The forecasts of baselines for new addresses. They learn from the same measurements as the model: all of the
// training, and a few of each address.
//
// The baselines are trained again for each number of given measurements. Their settings and distributions are chosen in
// the same situation: by new addresses of the validation split, with as many given measurements. Where there are none, a
// share of the training measurements is used.

/** What baselines are fitted to. */
interface AdaptBaselineOptions {
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

/** The result of a fit. */
export interface AdaptFit {
  /** Measurements that it learned from. */
  numMeasurements: number;
  /** Rounds that it took until every address had a row. */
  numRounds: number;
  /** Addresses without a free row after all rounds. Their forecasts use the rows of shorter prefixes alone. */
  numWithoutRow: number;
  /** Mean loss of an RTT's two bytes before and after, nats; null where nothing was fitted. */
  lossBefore: number | null;
  lossAfter: number | null;
}

/** A model and its questions. */
export interface AdaptedModels {
  /** As it was trained. It is not changed. */
  readonly model: PingModel;
  /** What it was made of. */
  readonly checkpoint: LoadedCheckpoint;
  readonly unseen: UnseenCases;
}

/** Progress and the signal to stop. */
interface AdaptHooks {
  readonly onProgress: (phase: string, done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Forecasts the judged measurements, without context.
 *
 * @param numGiven How many measurements of each address the model is adapted to.
 * @throws {UserError} If a fit fails.
 */
export async function forecastAdapted(
  { model, checkpoint, unseen }: AdaptedModels,
  numGiven: number,
  { onProgress, signal }: AdaptHooks,
): Promise<{ forecasts: RttForecasts; fit: AdaptFit }> {
  const { addresses, given, judged, addressOf } = unseen;
  const parts: RttForecasts[] = [];
  let numDone = 0;
  const ask = async (asked: PingModel, left: ReadonlySet<string>) => {
    const places = judged.keys().toArray().filter((place) => left.has(addresses[addressOf[place]]));
    const forecasts = await forecastRtts(asked, places.map((place) => judged[place]), {
      contexts: [0],
      signal,
      onProgress: (done) => onProgress("predicting RTTs", numDone + done, judged.length),
    });
    numDone += places.length;
    parts.push({ ...forecasts, caseIndex: forecasts.caseIndex.map((i) => places[i]) });
  };
  const fit: AdaptFit = {
    numMeasurements: 0,
    numRounds: 0,
    numWithoutRow: 0,
    lossBefore: null,
    lossAfter: null,
  };
  let left = new Set(addresses);
  if (numGiven === 0) await ask(model, left);
  while (numDone < judged.length) {
    // On a GPU's device of its own, so that what it takes is freed with it.
    using adapted = await PingModel.from(checkpoint);
    const measurements = given.flatMap((ofAddress, i) =>
      left.has(addresses[i]) ? ofAddress.slice(0, numGiven) : []
    );
    const { withoutRow, lossBefore, lossAfter } = await adapted.adapt(
      measurements.map(({ measurement }) => measurement),
      {
        addresses: [...left],
        signal,
        onProgress: (steps) => onProgress("fitting rows", steps, ADAPT_DEFAULTS.steps),
      },
    );
    if (fit.numRounds++ === 0) {
      Object.assign(fit, { numMeasurements: measurements.length, lossBefore, lossAfter });
    }
    const isStuck = withoutRow.length === left.size;
    if (isStuck) fit.numWithoutRow = left.size;
    const next = new Set(isStuck ? [] : withoutRow);
    await ask(adapted, left.difference(next));
    left = next;
  }
  return { forecasts: joinForecasts(parts), fit };
}
