/** The RTTs of a departure from its beginning to its end. @module */
import { quantileOfSample } from "../../base/sample_statistics.ts";
import { type Level, levelOf } from "./change_detector.ts";

/** Sample that is kept of the RTTs of a departure. */
const MAX_SAMPLE = 256;

/** Follows the RTTs of a departure in bounded memory. */
export class Course {
  #sample: number[] = [];
  /** One of this many RTTs is sampled. */
  #every = 1;
  #numRtts = 0;
  readonly #newest: number[] = [];
  /** The median of successive RTTs that is farthest from the usual one, ms; NaN at the beginning. */
  peakMs = NaN;

  /** @param row The next row of the series to add. @param successive Number of successive RTTs of a peak. */
  constructor(public row: number, readonly usualMs: number, readonly successive: number) {}

  /** Adds the next row. @param rttMs NaN for a loss. */
  add(rttMs: number): void {
    this.row++;
    if (Number.isNaN(rttMs)) return;
    if (this.#numRtts++ % this.#every === 0) this.#sample.push(rttMs);
    if (this.#sample.length > MAX_SAMPLE) {
      this.#sample = this.#sample.filter((_, i) => i % 2 === 0);
      this.#every *= 2;
    }
    this.#newest.push(rttMs);
    if (this.#newest.length > this.successive) this.#newest.shift();
    if (this.#newest.length < this.successive) return;
    const medianMs = quantileOfSample(this.#newest, 0.5);
    const distanceMs = (ms: number) => Math.abs(ms - this.usualMs);
    if (!(distanceMs(medianMs) <= distanceMs(this.peakMs))) this.peakMs = medianMs;
  }

  /** The level of all RTTs; undefined without any. */
  get level(): Level | undefined {
    return this.#sample.length === 0 ? undefined : levelOf(this.#sample);
  }
}
