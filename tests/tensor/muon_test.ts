import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { addMuon, makeMuonScratch, muonHyper, type MuonStep } from "../../lib/tensor/ops/muon.ts";
import { joinedTensors, type Tensor } from "../../lib/tensor/tensor.ts";
import { gemm } from "../reference/gemm.ts";
import { muon, orthogonalize } from "../reference/updates.ts";
import { addTolerances, expressionTolerance, sumTolerance, type Tolerance } from "../tolerances.ts";
import { assertClose, assertSameBits, type KernelBench, randomNormal, testOnEachDevice } from "./support.ts";

const STEP: MuonStep = { momentum: 0.9, learningRate: 0.05, weightDecay: 0.1 };
/** Above the norm of all gradients in the tests. */
const MAX_NORM = 512;
const SHAPES = [[4, 4], [8, 12], [28, 8], [64, 64], [60, 100], [128, 32], [512, 128]];

/**
 * A Newton-Schulz step multiplies an error in a small singular value by its slope at 0, 3.4445; each of the
 * five steps adds a product's error. The update adds the result to the parameter with the learning rate.
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

/** One step for matrices in one buffer, each with different data. */
async function run(bench: KernelBench, shapes: number[][], clip: number) {
  const labels = ["parameter", "momentum", "gradient"] as const;
  const data = shapes.map(([rows, columns], i) => {
    const of = (label: string) => randomNormal(`${label} ${i}`, rows * columns);
    return { parameter: of("parameter"), momentum: of("momentum"), gradient: of("gradient") };
  });
  const [parameters, momenta, gradients] = labels.map((label) => {
    const parts = new Map(shapes.map((shape, i) => [`${label} ${i}`, shape]));
    const tensors = joinedTensors(parts, ([length]) => {
      const values = new Float64Array(length);
      for (const [i, tensor] of joinedTensors(parts, unplaced).values().toArray().entries()) {
        values.set(data[i][label], tensor.offsetBytes / 4);
      }
      return label === "gradient"
        ? bench.input(label, [length], values)
        : bench.output(label, [length], values);
    });
    return [...tensors.values()];
  });
  const matrices = shapes.map((_, i) => {
    return { parameter: parameters[i], momentum: momenta[i], gradient: gradients[i] };
  });
  const values = muonHyper(STEP, parameters);
  const hyper = bench.input("hyper", [values.length], values);
  const clipFactor = bench.input("clip", [4], [clip, 1, 0, 0]);
  await bench.run((program) => {
    const scratch = makeMuonScratch(parameters, bench.gpu.tensor.bind(bench.gpu));
    addMuon(program, { matrices, hyper, clip: clipFactor, maxNorm: MAX_NORM, scratch });
  });
  const read = await bench.read(...parameters, ...momenta);
  return data.map((data, i) => ({ data, parameter: read[i], momentum: read[shapes.length + i] }));
}

/** A tensor without a buffer, for its offset. */
function unplaced(shape: readonly number[]): Tensor {
  return { label: "", shape, offsetBytes: 0, buffer: {} as GPUBuffer };
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
  "addMuon() matches the float64 reference for wide, square and tall matrices",
  async (bench) => {
    for (const shape of SHAPES) assertStep((await run(bench, [shape], 0.5))[0], shape, 0.5);
  },
);

testOnEachDevice("addMuon() updates each matrix of a buffer independently", async (bench) => {
  for (
    const shapes of [
      [[8, 12], [8, 12], [8, 12]],
      [[28, 8], [28, 8], [8, 28], [12, 12], [8, 8], [28, 8], [12, 12]],
      [[128, 64], [128, 64], [64, 64], [64, 128], [128, 64]],
    ]
  ) {
    const matrices = await run(bench, shapes, 0.5);
    matrices.forEach((matrix, i) => assertStep(matrix, shapes[i], 0.5));
    const [alone] = await run(bench, shapes.slice(0, 1), 0.5);
    assertSameBits(alone.parameter, matrices[0].parameter, "parameter");
    bench.clear();
  }
});

testOnEachDevice("addMuon() changes nothing when the clip factor is 0", async (bench) => {
  for (const { data, parameter, momentum } of await run(bench, [[12, 8], [12, 8]], 0)) {
    assertEquals(parameter, Float32Array.from(data.parameter));
    assertEquals(momentum, Float32Array.from(data.momentum));
  }
});

Deno.test("orthogonalize() of the reference brings singular values near 1", () => {
  const [rows, columns] = [6, 40];
  const x = orthogonalize(randomNormal("x", rows * columns), [rows, columns]);
  const gram = gemm({ kind: "NT", m: rows, n: rows, k: columns }, x, x);
  gram.forEach((value, i) => {
    const isDiagonal = i % (rows + 1) === 0;
    // Five steps bring singular values into about [0.7, 1.2] (the source); this allows their squares, and
    // half of the spread.
    if (isDiagonal) assert(value > 0.45 && value < 1.5, `${value} on the diagonal`);
    else assert(Math.abs(value) < 0.5, `${value} off the diagonal`);
  });
});

Deno.test("orthogonalize() of the reference matches a 1 x 1 matrix worked out by hand", () => {
  let x = 1;
  for (let step = 0; step < 5; step++) x = 3.4445 * x - 4.775 * x ** 3 + 2.0315 * x ** 5;
  assertAlmostEquals(orthogonalize(Float64Array.of(7), [1, 1])[0], x, 1e-12);
  assertEquals(orthogonalize(Float64Array.of(0), [1, 1])[0], 0);
});
