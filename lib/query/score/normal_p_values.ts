/**
 * Corrects p-values by those of measurements that are assumed to be normal, so that the share of further
 * normal ones below a limit equals the limit: conformal prediction (Vovk, Gammerman, Shafer, "Algorithmic
 * Learning in a Random World", 2005). Losses and replies each keep their order and each make up half of the
 * rows below a limit.
 *
 * @module
 */
import { lowerBound } from "../../base/collections.ts";

/** The p-values of normal measurements. */
export class NormalPValues {
  readonly #lost: Float64Array;
  readonly #replies: Float64Array;

  /** @param pValues In (0, 1], in any order. @param isLost Whether a p-value's reply was lost, by index. */
  constructor(pValues: Float64Array, isLost: (index: number) => boolean) {
    this.#lost = bounded(pValues.filter((_, i) => isLost(i)));
    this.#replies = bounded(pValues.filter((_, i) => !isLost(i)));
  }

  /** The share of normal measurements that are more surprising. */
  corrected(pValue: number, isLost: boolean): number {
    const [own, others] = isLost ? [this.#lost, this.#replies] : [this.#replies, this.#lost];
    const rank = rankIn(own, pValue);
    // The same number of the other kind counts, as far as available.
    return (rank + Math.min(rank, others.length - 2)) / (own.length + others.length - 3);
  }
}

/** Sorts numbers and adds 0 and 1 at the ends. */
function bounded(numbers: Float64Array): Float64Array {
  const all = new Float64Array(numbers.length + 2);
  all.set(numbers.sort(), 1);
  all[numbers.length + 1] = 1;
  return all;
}

/** Fractional rank of a value: the numbers below it, interpolated between two. @param value Above 0. */
function rankIn(bounded: Float64Array, value: number): number {
  const above = lowerBound(bounded, value);
  const [low, high] = [bounded[above - 1], bounded[above]];
  return above - 1 + (value - low) / (high - low);
}
