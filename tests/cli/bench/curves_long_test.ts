import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { type CurveRun, curvesOf, describeCurves, pointsOf, timesOf } from "../../../lib/cli/bench/curves.ts";
import { withFolder } from "../../data/measurement_files/batches.ts";
import { curvesBench } from "../../../tasks/bench_curves.ts";
import { writeTrainingRows } from "../../train/training_runs.ts";

/** A run whose loss falls along straight lines through points of (seconds, loss). */
function runOf(variant: string, seed: number, corners: [number, number][]): CurveRun {
  const points = corners.map(([seconds, loss], i) => ({
    seconds,
    step: i + 1,
    values: { "eval/loss": loss },
  }));
  return { variant, seed, points };
}

Deno.test("pointsOf() adds up the time of all steps, also of those that were not logged", () => {
  const records = [
    { step: 2, "train/tokens_per_second": 100 },
    { step: 4, "train/tokens_per_second": 50, "eval/loss": 3, "eval/rtt_bits": 12 },
    { step: 5, "train/tokens_per_second": 200, "eval/loss": 2 },
  ];
  assertEquals(pointsOf(records, 10), [
    { seconds: 0.2 + 0.4, step: 4, values: { "eval/loss": 3, "eval/rtt_bits": 12 } },
    { seconds: 0.2 + 0.4 + 0.05, step: 5, values: { "eval/loss": 2 } },
  ]);
});

Deno.test("curvesOf() has median and spread at times and until a loss, between evaluations by lines", () => {
  const runs = [
    runOf("a", 0, [[10, 4], [20, 2], [40, 1]]),
    runOf("a", 1, [[10, 6], [20, 4], [30, 3]]),
    runOf("b", 0, [[5, 5], [50, 0.5]]),
  ];
  const times = timesOf(runs, 3);
  assertEquals(times, [10, 20, 30]);
  const [a, b] = curvesOf(runs, { times: [5, 15, 30], until: 1.5 });
  assert(Number.isNaN(a.values["eval/loss"]?.[0].median), "before the first evaluation of a");
  assertEquals(a.values["eval/loss"]?.slice(1), [
    { median: 4, least: 3, most: 5 },
    { median: 2.25, least: 1.5, most: 3 },
  ]);
  assertEquals(a.until, { median: 30, least: 30, most: 30, reached: 1, of: 2 });
  assertEquals(b.until, { median: 40, least: 40, most: 40, reached: 1, of: 1 });
  assertAlmostEquals(b.values["eval/loss"]?.[1].median ?? NaN, 4, 1e-12);
  assert(!("eval/rtt_bits" in a.values), "no run has bits");
  assertStringIncludes(describeCurves([a, b], [5, 15, 30]), "2.250 (1.500 to 3.000)  30.0 s, 1 of 2");
});

Deno.test("bench curves trains every variant with every seed and writes the curves", () =>
  withFolder(async (folder) => {
    const rows = join(folder, "rows");
    await writeTrainingRows(rows);
    const output = join(folder, "curves");
    const sizes = ["numLayers=1", "width=32", "numHeads=1", "headDim=32", "mlpWidth=64", "sequenceLength=64"];
    const train = ["steps=6", "batchSize=2", "microBatchSize=2", "evalEverySteps=2", "evalSequences=4"];
    const set = [...sizes.map((size) => `model.${size}`), ...train.map((setting) => `train.${setting}`)];
    const args = ["--data", rows, "--output", output, "--seeds", "2", "--until", "100", "--set", ...set];
    const vary = ["--vary", "train.dtype=f32", "train.dtype=f16 optim.groups.head.learningRate=0.01"];
    const result = await curvesBench.run([...args, ...vary]);
    assert("json" in result);
    const { runs, curves, times } = JSON.parse(Deno.readTextFileSync(join(output, "curves.json")));
    const labels = ["demo train.dtype=f32", "demo train.dtype=f16 optim.groups.head.learningRate=0.01"];
    assertEquals(
      runs.map(({ variant, seed }: CurveRun) => [variant, seed]),
      labels.flatMap((label) => [[label, 0], [label, 1]]),
    );
    for (const { points } of runs as CurveRun[]) {
      assertEquals(points.map(({ step }) => step), [2, 4, 6]);
      const [loss, bits] = [points[2].values["eval/loss"] ?? NaN, points[2].values["eval/rtt_bits"] ?? NaN];
      assert(loss > 0 && loss < 6 && bits > 0 && bits < 32, `a loss of ${loss}, ${bits} bits`);
      assert(points[0].seconds > 0 && points[0].seconds < points[1].seconds);
    }
    assertEquals([curves.length, times.length], [2, 5]);
    assertEquals(curves[0].until.reached, 2);
    const page = Deno.readTextFileSync(join(output, "curves.html"));
    for (const text of [...labels, "<svg", "bits per RTT code"]) assertStringIncludes(page, text);
    const again = await curvesBench.run([...args, ...vary]);
    assertEquals(again, result);
  }));
