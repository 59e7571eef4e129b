/**
 * Baselines that predict medians of a history, or its last RTT.
 *
 * A median is the smallest value that at least half of the values do not exceed, over RTT codes
 * (`lib/data/tokens`). It covers all known replies of the source, the destination, or the pair in this
 * direction: those of the whole training split, even if later than the case, and with the history `all` also
 * those of other splits before the second of the case. Each measurement counts once.
 *
 * @module
 */
import { quantilesOfWeighted } from "../../base/sample_statistics.ts";
import { type BaselineMeasurement, type BaselineQuery, OnePassBaseline, SAMPLE_LEVELS } from "./baseline.ts";
import { getOrMake, lowerBound } from "../../base/collections.ts";
import { decodeRttCode, encodeRttCode } from "../../data/tokens/rtt_code.ts";

/** A running median in bounded memory: counts of RTT codes, of which there are 33,791. */
export class RttHistogram {
  /** The codes that occurred, ascending, and their counts. */
  readonly #codes: number[] = [];
  readonly #counts: number[] = [];
  total = 0;
  /** Index of the median's code, and how many RTTs have a lower one. */
  #at = 0;
  #numBelow = 0;

  /** @param rttMs 0 or more. */
  add(rttMs: number): void {
    const rttCode = encodeRttCode(rttMs);
    const index = lowerBound(this.#codes, rttCode);
    const isBelowMedian = index < this.#at;
    if (this.#codes[index] === rttCode) this.#counts[index]++;
    else {
      this.#codes.splice(index, 0, rttCode);
      this.#counts.splice(index, 0, 1);
      if (isBelowMedian) this.#at++;
    }
    if (isBelowMedian) this.#numBelow++;
    this.total++;
    this.#moveToMedian();
  }

  /**
   * The smallest RTT that at least half of the RTTs do not exceed, to the 0.05 % of an RTT code; NaN if there
   * are none.
   */
  medianMs(): number {
    return this.total === 0 ? NaN : decodeRttCode(this.#codes[this.#at]);
  }

  /** As {@link medianMs}, for other shares. @param levels Ascending. */
  quantilesMs(levels: readonly number[]): Float64Array {
    return quantilesOfWeighted(this.#codes, this.#counts, levels).map((rttCode) => decodeRttCode(rttCode));
  }

  #moveToMedian(): void {
    const half = this.total / 2;
    while (this.#numBelow + this.#counts[this.#at] < half) this.#numBelow += this.#counts[this.#at++];
    while (this.#numBelow >= half) this.#numBelow -= this.#counts[--this.#at];
  }
}

/** Whose measurements a median covers. */
type HistoryOf = "all" | "source" | "destination" | "pair";

export class MedianBaseline extends OnePassBaseline {
  readonly #histograms = new Map<string, RttHistogram>();

  constructor(readonly of: HistoryOf) {
    super();
  }

  observe(measurement: BaselineMeasurement): void {
    if (measurement.rttMs === null || measurement.isRepeated) return;
    const key = historyKey(this.of, measurement);
    getOrMake(this.#histograms, key, () => new RttHistogram()).add(measurement.rttMs);
  }

  /** The median; undefined without a history. */
  predictMs(query: BaselineQuery): number | undefined {
    return this.#histograms.get(historyKey(this.of, query))?.medianMs();
  }

  /** The empirical distribution of the history. */
  predictSampleMs(query: BaselineQuery): Float64Array | undefined {
    return this.#histograms.get(historyKey(this.of, query))?.quantilesMs(SAMPLE_LEVELS);
  }
}

/** Predicts a pair's last RTT. */
export class LastSeenBaseline extends OnePassBaseline {
  readonly #lastMs = new Map<string, number>();

  observe(measurement: BaselineMeasurement): void {
    if (measurement.rttMs !== null) this.#lastMs.set(historyKey("pair", measurement), measurement.rttMs);
  }

  predictMs(query: BaselineQuery): number | undefined {
    return this.#lastMs.get(historyKey("pair", query));
  }
}

function historyKey(of: HistoryOf, { source, destination }: BaselineQuery): string {
  if (of === "all") return "";
  if (of === "source") return source;
  return of === "destination" ? destination : `${source} ${destination}`;
}
