import { assert } from "@std/assert";
import { VivaldiBaseline } from "../../../lib/eval/baselines/vivaldi.ts";
import { RandomStream } from "../../../lib/base/random.ts";
import { type MatrixSplit, medianRelativeError, series, splitMatrix } from "./series.ts";

const NUM_NODES = 60;

/** Pairs of nodes at random positions in a square of 100 ms, with access links of random length. */
function network(maxHeightMs: number): MatrixSplit {
  const random = new RandomStream(3, "test/network");
  const nodes = Array.from({ length: NUM_NODES }, () => ({
    x: 100 * random.float64(),
    y: 100 * random.float64(),
    heightMs: maxHeightMs * random.float64(),
  }));
  const rttMs = (i: number, j: number) => {
    const [a, b] = [nodes[i], nodes[j]];
    return Math.hypot(a.x - b.x, a.y - b.y) + a.heightMs + b.heightMs;
  };
  return splitMatrix([NUM_NODES, NUM_NODES], rttMs, { share: 0.5, name: (_, index) => `node${index}` });
}

Deno.test("VivaldiBaseline recovers heights", () => {
  const { training, heldOut } = network(60);
  const baseline = new VivaldiBaseline({ seed: 1, numPasses: 30 });
  baseline.train(training);
  const error = medianRelativeError(baseline, heldOut);
  assert(error < 0.02, `median relative error ${error}`);
});

Deno.test("VivaldiBaseline learns a single distance in both directions, however small and often measured", () => {
  for (const rttMs of [0, 0.001, 12, 5000]) {
    const baseline = new VivaldiBaseline({ seed: 0 });
    baseline.train(
      series(...Array.from({ length: 4000 }, () => ["a", "b", rttMs] as [string, string, number])),
    );
    const predictedMs = baseline.predictMs({ source: "b", destination: "a", timeS: 0 }) ?? NaN;
    assert(Math.abs(predictedMs - rttMs) < 0.05 + rttMs * 1e-3, `${predictedMs} for ${rttMs}`);
  }
});
