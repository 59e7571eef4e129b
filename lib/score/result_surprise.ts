/**
 * The p-value of a result under the model's distribution of results: how surprising it is.
 *
 * A result is no reply or one of the canonical RTT codes. Its p-value is the probability of all results that are less
 * probable, plus a random share of the probability of those that are equally probable. It is the complement of the
 * highest-density region (Hyndman, "Computing and Graphing Highest Density Regions", The American Statistician 50,
 * 1996). The random share makes it uniform in (0, 1] where the model is right.
 *
 * Not every first byte needs the distribution of its second byte. If a first byte is less probable than the result, so
 * are all its codes, and it counts whole. Of the other bytes, the least probable are left out as long as together they
 * can change the p-value by {@link MAX_RELATIVE_ERROR} of itself at most. A byte can add at most the result's own
 * probability for each of its codes.
 *
 * @module
 */
import {
  failureProbability,
  FIRST_BYTES,
  restricted,
  resultLogProbability,
  secondBytesOf,
} from "../query/rtt/rtt_bytes.ts";

/** The largest relative error of a p-value. */
export const MAX_RELATIVE_ERROR = 0.01;

const SECOND_BYTES = FIRST_BYTES.map(secondBytesOf);
const NUM_CODES = SECOND_BYTES.map(({ length }) => length);

/** The model's log-probabilities at a result's tokens, nats, (V) each. */
export interface ResultLogProbabilities {
  /** Where the result begins: `Failed` or `RttStart`. */
  readonly outcome: Float32Array;
  /** After `RttStart`: byte 1. */
  readonly first: Float32Array;
  /** After the result's own byte 1: byte 2; of no meaning without a reply. */
  readonly second: Float32Array;
}

/** One result among all possible ones. */
export class ResultSurprise {
  /** ln P(result), nats: among what can be said, as in a distribution of `query rtt`. */
  readonly logLikelihood: number;
  /** Indexes in FIRST_BYTES of the bytes that {@link addSecondBytes} needs. */
  readonly needed: readonly number[];
  /** P of each first byte, with a reply. */
  readonly #mass: Float64Array;
  /** P of the result. */
  #own = 0;
  /** P of the results that are less probable, and of those that are equally probable. */
  #less = 0;
  #same = 0;

  /**
   * @param rttCode The result; null: no reply.
   * @param read The model's log-probabilities.
   * @param maxRelativeError Of the p-value; 0 makes it exact.
   */
  constructor(
    rttCode: number | null,
    { outcome, first, second }: ResultLogProbabilities,
    maxRelativeError = MAX_RELATIVE_ERROR,
  ) {
    this.logLikelihood = resultLogProbability(rttCode, { outcome, first, second });
    const pFailed = failureProbability(outcome);
    this.#mass = restricted(first, FIRST_BYTES).probabilities.map((p) => p * (1 - pFailed));
    const at = rttCode === null ? -1 : FIRST_BYTES.indexOf(rttCode >> 8);
    if (rttCode === null) {
      this.#own = pFailed;
    } else {
      const { probabilities } = restricted(second, SECOND_BYTES[at]);
      this.#own = this.#mass[at] * probabilities[SECOND_BYTES[at].indexOf(rttCode & 255)];
      this.addSecondBytes(at, second);
    }
    this.#count(pFailed);
    this.needed = this.#divide(at, maxRelativeError);
  }

  /** Counts the codes of a first byte. @param second Log-probabilities after it. */
  addSecondBytes(index: number, second: Float32Array): void {
    const mass = this.#mass[index];
    for (const p of restricted(second, SECOND_BYTES[index]).probabilities) this.#count(mass * p);
  }

  /**
   * The p-value, in (0, 1], once all needed bytes were added.
   *
   * @param draw Uniform in [0, 1): which share of the ties counts.
   */
  pValue(draw: number): number {
    return Math.min(1, this.#less + this.#same * (1 - draw));
  }

  #count(probability: number): void {
    if (probability < this.#own) this.#less += probability;
    else if (probability === this.#own) this.#same += probability;
  }

  /** Counts the bytes that need no second bytes; returns the others, but the result's own at `at`. */
  #divide(at: number, maxRelativeError: number): number[] {
    const unsure: { index: number; most: number }[] = [];
    for (let index = 0; index < this.#mass.length; index++) {
      const mass = this.#mass[index];
      if (index === at) continue;
      if (mass < this.#own) this.#less += mass;
      else unsure.push({ index, most: Math.min(mass, NUM_CODES[index] * this.#own) });
    }
    unsure.sort((a, b) => a.most - b.most || a.index - b.index);
    // The results counted as less probable are certain. The draw may take away a share of the ties.
    let room = maxRelativeError * this.#less;
    let numLeftOut = 0;
    while (numLeftOut < unsure.length && unsure[numLeftOut].most <= room) {
      const { index, most } = unsure[numLeftOut++];
      room -= most;
      // As if its codes were equally probable.
      if (this.#mass[index] < NUM_CODES[index] * this.#own) this.#less += this.#mass[index];
    }
    return unsure.slice(numLeftOut).map(({ index }) => index).sort((a, b) => a - b);
  }
}
