/** Baseline: the exponential moving average of a history. @module */
import { type Baseline, type BaselineMeasurement, type BaselineQuery, observeAll } from "./baseline.ts";
import { historyKey, type HistoryOf } from "./history_key.ts";

/** Predicts a mean in which each newer RTT has the weight alpha and all older ones 1 - alpha. */
export class MovingAverageBaseline implements Baseline {
  readonly #of: HistoryOf;
  readonly #alpha: number;
  readonly #averageMs = new Map<string, number>();

  /** @param options Whose average, and the weight of the newest RTT, above 0 and at most 1. */
  constructor(options: { of: HistoryOf; alpha: number }) {
    this.#of = options.of;
    this.#alpha = options.alpha;
  }

  /** As {@link Baseline.train}, in one pass. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    observeAll(this, measurements);
  }

  /** As {@link Baseline.observe}; the average begins at the first RTT. */
  observe(measurement: BaselineMeasurement): void {
    const { rttMs } = measurement;
    if (rttMs === null) return;
    const key = historyKey(this.#of, measurement);
    const averageMs = this.#averageMs.get(key) ?? rttMs;
    this.#averageMs.set(key, averageMs + this.#alpha * (rttMs - averageMs));
  }

  /** The average; undefined if there is no history. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#averageMs.get(historyKey(this.#of, query));
  }
}
