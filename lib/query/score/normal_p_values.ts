/**
 * Corrects p-values by those of measurements that are taken to be normal, so that as many of the next normal ones are
 * below a limit as the limit says: conformal prediction (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random
 * World", 2005). Lost replies and replies each keep their order, and each have half of the rows below a limit.
 *
 * @module
 */
import { lowerBound } from "../../base/collections.ts";

/** The p-values of normal measurements. */
export class NormalPValues {
  readonly #lost: Float64Array;
  readonly #replies: Float64Array;

  /** @param pValues In (0, 1], in any order. @param isLost Whether the reply was lost, by the index of the p-value. */
  constructor(pValues: Float64Array, isLost: (index: number) => boolean) {
    this.#lost = bounded(pValues.filter((_, i) => isLost(i)));
    this.#replies = bounded(pValues.filter((_, i) => !isLost(i)));
  }

  /** The share of normal measurements that are more surprising. */
  corrected(pValue: number, isLost: boolean): number {
    const [own, others] = isLost ? [this.#lost, this.#replies] : [this.#replies, this.#lost];
    const rank = rankIn(own, pValue);
    // As many of the others count, as far as there are that many.
    return (rank + Math.min(rank, others.length - 2)) / (own.length + others.length - 3);
  }
}

/** Numbers in ascending order between 0 and 1. */
function bounded(numbers: Float64Array): Float64Array {
  const all = new Float64Array(numbers.length + 2);
  all.set(numbers.sort(), 1);
  all[numbers.length + 1] = 1;
  return all;
}

/** The number of numbers below a value, and a fraction by its place between two. @param value Above 0. */
function rankIn(bounded: Float64Array, value: number): number {
  const above = lowerBound(bounded, value);
  const [low, high] = [bounded[above - 1], bounded[above]];
  return above - 1 + (value - low) / (high - low);
}
