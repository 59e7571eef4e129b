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
import type { ProbeRowSource } from "../loader/row_source.ts";
import { type BaselineForecasts, forecastsOf, merged } from "./baseline_forecasts.ts";
import type { Baseline, BaselineMeasurement, Tuning } from "./baselines/baseline.ts";
import type { EvalCase } from "./cases.ts";
import { MeasurementTable } from "./measurement_table.ts";
import { tuningRows } from "./tuning_rows.ts";
import type { UnseenCases } from "./unseen_addresses.ts";

/** The baselines of an evaluation of adapted models. */
export interface AdaptBaselineOptions {
  /** They by name, untrained, made anew each time. */
  readonly make: () => ReadonlyMap<string, Baseline>;
  /** Training measurements that are kept in memory; of more a sample. */
  readonly maxMeasurements: number;
  readonly seed: number;
  /** What was drawn of the validation split; absent where there is none. */
  readonly validation?: UnseenCases | undefined;
  readonly signal?: AbortSignal;
}

/** Baselines that are fitted to a few measurements of unseen addresses. */
export class AdaptBaselines {
  readonly #training: MeasurementTable;
  readonly #options: AdaptBaselineOptions;

  private constructor(training: MeasurementTable, options: AdaptBaselineOptions) {
    this.#training = training;
    this.#options = options;
  }

  /** Reads the training measurements. @throws {FormatError} If a row cannot be read. */
  static async read(training: ProbeRowSource, options: AdaptBaselineOptions): Promise<AdaptBaselines> {
    return new AdaptBaselines(await MeasurementTable.read([training], options), options);
  }

  /**
   * What they forecast.
   *
   * @param unseen Whose judged measurements are forecast.
   * @param numGiven How many measurements of each address they are given.
   * @param onDone Told that one more baseline is done.
   */
  async forecast(unseen: UnseenCases, numGiven: number, onDone?: () => void): Promise<BaselineForecasts> {
    const { make, signal } = this.#options;
    const training = this.#training;
    const forecasts = await forecastsOf(make(), unseen.judged, {
      training: both(training, givenOf(unseen, numGiven)),
      tuning: this.#tuning(numGiven),
      known: () => [],
      ...(onDone ? { onDone } : {}),
      ...(signal ? { signal } : {}),
    });
    return {
      ...forecasts,
      numTraining: training.numSeen,
      numTrainingUsed: training.length,
      ...{ numObservable: 0, numObserved: 0, trainingFailedShare: null },
    };
  }

  #tuning(numGiven: number): Tuning {
    const { validation } = this.#options;
    const heldOut = (validation?.judged ?? []).map(measurementOf);
    const tuning = tuningRows(this.#training, { validation: heldOut, history: "train" });
    if (!validation || heldOut.length === 0) return tuning;
    const training = both(tuning.training, givenOf(validation, numGiven));
    return { training, heldOut, known: [] };
  }
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
