/**
 * A running median of RTTs in bounded memory: counts of RTT codes.
 *
 * @module
 */
import { partitionPoint } from "../../base/collections.ts";
import { decodeRttCode, encodeRttCode } from "../../data/tokens/rtt_code.ts";

/** How often each RTT code occurred; at most 33,791 entries, however many RTTs are added. */
export class RttHistogram {
  /** The codes that occurred, ascending, and how often each did. */
  readonly #codes: number[] = [];
  readonly #counts: number[] = [];
  #total = 0;
  /** Index of the median's code, and how many RTTs have a lower one. */
  #at = 0;
  #numBelow = 0;

  /** Adds an RTT. @param rttMs In ms, 0 or more. */
  add(rttMs: number): void {
    this.addCode(encodeRttCode(rttMs));
  }

  /** Adds an RTT. @param rttCode Its canonical code. */
  addCode(rttCode: number): void {
    const index = partitionPoint(this.#codes.length, (index) => this.#codes[index] >= rttCode);
    const isBelowMedian = index < this.#at;
    if (this.#codes[index] === rttCode) this.#counts[index]++;
    else {
      this.#codes.splice(index, 0, rttCode);
      this.#counts.splice(index, 0, 1);
      if (isBelowMedian) this.#at++;
    }
    if (isBelowMedian) this.#numBelow++;
    this.#total++;
    this.#moveToMedian();
  }

  /**
   * The smallest RTT that at least half of the RTTs do not exceed, to the 0.05 % of an RTT code; NaN if there are
   * none.
   */
  medianMs(): number {
    return this.#total === 0 ? NaN : decodeRttCode(this.#codes[this.#at]);
  }

  #moveToMedian(): void {
    const half = this.#total / 2;
    while (this.#numBelow + this.#counts[this.#at] < half) this.#numBelow += this.#counts[this.#at++];
    while (this.#numBelow >= half) this.#numBelow -= this.#counts[--this.#at];
  }
}
