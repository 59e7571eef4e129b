import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { type Baseline, MirroredBaseline } from "../../../lib/eval/baselines/baseline.ts";
import {
  BiasedFactorisationBaseline,
  DmfsgdBaseline,
  LogAlsBaseline,
} from "../../../lib/eval/baselines/factorisations.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { type MatrixSplit, medianRelativeError, series, splitMatrix } from "./series.ts";
import { dot } from "../../../lib/model/coordinates/ridge.ts";

const [NUM_ROWS, NUM_COLUMNS] = [60, 50];

function factors(rank: number, draw: (random: RandomStream) => number) {
  const random = new RandomStream(9, "test/factors");
  const side = (length: number) =>
    Array.from({ length }, () => Float64Array.from({ length: rank }, () => draw(random)));
  return { left: side(NUM_ROWS), right: side(NUM_COLUMNS) };
}

/** Half of a matrix of rank 3 with entries from 2 to some 70 ms. */
function lowRankRtts(): MatrixSplit {
  const { left, right } = factors(3, (random) => 1 + 4 * random.float64() ** 2);
  return splitMatrix([NUM_ROWS, NUM_COLUMNS], (i, j) => dot(left[i], right[j]), { share: 0.5 });
}

/** Half of a matrix whose logarithm is a sum of biases and a matrix of rank 2. */
function biasedLogRtts(): MatrixSplit {
  const vectors = factors(2, (random) => 0.7 * random.normal());
  const biases = factors(1, (random) => random.normal());
  const rttMs = (i: number, j: number) =>
    Math.exp(3 + biases.left[i][0] + biases.right[j][0] + dot(vectors.left[i], vectors.right[j]));
  return splitMatrix([NUM_ROWS, NUM_COLUMNS], rttMs, { share: 0.5 });
}

const MAKERS: Record<string, (seed: number, numPasses: number) => Baseline> = {
  DmfsgdBaseline: (seed, numPasses) => new DmfsgdBaseline({ seed, rank: 10, regularisation: 0.1, numPasses }),
  BiasedFactorisationBaseline: (seed, numPasses) =>
    new BiasedFactorisationBaseline({ seed, rank: 16, regularisation: 0.02, numPasses }),
};

Deno.test("DmfsgdBaseline withstands a tenth of the RTTs being 100 times too large", () => {
  const { training, heldOut } = lowRankRtts();
  training.forEach((m, i) => i % 10 === 0 && m.rttMs !== null && (m.rttMs *= 100));
  const baseline = MAKERS.DmfsgdBaseline(1, 200);
  baseline.train(training);
  const error = medianRelativeError(baseline, heldOut);
  assert(error < 0.03, `median relative error ${error}`);
});

Deno.test("BiasedFactorisationBaseline recovers biases and a low-rank matrix from half of its entries", () => {
  const { training, heldOut } = biasedLogRtts();
  const baseline = MAKERS.BiasedFactorisationBaseline(1, 300);
  baseline.train(training);
  const error = medianRelativeError(baseline, heldOut);
  assert(error < 0.08, `median relative error ${error}`);
});

Deno.test("BiasedFactorisationBaseline treats an unseen end as an average one", () => {
  const baseline = MAKERS.BiasedFactorisationBaseline(0, 500);
  assertEquals(baseline.predictMs({ source: "a", destination: "x", timeS: 0 }), undefined);
  baseline.train(series(["a", "x", 100], ["b", "x", 1], ["c", "x", null]));
  const predict = (source: string, destination: string) =>
    baseline.predictMs({ source, destination, timeS: 0 }) ?? NaN;
  assertAlmostEquals(predict("new", "new"), 10, 1e-9);
  assert(
    predict("a", "new") > 15 && predict("b", "new") < 7,
    `${predict("a", "new")} ${predict("b", "new")}`,
  );
  assertAlmostEquals(predict("c", "new"), 10, 1e-9);
  baseline.train(series(["d", "y", 100], ["d", "z", 1]));
  assert(
    predict("new", "y") > 15 && predict("new", "z") < 7,
    `${predict("new", "y")} ${predict("new", "z")}`,
  );
});

for (const [name, make] of Object.entries(MAKERS)) {
  Deno.test(`${name} learns an end first seen after training`, () => {
    const { training, heldOut } = lowRankRtts();
    const isNew = ({ source }: { source: string }) => source === "row0";
    for (const m of [...training, ...heldOut].filter(isNew)) m.rttMs = 4 * (m.rttMs ?? NaN);
    const baseline = make(1, 100);
    baseline.train(training.filter((m) => !isNew(m)));
    for (let round = 0; round < 10; round++) training.filter(isNew).forEach((m) => baseline.observe(m));
    const error = medianRelativeError(baseline, heldOut.filter(isNew));
    assert(error < 0.08, `median relative error ${error}`);
  });
}

Deno.test("observePasses() rejects measurements that can be iterated only once", () => {
  const { training } = lowRankRtts();
  assertThrows(() => MAKERS.DmfsgdBaseline(0, 2).train(training.values()), Error, "iterated only once");
});

/** A part of a matrix whose logarithm is a sum of biases and a matrix of rank 2. */
function rankTwoLogs(share: number): MatrixSplit {
  const random = new RandomStream(9, "test/log-als");
  const side = (length: number) =>
    Array.from({ length }, () => Float64Array.from({ length: 3 }, () => 0.7 * random.normal()));
  const [left, right] = [side(50), side(40)];
  const vector = (weights: Float64Array) => weights.subarray(1);
  const rttMs = (i: number, j: number) =>
    Math.exp(3 + left[i][0] + right[j][0] + dot(vector(left[i]), vector(right[j])));
  return splitMatrix([50, 40], rttMs, { share });
}

Deno.test("LogAlsBaseline recovers a synthetic rank-2 log matrix from 40 % of its entries", () => {
  const { training, heldOut } = rankTwoLogs(0.4);
  const baseline = new LogAlsBaseline({ seed: 1, rank: 2, regularisation: 0.01 });
  baseline.train(training);
  const error = medianRelativeError(baseline, heldOut);
  assert(error < 0.01, `median relative error ${error}`);
});

Deno.test("LogAlsBaseline counts a pair once, however often it was measured", () => {
  const predictAfter = (count: number) => {
    const baseline = new LogAlsBaseline({ seed: 1, rank: 1, regularisation: 1 });
    const often = Array.from({ length: count }, () => ["a", "x", 50] as [string, string, number]);
    baseline.train(series(...often, ["a", "y", 20], ["b", "x", 10]));
    return baseline.predictMs({ source: "b", destination: "y", timeS: 0 });
  };
  assertAlmostEquals(predictAfter(1) ?? NaN, predictAfter(40) ?? NaN, 1e-9);
});

Deno.test("LogAlsBaseline learns ends first seen after training, and predicts nothing for others", () => {
  const { training, heldOut } = rankTwoLogs(0.5);
  const isNew = ({ source, destination }: { source: string; destination: string }) =>
    source === "row0" || destination === "column0";
  const baseline = new LogAlsBaseline({ seed: 1, rank: 2, regularisation: 0.01 });
  baseline.train(training.filter((each) => !isNew(each)));
  const query = { source: "row0", destination: "column1", timeS: 0 };
  assertEquals(baseline.predictMs(query), undefined);
  baseline.observe({ ...query, rttMs: null });
  assertEquals(baseline.predictMs(query), undefined);
  training.filter(isNew).forEach((each) => baseline.observe(each));
  const ofOneNew = heldOut.filter((each) => isNew(each) && baseline.predictMs(each) !== undefined);
  assert(ofOneNew.length > 20, `${ofOneNew.length}`);
  const error = medianRelativeError(baseline, ofOneNew);
  assert(error < 0.02, `median relative error ${error}`);
});

Deno.test("MirroredBaseline learns both directions if a node is a source and a destination, else one", () => {
  const predictBack = (destination: string) => {
    const baseline = new MirroredBaseline(new LogAlsBaseline({ seed: 1, rank: 1, regularisation: 0.01 }));
    baseline.train(series(["a", "b", 10], ["b", destination, 30], ["a", "d", 20]));
    return baseline.predictMs({ source: "b", destination: "a", timeS: 0 });
  };
  assertAlmostEquals(predictBack("c") ?? NaN, 10, 1);
  const apart = new MirroredBaseline(new LogAlsBaseline({ seed: 1, rank: 1, regularisation: 1 }));
  apart.train(series(["a", "x", 10], ["b", "y", 30]));
  apart.observe({ source: "a", destination: "new", timeS: 1, rttMs: 5 });
  assertEquals(apart.predictMs({ source: "x", destination: "a", timeS: 2 }), undefined);
});
