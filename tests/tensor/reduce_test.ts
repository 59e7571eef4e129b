import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import { addClipFactor, CLIP } from "../../lib/tensor/ops/clip.ts";
import { addSum, addSumOfSquares, numPartialSums } from "../../lib/tensor/ops/reduce.ts";
import { Program } from "../../lib/tensor/program.ts";
import { sumTolerance, UNIT_ROUNDOFF } from "../tolerances.ts";
import { assertClose, assertSameBits, randomNormal, testOnEachDevice, testOnEachLayout } from "./support.ts";

/** Around the 32 or 256 elements of a workgroup's pass and the 4096 of a part; 256 parts and more. */
const LENGTHS = [1, 2, 3, 5, 31, 33, 255, 256, 257, 4095, 4096, 4097, 8195, 70_001, 4096 * 300 + 7];

const total = (values: Float64Array) => values.reduce((sum, value) => sum + value, 0);
const squares = (values: Float64Array) => total(values.map((value) => value * value));

testOnEachLayout("addSum() matches the float64 sum, stored or accumulated", async (bench) => {
  for (const length of LENGTHS) {
    const data = randomNormal("x", length);
    const x = bench.input("x", [length], data);
    const [out, again] = [bench.output("out", [1]), bench.output("again", [1])];
    const accumulated = bench.output("accumulated", [1], [100]);
    await bench.run((program) => {
      addSum(program, { x, length, out });
      addSum(program, { x, length, out: again });
      addSum(program, { x, length, out: accumulated, accumulate: true });
    });
    const [actual, repeated, sum] = await bench.read(out, again, accumulated);
    const tolerance = sumTolerance(length, total(data.map(Math.abs)));
    assertClose(actual, [total(data)], tolerance, `sum of ${length}`);
    assertClose(
      sum,
      [total(data) + 100],
      sumTolerance(length, total(data.map(Math.abs)) + 100),
      "accumulated",
    );
    assertSameBits(actual, repeated, "sum");
    bench.clear();
  }
});

testOnEachLayout("addSum() counts every element once", async (bench) => {
  for (const length of LENGTHS) {
    // Small integers, whose sums are exact in float32.
    const data = Float64Array.from({ length }, (_, i) => 1 + i % 3);
    const [x, out] = [bench.input("x", [length], data), bench.output("out", [1])];
    await bench.run((program) => addSum(program, { x, length, out }));
    const [actual] = await bench.read(out);
    assertEquals(actual[0], total(data), `sum of ${length}`);
    bench.clear();
  }
});

testOnEachLayout("addSumOfSquares() matches the float64 sum over all inputs", async (bench) => {
  const data = LENGTHS.map((length) => randomNormal(`x${length}`, length));
  const inputs = data.map((values) => bench.input(`x${values.length}`, [values.length], values));
  const partials = bench.output("partials", [LENGTHS.reduce((sum, n) => sum + numPartialSums(n), 0)]);
  const [out, again] = [bench.output("out", [1]), bench.output("again", [1])];
  await bench.run((program) => {
    addSumOfSquares(program, { inputs, out, partials });
    addSumOfSquares(program, { inputs, out: again });
  });
  const [actual, repeated] = await bench.read(out, again);
  const expected = total(Float64Array.from(data.map(squares)));
  assertClose(actual, [expected], sumTolerance(LENGTHS.reduce((a, b) => a + b), expected), "sum of squares");
  assertSameBits(actual, repeated, "sum of squares");
});

testOnEachLayout("addSumOfSquares() is non-finite if any element's square is", async (bench) => {
  for (const bad of [NaN, Infinity, -Infinity, 1e30]) {
    const inputs = [
      bench.input("good", [5000], randomNormal("good", 5000)),
      bench.input("bad", [5003], randomNormal("bad", 5003).fill(bad, 5002)),
    ];
    const out = bench.output("out", [1]);
    await bench.run((program) => addSumOfSquares(program, { inputs, out }));
    const [[actual]] = await bench.read(out);
    assertEquals(Number.isFinite(actual), false, `${bad} gave ${actual}`);
  }
});

testOnEachDevice(
  "addClipFactor() scales larger norms down to maxNorm, but not smaller ones",
  async (bench) => {
    for (
      const [square, maxNorm, factor] of [[16, 1, 0.25], [0.25, 1, 1], [0, 1, 1], [4, 2, 1], [1e38, 1, 1e-19]]
    ) {
      const sumOfSquares = bench.input("sum", [1], [square]);
      const out = bench.output("clip", [2]);
      await bench.run((program) => addClipFactor(program, { sumOfSquares, out, maxNorm }));
      const [actual] = await bench.read(out);
      const relative = 16 * UNIT_ROUNDOFF;
      assertAlmostEquals(actual[CLIP.factor], factor, relative * factor);
      assertAlmostEquals(actual[CLIP.norm], Math.sqrt(square), relative * Math.sqrt(square));
    }
  },
);

testOnEachDevice("addClipFactor() writes 0 for a non-finite norm", async (bench) => {
  for (const square of [NaN, Infinity]) {
    const [sumOfSquares, out] = [bench.input("sum", [1], [square]), bench.output("clip", [2])];
    await bench.run((program) => addClipFactor(program, { sumOfSquares, out, maxNorm: 1 }));
    assertEquals((await bench.read(out))[0][CLIP.factor], 0);
  }
});

testOnEachDevice("addClipFactor() divides by the loss scale, and halves or doubles it", async (bench) => {
  const out = bench.output("clip", [2]);
  const lossScale = bench.output("lossScale", [2], [8, 0]);
  const lossScaleRange = { initial: 8, min: 2, max: 8, growthSteps: 2 };
  // Norm without the scale; the next scale; the steps since it was set.
  const steps = [
    [2, 8, 1],
    [1, 8, 0],
    [NaN, 4, 0],
    [8, 4, 1],
    [Infinity, 2, 0],
    [NaN, 2, 0],
    [1, 2, 1],
    [16, 4, 0],
  ];
  for (const [norm, scale, numGoodSteps] of steps) {
    const [[before]] = await bench.read(lossScale);
    const sumOfSquares = bench.input("sum", [1], [(norm * before) ** 2]);
    await bench.run((program) =>
      addClipFactor(program, { sumOfSquares, out, maxNorm: 4, lossScale, lossScaleRange })
    );
    const [actual, state] = await bench.read(out, lossScale);
    const factor = Number.isFinite(norm) ? Math.min(1, 4 / norm) / before : 0;
    assertAlmostEquals(actual[CLIP.factor], factor, 16 * UNIT_ROUNDOFF);
    if (Number.isFinite(norm)) assertAlmostEquals(actual[CLIP.norm], norm, 16 * UNIT_ROUNDOFF * norm);
    else assert(!Number.isFinite(actual[CLIP.norm]));
    assertEquals([...state], [scale, numGoodSteps]);
  }
});

testOnEachDevice("addClipFactor() rejects a maxNorm that is not positive and finite", (bench) => {
  const [sumOfSquares, out] = ["sum", "clip"].map((label) => bench.gpu.tensor(label, [4]));
  const program = new Program(bench.registry, "refused");
  for (const maxNorm of [0, -1, NaN, Infinity]) {
    assertThrows(
      () => addClipFactor(program, { sumOfSquares, out, maxNorm }),
      KernelError,
      `maxNorm is ${maxNorm}`,
    );
  }
  return Promise.resolve();
});
