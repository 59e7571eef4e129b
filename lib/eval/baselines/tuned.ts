/**
 * A baseline whose settings are chosen on measurements held out from its training, and whose errors on them
 * turn its point predictions into distributions.
 *
 * The settings with the smallest median absolute error are chosen. The distribution around a prediction is
 * that of the held-out ratios between measured and predicted RTTs: Roulston and Smith, "Combining dynamical
 * and statistical ensembles", Tellus 55A (2003), section 3 ("dressing"). It is kept only if its CRPS on the
 * held-out measurements is below that of the point prediction.
 *
 * @module
 */
import { crpsOfNumberMs, crpsOfSampleMs } from "../metrics/forecast_errors.ts";
import { meanOf, quantileOfSample } from "../../base/sample_statistics.ts";
import {
  askInOrder,
  type Baseline,
  type BaselineMeasurement,
  type BaselineQuery,
  SAMPLE_LEVELS,
  type Tuning,
} from "./baseline.ts";
import { logOfRtt } from "../../model/coordinates/rtt_scale.ts";
import { evenlySpread } from "../../base/collections.ts";
import type { HistoryMode } from "../eval_rows.ts";

interface Trial {
  predictedMs: number[];
  measuredMs: number[];
}

export class TunedBaseline implements Baseline {
  #chosen: Baseline;
  #settings: string;
  /** Factors of the prediction at each of the sample levels; undefined for point predictions. */
  #factors: Float64Array | undefined;

  /** @param candidates Make untrained baselines, by their settings in words; the usual ones first. */
  constructor(readonly candidates: ReadonlyMap<string, () => Baseline>) {
    const [[settings, make]] = candidates;
    [this.#settings, this.#chosen] = [settings, make()];
  }

  /** Trains each candidate on the tuning rows, then the chosen one on all rows. */
  train(measurements: Iterable<BaselineMeasurement>, tuning?: Tuning): void {
    if (tuning && tuning.heldOut.length > 0) this.#choose(tuning);
    this.#chosen = this.#make(this.#settings);
    this.#chosen.train(measurements);
  }

  observe(measurement: BaselineMeasurement): void {
    this.#chosen.observe(measurement);
  }

  predictMs(query: BaselineQuery): number | undefined {
    return this.#chosen.predictMs(query);
  }

  /** The chosen candidate's own distribution, or one around its prediction. */
  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    const own = this.#chosen.predictSampleMs?.(query);
    const predictedMs = own ? undefined : this.#chosen.predictMs(query);
    return own ??
      (predictedMs === undefined ? undefined : this.#factors?.map((factor) => predictedMs * factor));
  }

  get settings(): string | undefined {
    return this.candidates.size > 1 ? this.#settings : undefined;
  }

  #choose(tuning: Tuning): void {
    let best = Infinity;
    let trial: Trial | undefined;
    for (const settings of this.candidates.keys()) {
      const tried = tryOut(this.#make(settings), tuning);
      const error = quantileOfSample(
        tried.predictedMs.map((ms, i) => Math.abs(ms - tried.measuredMs[i])),
        0.5,
      );
      if (error < best) [best, trial, this.#settings] = [error, tried, settings];
    }
    this.#factors = trial && dressing(trial);
  }

  #make(settings: string): Baseline {
    return (this.candidates.get(settings) as () => Baseline)();
  }
}

function tryOut(baseline: Baseline, { training, heldOut, known }: Tuning): Trial {
  baseline.train(training);
  const trial: Trial = { predictedMs: [], measuredMs: [] };
  askInOrder(baseline, heldOut, {
    known,
    ask: (query) => {
      const predictedMs = baseline.predictMs(query);
      if (predictedMs === undefined) return;
      trial.predictedMs.push(predictedMs);
      trial.measuredMs.push(query.rttMs);
    },
  });
  return trial;
}

/** The factors that turn predictions into distributions, if that improves the CRPS. */
function dressing({ predictedMs, measuredMs }: Trial): Float64Array | undefined {
  const ratios = predictedMs.map((ms, i) => Math.exp(logOfRtt(measuredMs[i]) - logOfRtt(ms)));
  const factors = Float64Array.from(SAMPLE_LEVELS, (level) => quantileOfSample(ratios, level));
  const meanScore = (score: (ms: number, i: number) => number) => meanOf(predictedMs.map(score)) ?? Infinity;
  const dressed = meanScore((ms, i) => crpsOfSampleMs(factors.map((factor) => ms * factor), measuredMs[i]));
  return dressed < meanScore((ms, i) => crpsOfNumberMs(ms, measuredMs[i])) ? factors : undefined;
}

// The measurements that choose the settings: the validation split, or without one a share of the training
// rows, held out in the same way as the predicted rows.

/** The share of the training rows that is held out if there is no validation split. */
const HELD_OUT_SHARE = 0.1;
/** Larger training sets are reduced to a share of their pairs, which bounds the time. */
const MAX_TRAINING = 200_000;
/** Measurements that each candidate predicts. */
const MAX_HELD_OUT = 2000;

/** Measurements, oldest first, that can be iterated repeatedly. */
interface Table extends Iterable<BaselineMeasurement> {
  readonly length: number;
}

/**
 * Draws the tuning measurements; the same ones each time.
 *
 * @param training All training measurements.
 * @param options `validation`: the validation split, if there is one; `history`: with `all`, whatever is
 *   older than a measurement may be known, with `train` only the training set.
 */
export function tuningRows(
  training: Table,
  { validation, history }: { validation: Table | undefined; history: HistoryMode },
): Tuning {
  const share = Math.min(1, MAX_TRAINING / training.length);
  const isKept = (each: BaselineMeasurement) => share === 1 || pairFraction(each, "sample") < share;
  const kept = { [Symbol.iterator]: () => filtered(training, isKept) };
  if (validation && validation.length > 0) {
    const heldOut = { [Symbol.iterator]: () => filtered(validation, isKept) };
    return tuningOf(kept, heldOut, history);
  }
  const endS = history === "all" ? timeAt(kept, (1 - HELD_OUT_SHARE) * share * training.length) : Infinity;
  const isTraining = (each: BaselineMeasurement) =>
    history === "all" ? each.timeS < endS : pairFraction(each, "hold out") >= HELD_OUT_SHARE;
  const part = (wanted: boolean) => ({
    [Symbol.iterator]: () => filtered(kept, (each) => isTraining(each) === wanted),
  });
  return tuningOf(part(true), part(false), history);
}

function tuningOf(
  training: Iterable<BaselineMeasurement>,
  heldOut: Iterable<BaselineMeasurement>,
  history: HistoryMode,
): Tuning {
  const isAnswered = (each: BaselineMeasurement): each is BaselineMeasurement & { rttMs: number } =>
    each.rttMs !== null;
  return {
    training,
    heldOut: evenlySpread([...heldOut].filter(isAnswered), MAX_HELD_OUT),
    known: history === "all" ? heldOut : [],
  };
}

function* filtered(
  measurements: Iterable<BaselineMeasurement>,
  isWanted: (each: BaselineMeasurement) => boolean,
): Generator<BaselineMeasurement> {
  for (const each of measurements) if (isWanted(each)) yield each;
}

function timeAt(measurements: Iterable<BaselineMeasurement>, count: number): number {
  let seen = 0;
  let last = Infinity;
  for (const { timeS } of measurements) {
    last = timeS;
    if (seen++ >= count) break;
  }
  return last;
}

/** A number from 0 to 1 that both directions of a pair share: FNV-1a of its endpoints, mixed. */
function pairFraction({ source, destination }: BaselineMeasurement, salt: string): number {
  const [a, b] = source < destination ? [source, destination] : [destination, source];
  let hash = 0x811c9dc5;
  for (const text of [salt, a, b]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  }
  return (hash >>> 0) / 2 ** 32;
}
