/**
 * Quantiles of any number of values in fixed memory.
 *
 * A value's bucket is its float32 form without the last 13 bits of the mantissa: buckets are ordered as the
 * values are and 0.1 % wide, so that a quantile is off by at most 0.05 %. Minimum, maximum and mean are exact.
 *
 * @module
 */

const DROPPED_BITS = 13;
const NUM_BUCKETS = 1 << (31 - DROPPED_BITS);
/** Of the value; the bits that are kept are 10 of the mantissa. */
const BUCKET_WIDTH = 2 ** -10;

/** How many bins {@link ValueHistogram.logBins} has. */
const MAX_LOG_BINS = 48;

/** How many values lie in [low, high). */
export interface Bin {
  low: number;
  high: number;
  count: number;
}

/** A histogram of values of 0 or more. */
export class ValueHistogram {
  readonly #counts = new Float64Array(NUM_BUCKETS);
  readonly #float = new Float32Array(1);
  readonly #bits = new Uint32Array(this.#float.buffer);
  #sum = 0;
  #isIntegral = true;
  /** Number of values. */
  count = 0;
  /** The least value; Infinity if there is none. */
  min = Infinity;
  /** The greatest value; -Infinity if there is none. */
  max = -Infinity;

  /** The mean of the values; NaN if there is none. */
  get mean(): number {
    return this.#sum / this.count;
  }

  /** Adds a value of 0 or more that a 32-bit float can hold; others are left out. */
  add(value: number): void {
    this.#float[0] = value;
    if (!(value >= 0 && this.#float[0] < Infinity)) return;
    this.#counts[this.#bits[0] >>> DROPPED_BITS]++;
    this.count++;
    this.#sum += value;
    this.#isIntegral &&= Number.isInteger(value);
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }

  /**
   * Bins that are equally wide on a logarithmic axis, from the least value above 0 to the greatest.
   *
   * @returns Up to 48 bins; values of 0 (below 1e-41) are in the first. None if there are no others.
   */
  logBins(): Bin[] {
    const first = this.#counts.findIndex((count, bucket) => bucket > 0 && count > 0);
    if (first < 0) return [];
    const least = this.#counts[0] > 0 ? this.#middle(first) : this.min;
    // Values closer than a bucket is wide, or but one, stand in the middle of bins from half to twice of them.
    const isOne = this.max < (1 + BUCKET_WIDTH) * least;
    const low = Math.log10(isOne ? least / 2 : least);
    const step = (Math.log10(isOne ? 2 * least : this.max) - low) / MAX_LOG_BINS;
    const bins = Array.from({ length: MAX_LOG_BINS }, (_, i): Bin => ({
      low: 10 ** (low + i * step),
      high: 10 ** (low + (i + 1) * step),
      count: 0,
    }));
    this.#counts.forEach((count, bucket) => {
      if (count === 0) return;
      const at = bucket === 0 ? 0 : Math.floor((Math.log10(this.#middle(bucket)) - low) / step);
      bins[Math.min(MAX_LOG_BINS - 1, Math.max(0, at))].count += count;
    });
    return bins;
  }

  #middle(bucket: number): number {
    this.#bits[0] = bucket << DROPPED_BITS | 1 << (DROPPED_BITS - 1);
    return this.#float[0];
  }

  /**
   * The value that a share of all values does not exceed.
   *
   * @param q 0 to 1.
   * @returns The middle of its bucket, within the least and the greatest value, whole if all values are; NaN if
   *   there is none.
   */
  quantile(q: number): number {
    if (this.count === 0) return NaN;
    const rank = Math.min(this.count, Math.max(1, Math.ceil(q * this.count)));
    let bucket = 0;
    for (let seen = this.#counts[0]; seen < rank;) seen += this.#counts[++bucket];
    if (bucket === 0) return this.min;
    const middle = this.#isIntegral ? Math.floor(this.#middle(bucket)) : this.#middle(bucket);
    return Math.min(this.max, Math.max(this.min, middle));
  }
}
