/**
 * Every kernel that the model binds to f16 tensors, with the dtypes of the model: inputs are rounded to f16 before the
 * float64 reference sees them, so that a result differs by the kernel's own error and by that of its storage.
 *
 * @module
 */
import { addAttention, addAttentionBackward } from "../../lib/tensor/ops/attention.ts";
import { addCrossEntropy } from "../../lib/tensor/ops/cross_entropy.ts";
import { addEmbedding } from "../../lib/tensor/ops/embedding.ts";
import { addGemm, type GemmEpilogue, type GemmKind, gemmVariants } from "../../lib/tensor/ops/gemm.ts";
import { addQkNormRope, addQkNormRopeBackward } from "../../lib/tensor/ops/qk_norm_rope.ts";
import { addRmsNorm, addRmsNormBackward } from "../../lib/tensor/ops/rms_norm.ts";
import type { DType, Tensor } from "../../lib/tensor/tensor.ts";
import { attention, attentionBackward } from "../reference/attention.ts";
import { crossEntropyBackward } from "../reference/cross_entropy.ts";
import { embedding, qkNormRope, qkNormRopeBackward, rmsNorm, rmsNormBackward } from "../reference/layers.ts";
import { gemm } from "../reference/gemm.ts";
import {
  addTolerances,
  attentionTolerance,
  BUILT_IN_ULPS,
  expressionTolerance,
  HALF_STORAGE,
  halfDeltaTolerance,
  logProbabilityTolerance,
  sumTolerance,
  type Tolerance,
} from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  type KernelBench,
  randomIntegers,
  randomNormal,
  testOnEachDevice,
  toHalf,
} from "./support.ts";

/** As {@link randomNormal}, exact in f16. */
const randomHalf = (label: string, length: number) => toHalf(randomNormal(label, length));

const largestOf = (x: Float64Array) => x.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

/** The tolerance of a result that is stored in a dtype. */
const storedIn = (dtype: DType, tolerance: Tolerance) =>
  dtype === "f16" ? addTolerances(tolerance, HALF_STORAGE) : tolerance;

/** The dtypes of A, B and C: of a block's products, of those whose C (or added matrix) is f32, of an f32 A. */
const PRODUCTS: [GemmKind, DType, DType, DType][] = [
  ["NT", "f16", "f16", "f16"],
  ["NT", "f16", "f16", "f32"],
  ["NN", "f16", "f16", "f16"],
  ["NN", "f32", "f16", "f16"],
  ["TN", "f16", "f16", "f32"],
  ["TN", "f32", "f16", "f32"],
];

/** m, n, k around the tiles of 32 and 64 rows and columns and 16 steps of k; m is a multiple of 4 for TN. */
const SIZES = [[4, 4, 4], [32, 28, 20], [36, 36, 12], [64, 68, 36], [132, 32, 64]];

testOnEachDevice("addGemm() of f16 tensors equals the float64 product", async (bench) => {
  // The model's kernel, and for one product the others.
  const [variant, ...others] = gemmVariants(bench.gpu.info);
  for (const [i, [kind, dtypeA, dtypeB, dtypeC]] of PRODUCTS.entries()) {
    for (const [m, n, k] of SIZES) {
      const [a, b] = [randomHalf("a", m * k), randomHalf("b", k * n)];
      const tensors = { a: bench.input("a", [m * k], a, dtypeA), b: bench.input("b", [k * n], b, dtypeB) };
      const variants = [variant, variant, ...(i === 0 ? others : [])];
      const outputs = variants.map(({ tile }) => bench.output(`tile ${tile}`, [m * n], undefined, dtypeC));
      await bench.run((program) =>
        variants.forEach((variant, j) =>
          addGemm(program, { kind, m, n, k, ...tensors, c: outputs[j], variant })
        )
      );
      const results = await bench.read(...outputs);
      const expected = gemm({ kind, m, n, k }, a, b);
      // The largest sum of |a b| of standard normal numbers, with room.
      const tolerance = storedIn(dtypeC, sumTolerance(k, k + 4 * Math.sqrt(k) + 4));
      for (const actual of results) assertClose(actual, expected, tolerance, `${kind} ${[m, n, k]}`);
      assertSameBits(results[0], results[1], kind);
      bench.clear();
    }
  }
});

testOnEachDevice("addGemm() of f16 tensors has all its epilogues", async (bench) => {
  const [m, n, k] = [33, 36, 24];
  const [a, b, d] = [randomHalf("a", m * k), randomHalf("b", n * k), randomHalf("d", m * n)];
  const [tensorA, tensorB] = [bench.input("a", [m, k], a, "f16"), bench.input("b", [n, k], b, "f16")];
  const product = gemm({ kind: "NT", m, n, k }, a, b);
  const [added, slopeAt] = [bench.input("added", [m, n], d), bench.input("slopeAt", [m, n], d, "f16")];
  const before = bench.output("before", [m, n], undefined, "f16");
  const square = (x: number) => Math.max(x, 0) ** 2;
  const cases: [string, DType, GemmEpilogue, (p: number, i: number) => number][] = [
    ["accumulated", "f16", "accumulate", (p, i) => d[i] + p],
    ["sum", "f32", { add: added }, (p, i) => d[i] + p],
    ["activated", "f16", { activation: "relu2", before }, square],
    ["slope", "f16", { activation: "relu2", slopeAt }, (p, i) => p * 2 * Math.sqrt(Math.max(d[i], 0))],
  ];
  const outputs = cases.map(([label, dtype, epilogue]) =>
    bench.output(label, [m, n], epilogue === "accumulate" ? d : undefined, dtype)
  );
  await bench.run((program) =>
    cases.forEach(([, , epilogue], i) =>
      addGemm(program, { kind: "NT", m, n, k, a: tensorA, b: tensorB, c: outputs[i], epilogue })
    )
  );
  const sum = sumTolerance(k + 1, k + 4 * Math.sqrt(k) + 4);
  // relu^2 and its slope have a derivative of at most twice the largest product, or twice the largest d.
  const steepest = 2 * Math.max(largestOf(product), largestOf(d));
  const tolerance = { relative: sum.relative, absolute: sum.absolute * steepest };
  (await bench.read(...outputs)).forEach((actual, i) => {
    const [label, dtype, , f] = cases[i];
    assertClose(actual, product.map(f), storedIn(dtype, tolerance), label);
  });
  const [kept] = await bench.read(before);
  assertClose(kept, product, storedIn("f16", sum), "before");
});

testOnEachDevice(
  "addRmsNorm() and its backward with f16 tensors equal the float64 reference",
  async (bench) => {
    for (const [rows, width] of [[1, 4], [3, 28], [5, 32], [7, 252], [4, 260], [65, 640]]) {
      const [x, dy, before] = ["x", "dy", "before"].map((label) => randomHalf(label, rows * width));
      const shape = [rows, width];
      const { y: expectedY, scale: expectedScale } = rmsNorm(x, width);
      const tensorX = bench.input("x", shape, x);
      const [y, scale] = [bench.output("y", shape, undefined, "f16"), bench.output("scale", [rows])];
      const inputs = {
        x: tensorX,
        dy: bench.input("dy", shape, dy, "f16"),
        scale: bench.input("given scale", [rows], expectedScale),
      };
      const dx = bench.output("dx", shape, before);
      await bench.run((program) => {
        addRmsNorm(program, { x: tensorX, y, scale, rows, width });
        addRmsNormBackward(program, { ...inputs, dx, rows, width, accumulate: true });
      });
      const [actualY, actualScale, actualDx] = await bench.read(y, scale, dx);
      // As in rms_norm_test.ts.
      const forward = addTolerances(
        expressionTolerance(BUILT_IN_ULPS.inverseSqrt + 3),
        { relative: sumTolerance(width, 1).absolute, absolute: 0 },
      );
      const backward = addTolerances(expressionTolerance(8, 10), sumTolerance(width, 10));
      assertClose(actualY, expectedY, storedIn("f16", forward), `y of ${shape}`);
      assertClose(actualScale, expectedScale, forward, `scale of ${shape}`);
      const expectedDx = rmsNormBackward(x, dy, width).map((value, i) => value + before[i]);
      assertClose(actualDx, expectedDx, backward, `dx of ${shape}`);
      bench.clear();
    }
  },
);

testOnEachDevice(
  "addQkNormRope() and its backward of f16 tensors equal the float64 reference",
  async (bench) => {
    for (const [rows, numHeads, headDim, sequenceLength] of [[1, 1, 8, 1], [9, 7, 32, 3], [66, 2, 128, 33]]) {
      for (const norm of [true, false]) {
        const shape = { rows, numHeads, headDim, sequenceLength, norm };
        const extents = [rows, numHeads, headDim];
        const [x, dy] = ["x", "dy"].map((label) => randomHalf(label, rows * numHeads * headDim));
        const forward = qkNormRope(shape, x);
        const given = bench.input("given scale", [rows, numHeads], forward.scale);
        const tensorX = bench.input("x", extents, x, "f16");
        const tensorDy = bench.input("dy", extents, dy, "f16");
        const [y, dx] = ["y", "dx"].map((label) => bench.output(label, extents, undefined, "f16"));
        const scale = bench.output("scale", [rows, numHeads]);
        await bench.run((program) => {
          addQkNormRope(program, { ...shape, x: tensorX, y, scale });
          addQkNormRopeBackward(program, { ...shape, x: tensorX, scale: given, dy: tensorDy, dx });
        });
        const [actualY, actualDx] = await bench.read(y, dx);
        const expectedDx = qkNormRopeBackward(shape, x, dy);
        // As in qk_norm_rope_test.ts.
        const tolerance = (magnitude: number) =>
          storedIn(
            "f16",
            addTolerances(
              expressionTolerance(BUILT_IN_ULPS.inverseSqrt + 6, magnitude),
              sumTolerance(headDim, magnitude),
            ),
          );
        const what = JSON.stringify(shape);
        assertClose(actualY, forward.y, tolerance(largestOf(forward.y)), `y of ${what}`);
        assertClose(actualDx, expectedDx, tolerance(2 * largestOf(expectedDx)), `dx of ${what}`);
        bench.clear();
      }
    }
  },
);

/** The largest Euclidean norm of a row. */
function largestNorm(x: Float64Array, width: number): number {
  const norms = Float64Array.from(
    { length: x.length / width },
    (_, row) => Math.hypot(...x.subarray(row * width, (row + 1) * width)),
  );
  return largestOf(norms);
}

testOnEachDevice(
  "addAttention() and its backward of f16 tensors equal the float64 reference",
  async (bench) => {
    for (
      const [batchSize, sequenceLength, numHeads, headDim] of [[2, 65, 1, 32], [1, 33, 2, 32], [
        1,
        17,
        2,
        128,
      ]]
    ) {
      // Segments of 11 tokens.
      const segmentStart = Uint32Array.from(
        { length: batchSize * sequenceLength },
        (_, i) => Math.floor(i % sequenceLength / 11) * 11,
      );
      const problem = { batchSize, sequenceLength, numHeads, headDim, segmentStart };
      const shape = [batchSize, sequenceLength, numHeads, headDim];
      const length = shape.reduce((product, extent) => product * extent);
      const [q, k, v, dOut] = ["q", "k", "v", "dOut"].map((label) => randomHalf(label, length));
      const half = (label: string, data: Float64Array) => bench.input(label, shape, data, "f16");
      const written = (label: string) => bench.output(label, shape, undefined, "f16");
      const perHead = (label: string) => bench.output(label, shape.slice(0, 3));
      const tensors = {
        ...problem,
        q: half("q", q),
        k: half("k", k),
        v: half("v", v),
        dOut: half("dOut", dOut),
        segmentStart: bench.inputUint32("segmentStart", shape.slice(0, 2), segmentStart),
        out: written("out"),
        dq: written("dq"),
        dk: written("dk"),
        dv: written("dv"),
        logSumExp: perHead("logSumExp"),
        delta: perHead("delta"),
      };
      await bench.run((program) => {
        addAttention(program, tensors);
        addAttentionBackward(program, tensors);
      });
      const [out, logSumExp, dq, dk, dv] = await bench.read(
        tensors.out,
        tensors.logSumExp,
        tensors.dq,
        tensors.dk,
        tensors.dv,
      );
      const expected = attention(problem, { q, k, v });
      const gradients = attentionBackward(problem, { q, k, v }, dOut);
      const maxScore = largestNorm(q, headDim) * largestNorm(k, headDim) / Math.sqrt(headDim);
      const inner = largestNorm(dOut, headDim) * largestNorm(v, headDim);
      const tolerance = (magnitude: number) => attentionTolerance(problem, maxScore, magnitude);
      const withDelta = (largest: number) =>
        addTolerances(
          tolerance(inner / Math.sqrt(headDim)),
          halfDeltaTolerance(
            problem,
            largestNorm(dOut, headDim) * largestNorm(expected.out, headDim),
            largest,
          ),
        );
      assertClose(out, expected.out, storedIn("f16", tolerance(largestOf(v))), `out of ${shape}`);
      assertClose(logSumExp, expected.logSumExp, tolerance(1), `logSumExp of ${shape}`);
      assertClose(dq, gradients.q, storedIn("f16", withDelta(largestOf(k))), `dq of ${shape}`);
      assertClose(dk, gradients.k, storedIn("f16", withDelta(largestOf(q))), `dk of ${shape}`);
      assertClose(dv, gradients.v, storedIn("f16", tolerance(largestOf(gradients.v))), `dv of ${shape}`);
      bench.clear();
    }
  },
);

function crossEntropyInputs(bench: KernelBench, [rows, vocabSize, stride]: number[]) {
  const problem = { rows, vocabSize, stride, softcap: 15 };
  const logits = randomNormal("logits", rows * stride, 3).map((x, i) => i % stride < vocabSize ? x : NaN);
  const targets = randomIntegers("targets", rows, vocabSize);
  const lossMask = Uint32Array.from({ length: rows }, (_, row) => row % 4 === 1 ? 0 : 1);
  const tensors = {
    logits: bench.input("logits", [rows, stride], logits),
    targets: bench.inputUint32("targets", [rows], targets),
    lossMask: bench.inputUint32("lossMask", [rows], lossMask),
  };
  return { problem, logits, targets, lossMask, tensors };
}

testOnEachDevice("addCrossEntropy() scales the gradient, which may be f16", async (bench) => {
  for (const size of [[3, 5, 8], [4, 31, 32], [2, 257, 260], [9, 267, 268]]) {
    const { problem, logits, targets, lossMask, tensors } = crossEntropyInputs(bench, size);
    const { rows, stride } = problem;
    const run = async (dtype: DType, weight: number, scale?: number): Promise<Float32Array> => {
      const dLogits: Tensor = bench.output("dLogits", [rows, stride], undefined, dtype);
      const losses = bench.output("losses", [rows]);
      const factors = {
        weight: bench.input("weight", [1], [weight]),
        lossScale: scale === undefined ? undefined : bench.input("lossScale", [1], [scale]),
      };
      await bench.run((program) =>
        addCrossEntropy(program, { ...problem, ...tensors, ...factors, losses, dLogits })
      );
      return (await bench.read(dLogits))[0];
    };
    // Powers of 2 divide and multiply exactly.
    const plain = await run("f32", 8);
    assertSameBits(await run("f32", 2 ** -12, 2 ** 15), plain, "dLogits");
    const weights = new Float64Array(rows).fill(8);
    const expected = crossEntropyBackward(problem, logits, targets, lossMask, weights);
    const tolerance = logProbabilityTolerance(problem, 15);
    const scaled = { relative: tolerance.relative * 2, absolute: tolerance.absolute * 2 * 8 };
    assertClose(await run("f16", 2 ** -12, 2 ** 15), expected, storedIn("f16", scaled), "dLogits");
    bench.clear();
  }
});

testOnEachDevice("addEmbedding() picks rows of an f16 table", async (bench) => {
  const [rows, width, vocabSize] = [33, 132, 11];
  const tokens = randomIntegers("tokens", rows, vocabSize);
  const table = randomHalf("table", vocabSize * width);
  const x = bench.output("x", [rows, width]);
  const tensors = {
    tokens: bench.inputUint32("tokens", [rows], tokens),
    table: bench.input("table", [vocabSize, width], table, "f16"),
  };
  await bench.run((program) => addEmbedding(program, { ...tensors, x, rows, width }));
  const [actual] = await bench.read(x);
  assertClose(actual, embedding(tokens, table, width), { relative: 0, absolute: 0 }, "x");
});
