import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { dot, LogAlsBaseline } from "../../../lib/eval/baselines/factorisations.ts";
import { MirroredBaseline } from "../../../lib/eval/baselines/baseline.ts";
import { RidgeSum } from "../../../lib/model/coordinates/ridge.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { type MatrixSplit, medianRelativeError, series, splitMatrix } from "./series.ts";

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

Deno.test("LogAlsBaseline learns ends that it first meets after training, and says nothing of others", () => {
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

Deno.test("LogAlsBaseline is the same for the same seed and another for another", () => {
  const { training, heldOut } = rankTwoLogs(0.2);
  const predict = (seed: number) => {
    const baseline = new LogAlsBaseline({ seed, rank: 10, regularisation: 1 });
    baseline.train(training);
    return heldOut.map((query) => baseline.predictMs(query));
  };
  assertEquals(predict(7), predict(7));
  assert(predict(7)[0] !== predict(8)[0]);
});

Deno.test("MirroredBaseline learns both directions where a node is a source and a destination, else one", () => {
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

Deno.test("RidgeSum.solve() has a gradient of zero, with a prior and a penalty for each weight", () => {
  const random = new RandomStream(4, "test/ridge");
  const sum = new RidgeSum(4);
  sum.add(Float64Array.of(1, 1, 1, 1), 99);
  sum.clear();
  const rows = Array.from({ length: 30 }, () => ({
    features: Float64Array.from({ length: 4 }, () => random.normal()),
    target: random.normal(),
  }));
  for (const { features, target } of rows) sum.add(features, target);
  const [penalty, prior] = [Float64Array.of(1, 2, 3, 4), Float64Array.of(0.5, -0.5, 0, 2)];
  const weights = sum.solve(penalty, prior);
  for (let k = 0; k < 4; k++) {
    const ofRows = rows.reduce(
      (g, row) => g + row.features[k] * (dot(row.features, weights) - row.target),
      0,
    );
    assertAlmostEquals(ofRows + penalty[k] * (weights[k] - prior[k]), 0, 1e-10);
  }
});
