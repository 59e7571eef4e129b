import type { DType, Tensor } from "../../lib/tensor/tensor.ts";
import { assert, assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import {
  addCrossEntropy,
  addLogProbabilities,
  type LogitsShape,
} from "../../lib/tensor/ops/cross_entropy.ts";
import { Program } from "../../lib/tensor/program.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import {
  crossEntropy,
  crossEntropyBackward,
  logProbabilities,
  ordinalTerm,
  ordinalTermBackward,
  softCrossEntropy,
  softCrossEntropyBackward,
} from "../reference/cross_entropy.ts";
import { addTolerances, logProbabilityTolerance, type Tolerance } from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  type KernelBench,
  randomIntegers,
  randomNormal,
  storedIn,
  testOnEachDevice,
} from "./support.ts";

/** rows, V, stride: a workgroup has 8 or 64 lanes of 4 columns. */
const SIZES = [[1, 1, 4], [3, 5, 8], [4, 31, 32], [2, 33, 40], [3, 255, 256], [2, 257, 260], [9, 267, 268]];

interface Problem extends LogitsShape {
  rows: number;
  logits: Float64Array;
  targets: Uint32Array;
  lossMask: Uint32Array;
}

/** Logits of the given size with NaN in the padding; every fourth row is masked, starting with the second. */
function problemOf([rows, vocabSize, stride]: number[], softcap: number | null, logitScale = 3): Problem {
  const isPadding = (i: number) => i % stride >= vocabSize;
  return {
    rows,
    vocabSize,
    stride,
    softcap,
    logits: randomNormal("logits", rows * stride, logitScale).map((x, i) => isPadding(i) ? NaN : x),
    targets: randomIntegers("targets", rows, vocabSize),
    lossMask: Uint32Array.from({ length: rows }, (_, row) => row % 4 === 1 ? 0 : row + 1),
  };
}

const problemsOf = () => SIZES.flatMap((size) => [problemOf(size, 15), problemOf(size, null)]);

const nameOf = ({ rows, vocabSize, stride, softcap }: Problem) =>
  `${rows} x ${vocabSize} (stride ${stride}, softcap ${softcap})`;

function toleranceOf(problem: Problem): Tolerance {
  const largest = problem.logits.reduce((most, x) => Number.isNaN(x) ? most : Math.max(most, Math.abs(x)), 0);
  return logProbabilityTolerance(problem, Math.min(largest, problem.softcap ?? Infinity));
}

function inputsOf(bench: KernelBench, problem: Problem) {
  const { rows, stride, logits, targets, lossMask } = problem;
  return {
    ...problem,
    logits: bench.input("logits", [rows, stride], logits),
    targets: bench.inputUint32("targets", [rows], targets),
    lossMask: bench.inputUint32("lossMask", [rows], lossMask),
    weight: bench.input("weight", [1], [0.25]),
  };
}

testOnEachDevice("addCrossEntropy() reproducibly matches the float64 reference", async (bench) => {
  for (const problem of problemsOf()) {
    const { rows, stride, logits, targets, lossMask } = problem;
    const inputs = inputsOf(bench, problem);
    const [losses, onlyLosses] = [bench.output("losses", [rows]), bench.output("only losses", [rows])];
    const [dLogits, again] = ["dLogits", "again"].map((label) => bench.output(label, [rows, stride]));
    await bench.run((program) => {
      addCrossEntropy(program, { ...inputs, losses, dLogits });
      addCrossEntropy(program, { ...inputs, losses, dLogits: again });
      addCrossEntropy(program, { ...inputs, losses: onlyLosses });
    });
    const actual = await bench.read(losses, onlyLosses, dLogits, again);
    const expected = crossEntropy(problem, logits, targets, lossMask);
    const weights = new Float64Array(rows).fill(0.25);
    const gradient = crossEntropyBackward(problem, logits, targets, lossMask, weights);
    const tolerance = toleranceOf(problem);
    assertClose(actual[0], expected, tolerance, `losses of ${nameOf(problem)}`);
    assertSameBits(actual[0], actual[1], "losses without a gradient");
    // The relative error of a probability is the absolute error of its logarithm; the slope has twice tanh's.
    assertClose(actual[2], gradient, addTolerances(tolerance, tolerance), `dLogits of ${nameOf(problem)}`);
    assertSameBits(actual[2], actual[3], "dLogits");
    bench.clear();
  }
});

testOnEachDevice("addCrossEntropy() adds the byte-distance term to the gradient only", async (bench) => {
  for (const [size, firstByte] of [[[9, 267, 268], 11], [[6, 266, 268], 10], [[5, 20, 20], 3]] as const) {
    const problem = problemOf([...size], firstByte === 10 ? null : 15);
    const { rows, stride, vocabSize, logits, targets } = problem;
    const lossMask = Uint32Array.from({ length: rows }, (_, row) => row % 4);
    const byteTargets = targets.map((target) => firstByte + target % Math.min(256, vocabSize - firstByte));
    const inputs = inputsOf(bench, { ...problem, lossMask, targets: byteTargets });
    const [losses, plain] = ["losses", "plain"].map((label) => bench.output(label, [rows]));
    const [dLogits, again] = ["dLogits", "again"].map((label) => bench.output(label, [rows, stride]));
    const ordinal = { firstByte, weights: [0.5, 7] } as const;
    await bench.run((program) => {
      addCrossEntropy(program, { ...inputs, losses, dLogits, ordinal });
      addCrossEntropy(program, { ...inputs, losses, dLogits: again, ordinal });
      addCrossEntropy(program, { ...inputs, losses: plain });
    });
    const [actualLosses, plainLosses, gradient, repeated] = await bench.read(losses, plain, dLogits, again);
    assertSameBits(actualLosses, plainLosses, "losses");
    assertSameBits(gradient, repeated, "dLogits");
    const weights = Float64Array.from(lossMask, (kind) => [0, 0, 0.25 * 0.5, 0.25 * 7][kind]);
    const plainWeights = new Float64Array(rows).fill(0.25);
    const entropy = crossEntropyBackward(problem, logits, byteTargets, lossMask, plainWeights);
    const term = ordinalTermBackward(problem, { logits, targets: byteTargets, weights, firstByte });
    const tolerance = toleranceOf(problem);
    const expected = entropy.map((value, i) => value + term[i]);
    const allowed = [tolerance, tolerance, tolerance, tolerance].reduce(addTolerances);
    assertClose(gradient, expected, allowed, `dLogits of ${nameOf(problem)}`);
    bench.clear();
  }
});

testOnEachDevice(
  "addCrossEntropy() mixes the gradients of the data and a teacher at marked rows",
  async (bench) => {
    for (const problem of problemsOf()) {
      const { rows, stride, logits, targets } = problem;
      const lossMask = Uint32Array.from({ length: rows }, (_, row) => row % 4);
      const inputs = inputsOf(bench, { ...problem, lossMask });
      // The teacher's cap differs from the student's.
      const ofTeacher = { ...problem, softcap: problem.softcap === null ? 9 : null };
      const teacherLogits = randomNormal("teacher", rows * stride, 3).map((x, i) =>
        Number.isNaN(logits[i]) ? NaN : x
      );
      const from = {
        logits: bench.input("teacher", [rows, stride], teacherLogits),
        softcap: ofTeacher.softcap,
      };
      const [losses, plain] = ["losses", "plain"].map((label) => bench.output(label, [rows]));
      const names = ["mixed", "again", "by data", "without"];
      const [mixed, again, byData, without] = names.map((label) => bench.output(label, [rows, stride]));
      const common = { ...inputs, markedWeight: 3, ordinal: { firstByte: 0, weights: [0.5, 7] } as const };
      await bench.run((program) => {
        addCrossEntropy(program, { ...common, losses, dLogits: mixed, teacher: { ...from, weight: 0.75 } });
        addCrossEntropy(program, { ...common, losses, dLogits: again, teacher: { ...from, weight: 0.75 } });
        addCrossEntropy(program, { ...common, losses, dLogits: byData, teacher: { ...from, weight: 0 } });
        addCrossEntropy(program, { ...common, losses: plain, dLogits: without });
      });
      const actual = await bench.read(losses, plain, mixed, again, byData, without);
      assertSameBits(actual[0], actual[1], "losses");
      assertSameBits(actual[2], actual[3], "mixed gradients");
      assertSameBits(actual[4], actual[5], "a teacher without weight");
      const wanted = logProbabilities(ofTeacher, teacherLogits).map(Math.exp);
      const weights = Float64Array.from(lossMask, (kind) => kind >= 2 ? 0.25 * 3 * 0.75 : 0);
      const byTeacher = softCrossEntropyBackward(problem, { logits, wanted, weights });
      // With a teacher, the gradient of the data, including the ordinal term, has the rest of the weight.
      const dataShares = Float64Array.from(
        lossMask,
        (kind) => kind === 0 ? 0 : kind === 1 ? 0.25 : 0.25 * 3 * 0.25,
      );
      const entropy = crossEntropyBackward(problem, logits, targets, lossMask, dataShares);
      const ordinalWeights = dataShares.map((share, row) => share * [0, 0, 0.5, 7][lossMask[row]]);
      const term = ordinalTermBackward(problem, { logits, targets, weights: ordinalWeights, firstByte: 0 });
      const tolerance = toleranceOf({
        ...problem,
        logits: logits.map((x, i) => Math.max(Math.abs(x), Math.abs(teacherLogits[i]))),
        softcap: null,
      });
      const expected = byTeacher.map((value, i) => value + entropy[i] + term[i]);
      const allowed = [tolerance, tolerance, tolerance, tolerance].reduce(addTolerances);
      assertClose(actual[2], expected, allowed, `dLogits of ${nameOf(problem)}`);
      bench.clear();
    }
  },
);

testOnEachDevice(
  "addCrossEntropy() stays finite and accurate with logits in the thousands",
  async (bench) => {
    for (const softcap of [15, null]) {
      const problem = problemOf([8, 267, 268], softcap, 3000);
      const inputs = inputsOf(bench, problem);
      const [losses, dLogits] = [bench.output("losses", [8]), bench.output("dLogits", [8, 268])];
      await bench.run((program) => addCrossEntropy(program, { ...inputs, losses, dLogits }));
      const [actual, gradient] = await bench.read(losses, dLogits);
      const { logits, targets, lossMask } = problem;
      assertClose(actual, crossEntropy(problem, logits, targets, lossMask), toleranceOf(problem), "losses");
      assert(gradient.every(Number.isFinite), "a gradient is not finite");
      bench.clear();
    }
  },
);

testOnEachDevice(
  "addCrossEntropy() propagates NaN logits, except in masked rows",
  async (bench) => {
    const problem = problemOf([2, 8, 8], 15);
    problem.logits.fill(NaN);
    const inputs = inputsOf(bench, problem);
    const [losses, dLogits] = [bench.output("losses", [2]), bench.output("dLogits", [2, 8])];
    await bench.run((program) => addCrossEntropy(program, { ...inputs, losses, dLogits }));
    const [actual, gradient] = await bench.read(losses, dLogits);
    const exact = { relative: 0, absolute: 0 };
    assertClose(actual, [NaN, 0], exact, "losses");
    assertClose(gradient, Float64Array.from({ length: 16 }, (_, i) => i < 8 ? NaN : 0), exact, "dLogits");
  },
);

testOnEachDevice("addCrossEntropy() scales an f32 or f16 gradient", async (bench) => {
  for (const size of [[3, 5, 8], [4, 31, 32], [2, 257, 260], [9, 267, 268]]) {
    const problem = problemOf(size, 15);
    const { rows, stride, logits, targets } = problem;
    // Marked rows have additional terms.
    const lossMask = problem.lossMask.map((mask) => Math.min(mask, 1));
    const inputs = inputsOf(bench, { ...problem, lossMask });
    const run = async (dtype: DType, weight: number, scale?: number): Promise<Float32Array> => {
      const dLogits: Tensor = bench.output("dLogits", [rows, stride], undefined, dtype);
      const losses = bench.output("losses", [rows]);
      const factors = {
        weight: bench.input("weight", [1], [weight]),
        lossScale: scale === undefined ? undefined : bench.input("lossScale", [1], [scale]),
      };
      await bench.run((program) => addCrossEntropy(program, { ...inputs, ...factors, losses, dLogits }));
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

testOnEachDevice("addLogProbabilities() matches the float64 reference at the chosen rows", async (bench) => {
  for (const problem of problemsOf()) {
    const { rows, vocabSize, stride, logits } = problem;
    const rowIndex = [rows - 1, 0, rows >> 1, rows - 1];
    const args = {
      ...problem,
      logits: bench.input("logits", [rows, stride], logits),
      rowIndex: bench.inputUint32("rowIndex", [4], rowIndex),
      out: bench.output("out", [4, vocabSize]),
      numRows: 4,
    };
    await bench.run((program) => addLogProbabilities(program, args));
    const [actual] = await bench.read(args.out);
    const all = logProbabilities(problem, logits);
    const expected = rowIndex.flatMap((row) => [...all.subarray(row * vocabSize, (row + 1) * vocabSize)]);
    assertClose(actual, expected, toleranceOf(problem), `log-probabilities of ${nameOf(problem)}`);
    bench.clear();
  }
});

testOnEachDevice("addCrossEntropy() rejects an invalid layout or softcap", (bench) => {
  const program = new Program(bench.registry, "refused");
  const tensor = bench.gpu.tensor("tensor", [64]);
  const tensors = { logits: tensor, targets: tensor, lossMask: tensor, losses: tensor, weight: tensor };
  const refuses = (shape: LogitsShape, message: string) =>
    assertThrows(() => addCrossEntropy(program, { ...tensors, rows: 1, ...shape }), KernelError, message);
  refuses({ vocabSize: 5, stride: 6, softcap: null }, "stride is 6, expected a positive multiple of 4");
  refuses({ vocabSize: 9, stride: 8, softcap: null }, "vocabSize is 9, expected at most the stride 8");
  refuses({ vocabSize: 8, stride: 8, softcap: 0 }, "softcap is 0, expected a positive number or null");
  return Promise.resolve();
});

Deno.test("crossEntropyBackward() of the reference is the derivative of crossEntropy()", () => {
  for (const softcap of [2, null]) {
    const problem = problemOf([5, 7, 8], softcap, 1);
    const { targets, lossMask } = problem;
    checkGradient({
      inputs: { logits: problem.logits.map((x) => Number.isNaN(x) ? 0 : x) },
      forward: ({ logits }) => crossEntropy(problem, logits, targets, lossMask),
      backward: ({ logits }, dLosses) => ({
        logits: crossEntropyBackward(problem, logits, targets, lossMask, dLosses),
      }),
    });
  }
});

Deno.test("ordinalTermBackward() of the reference is the derivative of ordinalTerm()", () => {
  for (const softcap of [2, null]) {
    const problem = problemOf([3, 9, 12], softcap, 1);
    const weights = Float64Array.of(0.5, 0, 2);
    const targets = Uint32Array.of(3, 4, 8);
    const padded = (logits: Float64Array) => logits.map((x) => Number.isNaN(x) ? 0 : x);
    checkGradient({
      inputs: { logits: padded(problem.logits) },
      forward: ({ logits }) => ordinalTerm(problem, { logits, targets, weights, firstByte: 3 }),
      backward: ({ logits }, dLosses) => ({
        logits: ordinalTermBackward(problem, {
          logits,
          targets,
          weights: weights.map((weight, row) => weight * dLosses[row]),
          firstByte: 3,
        }),
      }),
    });
  }
});

Deno.test("softCrossEntropyBackward() of the reference is the derivative of softCrossEntropy()", () => {
  for (const softcap of [2, null]) {
    const problem = problemOf([5, 7, 8], softcap, 1);
    const wanted = logProbabilities(problem, randomNormal("teacher", 5 * 8, 2)).map(Math.exp);
    const weights = Float64Array.of(0.5, 0, 2, 1, 3);
    checkGradient({
      inputs: { logits: problem.logits.map((x) => Number.isNaN(x) ? 0 : x) },
      forward: ({ logits }) => softCrossEntropy(problem, { logits, wanted, weights }),
      backward: ({ logits }, dLosses) => ({
        logits: softCrossEntropyBackward(problem, {
          logits,
          wanted,
          weights: weights.map((weight, row) => weight * dLosses[row]),
        }),
      }),
    });
  }
});
