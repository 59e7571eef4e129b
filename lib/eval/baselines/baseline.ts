/**
 * The interface of baselines: methods that predict RTTs without the model. A baseline is trained on measurements in the
 * order of time, then predicts held-out ones. Where the split allows, it observes each of them afterwards.
 *
 * The name of a source or destination is any text without a space, here its address. For methods with nodes of one network
 * (Vivaldi), equal names are the same node.
 *
 * @module
 */
import { ensure } from "../../base/errors.ts";

/** A measurement whose RTT is asked for. */
export interface BaselineQuery {
  source: string;
  destination: string;
  /** Seconds since 1970. */
  timeS: number;
}

export interface BaselineMeasurement extends BaselineQuery {
  /** RTT in ms; null if there was no reply, from which no baseline learns. */
  rttMs: number | null;
  /**
   * Whether the training had it too (false). Methods that follow the order of time learn it again at its time; those that
   * count do not.
   */
  isRepeated?: boolean;
}

/** Measurements that choose a method's settings. It is judged by others. */
export interface Tuning {
  /** The training measurements of each setting. */
  training: Iterable<BaselineMeasurement>;
  /** The measurements that it then predicts, and those that it observes between, as in {@link askInOrder}. */
  heldOut: readonly (BaselineMeasurement & { rttMs: number })[];
  known: Iterable<BaselineMeasurement>;
}

/** The levels of the quantiles that represent a predicted distribution: 1 %, 3 %, …, 99 %. */
export const SAMPLE_LEVELS: readonly number[] = Array.from({ length: 50 }, (_, i) => (i + 0.5) / 50);

/** A method that predicts RTTs. */
export interface Baseline {
  /** The settings that were chosen; absent where there is nothing to choose. */
  readonly settings?: string | undefined;

  /**
   * Learns from the training measurements.
   *
   * @param measurements By time, oldest first. Some methods iterate over them several times, so no generator.
   * @param tuning Chooses the settings; without it the first ones are used.
   */
  train(measurements: Iterable<BaselineMeasurement>, tuning?: Tuning): void;

  /** Learns from one more measurement, not older than those before. */
  observe(measurement: BaselineMeasurement): void;

  /** The prediction in ms; undefined where the method knows nothing of these ends. */
  predictMs(query: BaselineQuery): number | undefined;

  /** Quantiles of the predicted distribution at {@link SAMPLE_LEVELS}, ms; absent where there is only a number. */
  predictSampleMs?(query: BaselineQuery): Float64Array | undefined;
}

/** A baseline whose training observes each measurement once, in order. */
export abstract class OnePassBaseline implements Baseline {
  train(measurements: Iterable<BaselineMeasurement>): void {
    for (const measurement of measurements) this.observe(measurement);
  }

  abstract observe(measurement: BaselineMeasurement): void;
  abstract predictMs(query: BaselineQuery): number | undefined;
}

/**
 * Learns from all measurements several times.
 *
 * @param measurements By time; no generator, which ends with the first pass.
 * @param options `onPass`: called with the number of each pass, from 0, before it begins.
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
    for (const measurement of measurements) baseline.observe(measurement);
  }
}

/**
 * Asks for one measurement after the other. Before each query the baseline observes the older known measurements.
 *
 * @param queries By time, oldest first.
 * @param options `known`: measurements to observe, by time; `ask`: called for each query at its time.
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

// Baselines that step in for each other.

/** Predicts what the first of some baselines says that can say anything. */
export class FallBackBaseline implements Baseline {
  readonly #baselines: readonly Baseline[];

  /** @param baselines They, the preferred one first; each learns from everything. */
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

  /** The prediction of the first baseline that makes one. */
  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.#baselines.find((baseline) => baseline.predictMs(query) !== undefined)
      ?.predictSampleMs?.(query);
  }
}

// Baselines of networks whose nodes measure each other.

/**
 * Tells a baseline of each measurement in both directions, where any node is a source and a destination: an RTT from A
 * to B is one from B to A. Liao et al., "DMFSGD" (2013), section V.B, learn so from RTTs.
 */
export class MirroredBaseline implements Baseline {
  #isMesh = false;

  /** @param baseline One that tells sources from destinations. */
  constructor(readonly baseline: Baseline) {}

  /** As {@link Baseline.train}; one pass more, for the nodes. */
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
