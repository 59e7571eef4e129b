import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { BaselineForecasts } from "../../../lib/eval/baselines/baseline_forecasts.ts";
import { drawCases, drawCasesAnd, type EvalCase, queryOf } from "../../../lib/eval/cases.ts";
import type { EvalRows } from "../../../lib/eval/eval_rows.ts";
import { choiceOf, drawRankings, evaluateRankings } from "../../../lib/eval/sections/ranking_section.ts";
import { raceOf } from "../../../lib/query/destinations/nearest.ts";
import { MemoryRowSource } from "../../data/loader/synthetic_rows.ts";
import { withTinyModel } from "../../query/tiny_model.ts";
import { type MeshMeasurement, meshRow } from "./mesh_rows.ts";

Deno.test("choiceOf() chooses the least, shares ties and is random if nothing is known", () => {
  const rttsMs = [30, 10, 20];
  const choose = (...values: number[]) => choiceOf(Float64Array.from(values), rttsMs);
  assertEquals(choose(3, 1, 2), { regretMs: 0, right: 1 });
  assertEquals(choose(1, 2, 3), { regretMs: 20, right: 0 });
  assertEquals(choose(1, 1, 3), { regretMs: 10, right: 0.5 });
  assertEquals(choose(NaN, 5, 4), { regretMs: 10, right: 0 });
  assertEquals(choose(NaN, NaN, NaN), { regretMs: 10, right: 1 / 3 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.float({ noNaN: true }), fc.nat(99)), { minLength: 3 }), (candidates) => {
      const measured = candidates.map(([, ms]) => ms);
      assertEquals(choiceOf(Float64Array.from(measured), measured), { regretMs: 0, right: 1 });
      const { regretMs, right } = choiceOf(Float64Array.from(candidates, ([value]) => value), measured);
      assert(regretMs >= 0 && regretMs <= Math.max(...measured) - Math.min(...measured) && right <= 1);
      assert(right === 1 ? regretMs === 0 : regretMs > 0);
    }),
  );
});

const HOUR_S = 3600;
const destination = (i: number) => `198.51.100.${i}`;

/** Sources that measure 4 destinations per hour, one of them without a reply, and two in odd hours. */
function hourly(numHours: number, numSources = 4): MemoryRowSource {
  return new MemoryRowSource(Array.from({ length: numSources }, (_, source) => {
    const measurements = Array.from({ length: numHours }, (_, hour): MeshMeasurement[] => {
      const at = (
        i: number,
        rttMs: number,
      ): MeshMeasurement => [destination(i), rttMs, hour * HOUR_S + 60 * i + source];
      return hour % 2 === 1
        ? [at(1, 10), at(2, 20)]
        : [at(1, 30), at(2, 20), at(3, 10), at(4, -1), [destination(3), 50, hour * HOUR_S + 1800]];
    }).flat();
    return meshRow(`192.0.2.${source + 1}`, measurements);
  }));
}

Deno.test("drawRankings() draws one-hour windows with three destinations that replied, and their medians", async () => {
  const rows = hourly(20);
  const { windowS, groups } = await drawRankings(rows, { seed: 1 });
  // Ten hours of each source have the same candidates.
  assertEquals([windowS, groups.map(({ places: [{ row }] }) => row).sort()], [HOUR_S, [0, 1, 2, 3]]);
  for (const { places, rttsMs } of groups) {
    assertEquals(new Set(places.map(({ row }) => row)).size, 1);
    const { rttMs, eventTimeUs, dstIndex } = rows.row(places[0].row);
    assertEquals(places.map(({ index }) => dstIndex[index]).sort(), [0, 1, 2]);
    assertEquals(new Set(places.map(({ index }) => Math.floor(eventTimeUs[index] / 1e6 / HOUR_S))).size, 1);
    // The third one's median is the smaller of its two replies.
    assertEquals(places.map(({ index }) => rttMs[index]), [...rttsMs]);
  }
});

Deno.test("drawRankings() widens windows if there are few, bounds their number and is reproducible by seed", async () => {
  const sparse = new MemoryRowSource(
    Array.from(
      { length: 40 },
      (_, i) => meshRow(`192.0.2.${i}`, [1, 2, 3].map((k) => [destination(k), 10 * k, 40 * 86_400 * k])),
    ),
  );
  assertEquals((await drawRankings(sparse, { seed: 1 })).windowS, null);
  // The hours of a source have one set of candidates, its days have two.
  const repeated = new MemoryRowSource(
    Array.from({ length: 20 }, (_, source) => {
      const hours = Array.from({ length: 48 }, (_, hour): MeshMeasurement[] => {
        const measured = hour % 24 === 23 ? [4 + Math.floor(hour / 24)] : [1, 2, 3];
        return measured.map((i) => [destination(i), 10 * i, hour * HOUR_S + i]);
      });
      return meshRow(`192.0.2.${source}`, hours.flat());
    }),
  );
  const days = await drawRankings(repeated, { seed: 1 });
  assertEquals([days.windowS, days.groups.length], [86_400, 40]);
  assert(days.groups.every(({ rttsMs: { length } }) => length === 4));
  const many = hourly(4, 70);
  const [a, again, b] = [1, 1, 2].map((seed) => drawRankings(many, { seed }));
  assertEquals((await a).groups.length, 64);
  assertEquals(await a, await again);
  assert(JSON.stringify(await a) !== JSON.stringify(await b));
  assertEquals((await drawRankings(new MemoryRowSource([]), { seed: 1 })).groups, []);
});

Deno.test("drawRankings() does not mix the addresses of a probe", async () => {
  const row = meshRow("192.0.2.1", [1, 2, 3, 1, 2, 3].map((i, at) => [destination(i), 10 * i, at]));
  const ofBoth = (...srcIndex: number[]) => {
    const probe = { ...row, srcAddrs: ["192.0.2.1", "192.0.2.2"], srcIndex: Int32Array.from(srcIndex) };
    return drawRankings(new MemoryRowSource([probe]), { seed: 1 });
  };
  assertEquals(
    (await ofBoth(0, 1, 1, 1, 1, 1)).groups.map(({ places }) => places.map(({ index }) => index)),
    [
      [3, 1, 2],
    ],
  );
  assertEquals((await ofBoth(0, 0, 1, 0, 0, 1)).groups, []);
});

function evalRows(): EvalRows {
  return { heldOut: hourly(12, 8), training: hourly(3, 8), others: [], history: "all" };
}

Deno.test("drawCasesAnd() draws the same cases as without others, which get their own histories", async () => {
  const rows = evalRows();
  const options = { count: 20, maxContext: 4, seed: 1 };
  const { groups } = await drawRankings(rows.heldOut, { seed: 1 });
  const places = groups.flatMap((group) => group.places);
  const { cases, others } = await drawCasesAnd(rows, places, options);
  const plain = (drawn: readonly EvalCase[]) => JSON.parse(JSON.stringify(drawn));
  assertEquals(plain(cases), plain(await drawCases(rows, options)));
  assertEquals(others.length, places.length);
  others.forEach(({ measurement, rttMs, history }, i) => {
    const { rttMs: all, eventTimeUs } = rows.heldOut.row(places[i].row);
    assertEquals([rttMs, measurement.timeS], [all[places[i].index], eventTimeUs[places[i].index] / 1e6]);
    assert(history.every(({ timeS }) => timeS === null || timeS < measurement.timeS));
  });
});

Deno.test("evaluateRankings() ranks by the exact medians and races of the model, and by baselines", () =>
  withTinyModel(async (model) => {
    const rows = evalRows();
    const drawn = await drawRankings(rows.heldOut, { seed: 1 });
    const places = drawn.groups.flatMap((group) => group.places);
    const { others } = await drawCasesAnd(rows, places, { count: 1, maxContext: 2, seed: 1 });
    const measuredMs = Float64Array.from(others, ({ rttMs }) => rttMs ?? NaN);
    const baselines = {
      methods: new Map([
        ["oracle", { predictedMs: measuredMs }],
        ["last", { predictedMs: measuredMs.map((ms) => -ms) }],
        ["mute", { predictedMs: measuredMs.map(() => NaN) }],
      ]),
    } as unknown as BaselineForecasts;
    const options = { drawn, baselines, maxContext: 2, seed: 1 };
    const section = await evaluateRankings(model, others, options);
    assert(section);
    assertEquals(section.numContext, 2);
    assertEquals(section.numChoices, drawn.groups.length);
    assertEquals([section.meanCandidates, section.numSources], [3, 8]);
    const byName = new Map(section.methods.map((method) => [method.method, method]));
    assertEquals([...byName.keys()].slice(0, 3), ["model, by median", "model, by probability", "oracle"]);
    assertEquals([byName.get("oracle")?.regretMs, byName.get("oracle")?.rightShare], [0, 1]);
    assertEquals([byName.get("last")?.regretMs, byName.get("last")?.rightShare], [20, 0]);
    for (const random of ["mute", "at random"]) {
      assertAlmostEquals(byName.get(random)?.regretMs ?? NaN, 10, 1e-9);
      assertAlmostEquals(byName.get(random)?.rightShare ?? NaN, 1 / 3, 1e-9);
    }
    const exact = await model.rttDistributions(others.map((each) => queryOf(each, 2)));
    const choices = drawn.groups.map(({ rttsMs }, group) => {
      const own = exact.slice(3 * group, 3 * group + 3);
      const race = raceOf(own.map(({ pFailed, probabilities }) => ({
        pFailed,
        probabilities: Float32Array.from(probabilities),
      })));
      return [own.map((each) => each.quantileMs(0.5)), [...race.pNearest].map((p) => -p)].map((values) =>
        choiceOf(Float64Array.from(values), rttsMs).regretMs
      );
    });
    const mean = (which: number) => choices.reduce((sum, each) => sum + each[which], 0) / choices.length;
    assertAlmostEquals(byName.get("model, by median")?.regretMs ?? NaN, mean(0), 1.5);
    assertAlmostEquals(byName.get("model, by probability")?.regretMs ?? NaN, mean(1), 1.5);
    const difference = byName.get("last")?.modelMinusThis?.regretMs ?? [NaN, NaN];
    assertEquals(byName.get("model, by median")?.modelMinusThis, undefined);
    const expected = (byName.get("model, by median")?.regretMs ?? NaN) - 20;
    assert(difference[0] <= expected && expected <= difference[1], `${difference}`);
    const none = { drawn: { windowS: null, groups: [] }, baselines, maxContext: 2, seed: 1 };
    assertEquals(await evaluateRankings(model, [], none), undefined);
  }));
