/**
 * A histogram of times whose range is not known before.
 *
 * Bins are as wide as a power of two of seconds and begin at whole multiples of it; when a time falls outside, bins
 * are joined in pairs. So the result does not depend on the order of the times.
 *
 * @module
 */
import type { Bin } from "./value_histogram.ts";

/** The most bins there are; after a join there are at least half as many between the first and the last time. */
const MAX_BINS = 96;

/** Counts times in bins of equal width. */
export class TimeHistogram {
  #counts = new Float64Array(MAX_BINS);
  /** Width of a bin, a power of two. */
  #widthS = 1;
  /** Number of the first bin that has a count: it begins at this many widths since 1970. */
  #first = 0;
  #last = -1;

  /** Adds a time in µs since 1970. */
  add(timeUs: number): void {
    const timeS = timeUs / 1e6;
    let bin = Math.floor(timeS / this.#widthS);
    if (this.#last < this.#first) this.#first = this.#last = bin;
    while (Math.max(this.#last, bin) - Math.min(this.#first, bin) >= MAX_BINS) {
      this.#join();
      bin = Math.floor(timeS / this.#widthS);
    }
    if (bin < this.#first) {
      this.#counts.copyWithin(this.#first - bin, 0, this.#last - this.#first + 1);
      this.#counts.fill(0, 0, this.#first - bin);
      this.#first = bin;
    }
    this.#last = Math.max(this.#last, bin);
    this.#counts[bin - this.#first]++;
  }

  /** The bins from the first to the last time, in ms since 1970. */
  bins(): Bin[] {
    return Array.from({ length: this.#last - this.#first + 1 }, (_, i) => {
      const low = (this.#first + i) * this.#widthS * 1000;
      return { low, high: low + this.#widthS * 1000, count: this.#counts[i] };
    });
  }

  #join(): void {
    const joined = new Float64Array(MAX_BINS);
    const first = Math.floor(this.#first / 2);
    for (let bin = this.#first; bin <= this.#last; bin++) {
      joined[Math.floor(bin / 2) - first] += this.#counts[bin - this.#first];
    }
    this.#counts = joined;
    this.#first = first;
    this.#last = Math.floor(this.#last / 2);
    this.#widthS *= 2;
  }
}
