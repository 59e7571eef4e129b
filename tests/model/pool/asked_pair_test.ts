import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { RandomStream } from "../../../lib/base/random.ts";
import { quantileOfSample } from "../../../lib/base/sample_statistics.ts";
import { CANONICAL_RTT_CODES, decodeRttCode, encodeRttCode } from "../../../lib/data/tokens/rtt_code.ts";
import { hashesOf, pairHashes } from "../../../lib/model/embedding_table.ts";
import { USUAL_AGE } from "../../../lib/model/pool/age.ts";
import { AskedPair } from "../../../lib/model/pool/asked_pair.ts";
import { indexOfCode, KernelMixture, NUM_CODES } from "../../../lib/model/pool/kernel_mixture.ts";
import { failureOfPair } from "../../../lib/model/pool/no_reply.ts";
import { PairMemory, type RememberedPair } from "../../../lib/model/pool/pair_memory.ts";
import { fitPool } from "../../../lib/model/pool/pool_fit.ts";
import { PoolTables } from "../../../lib/model/pool/pool_tables.ts";

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
const START_S = 1_699_920_000;
const ENDS = [1, 2].map((i) => Uint8Array.of(192, 0, 2, i));

/** A pair as a checkpoint remembers it. @param results Times, seconds since the start; RTTs, ms, null for no reply. */
function rememberedOf(results: readonly (readonly [timeS: number, rttMs: number | null])[]): RememberedPair {
  const tables = new PoolTables();
  const [source, destination] = ENDS.map(PoolTables.endOf);
  for (const [timeS, rttMs] of results) {
    tables.add(source, destination, rttMs === null ? null : encodeRttCode(rttMs), START_S + timeS);
  }
  const pair = new PairMemory(tables.save(fitPool([]))).find(
    pairHashes(hashesOf(ENDS[0]), hashesOf(ENDS[1]), 0),
  );
  assert(pair);
  return pair;
}

function asked(pair: RememberedPair, timeS: number | null): AskedPair {
  return new AskedPair(pair, timeS === null ? null : START_S + timeS, USUAL_AGE);
}

/** P(RTT code) at most each code. */
function cumulativeOf(pair: AskedPair): Float64Array {
  const sums = new Float64Array(NUM_CODES);
  new KernelMixture(pair.kernels(), [0, NUM_CODES]).addTo(sums, 1);
  sums.forEach((mass, i) => sums[i] = mass + (i > 0 ? sums[i - 1] : 0));
  return sums;
}

Deno.test("without a time the 5, 50 and 95 % quantiles are those of the pair's measurements", () => {
  const random = new RandomStream(0, "tests/asked_pair");
  for (const length of [319, 3000]) {
    // A heavy upper tail, and a fortieth of short RTTs.
    const rtts = Array.from(
      { length },
      (_, i) => i % 40 === 7 ? 110 + 20 * random.float64() : 172 / (1 - 0.9 * random.float64()) ** 0.3,
    );
    const pair = asked(rememberedOf(rtts.map((rttMs, i) => [600 * i, rttMs])), null);
    assertEquals(pair.numReplies, length);
    const cumulative = cumulativeOf(pair);
    assertAlmostEquals(cumulative[NUM_CODES - 1], 1, 1e-6);
    for (const level of [0.05, 0.5, 0.95]) {
      const found = decodeRttCode(CANONICAL_RTT_CODES[cumulative.findIndex((sum) => sum >= level)]);
      assertAlmostEquals(found / quantileOfSample(rtts, level), 1, 0.03, `${length}: ${level}`);
    }
  }
});

/** P(no reply) as a pool computes it, for endpoints that suggest 10 %. */
const pFailed = (pair: RememberedPair, timeS: number | null) =>
  failureOfPair(0.1, asked(pair, timeS).losses());

Deno.test("without a time P(no reply) is the pair's share of losses, shrunk", () => {
  for (const [lost, of] of [[0, 319], [3, 100], [4, 5]]) {
    const results = Array.from({ length: of }, (_, i) => [600 * i, i < lost ? null : 20] as const);
    assertAlmostEquals(pFailed(rememberedOf(results), null), (lost + 4 * 0.1) / (of + 4), 1e-12);
  }
});

Deno.test("P(no reply) follows a rise of losses four days ago", () => {
  const random = new RandomStream(1, "tests/asked_pair");
  // Every ten minutes for 30 days.
  const results = Array.from({ length: 144 * 30 }, (_, i) => {
    const isLost = random.float64() < (i < 144 * 26 ? 0.01 : 0.155);
    return [600 * i, isLost ? null : 20 + i % 7] as const;
  });
  const pair = rememberedOf(results);
  const lately = results.filter(([timeS, rttMs]) => timeS >= 26 * DAY_S && rttMs === null).length / (144 * 4);
  for (const day of [30, 30.2, 31]) {
    assertAlmostEquals(pFailed(pair, day * DAY_S + 300), lately, 0.04, `day ${day}`);
  }
  assert(pFailed(pair, 20 * DAY_S + 300) < 0.03);
  assert(pFailed(pair, null) < 0.05);
});

Deno.test("a pair never lost in 138 measurements is expected to lose less than one lost once in 128, at any time", () => {
  const results = (length: number, lost: number, everyS: number) =>
    Array.from({ length }, (_, i) => [everyS * i, i === lost ? null : 20 + i % 7] as const);
  const never = [HOUR_S, DAY_S].map((everyS) => rememberedOf(results(138, -1, everyS)));
  for (const lost of [0, 64, 127]) {
    const once = rememberedOf(results(128, lost, HOUR_S));
    const times = [null, 0, 30, 63.5, 64, 64.5, 127, 127.5, 128, 160, 500, 5000]
      .map((hours) => hours === null ? null : hours * HOUR_S);
    for (const timeS of times) {
      const [ofOnce, ...ofNever] = [once, ...never].map((pair) => pFailed(pair, timeS));
      assert(ofNever.every((p) => p < ofOnce), `${timeS} s, lost ${lost}: ${ofNever} and ${ofOnce}`);
    }
  }
});

Deno.test("the distribution of RTTs is continuous in time far from replies, among measurements without any", () => {
  // 100 ms for a week, once 20 ms, then no reply for two days, from 31 hours later on.
  const results = [
    ...Array.from({ length: 168 }, (_, i) => [HOUR_S * i, 100] as const),
    [168 * HOUR_S, 20] as const,
    ...Array.from({ length: 48 }, (_, i) => [HOUR_S * (199 + i), null] as const),
  ];
  const pair = rememberedOf(results);
  const index = indexOfCode(encodeRttCode(50));
  const shareBelow = (timeS: number) =>
    new KernelMixture(asked(pair, timeS).kernels(), [0, NUM_CODES]).massBetween(0, index);
  for (let hour = 169; hour < 260; hour++) {
    let before = shareBelow(hour * HOUR_S + 1);
    for (let minute = 10; minute < 60; minute += 10) {
      const share = shareBelow(hour * HOUR_S + 60 * minute);
      assertAlmostEquals(share, before, 0.02, `hour ${hour}, minute ${minute}`);
      before = share;
    }
  }
});
