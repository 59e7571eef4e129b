import { assert, assertAlmostEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { CANONICAL_RTT_CODES } from "../../../lib/data/tokens/rtt_code.ts";
import { FIRST_INDEXES, NUM_CODES } from "../../../lib/model/pool/kernel_mixture.ts";
import { RttDistribution } from "../../../lib/query/rtt/rtt_distribution.ts";
import { pValueOfReply } from "../../../lib/query/score/surprise.ts";
import { bytesOfTail } from "../../../lib/query/score/tail_bytes.ts";

const sumOf = (numbers: Float64Array) => numbers.reduce((sum, number) => sum + number, 0);

/** Levels of different weights, widths and roughness, near each other, and a little everywhere. */
function levels(random: RandomStream): Float64Array {
  const probabilities = new Float64Array(NUM_CODES).fill(1e-6 / NUM_CODES);
  const around = random.below(NUM_CODES);
  for (let level = 0; level < 5; level++) {
    const width = 2 ** (8 * random.float64());
    const middle = around + Math.round(level * 3000 * (random.float64() - 0.5));
    const first = Math.max(0, Math.round(middle - 20 * width));
    for (let i = first; i < Math.min(NUM_CODES, middle + 20 * width); i++) {
      probabilities[i] += random.float64() ** 4 * Math.exp(-Math.abs(i - middle) / width) / width /
        3 ** level;
    }
  }
  const sum = sumOf(probabilities);
  return probabilities.map((p) => p / sum);
}

Deno.test("p-values do not depend on the second bytes of other first bytes than those of the tail", () => {
  const random = new RandomStream(0, "tests/tail bytes");
  let numLeftOut = 0;
  for (let trial = 0; trial < 300; trial++) {
    const exact = levels(random);
    const masses = Float64Array.from(
      FIRST_INDEXES.slice(0, -1),
      (first, place) => sumOf(exact.subarray(first, FIRST_INDEXES[place + 1])),
    );
    // Likely codes and any.
    const cumulative = new RttDistribution(0, exact, 1).cumulative;
    const index = trial % 5 === 0
      ? random.below(NUM_CODES)
      : cumulative.findIndex((p) => p > random.float64());
    const own = FIRST_INDEXES.findLastIndex((first) => first <= index);
    const onlyOwn = (p: number, i: number) => FIRST_INDEXES[own] <= i && i < FIRST_INDEXES[own + 1] ? p : NaN;
    const ofOwn = { probabilities: exact.map(onlyOwn), cumulative: cumulative.map(onlyOwn) };
    const { isNeeded, compared, reached, below } = bytesOfTail(masses, index, ofOwn);
    const probabilities = exact.slice();
    isNeeded.forEach((isSo, place) => {
      const [first, end] = [FIRST_INDEXES[place], FIRST_INDEXES[place + 1]];
      const isReached = reached[0] <= place && place <= reached[1];
      if (!isSo) probabilities.fill(isReached ? masses[place] / (end - first) : NaN, first, end);
      if (!isSo && masses[place] > 1e-4) numLeftOut++;
    });
    let sum = below[reached[0]];
    const sums = probabilities.map((p, i) => i < FIRST_INDEXES[reached[0]] ? NaN : sum += p);
    const [first, end] = [FIRST_INDEXES[compared[0]], FIRST_INDEXES[compared[1] + 1]];
    const part = {
      pFailed: 0.01,
      probabilities,
      cumulative: sums,
      codes: [first, end] as const,
      outside: sumOf(exact.subarray(0, first)) + sumOf(exact.subarray(end)),
    };
    const [expected, found] = [new RttDistribution(0.01, exact, 1), part].map((distribution) =>
      pValueOfReply(CANONICAL_RTT_CODES[index], distribution, 0.5)
    );
    assertAlmostEquals(found, expected, 1e-9, `trial ${trial}, code ${index}`);
  }
  assert(numLeftOut > 50, `${numLeftOut} first bytes`);
});
