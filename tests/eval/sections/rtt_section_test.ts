import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import {
  type BaselineForecasts,
  forecastWithBaselines,
} from "../../../lib/eval/baselines/baseline_forecasts.ts";
import type { Baseline, BaselineMeasurement } from "../../../lib/eval/baselines/baseline.ts";
import { drawCases, type EvalCase, queryOf } from "../../../lib/eval/cases.ts";
import { clustersOf } from "../../../lib/eval/metrics/bootstrap.ts";
import { crpsMs } from "../../../lib/eval/metrics/forecast_errors.ts";
import type { EvalRows } from "../../../lib/eval/eval_rows.ts";
import { MeasurementTable } from "../../../lib/eval/baselines/measurement_table.ts";
import { evaluateRtt } from "../../../lib/eval/sections/rtt_section.ts";
import type { ProbeRow } from "../../../lib/data/probe_rows/probe_row.ts";
import { LastSeenBaseline, MedianBaseline } from "../../../lib/eval/baselines/histories.ts";
import { FAILED_RTT_MS } from "../../../lib/data/formats/batch.ts";
import { standardBaselines } from "../../../lib/eval/baselines/standard.ts";
import { meshRow } from "./mesh_rows.ts";
import { MemoryRowSource, syntheticRows } from "../../data/loader/synthetic_rows.ts";
import { withTinyModel } from "../../query/tiny_model.ts";

const CONTEXTS = [0, 1, 4];

function synthetic(history: "all" | "train"): EvalRows {
  return {
    heldOut: new MemoryRowSource(syntheticRows(3, 8, 12, { failed: 0.2 })),
    training: new MemoryRowSource(syntheticRows(4, 8, 20, { failed: 0.1 })),
    others: [],
    history,
  };
}

/** A baseline that records what it is shown, and predicts how many measurements it knows. */
class Witness implements Baseline {
  readonly trained: BaselineMeasurement[] = [];
  readonly observed: BaselineMeasurement[] = [];
  train(measurements: Iterable<BaselineMeasurement>): void {
    for (const measurement of measurements) this.trained.push(measurement);
  }
  observe(measurement: BaselineMeasurement): void {
    this.observed.push(measurement);
  }
  predictMs({ timeS }: { timeS: number }): number {
    const last = this.observed.at(-1);
    assert(last === undefined || last.timeS < timeS, "nothing of the case's own time is known");
    return this.observed.length;
  }
}

async function forecastAt(history: "all" | "train") {
  const rows = synthetic(history);
  const cases = await drawCases(rows, { count: 40, maxContext: 4, seed: 1 });
  const witness = new Witness();
  const baselines = new Map([["witness", witness]]);
  const options = { seed: 1, maxMeasurements: 1e6, baselines };
  const { methods } = await forecastWithBaselines(rows, cases, options);
  return { cases, witness, predictedMs: methods.get("witness")?.predictedMs ?? new Float64Array(0) };
}

Deno.test("forecastWithBaselines() shows a baseline all measurements older than a case, in order", async () => {
  const { cases, witness, predictedMs } = await forecastAt("all");
  const answered = (rows: ProbeRow[]) =>
    rows.flatMap(({ srcAddrs, srcIndex, eventTimeUs, rttMs }) =>
      [...rttMs].flatMap((ms, i) =>
        ms < 0 ? [] : [{ source: srcAddrs[srcIndex[i]], timeS: eventTimeUs[i] / 1e6 }]
      )
    );
  const training = answered(syntheticRows(4, 8, 20, { failed: 0.1 }));
  assertEquals(witness.trained.length, training.length);
  for (const measurements of [witness.trained, witness.observed]) {
    const times = measurements.map(({ timeS }) => timeS);
    assertEquals(times, times.toSorted((a, b) => a - b));
  }
  const sources = new Set(cases.map(({ srcAddr }) => srcAddr));
  const known = [
    ...training.filter(({ source }) => sources.has(source)),
    ...answered(syntheticRows(3, 8, 12, { failed: 0.2 })),
  ];
  cases.forEach(({ measurement }, i) =>
    assertEquals(predictedMs[i], known.filter(({ timeS }) => timeS < measurement.timeS).length)
  );
  const ofTraining = await forecastAt("train");
  const others = new Set(ofTraining.witness.observed.map(({ timeS }) => timeS));
  assert(training.some(({ timeS }) => others.has(timeS)));
  assertEquals(others.difference(new Set(training.map(({ timeS }) => timeS))).size, 0);
});

Deno.test("forecastWithBaselines() does not repeat the training data if all of it is older", async () => {
  const later = syntheticRows(3, 8, 12).map((row) => ({
    ...row,
    eventTimeUs: row.eventTimeUs.map((timeUs) => timeUs + 1e15),
  }));
  const rows: EvalRows = { ...synthetic("all"), heldOut: new MemoryRowSource(later) };
  const witness = new Witness();
  const cases = await drawCases(rows, { count: 40, maxContext: 4, seed: 1 });
  const baselines = new Map([["witness", witness]]);
  await forecastWithBaselines(rows, cases, { seed: 1, maxMeasurements: 1e6, baselines });
  assert(witness.observed.length > 0);
  const lastMs = witness.trained.reduce((last, { timeS }) => Math.max(last, timeS), 0);
  assert(witness.observed.every(({ timeS }) => timeS > lastMs));
});

Deno.test("forecastWithBaselines() counts each training measurement once in a median", async () => {
  const [source, destination] = ["192.0.2.1", "198.51.100.1"];
  // The case is between training measurements of its own pair, so the earlier ones are learned again.
  const training = [8, 8, 2, 2, 2].map((rttMs, i) => [destination, rttMs, i < 2 ? i : 10 + i] as const);
  const rows: EvalRows = {
    heldOut: new MemoryRowSource([meshRow(source, [[destination, 5, 5]])]),
    training: new MemoryRowSource([meshRow(source, training)]),
    others: [],
    history: "train",
  };
  const cases = await drawCases(rows, { count: 1, maxContext: 4, seed: 1 });
  const baselines = new Map<string, Baseline>([
    ["median", new MedianBaseline("pair")],
    ["last", new LastSeenBaseline()],
  ]);
  const { methods } = await forecastWithBaselines(rows, cases, { seed: 1, maxMeasurements: 1e6, baselines });
  assertEquals([...methods.values()].map(({ predictedMs }) => predictedMs[0]), [2, 8]);
});

Deno.test("forecastWithBaselines() forecasts losses by the share of all and by the pair's own outcomes", async () => {
  const [source, steady, lossy] = ["192.0.2.1", "198.51.100.1", "198.51.100.2"];
  // One of ten training measurements of one pair is lost, all ten of the other.
  const training = Array.from({ length: 20 }, (_, i): [string, number, number] => {
    const destination = i % 2 === 0 ? steady : lossy;
    return [destination, destination === lossy || i === 10 ? FAILED_RTT_MS : 5, i];
  });
  const asked: [string, number, number][] = [steady, lossy, "198.51.100.3"].map((destination, i) => [
    destination,
    5,
    30 + i,
  ]);
  const rows: EvalRows = {
    heldOut: new MemoryRowSource([meshRow(source, asked)]),
    training: new MemoryRowSource([meshRow(source, training)]),
    others: [],
    history: "all",
  };
  const cases = await drawCases(rows, { count: 3, maxContext: 4, seed: 1 });
  const options = { seed: 1, maxMeasurements: 1e6 };
  const { pFailed } = await forecastWithBaselines(rows, cases, {
    ...options,
    baselines: standardBaselines(1),
  });
  assertEquals([...pFailed.keys()], ["share in training", "pair kernels averaged"]);
  assertEquals(pFailed.get("share in training"), Float64Array.of(0.55, 0.55, 0.55));
  const [ofSteady, ofLossy, ofNew] = pFailed.get("pair kernels averaged") ?? [];
  // The share of all counts as an eleventh outcome. Within seconds all kernels weigh alike.
  assertAlmostEquals(ofSteady, (1 + 0.55) / 11, 1e-3);
  assertAlmostEquals(ofLossy, (10 + 0.55) / 11, 1e-3);
  assertEquals(ofNew, 0.55);
  const none = await forecastWithBaselines(rows, cases, { ...options, baselines: new Map() });
  assertEquals([...none.pFailed.keys()], ["share in training"]);
});

Deno.test("MeasurementTable keeps a uniform sample of at most maxMeasurements", async () => {
  const rows = new MemoryRowSource(syntheticRows(5, 30, 40, { failed: 0.1 }));
  const all = await MeasurementTable.read([rows], { maxMeasurements: 1e6, seed: 1 });
  assertEquals(all.length, all.numSeen - all.numFailed);
  assertEquals([...all].length, all.length);
  const outcomes = [...all.outcomes()].map(({ rttMs }) => rttMs);
  assertEquals([outcomes.length, outcomes.filter((lost) => lost === 1).length], [all.numSeen, all.numFailed]);
  const counts = new Map<number, number>();
  for (let seed = 0; seed < 100; seed++) {
    const some = await MeasurementTable.read([rows], { maxMeasurements: 200, seed });
    assert(some.length <= 200 && some.length > 150, `${some.length} of 200, a tenth failed`);
    assertEquals([some.numSeen, some.numFailed], [all.numSeen, all.numFailed]);
    for (const { timeS } of some) counts.set(timeS, (counts.get(timeS) ?? 0) + 1);
  }
  const share = 200 / all.numSeen;
  const early = [...all].slice(0, 100).reduce((sum, { timeS }) => sum + (counts.get(timeS) ?? 0), 0);
  assertAlmostEquals(early / 100 / 100, share, 0.03);
});

/** Baselines that are off by 1 ms, off by 100 ms, and without predictions. */
function knownBaselines(cases: readonly EvalCase[]): BaselineForecasts {
  const wrongBy = (errorMs: number) => ({
    predictedMs: Float64Array.from(cases, ({ rttMs }) => (rttMs ?? 0) + errorMs),
  });
  return {
    methods: new Map([["near", wrongBy(1)], ["far", wrongBy(100)], ["mute", wrongBy(NaN)]]),
    numTraining: 10,
    numTrainingUsed: 9,
    numObservable: 8,
    numObserved: 7,
    pFailed: new Map([["always 10 %", new Float64Array(cases.length).fill(0.1)]]),
  };
}

Deno.test("evaluateRtt() matches exact distributions and compares with the best baseline", () =>
  withTinyModel(async (model) => {
    const cases = await drawCases(synthetic("all"), { count: 40, maxContext: 4, seed: 1 });
    const baselines = knownBaselines(cases);
    const done: number[] = [];
    const onProgress = (count: number) => done.push(count);
    const chance = { seed: 1, clusters: clustersOf(cases) };
    const options = { contexts: CONTEXTS, baselines, maxSpreadMass: 0, onProgress, ...chance };
    const { rtt, failures } = await evaluateRtt(model, cases, options);
    assertEquals(done.at(-1), 40);
    const queries = cases.map((drawn, i) => ({
      ...drawn.measurement,
      context: queryOf(drawn, CONTEXTS[i % 3]).context,
    }));
    const exact = await model.rttDistributions(queries);
    const answered = cases.keys().toArray().filter((i) => cases[i].rttMs !== null);
    const mean = (of: (i: number) => number, places = answered) =>
      places.reduce((sum, i) => sum + of(i), 0) / places.length;
    const rttOf = (i: number) => cases[i].rttMs ?? NaN;
    const { overall, byContext } = rtt.model;
    assertEquals(overall.numMeasurements, answered.length);
    assertAlmostEquals(overall.crpsMs ?? NaN, mean((i) => crpsMs(exact[i], rttOf(i))), 0.01);
    const errorMs = (i: number) => Math.abs(exact[i].quantileMs(0.5) - rttOf(i));
    assertAlmostEquals(overall.meanAbsoluteMs ?? NaN, mean(errorMs), 1e-3);
    assertAlmostEquals(
      overall.codeBits ?? NaN,
      mean((i) => -Math.log2(exact[i].probabilityOf(rttOf(i)))),
      1e-4,
    );
    assertEquals(byContext.map(({ numContext }) => numContext), CONTEXTS);
    const ofFour = answered.filter((i) => i % 3 === 2);
    assertEquals(byContext[2].numMeasurements, ofFour.length);
    assertAlmostEquals(byContext[2].meanAbsoluteMs ?? NaN, mean(errorMs, ofFour), 1e-3);
    assertEquals(rtt.meanSpreadMass, 0);
    const [near, far, mute] = rtt.baselines;
    assertAlmostEquals(near.overall.meanAbsoluteMs ?? NaN, 1, 1e-9);
    assertAlmostEquals(far.byContext[1].crpsMs ?? NaN, 100, 1e-9);
    assertEquals(mute.overall.numMeasurements, 0);
    assertEquals(rtt.comparisons.length, 7 * 4);
    const likeliestErrorMs = (i: number) => Math.abs(exact[i].likeliest().rttMs - rttOf(i));
    assertAlmostEquals(rtt.likeliest.overall.meanAbsoluteMs ?? NaN, mean(likeliestErrorMs), 1e-3);
    const compared = rtt.comparisons.find(({ metric }) => metric === "likeliestAbsoluteMs");
    assertEquals(compared?.model, rtt.likeliest.overall.medianAbsoluteMs);
    assertEquals(compared?.baseline, near.overall.medianAbsoluteMs);
    for (const { bestBaseline, baseline, ratio, model } of rtt.comparisons) {
      assertEquals(bestBaseline, "near");
      assertAlmostEquals(ratio ?? NaN, model / baseline, 1e-9);
    }
    const brier = (i: number) => (exact[i].pFailed - (cases[i].rttMs === null ? 1 : 0)) ** 2;
    assertAlmostEquals(failures.brier ?? NaN, mean(brier, cases.keys().toArray()), 1e-5);
    const share = 1 - answered.length / 40;
    assertAlmostEquals(failures.heldOutShareBrier ?? NaN, share * (1 - share), 1e-9);
    const [always] = failures.baselines;
    assertEquals(always.name, "always 10 %");
    assertAlmostEquals(always.brier, share * (1 - share) + (share - 0.1) ** 2, 1e-9);
    assertEquals(failures.numFailed, 40 - answered.length);
    assertEquals(JSON.stringify({ rtt, failures }).includes("null,null,null,null"), false);
  }));

Deno.test("evaluateRtt() predicts each case with every context on request, with bounded spread mass", () =>
  withTinyModel(async (model) => {
    const cases = await drawCases(synthetic("train"), { count: 6, maxContext: 4, seed: 2 });
    const chance = { seed: 1, clusters: clustersOf(cases) };
    const options = { contexts: CONTEXTS, baselines: knownBaselines(cases), everyContext: true, ...chance };
    const { rtt, failures } = await evaluateRtt(model, cases, { ...options, maxSpreadMass: 0.2 });
    const numAnswered = cases.filter(({ rttMs }) => rttMs !== null).length;
    assertEquals(rtt.model.overall.numMeasurements, 3 * numAnswered);
    assertEquals(rtt.baselines[0].byContext.map(({ numMeasurements }) => numMeasurements), [
      numAnswered,
      numAnswered,
      numAnswered,
    ]);
    assertEquals(failures.byContext.map(({ numMeasurements }) => numMeasurements), [6, 6, 6]);
    const { meanSpreadMass, maxSpreadMass } = rtt;
    assert((meanSpreadMass ?? 0) > 0 && (maxSpreadMass ?? 1) <= 0.2, `${meanSpreadMass}, ${maxSpreadMass}`);
  }));

Deno.test("evaluateRtt() without measurements returns no numbers and no comparison", () =>
  withTinyModel(async (model) => {
    const options = { contexts: CONTEXTS, baselines: knownBaselines([]), seed: 0, clusters: clustersOf([]) };
    const { rtt, failures } = await evaluateRtt(model, [], options);
    assertEquals([failures.brier, failures.brierInterval, failures.baselines], [null, null, []]);
    assertEquals([rtt.model.overall.codeBits, rtt.comparisons], [null, []]);
    assertEquals(rtt, JSON.parse(JSON.stringify(rtt)));
  }));
