/**
 * What every method that predicts RTTs without the model has in common: it is trained on measurements in the
 * order of time, then asked about held-out ones, and told each of them afterwards where the split allows that.
 *
 * Sources and destinations are told apart by any text without a space: an address, a probe id. Methods that take
 * both ends for nodes of one network (Vivaldi) take equal texts for the same node.
 *
 * @module
 */
import { ensure } from "../../errors.ts";

/** A measurement whose RTT is asked for. */
export interface BaselineQuery {
  source: string;
  destination: string;
  /** Seconds since 1970. */
  timeS: number;
}

/** A measurement. */
export interface BaselineMeasurement extends BaselineQuery {
  /** RTT in ms; null if there was no reply, from which no baseline learns. */
  rttMs: number | null;
}

/** Measurements by which a method's settings are chosen; none of them is one that it is judged by. */
export interface Tuning {
  /** What each setting is trained on. */
  training: Iterable<BaselineMeasurement>;
  /** What it then predicts, by time, and what is known between, as in {@link askInOrder}. */
  heldOut: readonly (BaselineMeasurement & { rttMs: number })[];
  known: Iterable<BaselineMeasurement>;
}

/** The levels of the quantiles that stand for a predicted distribution: 1 %, 3 %, …, 99 %. */
export const SAMPLE_LEVELS: readonly number[] = Array.from({ length: 50 }, (_, i) => (i + 0.5) / 50);

/** A method that predicts RTTs. */
export interface Baseline {
  /** The settings that were chosen; absent where there is nothing to choose. */
  readonly settings?: string | undefined;

  /**
   * Learns from the training measurements.
   *
   * @param measurements They, by time, oldest first. Some methods iterate over them several times, so a generator
   *   will not do.
   * @param tuning By what settings are chosen; the first ones are taken without it.
   */
  train(measurements: Iterable<BaselineMeasurement>, tuning?: Tuning): void;

  /** Learns from one more measurement, not older than those before. */
  observe(measurement: BaselineMeasurement): void;

  /** The prediction in ms; undefined where the method cannot say, because it knows nothing of these ends. */
  predictMs(query: BaselineQuery): number | undefined;

  /** Quantiles of the predicted distribution at {@link SAMPLE_LEVELS}, ms; absent where there is only a number. */
  predictSampleMs?(query: BaselineQuery): Float64Array | undefined;
}

/** Learns from each of the measurements once, in order: how methods that need no second look are trained. */
export function observeAll(baseline: Baseline, measurements: Iterable<BaselineMeasurement>): void {
  for (const measurement of measurements) baseline.observe(measurement);
}

/**
 * Learns from all measurements several times.
 *
 * @param measurements They, by time; not a generator, which ends with the first pass.
 * @param options `numPasses`: how often; `onPass`: told the number of each pass, from 0, before it begins.
 */
export function observePasses(
  baseline: Baseline,
  measurements: Iterable<BaselineMeasurement>,
  options: { numPasses: number; onPass?: (pass: number) => void },
): void {
  const iterator: unknown = measurements[Symbol.iterator]();
  ensure(
    iterator !== measurements,
    "a baseline needs several passes over what can be iterated once",
  );
  for (let pass = 0; pass < options.numPasses; pass++) {
    options.onPass?.(pass);
    observeAll(baseline, measurements);
  }
}

/**
 * Asks for one measurement after the other, when a baseline has learned what was measured before it.
 *
 * @param queries What is asked for, by time, oldest first.
 * @param options `known`: what the baseline learns from after its training, by time: before each query all of it that
 *   is older than the query; `ask`: called when the time of each query has come.
 */
export function askInOrder<Q extends BaselineQuery>(
  baseline: Baseline,
  queries: Iterable<Q>,
  options: { known: Iterable<BaselineMeasurement>; ask: (query: Q) => void },
): void {
  const measurements = options.known[Symbol.iterator]();
  let next = measurements.next();
  for (const query of queries) {
    for (; !next.done && next.value.timeS < query.timeS; next = measurements.next()) {
      baseline.observe(next.value);
    }
    options.ask(query);
  }
}
