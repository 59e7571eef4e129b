/** Baselines: the newest answered measurements of a history. @module */
import { quantileOfSample } from "../quantile.ts";
import { type Baseline, type BaselineMeasurement, type BaselineQuery, observeAll } from "./baseline.ts";
import { historyKey, type HistoryOf } from "./history_key.ts";

/** Which measurements of a history are taken, and what of them. */
export interface RecentOptions {
  of: HistoryOf;
  /** How many of the newest answered measurements, 1 or more; fewer are taken where there are not as many. */
  count: number;
  /** Their mean, or the smallest that half of them do not exceed. */
  summary: "mean" | "median";
}

/** Predicts the mean or the median of the last few RTTs; of one, it is the RTT last seen. */
export class RecentBaseline implements Baseline {
  readonly #options: RecentOptions;
  /** The newest RTTs of each history, oldest first. */
  readonly #newest = new Map<string, number[]>();

  /** @param options What is taken. */
  constructor(options: RecentOptions) {
    this.#options = options;
  }

  /** As {@link Baseline.train}, in one pass. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    observeAll(this, measurements);
  }

  /** As {@link Baseline.observe}. */
  observe(measurement: BaselineMeasurement): void {
    if (measurement.rttMs === null) return;
    const key = historyKey(this.#options.of, measurement);
    const newest = this.#newest.get(key);
    if (!newest) this.#newest.set(key, [measurement.rttMs]);
    else {
      newest.push(measurement.rttMs);
      if (newest.length > this.#options.count) newest.shift();
    }
  }

  /** The mean or median; undefined if there is no history. */
  predictMs(query: BaselineQuery): number | undefined {
    const newest = this.#newest.get(historyKey(this.#options.of, query));
    if (!newest) return undefined;
    if (this.#options.summary === "median") return quantileOfSample(newest, 0.5);
    return newest.reduce((sum, rttMs) => sum + rttMs, 0) / newest.length;
  }
}
