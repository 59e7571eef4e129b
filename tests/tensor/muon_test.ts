import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { addMuon, makeMuonScratch, muonHyper, type MuonStep } from "../../lib/tensor/ops/muon.ts";
import { gemm } from "../reference/gemm.ts";
import { muon, orthogonalize } from "../reference/muon.ts";
import { addTolerances, expressionTolerance, sumTolerance, type Tolerance } from "../tolerances.ts";
import { assertClose, assertSameBits, type KernelBench, randomNormal, testOnEachDevice } from "./support.ts";

const STEP: MuonStep = { momentum: 0.9, learningRate: 0.05, weightDecay: 0.1 };
const SHAPES = [[4, 4], [8, 12], [28, 8], [64, 64], [60, 100], [128, 32], [512, 128]];

/**
 * A Newton-Schulz step multiplies an error in a small singular value by its slope at 0, 3.4445; each of the five
 * makes a product's error anew. The update adds it to the parameter with the learning rate.
 */
function muonTolerance([rows, columns]: number[]): Tolerance {
  const product = sumTolerance(Math.max(rows, columns), 1);
  const rate = STEP.learningRate * Math.sqrt(Math.max(1, rows / columns));
  const growth = rate * 3.4445 ** 5;
  return addTolerances(
    { relative: product.relative, absolute: product.absolute * growth },
    expressionTolerance(4, 1),
  );
}

/** One step for a stack of matrices, each with data of its own. */
async function run(bench: KernelBench, shape: number[], clip: number, count = 1) {
  const [rows, columns] = shape;
  const stack = Array.from({ length: count }, (_, i) => {
    const data = {
      parameter: randomNormal(`parameter ${i}`, rows * columns),
      momentum: randomNormal(`momentum ${i}`, rows * columns),
      gradient: randomNormal(`gradient ${i}`, rows * columns),
    };
    return {
      data,
      gradient: bench.input(`gradient ${i}`, shape, data.gradient),
      parameter: bench.output(`parameter ${i}`, shape, data.parameter),
      momentum: bench.output(`momentum ${i}`, shape, data.momentum),
    };
  });
  const hyper = bench.input("hyper", [4], muonHyper(STEP));
  const clipFactor = bench.input("clip", [4], [clip, 1, 0, 0]);
  await bench.run((program) => {
    const scratch = makeMuonScratch(program, { count, rows, columns });
    addMuon(program, { matrices: stack, hyper, clip: clipFactor, scratch });
  });
  const read = await bench.read(...stack.flatMap(({ parameter, momentum }) => [parameter, momentum]));
  return stack.map(({ data }, i) => ({ data, parameter: read[2 * i], momentum: read[2 * i + 1] }));
}

function assertStep(
  { data, parameter, momentum }: Awaited<ReturnType<typeof run>>[number],
  shape: number[],
  clip: number,
): void {
  const expected = muon(data, data.gradient.map((value) => value * clip), { shape, at: STEP });
  assertClose(momentum, expected.momentum, expressionTolerance(5, 5), `momentum of ${shape}`);
  assertClose(parameter, expected.parameter, muonTolerance(shape), `parameter of ${shape}`);
}

testOnEachDevice(
  "addMuon() makes the step of the float64 reference for wide, square and tall matrices",
  async (bench) => {
    for (const shape of SHAPES) assertStep((await run(bench, shape, 0.5))[0], shape, 0.5);
  },
);

testOnEachDevice("addMuon() updates each matrix of a stack by itself", async (bench) => {
  for (const [shape, count] of [[[8, 12], 3], [[28, 8], 2], [[128, 64], 5]] as [number[], number][]) {
    const stack = await run(bench, shape, 0.5, count);
    for (const matrix of stack) assertStep(matrix, shape, 0.5);
    bench.clear();
  }
});

testOnEachDevice("addMuon() changes nothing where the clip factor is 0", async (bench) => {
  for (const { data, parameter, momentum } of await run(bench, [12, 8], 0, 2)) {
    assertEquals(parameter, Float32Array.from(data.parameter));
    assertEquals(momentum, Float32Array.from(data.momentum));
  }
});

testOnEachDevice("addMuon() gives the same bits in two runs", async (bench) => {
  const [[a], [b]] = [await run(bench, [60, 36], 1), await run(bench, [60, 36], 1)];
  assertSameBits(a.parameter, b.parameter, "parameter");
});

Deno.test("orthogonalize() of the reference gives singular values near 1", () => {
  const [rows, columns] = [6, 40];
  const x = orthogonalize(randomNormal("x", rows * columns), [rows, columns]);
  const gram = gemm({ kind: "NT", m: rows, n: rows, k: columns }, x, x);
  gram.forEach((value, i) => {
    const isDiagonal = i % (rows + 1) === 0;
    // Five steps bring singular values into about [0.7, 1.2] (the source); their squares, and half of the spread.
    if (isDiagonal) assert(value > 0.45 && value < 1.5, `${value} on the diagonal`);
    else assert(Math.abs(value) < 0.5, `${value} off the diagonal`);
  });
});

Deno.test("orthogonalize() of the reference works a 1 x 1 matrix out as by hand", () => {
  let x = 1;
  for (let step = 0; step < 5; step++) x = 3.4445 * x - 4.775 * x ** 3 + 2.0315 * x ** 5;
  assertAlmostEquals(orthogonalize(Float64Array.of(7), [1, 1])[0], x, 1e-12);
  assertEquals(orthogonalize(Float64Array.of(0), [1, 1])[0], 0);
});
