/**
 * The first bytes that a reply's p-value depends on. Their probabilities are known before those of any second
 * byte, and show of most first bytes that all codes whose densities depend on their second bytes are less
 * dense than the measured code, and that none is in the narrowest interval. How such a first byte spreads its
 * probability over its codes does not matter.
 *
 * @module
 */
import { lowerBound } from "../../base/collections.ts";
import { FIRST_INDEXES, kernelWidth } from "../../model/pool/kernel_mixture.ts";
import { CODE_EDGES, LEAST_WIDTH, levelWidth, SHARE_OF_LEVEL, type TailDistribution } from "./surprise.ts";

/** Edges of the first bytes, ln ms, (first bytes + 1). */
const EDGES = Float64Array.from(FIRST_INDEXES, (index) => CODE_EDGES[index]);
const NUM_BYTES = EDGES.length - 1;
/** Maximum error of a sum of probabilities of first bytes. */
const ROUNDING = 1e-9;

export interface TailBytes {
  /** Whether the p-value may depend on the second bytes of each first byte. */
  readonly isNeeded: readonly boolean[];
  /** The first and the last of these; all codes outside are less dense than the measured one. */
  readonly compared: readonly [first: number, last: number];
  /** The first and the last first byte that windows of these reach. */
  readonly reached: readonly [first: number, last: number];
  /** P(an earlier first byte | reply), (first bytes + 1). */
  readonly below: Float64Array;
}

/**
 * Finds the first bytes that the p-value of a code may depend on.
 *
 * @param masses P(first byte | reply), (first bytes).
 * @param ofOwn The probabilities of the codes of the code's own first byte, and their cumulative sums.
 */
export function bytesOfTail(
  masses: Float64Array,
  index: number,
  ofOwn: Pick<TailDistribution, "probabilities" | "cumulative">,
): TailBytes {
  const own = placeAt((CODE_EDGES[index] + CODE_EDGES[index + 1]) / 2);
  const below = new Float64Array(NUM_BYTES + 1);
  masses.forEach((mass, place) => below[place + 1] = below[place] + mass);
  // The narrowest interval is at most as wide as that within the own first byte, or that of whole ones.
  let width = levelWidth(ofOwn, FIRST_INDEXES[own], FIRST_INDEXES[own + 1], SHARE_OF_LEVEL + ROUNDING);
  for (let first = 0, last = 0; last < NUM_BYTES; last++) {
    while (below[last + 1] - below[first] >= SHARE_OF_LEVEL + ROUNDING) {
      width = Math.min(width, EDGES[last + 1] - EDGES[first++]);
    }
  }
  // Second bytes change the densities at most this far away. A window there reaches as far again, and so does
  // the narrowest interval.
  const distance = kernelWidth(Math.max(LEAST_WIDTH, width));
  const least = Math.min(leastDensity(ofOwn.probabilities, index, own), SHARE_OF_LEVEL) - ROUNDING;
  const isNeeded = Array.from(masses, (_, place) => {
    const first = placeAt(EDGES[place] - 2 * distance);
    const last = placeAt(EDGES[place + 1] + 2 * distance);
    return below[last + 1] - below[first] >= least;
  });
  const compared = [isNeeded.indexOf(true), isNeeded.lastIndexOf(true)] as const;
  const reached = [
    placeAt(EDGES[compared[0]] - distance),
    placeAt(EDGES[compared[1] + 1] + distance),
  ] as const;
  return { isNeeded, compared, reached, below };
}

/** A lower bound of a code's density: P(a code of the same first byte in the narrowest window). */
function leastDensity(probabilities: Float64Array, index: number, own: number): number {
  const middle = (CODE_EDGES[index] + CODE_EDGES[index + 1]) / 2;
  const first = Math.max(FIRST_INDEXES[own], lowerBound(CODE_EDGES, middle - LEAST_WIDTH));
  const end = Math.min(FIRST_INDEXES[own + 1], lowerBound(CODE_EDGES, middle + LEAST_WIDTH) - 1);
  if (first < end) return probabilities.subarray(first, end).reduce((sum, p) => sum + p, 0);
  return probabilities[index] * Math.min(1, 2 * LEAST_WIDTH / (CODE_EDGES[index + 1] - CODE_EDGES[index]));
}

/** The first byte that contains a logarithm of ms, or the nearest. */
function placeAt(log: number): number {
  return Math.min(NUM_BYTES - 1, Math.max(0, lowerBound(EDGES, log) - 1));
}
