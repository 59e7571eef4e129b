import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { UserError } from "../../../lib/base/errors.ts";
import { CANONICAL_RTT_CODES } from "../../../lib/data/tokens/rtt_code.ts";
import { nearestOf, type NearestOptions, raceOf } from "../../../lib/query/destinations/nearest.ts";
import type { FileQuery } from "../../../lib/query/rtt/query_file.ts";
import { MAX_PING_RTT_MS, RTTS_MS } from "../../../lib/query/rtt/rtt_distribution.ts";
import { parseQuestion } from "../../../lib/query/rtt/rtt_question.ts";
import { sitesOf } from "../../../lib/query/destinations/sites.ts";
import { withTinyModel } from "../tiny_model.ts";

/** A runner with probability at some codes only: pairs of index and probability. */
function runnerOf(pFailed: number, masses: readonly (readonly [place: number, mass: number])[]) {
  const probabilities = new Float32Array(CANONICAL_RTT_CODES.length);
  const total = masses.reduce((sum, [, mass]) => sum + mass, 0);
  for (const [place, mass] of masses) probabilities[place] += mass / total;
  return { pFailed, probabilities };
}
type Runner = ReturnType<typeof runnerOf>;

/** The race by enumeration of all outcomes; ties are shared. */
function bruteForce(runners: readonly Runner[]) {
  const pNearest = runners.map(() => 0);
  const meansMs = runners.map(() => 0);
  let pNoReply = 0;
  let minMs = 0;
  const reply = runners.reduce((p, { pFailed }) => p * (1 - pFailed), 1);
  const visit = (places: number[], p: number) => {
    if (places.length < runners.length) {
      const { pFailed, probabilities } = runners[places.length];
      if (pFailed > 0) visit([...places, Infinity], p * pFailed);
      probabilities.forEach((each, place) => {
        if (each > 0) visit([...places, place], p * (1 - pFailed) * each);
      });
      return;
    }
    const least = Math.min(...places);
    if (least === Infinity) {
      pNoReply += p;
      return;
    }
    const tied = places.filter((place) => place === least).length;
    places.forEach((place, i) => pNearest[i] += place === least ? p / tied : 0);
    if (places.includes(Infinity)) return;
    minMs += p / reply * RTTS_MS[least];
    places.forEach((place, i) => meansMs[i] += p / reply * RTTS_MS[place]);
  };
  visit([], 1);
  return { pNearest, pNoReply, minMs, regretsMs: meansMs.map((meanMs) => meanMs - minMs) };
}

const masses = fc.array(fc.tuple(fc.integer({ min: 2000, max: 2006 }), fc.integer({ min: 1, max: 9 })), {
  minLength: 1,
  maxLength: 3,
});
const runners = fc.array(fc.tuple(fc.constantFrom(0, 0.1, 0.9), masses), { minLength: 1, maxLength: 6 });

Deno.test("raceOf() equals the enumeration of all outcomes, with ties shared", () =>
  fc.assert(
    fc.property(runners, (drawn) => {
      const race = drawn.map(([pFailed, each]) => runnerOf(pFailed, each));
      const [found, expected] = [raceOf(race), bruteForce(race)];
      expected.pNearest.forEach((p, i) => assertAlmostEquals(found.pNearest[i], p, 1e-6));
      assertAlmostEquals(found.pNoReply, expected.pNoReply, 1e-9);
      assertAlmostEquals(found.minMs, expected.minMs, 1e-5 * expected.minMs);
      expected.regretsMs.forEach((ms, i) =>
        assertAlmostEquals(found.regretsMs[i], ms, 1e-5 * expected.minMs)
      );
    }),
    { numRuns: 60 },
  ));

Deno.test("raceOf() divides evenly between identical candidates, however sharp", () => {
  for (const n of [2, 3, 40, 301]) {
    for (const places of [[3000], [3000, 3001, 20_000]]) {
      const runner = runnerOf(0.2, places.map((place) => [place, 1]));
      const { pNearest, pNoReply } = raceOf(Array.from({ length: n }, () => runner));
      assertAlmostEquals(pNoReply, 0.2 ** n, 1e-12);
      for (const p of pNearest) assertAlmostEquals(p, (1 - 0.2 ** n) / n, 1e-9);
    }
  }
});

Deno.test("raceOf() computes no regret for a single candidate and caps replies at the longest ping wait", () => {
  const alone = raceOf([runnerOf(0.3, [[100, 1], [9000, 2], [20_000, 1]])]);
  assertEquals([alone.regretsMs[0], alone.pNoReply], [0, 0.3]);
  assertAlmostEquals(alone.pNearest[0], 0.7, 1e-12);
  const late = runnerOf(0, [[RTTS_MS.length - 1, 1]]);
  const { regretsMs, minMs } = raceOf([late, runnerOf(0, [[5000, 1]])]);
  assertAlmostEquals(minMs, RTTS_MS[5000], 1e-9 * minMs);
  assertAlmostEquals(regretsMs[0], MAX_PING_RTT_MS - minMs, 1e-6);
  assertAlmostEquals(raceOf([late]).minMs, MAX_PING_RTT_MS, 1e-6);
});

async function* queriesOf(src: string, destinations: readonly string[]): AsyncGenerator<FileQuery> {
  for (const [i, dst] of destinations.entries()) {
    yield await Promise.resolve({ line: i + 1, src, dst, ...parseQuestion({ src, dst }) });
  }
}

const OPTIONS: NearestOptions = {
  context: [],
  by: "median",
  top: 5,
  maxCandidates: 10,
  onProgress() {},
};
const DESTINATIONS = ["198.51.100.7", "203.0.113.0/24", "198.51.100.9", "10.0.0.1"];

Deno.test("nearestOf() ranks by the medians of query rtt or by probability, and lists each candidate once", () =>
  withTinyModel(async (model) => {
    const asked = () => queriesOf("192.0.2.1", [...DESTINATIONS, "198.51.100.7"]);
    const options = { ...OPTIONS, numDraws: 8 };
    const { nearest, candidates, p_no_reply } = await nearestOf(model, asked(), options);
    assertEquals([candidates, nearest.length], [4, 4]);
    for (const { candidate, median_ms, p_failed, regret_ms } of nearest) {
      assert(regret_ms >= 0);
      if (candidate.includes("/")) continue;
      const alone = await model.rttDistribution({ src: "192.0.2.1", dst: candidate });
      assertEquals(median_ms, alone.quantileMs(0.5));
      assertAlmostEquals(p_failed, alone.pFailed, 1e-6);
    }
    assertEquals(nearest, nearest.toSorted((a, b) => a.median_ms - b.median_ms));
    assertAlmostEquals(nearest.reduce((sum, each) => sum + each.p_nearest, p_no_reply), 1, 1e-6);
    const likely = await nearestOf(model, asked(), { ...options, by: "probability", top: 2 });
    assertEquals(likely.nearest, nearest.toSorted((a, b) => b.p_nearest - a.p_nearest).slice(0, 2));
  }));

Deno.test("nearestOf() rejects too many candidates, none, and one of another IP version by its index", () =>
  withTinyModel(async (model) => {
    const refused = (destinations: string[], message: string) =>
      assertRejects(
        () => nearestOf(model, queriesOf("192.0.2.1", destinations), { ...OPTIONS, maxCandidates: 2 }),
        UserError,
        message,
      );
    await refused(DESTINATIONS, "more than 2 candidates were given, expected 1 to 2");
    await refused([], "no candidates were given");
    await refused(["198.51.100.7", "2001:db8::1"], "candidates[1]: ");
  }));

Deno.test("sitesOf() mixes the answers to each source by weight, and takes no time from an address to itself", () =>
  withTinyModel(async (model) => {
    const SOURCES = ["192.0.2.1", "192.0.2.130", "203.0.113.128/25", "198.51.100.9"];
    const readQuery = (src: string, dst: string): FileQuery => (
      { line: 1, src, dst, ...parseQuestion({ src, dst }) }
    );
    const options = { by: "median" as const, top: 5, numDraws: 4, best: 2, onProgress() {} };
    const pairsOf = (sources: string[], weights: number[]) => ({
      sources: sources.map((src) => readQuery(src, DESTINATIONS[0])),
      candidates: DESTINATIONS.map((dst) => readQuery(sources[0], dst)),
      weights,
    });
    const alone: Awaited<ReturnType<typeof sitesOf>>["nearest"][] = [];
    for (const [i, src] of SOURCES.slice(0, 3).entries()) {
      const exact = await nearestOf(model, queriesOf(src, DESTINATIONS), { ...OPTIONS, numDraws: 4 });
      const { nearest, min_ms, p_no_reply } = await sitesOf(model, pairsOf([src], [7]), options);
      assertAlmostEquals(p_no_reply, exact.p_no_reply, 1e-6);
      // Only some quantiles of a pair are exact for many sources; the others are to a fifth.
      assertAlmostEquals(min_ms, exact.min_ms, 0.2 * min_ms);
      for (const each of nearest) {
        const found = exact.nearest.find(({ candidate }) => candidate === each.candidate);
        assertEquals([each.median_ms, each.worst_ms, each.worst_src], [
          found?.median_ms,
          found?.median_ms,
          src,
        ]);
        assertAlmostEquals(each.p_failed, found?.p_failed ?? NaN, 1e-6);
        assertAlmostEquals(each.p_nearest, found?.p_nearest ?? NaN, 0.02);
      }
      alone[i] = nearest;
    }
    const weights = [1, 3, 4];
    const many = await sitesOf(model, pairsOf(SOURCES.slice(0, 3), weights), options);
    const one = (i: number, candidate: string) => {
      const found = alone[i].find((each) => each.candidate === candidate);
      assert(found);
      return found;
    };
    for (const { candidate, p_failed, p_nearest, worst_ms, median_ms, high_ms } of many.nearest) {
      const mean = (of: (each: typeof alone[0][0]) => number) =>
        weights.reduce((sum, weight, i) => sum + weight / 8 * of(one(i, candidate)), 0);
      assertAlmostEquals(p_failed, mean((each) => each.p_failed), 1e-6);
      assertAlmostEquals(p_nearest, mean((each) => each.p_nearest), 1e-5);
      const medians = weights.map((_, i) => one(i, candidate).median_ms);
      assertEquals(worst_ms, Math.max(...medians));
      assert(median_ms >= Math.min(...medians) && median_ms <= worst_ms && median_ms < high_ms);
    }
    const [{ candidates, mean_ms, shares }, two] = many.best;
    const means = DESTINATIONS.map((dst) =>
      weights.reduce((sum, weight, i) => sum + weight / 8 * one(i, dst).median_ms, 0)
    );
    assertEquals(candidates, [DESTINATIONS[means.indexOf(Math.min(...means))]]);
    assertAlmostEquals(mean_ms, Math.min(...means), 1e-9);
    assertEquals([shares, two.candidates.length, two.is_exact], [[1], 2, true]);
    assertAlmostEquals(two.shares.reduce((a, b) => a + b), 1, 1e-12);

    const own = await sitesOf(model, pairsOf([SOURCES[3]], [1]), options);
    const { median_ms, p_failed, p_nearest } = own.nearest[0];
    assertEquals([own.nearest[0].candidate, p_failed], [SOURCES[3], 0]);
    assert(median_ms < 0.01 && p_nearest > 0.99);
    assertEquals([own.best[0].candidates, own.best[0].mean_ms], [[SOURCES[3]], 0]);
  }));
