import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import {
  fitShares,
  kernelWeights,
  NUM_KERNELS,
  NUM_SHARES,
  pairEvents,
  type PairMeasurements,
  sharesAt,
  USUAL_SHARES,
} from "../../../lib/model/pool/time_kernels.ts";

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const START_S = 1_699_920_000;
/** Indexes of the kernels. */
const [OF_3_HOURS, HOUR_OF_DAY, HOUR_OF_WEEK, ALL] = [1, 6, 7, 8];

/** @param rttOf The RTT, ms, by seconds since the start; null for no reply. */
function measuredAt(timesS: readonly number[], rttOf: (timeS: number) => number | null): PairMeasurements {
  const codes = timesS.map((timeS) => {
    const rttMs = rttOf(timeS);
    return rttMs === null ? 0 : encodeRttCode(rttMs);
  });
  return {
    timesS: Float64Array.from(timesS, (timeS) => START_S + timeS),
    codes: Uint16Array.from(codes),
    counts: new Float64Array(timesS.length).fill(1),
  };
}

Deno.test("weights fall with the distance in time, or from the same hour of another day or week", () => {
  const pair = measuredAt([0, 6 * DAY_S, 6 * DAY_S + 2 * HOUR_S, 7 * DAY_S - 3 * HOUR_S], () => 20);
  pair.counts[1] = 2;
  const of = (kernel: number, options: { weeks?: boolean; without?: number; end?: number } = {}) => {
    const length = options.end ?? 4;
    return kernelWeights(pair, START_S + 7 * DAY_S, { weeks: false, ...options })
      .subarray(kernel * length, (kernel + 1) * length);
  };
  const close = (found: Float64Array, expected: number[], nearest = expected.length - 1) => {
    assertEquals(found.length, expected.length);
    const ratio = expected[nearest] / found[nearest];
    found.forEach((weight, i) => assertAlmostEquals(weight * ratio, expected[i], 1e-12));
  };
  close(of(OF_3_HOURS), [Math.exp(-55), 2 * Math.exp(-7), Math.exp(-19 / 3), 1]);
  close(of(OF_3_HOURS, { without: 3 }), [0, 2 * Math.exp(-2 / 3), 1, 0], 2);
  close(of(OF_3_HOURS, { end: 2 }), [0, 2]);
  const fades = [7, 1, 22 / 24, 3 / 24].map((days) => days / 7);
  const ofHour = [0, 0, 1, 1.5].map((distance, i) => Math.exp(fades[1] - fades[i] - distance));
  close(of(HOUR_OF_DAY), ofHour.map((weight, i) => i === 1 ? 2 * weight : weight));
  const ofWeek = [0, 24, 22, 3].map((hours, i) => Math.exp(-hours - fades[i] / 4 + fades[0] / 4));
  close(of(HOUR_OF_WEEK, { weeks: true }), ofWeek.map((weight, i) => i === 1 ? 2 * weight : weight));
  close(of(ALL), [1, 2, 1, 1]);
});

/** Fits the shares of a pair that was measured every half hour for two weeks, with 2 % of noise. */
function fittedTo(rttOf: (timeS: number) => number): { pair: PairMeasurements; shares: Float64Array } {
  const random = new RandomStream(0, "tests/time_kernels");
  const timesS = Array.from({ length: 14 * 48 }, (_, i) => 1800 * i);
  const pair = measuredAt(timesS, (timeS) => rttOf(timeS) * (1 + 0.02 * random.float64()));
  return { pair, shares: fitShares(pairEvents(pair, 320), USUAL_SHARES, { isPair: true }) };
}

Deno.test("a pair with an evening peak follows the hour of the day, one after a shift its latest measurements", () => {
  const peak = fittedTo((timeS) => timeS % DAY_S > 19 * HOUR_S && timeS % DAY_S < 23 * HOUR_S ? 40 : 20);
  const shift = fittedTo((timeS) => timeS > 10 * DAY_S ? 40 : 20);
  for (const gapS of [4 * HOUR_S, DAY_S, 3 * DAY_S]) {
    const [ofHours, ofShort] = [peak, shift].map(({ pair, shares }, i) => {
      const timeS = pair.timesS[pair.timesS.length - 1] + gapS;
      const found = sharesAt(shares, pair, timeS, "rtts");
      // The kernels of hours; those of 45 minutes to 2 days.
      const chosen = i === 0 ? found.subarray(5, 8) : found.subarray(0, 4);
      return chosen.reduce((a, b) => a + b, 0);
    });
    assert(ofHours > 0.8, `${gapS} s after the end of a pair with a peak: ${ofHours}`);
    if (gapS <= DAY_S) assert(ofShort > 0.8, `${gapS} s after the end of a pair with a shift: ${ofShort}`);
  }
});

Deno.test("shares are continuous in time, except at the pair's first and last measurement", () => {
  const random = new RandomStream(1, "tests/time_kernels");
  const shares = Float64Array.from({ length: NUM_SHARES }, () => random.float64() ** 4);
  for (let first = 0; first < NUM_SHARES; first += NUM_KERNELS) {
    const row = shares.subarray(first, first + NUM_KERNELS);
    const sum = row.reduce((a, b) => a + b, 0);
    row.forEach((share, k) => row[k] = share / sum);
  }
  // The fourth measurement is 20 days after the third.
  const pair = measuredAt([0, 1, 2, 22, 23].map((day) => day * DAY_S), () => 20);
  const inside = [0.5, 1, 1.5, 2, 3, 10, 12, 14, 21, 22, 22.5];
  const outside = [23.1, 24, 31, 60, 400, -0.1, -1, -8, -60];
  for (const part of ["rtts", "losses"] as const) {
    const at = (timeS: number) => sharesAt(shares, pair, timeS, part);
    for (const day of [...inside, ...outside]) {
      for (let s = -3; s < 3; s++) {
        const timeS = START_S + Math.round(day * DAY_S) + s;
        const [now, next] = [at(timeS), at(timeS + 1)];
        assertAlmostEquals(now.reduce((a, b) => a + b, 0), 1, 1e-9);
        now.forEach((share, k) =>
          assertAlmostEquals(next[k], share, 1e-4, `${part}, day ${day}, ${s} s, kernel ${k}`)
        );
      }
    }
  }
});
