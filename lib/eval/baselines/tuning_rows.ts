/**
 * The measurements that choose the settings of baselines: those of the validation split. Where there is none, a share of
 * the training rows, held out in the same way as the predicted rows.
 *
 * @module
 */
import type { BaselineMeasurement, Tuning } from "./baseline.ts";
import { evenlySpread } from "../cases.ts";
import type { HistoryMode } from "../eval_rows.ts";

/** The share of the training rows that is held out where there is no validation split. */
const HELD_OUT_SHARE = 0.1;
/** With more training measurements only a share of the pairs is used, which bounds the time. */
const MAX_TRAINING = 200_000;
/** Measurements that are predicted by each setting. */
const MAX_HELD_OUT = 2000;

/** Measurements that can be iterated again and again, by time. */
interface Table extends Iterable<BaselineMeasurement> {
  readonly length: number;
}

/**
 * Draws them, the same ones each time.
 *
 * @param training All training measurements.
 * @param options `validation`: those of the validation split, if there is one; `history`: with `all`, what is older than
 *   a measurement may be known, with `train` only what was trained on.
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

/** The time of the measurement with that many before it. */
function timeAt(measurements: Iterable<BaselineMeasurement>, count: number): number {
  let seen = 0;
  let last = Infinity;
  for (const { timeS } of measurements) {
    last = timeS;
    if (seen++ >= count) break;
  }
  return last;
}

/** A number from 0 to 1 that both directions of a pair share: FNV-1a of its ends, well mixed. */
function pairFraction({ source, destination }: BaselineMeasurement, salt: string): number {
  const [a, b] = source < destination ? [source, destination] : [destination, source];
  let hash = 0x811c9dc5;
  for (const text of [salt, a, b]) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  }
  return (hash >>> 0) / 2 ** 32;
}
