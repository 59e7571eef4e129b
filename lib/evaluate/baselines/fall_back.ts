/** Baselines that step in for each other. @module */
import type { Baseline, BaselineMeasurement, BaselineQuery, Tuning } from "./baseline.ts";

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

  /** That of the first that predicts anything. */
  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.#baselines.find((baseline) => baseline.predictMs(query) !== undefined)
      ?.predictSampleMs?.(query);
  }
}
