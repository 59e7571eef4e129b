/** Baselines of networks whose nodes measure each other. @module */
import type { Baseline, BaselineMeasurement, BaselineQuery } from "./baseline.ts";

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
}

function* bothWays(measurements: Iterable<BaselineMeasurement>): Generator<BaselineMeasurement> {
  for (const measurement of measurements) {
    yield measurement;
    yield mirrored(measurement);
  }
}

function mirrored(measurement: BaselineMeasurement): BaselineMeasurement {
  return { ...measurement, source: measurement.destination, destination: measurement.source };
}
