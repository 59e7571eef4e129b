/**
 * How surprising a result is: its p-value under the model's distribution of results.
 *
 * A result is no reply or one of the canonical RTT codes. Its p-value is the probability that the model gives a
 * result that is less probable than it, plus a random share of the probability of those that are as probable: the
 * complement of its highest-density region (Hyndman, "Computing and Graphing Highest Density Regions", The American
 * Statistician 50, 1996), with the ties of a discrete distribution randomised, so that it is uniform in (0, 1] where
 * the model is right.
 *
 * Not every first byte needs its second bytes. All codes of a byte that is less probable than the result are less
 * probable too and count whole. Of the others those are left out, the least first, that could change the p-value by
 * {@link MAX_RELATIVE_ERROR} of it together at most: the codes of a byte that count are at most as many as it has,
 * each at most as probable as the result.
 *
 * @module
 */
import { failureProbability, FIRST_BYTES, restricted, secondBytesOf } from "../query/rtt/rtt_bytes.ts";
import { BYTE_BASE, FAILED, RTT_START } from "../tokens/vocab_v2.ts";

/** What a p-value may differ from the exact one by, as a share of it. */
export const MAX_RELATIVE_ERROR = 0.01;

const SECOND_BYTES = FIRST_BYTES.map(secondBytesOf);
const NUM_CODES = SECOND_BYTES.map(({ length }) => length);

/** What the model says where a result stands; log-probabilities of the next token, nats, (V) each. */
export interface ResultLogProbabilities {
  /** Where the result begins: `Failed` or `RttStart`. */
  readonly outcome: Float32Array;
  /** After `RttStart`: byte 1. */
  readonly first: Float32Array;
  /** After the result's own byte 1: byte 2; of no meaning without a reply. */
  readonly second: Float32Array;
}

/** One result among all that could have been. */
export class ResultSurprise {
  /** log P(the result's tokens), nats, as the model gives it: not renormalised over what is a result. */
  readonly logLikelihood: number;
  /** Places among FIRST_BYTES of the bytes whose second bytes {@link addSecondBytes} is to get. */
  readonly needed: readonly number[];
  /** P of each first byte, with a reply. */
  readonly #mass: Float64Array;
  /** P of the result. */
  #own = 0;
  /** P of the results that are less probable than it, and of those that are as probable. */
  #less = 0;
  #same = 0;

  /**
   * @param rttCode The result; null: no reply.
   * @param read What the model says.
   * @param options `maxRelativeError`: of the p-value; 0 makes it exact.
   */
  constructor(
    rttCode: number | null,
    { outcome, first, second }: ResultLogProbabilities,
    options: { maxRelativeError?: number } = {},
  ) {
    const pFailed = failureProbability(outcome);
    this.#mass = restricted(first, FIRST_BYTES).probabilities.map((p) => p * (1 - pFailed));
    const at = rttCode === null ? -1 : FIRST_BYTES.indexOf(rttCode >> 8);
    if (rttCode === null) {
      this.#own = pFailed;
      this.logLikelihood = outcome[FAILED];
    } else {
      const [byte1, byte2] = [rttCode >> 8, rttCode & 255];
      const { probabilities } = restricted(second, SECOND_BYTES[at]);
      this.#own = this.#mass[at] * probabilities[SECOND_BYTES[at].indexOf(byte2)];
      this.logLikelihood = outcome[RTT_START] + first[BYTE_BASE + byte1] + second[BYTE_BASE + byte2];
      this.addSecondBytes(at, second);
    }
    this.#count(pFailed);
    this.needed = this.#divide(at, options.maxRelativeError ?? MAX_RELATIVE_ERROR);
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
    // What is counted so far counts for certain; the draw may take a share of the ties away.
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
