/** Baseline: the median of a history. @module */
import { type Baseline, type BaselineMeasurement, type BaselineQuery, observeAll } from "./baseline.ts";
import { historyKey, type HistoryOf } from "./history_key.ts";
import { RttHistogram } from "./rtt_histogram.ts";

/** Predicts the median of all answered measurements of the same source, destination or pair, or of everybody. */
export class MedianBaseline implements Baseline {
  readonly #of: HistoryOf;
  readonly #histograms = new Map<string, RttHistogram>();

  /** @param of Whose measurements the median is of. */
  constructor(of: HistoryOf) {
    this.#of = of;
  }

  /** As {@link Baseline.train}, in one pass. */
  train(measurements: Iterable<BaselineMeasurement>): void {
    observeAll(this, measurements);
  }

  /** As {@link Baseline.observe}. */
  observe(measurement: BaselineMeasurement): void {
    if (measurement.rttMs === null) return;
    const key = historyKey(this.#of, measurement);
    let histogram = this.#histograms.get(key);
    if (!histogram) this.#histograms.set(key, histogram = new RttHistogram());
    histogram.add(measurement.rttMs);
  }

  /** The median; undefined if there is no history. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#histograms.get(historyKey(this.#of, query))?.medianMs();
  }
}
