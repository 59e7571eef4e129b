/** Counts rounds and RTTs in memory that depends on the range of the RTTs, not on their number. @module */
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../data/tokens/rtt_code.ts";

/**
 * Codes per bucket, as a power of two: buckets are at most 0.8 % wide, and below 1 ms 8 µs. A quantile is the
 * middle of a bucket, so it is at most 0.4 % off, or 4 µs.
 */
const BUCKET_BITS = 3;
const NONE = new Uint32Array(0);
const LAST_CODE = CANONICAL_RTT_CODES[CANONICAL_RTT_CODES.length - 1];

/** The rounds of a pair, or of several. A round is one measurement, with or without a reply. */
export class RttTally {
  numRounds = 0;
  numLost = 0;
  #sumDifferencesMs = 0;
  #numDifferences = 0;
  /** The first counted bucket, and the counts from there on. */
  #first = 0;
  #counts = NONE;

  /**
   * Adds a round.
   *
   * @param rttCode Null for a loss.
   * @param differenceMs Distance from the RTT of the pair's last reply; NaN if there is none.
   */
  add(rttCode: number | null, differenceMs: number): void {
    this.numRounds++;
    if (rttCode === null) {
      this.numLost++;
      return;
    }
    this.#count(rttCode >> BUCKET_BITS, 1);
    if (Number.isNaN(differenceMs)) return;
    this.#sumDifferencesMs += differenceMs;
    this.#numDifferences++;
  }

  /** Adds all rounds of another tally. */
  merge(other: RttTally): void {
    this.numRounds += other.numRounds;
    this.numLost += other.numLost;
    this.#sumDifferencesMs += other.#sumDifferencesMs;
    this.#numDifferences += other.#numDifferences;
    other.#counts.forEach((count, i) => {
      if (count > 0) this.#count(other.#first + i, count);
    });
  }

  /** Share of the rounds with a reply; null without rounds. */
  get availability(): number | null {
    return this.numRounds === 0 ? null : 1 - this.numLost / this.numRounds;
  }

  /**
   * Mean distance between the RTTs of successive replies of a pair, ms; null without any. It is what the jitter
   * of RFC 3550, section 6.4.1, averages, but over all replies and not over about the last 16.
   */
  get jitterMs(): number | null {
    return this.#numDifferences === 0 ? null : this.#sumDifferencesMs / this.#numDifferences;
  }

  /** The RTT that a share of at least `q` of the replies do not exceed, ms; null without replies. */
  quantileMs(q: number): number | null {
    const needed = Math.max(1, Math.ceil(q * (this.numRounds - this.numLost)));
    let upTo = 0;
    for (let i = 0; i < this.#counts.length; i++) {
      upTo += this.#counts[i];
      if (upTo >= needed) return middleMs(this.#first + i);
    }
    return null;
  }

  #count(bucket: number, count: number): void {
    const counts = this.#counts;
    if (bucket < this.#first || bucket >= this.#first + counts.length) {
      const isEmpty = counts.length === 0;
      const first = Math.max(0, Math.min(isEmpty ? Infinity : this.#first, bucket));
      const end = Math.max(isEmpty ? 0 : this.#first + counts.length, bucket + 1);
      this.#counts = new Uint32Array(end - first);
      this.#counts.set(counts, isEmpty ? 0 : this.#first - first);
      this.#first = first;
    }
    this.#counts[bucket - this.#first] += count;
  }
}

function middleMs(bucket: number): number {
  const first = Math.max(1, bucket << BUCKET_BITS);
  const { lowMs } = rttCodeBounds(first);
  const { highMs } = rttCodeBounds(Math.min(LAST_CODE - 1, (bucket + 1 << BUCKET_BITS) - 1));
  return (lowMs + highMs) / 2;
}
