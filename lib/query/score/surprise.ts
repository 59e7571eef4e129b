/**
 * How surprising a result is among all that the model expects: first whether a reply came, then its RTT.
 *
 * RTTs are compared by their density on the logarithm, smoothed over a width set by the spread of the pair's
 * usual RTTs. So neither the fineness of the codes nor a bump narrower than the spread makes an RTT surprising.
 * EXACT.md, section 14.
 *
 * @module
 */
import { getOrMake } from "../../base/collections.ts";
import { CANONICAL_RTT_CODES, rttCodeBounds } from "../../data/tokens/rtt_code.ts";
import { indexOfCode, kernelWidth, NUM_CODES } from "../../model/pool/kernel_mixture.ts";
import { requirePossible } from "../possible.ts";
import type { RttDistribution } from "../rtt/rtt_distribution.ts";

/** The share of the replies in the narrowest interval that sets the width: less than one of several usual levels has. */
const SHARE_OF_LEVEL = 0.25;
/** The least width: 0.2 %, four codes. */
const LEAST_WIDTH = 2 ** -9;

/** Where the buckets of codes begin, ln ms, (codes + 1). The first code has an octave, and so has the last. */
const EDGES = Float64Array.from({ length: NUM_CODES + 1 }, (_, i) => {
  if (i === 0) return Math.log(rttCodeBounds(CANONICAL_RTT_CODES[0]).highMs / 2);
  const { lowMs } = rttCodeBounds(CANONICAL_RTT_CODES[Math.min(i, NUM_CODES - 1)]);
  return Math.log(i < NUM_CODES ? lowMs : 2 * lowMs);
});

/** Arrays over the codes of the current distribution. */
const DENSITIES = new Float64Array(NUM_CODES);

/** Where the windows of all codes begin or end: an index of a code, and the share of its bucket that lies after. */
interface WindowEnds {
  readonly codes: Uint16Array;
  readonly rests: Float64Array;
}

/** By their distance from the middle of the bucket: few, see `kernelWidth`. */
const windowEnds = new Map<number, WindowEnds>();

/**
 * The p-value of a lost reply, which is as surprising as the RTTs that are as probable together. A p-value is
 * the probability of more surprising results, and a random share of that of equally surprising ones: uniform in
 * (0, 1] if the distribution is right. @param draw Uniform in [0, 1).
 */
export function pValueOfNoReply(pFailed: number, draw: number): number {
  return possible(Math.min(pFailed, 1 - pFailed) + pFailed * (1 - draw));
}

/** The p-value of a reply. */
export function pValueOfReply(rttCode: number, expected: RttDistribution, draw: number): number {
  const { pFailed } = expected;
  const tail = (1 - pFailed) * rttTail(indexOfCode(rttCode), expected, 1 - draw);
  return possible(tail <= pFailed ? tail : tail + pFailed);
}

const possible = (p: number) => Math.min(1, requirePossible("the p-value", p));

/** The mass of codes with a smaller density than one, given a reply, and a share of that of equal ones. */
function rttTail(index: number, { probabilities, cumulative }: RttDistribution, share: number): number {
  const width = kernelWidth(Math.max(LEAST_WIDTH, levelWidth(cumulative)));
  const [begins, ends] = [endsOfWindows(-width), endsOfWindows(width)];
  for (let i = 0; i < NUM_CODES; i++) {
    const begin = begins.codes[i];
    const end = ends.codes[i];
    DENSITIES[i] = cumulative[end] - ends.rests[i] * probabilities[end] -
      cumulative[begin] + begins.rests[i] * probabilities[begin];
  }
  const own = DENSITIES[index];
  let less = 0;
  let same = 0;
  for (let i = 0; i < NUM_CODES; i++) {
    if (DENSITIES[i] < own) less += probabilities[i];
    else if (DENSITIES[i] === own) same += probabilities[i];
  }
  return less + share * same;
}

/** The width of the narrowest interval that has {@link SHARE_OF_LEVEL}, ln. */
function levelWidth(cumulative: Float64Array): number {
  let least = Infinity;
  for (let low = 0, high = 0; high < NUM_CODES; high++) {
    while (cumulative[high] - cumulative[low] >= SHARE_OF_LEVEL) low++;
    if (cumulative[high] >= SHARE_OF_LEVEL) least = Math.min(least, EDGES[high + 1] - EDGES[low]);
  }
  return least;
}

function endsOfWindows(distance: number): WindowEnds {
  return getOrMake(windowEnds, distance, () => {
    const ends = { codes: new Uint16Array(NUM_CODES), rests: new Float64Array(NUM_CODES) };
    let code = 0;
    for (let i = 0; i < NUM_CODES; i++) {
      const end = (EDGES[i] + EDGES[i + 1]) / 2 + distance;
      while (code < NUM_CODES - 1 && EDGES[code + 1] <= end) code++;
      ends.codes[i] = code;
      ends.rests[i] = Math.min(1, Math.max(0, (EDGES[code + 1] - end) / (EDGES[code + 1] - EDGES[code])));
    }
    return ends;
  });
}
