/**
 * How surprising a result is among those that the model expects: first whether there is a reply, then its
 * RTT.
 *
 * RTTs are compared by their density on a logarithmic scale, smoothed over a width that depends on the spread
 * of the pair's usual RTTs. So an RTT is not surprising because codes are fine there, or because it falls
 * outside a bump narrower than the spread. EXACT.md, section 14.
 *
 * @module
 */
import { getOrMake, partitionPoint } from "../../base/collections.ts";
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../data/tokens/rtt_code.ts";
import { indexOfCode, kernelWidth, NUM_CODES } from "../../model/pool/kernel_mixture.ts";
import { requirePossible } from "../possible.ts";
import type { RttDistribution } from "../rtt/rtt_distribution.ts";

/** Share of replies in the narrowest interval, which sets the width; less than one of several levels has. */
export const SHARE_OF_LEVEL = 0.25;
/** Minimum width: 0.2 %, four codes. */
export const LEAST_WIDTH = 2 ** -9;

/** Bucket edges of the codes, ln ms, (codes + 1). The first and the last code cover an octave. */
export const CODE_EDGES: Float64Array = Float64Array.from({ length: NUM_CODES + 1 }, (_, i) => {
  if (i === 0) return Math.log(rttCodeBounds(CANONICAL_RTT_CODES[0]).highMs / 2);
  const { lowMs } = rttCodeBounds(CANONICAL_RTT_CODES[Math.min(i, NUM_CODES - 1)]);
  return Math.log(i < NUM_CODES ? lowMs : 2 * lowMs);
});

/** Number of codes whose densities have a common bound. */
const BLOCK_CODES = 64;
/** Maximum rounding error of a density. */
const ROUNDING = 1e-12;

/** Where the windows of all codes begin or end: a code's index, and the share of its bucket after that. */
interface WindowEnds {
  readonly codes: Uint16Array;
  readonly rests: Float64Array;
}

/** By distance from the middle of the bucket; there are few, see `kernelWidth`. */
const windowEnds = new Map<number, WindowEnds>();

/**
 * The p-value of a lost reply, which is as surprising as RTTs that have the same total probability. A p-value
 * is the probability of more surprising results plus a random share of that of equally surprising ones:
 * uniform in (0, 1] if the distribution is correct.
 *
 * @param draw Uniform in [0, 1).
 */
export function pValueOfNoReply(pFailed: number, draw: number): number {
  return possible(Math.min(pFailed, 1 - pFailed) + pFailed * (1 - draw));
}

/** A distribution of which only a part is known. */
export interface TailDistribution extends Pick<RttDistribution, "pFailed" | "probabilities" | "cumulative"> {
  /**
   * Indexes of the first code and of the one after the last whose densities are compared. The arrays also
   * contain the codes that their windows reach.
   */
  readonly codes?: readonly [first: number, end: number];
  /** The probability of all other codes, which are less dense than the reply's. */
  readonly outside?: number;
}

/** The p-value of a reply. @param draw Uniform in [0, 1). */
export function pValueOfReply(rttCode: number, expected: TailDistribution, draw: number): number {
  const { pFailed } = expected;
  const tail = (1 - pFailed) * rttTail(indexOfCode(rttCode), expected, 1 - draw);
  return possible(tail <= pFailed ? tail : tail + pFailed);
}

const possible = (p: number) => Math.min(1, requirePossible("the p-value", p));

/** P(a code of lower density than that of `index` | reply), plus a share of P(equal density | reply). */
function rttTail(index: number, expected: TailDistribution, share: number): number {
  const { probabilities, cumulative, codes: [first, end] = [0, NUM_CODES], outside = 0 } = expected;
  const width = kernelWidth(Math.max(LEAST_WIDTH, levelWidth(expected, first, end)));
  const [begins, ends] = [endsOfWindows(-width), endsOfWindows(width)];
  const densityOf = (i: number) => {
    const begin = begins.codes[i];
    const end = ends.codes[i];
    return cumulative[end] - ends.rests[i] * probabilities[end] -
      cumulative[begin] + begins.rests[i] * probabilities[begin];
  };
  const own = densityOf(index);
  let less = outside;
  let same = 0;
  for (let i = first; i < end;) {
    const last = Math.min(i + BLOCK_CODES, end) - 1;
    const begin = begins.codes[i];
    const most = cumulative[ends.codes[last]] - cumulative[begin] + probabilities[begin];
    // Most codes are far from the likely ones, so that none of their block needs a density.
    if (most < own - ROUNDING) {
      for (; i <= last; i++) less += probabilities[i];
      continue;
    }
    for (; i <= last; i++) {
      const density = densityOf(i);
      if (density < own) less += probabilities[i];
      else if (density === own) same += probabilities[i];
    }
  }
  return less + share * same;
}

/** Width of the narrowest interval of some codes with a share of the replies, ln; or Infinity. */
export function levelWidth(
  { probabilities, cumulative }: Pick<TailDistribution, "probabilities" | "cumulative">,
  first: number,
  end: number,
  share: number = SHARE_OF_LEVEL,
): number {
  const most = cumulative[end - 1];
  const below = cumulative[first] - probabilities[first];
  let least = Infinity;
  let low = first;
  const start = partitionPoint(end - first, (i) => cumulative[first + i] >= below + share);
  for (let high = first + start; high < end; high++) {
    while (cumulative[high] - cumulative[low] >= share) low++;
    least = Math.min(least, CODE_EDGES[high + 1] - CODE_EDGES[low]);
    // No narrower interval follows if too little is left above `low`.
    if (most - cumulative[low] < share) break;
  }
  return least;
}

function endsOfWindows(distance: number): WindowEnds {
  return getOrMake(windowEnds, distance, () => {
    const ends = { codes: new Uint16Array(NUM_CODES), rests: new Float64Array(NUM_CODES) };
    let code = 0;
    for (let i = 0; i < NUM_CODES; i++) {
      const end = (CODE_EDGES[i] + CODE_EDGES[i + 1]) / 2 + distance;
      while (code < NUM_CODES - 1 && CODE_EDGES[code + 1] <= end) code++;
      ends.codes[i] = code;
      ends.rests[i] = Math.min(
        1,
        Math.max(0, (CODE_EDGES[code + 1] - end) / (CODE_EDGES[code + 1] - CODE_EDGES[code])),
      );
    }
    return ends;
  });
}
