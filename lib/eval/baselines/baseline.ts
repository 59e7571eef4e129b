/**
 * The interface of baselines, which predict RTTs without the model. A baseline is trained on measurements in
 * time order, then predicts held-out ones. If the split allows it, the baseline observes each held-out
 * measurement afterwards.
 *
 * Sources and destinations are strings without spaces, here addresses. For methods that model the nodes of
 * one network (Vivaldi), equal strings are the same node.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";

export interface BaselineQuery {
  source: string;
  destination: string;
  /** Seconds since 1970. */
  timeS: number;
}

export interface BaselineMeasurement extends BaselineQuery {
  /** RTT in ms; null for no reply, which baselines ignore. */
  rttMs: number | null;
  /**
   * Whether the training set contains it too (false). Methods that follow time learn it again at its time;
   * methods that count skip it.
   */
  isRepeated?: boolean;
}

/** Measurements that choose a method's settings. The method is judged on others. */
export interface Tuning {
  /** Measurements that each candidate setting is trained on. */
  training: Iterable<BaselineMeasurement>;
  /** Measurements to predict, and those to observe in between, as in {@link askInOrder}. */
  heldOut: readonly (BaselineMeasurement & { rttMs: number })[];
  known: Iterable<BaselineMeasurement>;
}

/** The levels of the quantiles that represent a predicted distribution: 1 %, 3 %, …, 99 %. */
export const SAMPLE_LEVELS: readonly number[] = Array.from({ length: 50 }, (_, i) => (i + 0.5) / 50);

export interface Baseline {
  /** The chosen settings; absent if there is nothing to choose. */
  readonly settings?: string | undefined;

  /**
   * @param measurements Oldest first; not a generator, because some methods iterate several times.
   * @param tuning Chooses the settings; without it the first ones are used.
   */
  train(measurements: Iterable<BaselineMeasurement>, tuning?: Tuning): void;

  /** Learns from one more measurement, no older than the previous ones. */
  observe(measurement: BaselineMeasurement): void;

  /** Predicts an RTT in ms; undefined if the method knows nothing about these endpoints. */
  predictMs(query: BaselineQuery): number | undefined;

  /** Quantiles of the predicted distribution at {@link SAMPLE_LEVELS}, ms; absent for point predictions. */
  predictSampleMs?(query: BaselineQuery): Float64Array | undefined;
}

/** A baseline that observes each training measurement once, in order. */
export abstract class OnePassBaseline implements Baseline {
  train(measurements: Iterable<BaselineMeasurement>): void {
    for (const measurement of measurements) this.observe(measurement);
  }

  abstract observe(measurement: BaselineMeasurement): void;
  abstract predictMs(query: BaselineQuery): number | undefined;
}

/**
 * Observes all measurements several times.
 *
 * @param measurements Oldest first; not a generator, which would end after the first pass.
 * @param options `onPass` is called before each pass with its number, from 0.
 */
export function observePasses(
  baseline: Baseline,
  measurements: Iterable<BaselineMeasurement>,
  options: { numPasses: number; onPass?: (pass: number) => void },
): void {
  const iterator: unknown = measurements[Symbol.iterator]();
  ensure(
    iterator !== measurements,
    "a baseline needs several passes, but its measurements can be iterated only once",
  );
  for (let pass = 0; pass < options.numPasses; pass++) {
    options.onPass?.(pass);
    for (const measurement of measurements) baseline.observe(measurement);
  }
}

/**
 * Asks the queries one after the other. Before each one the baseline observes the known measurements that are
 * older.
 *
 * @param queries Oldest first.
 * @param options `known`: measurements to observe, oldest first; `ask`: called for each query at its time.
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

/** Predicts with the first of several baselines that has an answer. */
export class FallBackBaseline implements Baseline {
  readonly #baselines: readonly Baseline[];

  /** @param baselines In order of preference. All of them learn from every measurement. */
  constructor(...baselines: readonly Baseline[]) {
    this.#baselines = baselines;
  }

  train(measurements: Iterable<BaselineMeasurement>, tuning?: Tuning): void {
    for (const baseline of this.#baselines) baseline.train(measurements, tuning);
  }

  observe(measurement: BaselineMeasurement): void {
    for (const baseline of this.#baselines) baseline.observe(measurement);
  }

  predictMs(query: BaselineQuery): number | undefined {
    for (const baseline of this.#baselines) {
      const predictedMs = baseline.predictMs(query);
      if (predictedMs !== undefined) return predictedMs;
    }
    return undefined;
  }

  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.#baselines.find((baseline) => baseline.predictMs(query) !== undefined)
      ?.predictSampleMs?.(query);
  }
}

/**
 * Shows a baseline each measurement in both directions if any node is both a source and a destination: an RTT
 * from A to B is also one from B to A. Liao et al., "DMFSGD" (2013), section V.B, learn from RTTs this way.
 */
export class MirroredBaseline implements Baseline {
  #isMesh = false;

  /** @param baseline One that distinguishes sources from destinations. */
  constructor(readonly baseline: Baseline) {}

  /** As {@link Baseline.train}, with one more pass to collect the nodes. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    const [sources, destinations] = [new Set<string>(), new Set<string>()];
    for (const { source, destination } of measurements) {
      sources.add(source);
      destinations.add(destination);
    }
    this.#isMesh = !sources.isDisjointFrom(destinations);
    this.baseline.train(this.#isMesh ? { [Symbol.iterator]: () => bothWays(measurements) } : measurements);
  }

  observe(measurement: BaselineMeasurement): void {
    this.baseline.observe(measurement);
    if (this.#isMesh) this.baseline.observe(mirrored(measurement));
  }

  predictMs(query: BaselineQuery): number | undefined {
    return this.baseline.predictMs(query);
  }

  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.baseline.predictSampleMs?.(query);
  }
}

function* bothWays(measurements: Iterable<BaselineMeasurement>): Generator<BaselineMeasurement> {
  for (const measurement of measurements) {
    yield measurement;
    yield mirrored(measurement);
  }
}

function mirrored(measurement: BaselineMeasurement): BaselineMeasurement {
  const { source, destination } = measurement;
  return { ...measurement, source: destination, destination: source };
}
