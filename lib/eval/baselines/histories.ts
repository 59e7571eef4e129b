/** Baselines: medians of the measurements of a history, of all of them or of the newest. @module */
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { type BaselineMeasurement, type BaselineQuery, OnePassBaseline } from "./baseline.ts";
import { getOrMake } from "../../base/collections.ts";
import { RttHistogram } from "./rtt_histogram.ts";

/** Measurements of everybody, of the same source, to the same destination, or of the same pair. */
export type HistoryOf = "all" | "source" | "destination" | "pair";

/** Predicts the median of all answered measurements of the same source, destination or pair, or of everybody. */
export class MedianBaseline extends OnePassBaseline {
  readonly #histograms = new Map<string, RttHistogram>();

  /** @param of Whose measurements the median is of. */
  constructor(readonly of: HistoryOf) {
    super();
  }

  observe(measurement: BaselineMeasurement): void {
    if (measurement.rttMs === null) return;
    const key = historyKey(this.of, measurement);
    getOrMake(this.#histograms, key, () => new RttHistogram()).add(measurement.rttMs);
  }

  /** The median; undefined if there is no history. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#histograms.get(historyKey(this.of, query))?.medianMs();
  }
}

/** Predicts the median of a pair's last few RTTs: the smallest that half do not exceed. Of one it is the last. */
export class RecentBaseline extends OnePassBaseline {
  /** The newest RTTs of each pair, oldest first. */
  readonly #newest = new Map<string, number[]>();

  /** @param count How many of the newest answered measurements, 1 or more. */
  constructor(readonly count: number) {
    super();
  }

  observe(measurement: BaselineMeasurement): void {
    if (measurement.rttMs === null) return;
    const key = historyKey("pair", measurement);
    const newest = getOrMake(this.#newest, key, () => []);
    if (newest.push(measurement.rttMs) > this.count) newest.shift();
  }

  /** The median; undefined if there is no history. */
  predictMs(query: BaselineQuery): number | undefined {
    const newest = this.#newest.get(historyKey("pair", query));
    return newest && quantileOfSample(newest, 0.5);
  }
}

function historyKey(of: HistoryOf, { source, destination }: BaselineQuery): string {
  if (of === "all") return "";
  if (of === "source") return source;
  return of === "destination" ? destination : `${source} ${destination}`;
}
