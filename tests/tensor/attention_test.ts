import { assert, assertEquals, assertLess, assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import {
  addAttention,
  addAttentionBackward,
  addAttentionDecode,
  attentionVariant,
  type DecodeShape,
  type DecodeTile,
  decodeTileRows,
  decodeTiles,
} from "../../lib/tensor/ops/attention.ts";
import type { GpuInfo } from "../../lib/tensor/device.ts";
import { Program } from "../../lib/tensor/program.ts";
import type { DType, Tensor } from "../../lib/tensor/tensor.ts";
import { RandomStream } from "../../lib/base/random.ts";
import {
  attention,
  attentionBackward,
  attentionDecode,
  type AttentionInputs,
  type DecodeInputs,
} from "../reference/attention.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { attentionTolerance } from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  DTYPES,
  type KernelBench,
  largestNorm,
  largestOf,
  randomIn,
  randomNormal,
  storedIn,
  testOnEachDevice,
  testWithMatrices,
} from "./support.ts";
import { checkHalf, inputsOf, maxScore, problemOf, tensorsOf } from "./attention_problem.ts";

/**
 * B, T, H, D. A workgroup owns 32, 16 or 8 rows of D = 32, 64 or 128 (8 lanes), or 128, 64 or 32 (64
 * threads); tiles have 4 rows, or D forward and D / 2 backward.
 */
const SHAPES = [
  [1, 1, 1, 32],
  [2, 3, 1, 32],
  [1, 31, 2, 32],
  [1, 32, 1, 32],
  [1, 33, 3, 32],
  [2, 65, 1, 32],
  [1, 300, 2, 32],
  [2, 15, 1, 64],
  [1, 17, 2, 64],
  [1, 150, 1, 64],
  [1, 7, 1, 128],
  [1, 9, 2, 128],
  [1, 140, 1, 128],
];

testOnEachDevice(
  "addAttention() stays accurate with scores in the thousands",
  async (bench) => {
    const problem = problemOf([1, 40, 1, 32], 1000);
    const [q, k, v] = ["q", "k", "v"].map((label) => randomIn("f16", label, 40 * 32));
    const inputs = { q: q.map((value) => value * 1024), k, v };
    for (const dtype of DTYPES) {
      const tensors = tensorsOf(bench, problem, inputs, dtype);
      await bench.run((program) => addAttention(program, tensors));
      const [out] = await bench.read(tensors.out);
      const tolerance = attentionTolerance(problem, maxScore(problem, inputs), largestOf(v));
      assertClose(out, attention(problem, inputs).out, storedIn(dtype, tolerance), `out of ${dtype}`);
    }
  },
);

testOnEachDevice(
  "addAttention() ignores other segments, later tokens and other heads",
  async (bench) => {
    const problem = problemOf([1, 96, 2, 32], 1000);
    problem.segmentStart.fill(0, 0, 45).fill(45, 45);
    const inputs = inputsOf(problem);
    // Head 1, the first segment and the last 20 tokens change; head 0 of the tokens in between must not.
    const changed = (x: Float64Array) =>
      x.map((value, i) => i % 64 >= 32 || i < 45 * 64 || i >= 76 * 64 ? value + 1 : value);
    const others = { q: changed(inputs.q), k: changed(inputs.k), v: changed(inputs.v) };
    for (const dtype of DTYPES) {
      const before = tensorsOf(bench, problem, inputs, dtype);
      const after = tensorsOf(bench, problem, others, dtype);
      await bench.run((program) => {
        addAttention(program, before);
        addAttention(program, after);
      });
      const outs = await bench.read(before.out, after.out);
      const [a, b] = outs.map((out) => out.filter((_, i) => i % 64 < 32 && i >= 45 * 64 && i < 76 * 64));
      assertSameBits(a, b, "out");
      assert(outs[0].some((value, i) => value !== outs[1][i]), "the change had no effect at all");
    }
  },
);

/** Adds forward and backward; returns their outputs. */
function addBoth(bench: KernelBench, program: Program, tensors: ReturnType<typeof tensorsOf>, dOut: Tensor) {
  const [dq, dk, dv] = ["dq", "dk", "dv"].map((label) => bench.output(label, tensors.q.shape));
  const delta = bench.output("delta", tensors.logSumExp.shape);
  addAttention(program, tensors);
  addAttentionBackward(program, { ...tensors, dOut, dq, dk, dv, delta });
  return { dq, dk, dv };
}

testOnEachDevice(
  "addAttention() and its backward reproducibly match the float64 reference",
  async (bench) => {
    for (const shape of SHAPES) {
      for (const maxLength of [1, 6, 1000]) {
        const problem = problemOf(shape, maxLength);
        const inputs = inputsOf(problem);
        const dOut = randomNormal("dOut", inputs.q.length);
        const tensors = tensorsOf(bench, problem, inputs);
        const dOutTensor = bench.input("dOut", tensors.q.shape, dOut);
        const written: Tensor[] = [];
        await bench.run((program) => {
          for (let run = 0; run < 2; run++) {
            const { dq, dk, dv } = addBoth(bench, program, tensors, dOutTensor);
            written.push(dq, dk, dv);
          }
        });
        const [out, logSumExp, ...actual] = await bench.read(tensors.out, tensors.logSumExp, ...written);
        const forward = attention(problem, inputs);
        const expected = attentionBackward(problem, inputs, dOut);
        const bound = maxScore(problem, inputs);
        const what = `of [${shape}], segments to ${maxLength}`;
        assertClose(out, forward.out, attentionTolerance(problem, bound, largestOf(inputs.v)), `out ${what}`);
        assertClose(logSumExp, forward.logSumExp, attentionTolerance(problem, bound, 1), `logSumExp ${what}`);
        // Gradients of probabilities are dot products, of magnitude |dOut| |v|, which cancel within a row.
        const inner = largestNorm(dOut, problem.headDim) * largestNorm(inputs.v, problem.headDim);
        for (const [i, name] of (["q", "k", "v"] as const).entries()) {
          const magnitude = name === "v" ? largestOf(expected.v) : inner / Math.sqrt(problem.headDim);
          const tolerance = attentionTolerance(problem, bound, magnitude);
          assertClose(actual[i], expected[name], tolerance, `d${name} ${what}`);
          assertSameBits(actual[i], actual[i + 3], `d${name}`);
        }
        bench.clear();
      }
    }
  },
);

testOnEachDevice("addAttention() computes the same bits for a segment at any position", async (bench) => {
  for (const D of [32, 64]) {
    const [before, length] = [13, 77];
    const inputs = inputsOf(problemOf([1, length, 1, D], length));
    const outs: Tensor[] = [];
    await bench.run((program) => {
      for (const first of [0, before]) {
        const shape = [1, first + length, 1, D];
        const segmentStart = Uint32Array.from({ length: first + length }, (_, t) => t < first ? 0 : first);
        const placed = (name: keyof AttentionInputs) =>
          Float64Array.from([...randomNormal(`before ${name}`, first * D), ...inputs[name]]);
        const problem = { ...problemOf(shape, 1), segmentStart };
        const tensors = tensorsOf(bench, problem, { q: placed("q"), k: placed("k"), v: placed("v") });
        addAttention(program, tensors);
        outs.push(tensors.out);
      }
    });
    const [alone, behind] = await bench.read(...outs);
    assertSameBits(behind.slice(before * D), alone, `out of ${D} dims`);
    bench.clear();
  }
});

testOnEachDevice(
  "addAttention() and its backward match the float64 reference for f16 tensors",
  async (bench) => {
    for (const shape of [[2, 65, 1, 32], [1, 33, 2, 32], [1, 17, 2, 128]]) {
      await checkHalf(bench, shape, 11, [undefined]);
    }
  },
);

/** The norm of the difference of two vectors, relative to the norm of the second. */
function distance(a: Float32Array, b: Float32Array): number {
  const norm = (x: Float32Array) => Math.sqrt(x.reduce((sum, value) => sum + value * value, 0));
  return norm(a.map((value, i) => value - b[i])) / norm(b);
}

/** Four independent roundings to f16. */
const HALF_DISTANCE = 4 * 2 ** -11;

testWithMatrices(
  "addAttention() and its backward on matrix units reproducibly match the float64 reference and the tiled kernels",
  async (bench, { side }) => {
    for (const headDim of [4 * side, 8 * side]) {
      // A workgroup owns 4 side rows; tiles have the same number, or half.
      for (const [B, T, H] of [[1, 1, 1], [2, 2 * side, 1], [1, 4 * side + 1, 3], [2, 100, 2], [1, 300, 1]]) {
        for (const maxLength of [1, 11, 150, 1000]) {
          const shape = [B, T, H, headDim];
          const [first, second, tiled] = await checkHalf(bench, shape, maxLength, [
            "matrix",
            "matrix",
            "tiled",
          ]);
          for (const [i, name] of ["out", "dq", "dk", "dv"].entries()) {
            assertSameBits(first[i], second[i], name);
            // With a single key, dq and dk are 0 except for rounding.
            if (T === 1 || (maxLength === 1 && /q|k/.test(name))) continue;
            assertLess(distance(first[i], tiled[i]), HALF_DISTANCE, `${name} of [${shape}]`);
          }
        }
      }
    }
  },
);

testWithMatrices(
  "attention on matrix units returns non-finite gradients when a score's gradient exceeds f16",
  async (bench, { side }) => {
    const problem = problemOf([1, 40, 1, 4 * side], 1000);
    const inputs = inputsOf(problem);
    const dOut = randomNormal("dOut", inputs.q.length, 2 ** 13);
    const tensors = tensorsOf(bench, problem, inputs, "f16");
    const [dq, dk, dv] = ["dq", "dk", "dv"].map((label) =>
      bench.output(label, tensors.q.shape, undefined, "f16")
    );
    const delta = bench.output("delta", tensors.logSumExp.shape);
    await bench.run((program) => {
      addAttention(program, tensors);
      addAttentionBackward(program, {
        ...tensors,
        dOut: bench.input("dOut", tensors.q.shape, dOut, "f16"),
        dq,
        dk,
        dv,
        delta,
      });
    });
    for (const gradient of await bench.read(dq, dk)) assert(!gradient.every(Number.isFinite));
  },
);

Deno.test("attentionVariant() chooses by adapter, head width and input storage", () => {
  const matrix = { side: 16, lanes: 32 };
  const of = (info: Partial<GpuInfo>, headDim: number, ...dtypes: DType[]) =>
    attentionVariant({ subgroupSize: 32, ...info }, headDim, dtypes.map((dtype) => ({ dtype })));
  assertEquals(of({}, 64, "f16", "f16"), "tiled");
  assertEquals(of({ subgroupSize: 8 }, 64, "f16", "f16"), "subgroup8");
  assertEquals(of({ matrix }, 64, "f16", "f16"), "matrix");
  assertEquals(of({ matrix }, 128, "f16"), "matrix");
  assertEquals(of({ matrix }, 32, "f16"), "tiled");
  assertEquals(of({ matrix }, 64, "f16", "f32"), "tiled");
});

testOnEachDevice("addAttention() rejects unsupported head sizes and tensors that are too small", (bench) => {
  const program = new Program(bench.registry, "refused");
  const tensor = bench.gpu.tensor("small", [64]);
  const args = { q: tensor, k: tensor, v: tensor, segmentStart: tensor, out: tensor, logSumExp: tensor };
  const shape = { batchSize: 1, sequenceLength: 4, numHeads: 1 };
  assertThrows(
    () => addAttention(program, { ...args, ...shape, headDim: 48 }),
    KernelError,
    "headDim is 48, expected one of 32, 64, 128",
  );
  assertThrows(
    () => addAttention(program, { ...args, ...shape, headDim: 32 }),
    KernelError,
    "q (tensor small) has the shape [64], expected 128 elements",
  );
  return Promise.resolve();
});

Deno.test("attentionBackward() of the reference is the derivative of attention()", () => {
  const problem = problemOf([1, 9, 2, 4], 6);
  const { q, k, v } = inputsOf(problem);
  checkGradient({
    inputs: { q, k, v },
    forward: ({ q, k, v }) => attention(problem, { q, k, v }).out,
    backward: ({ q, k, v }, dOut) => attentionBackward(problem, { q, k, v }, dOut),
  });
});

/**
 * Heads, head dim, steps; for each prompt its keys, its rows, and whether it begins like the previous one.
 */
interface Case {
  numHeads: number;
  headDim: number;
  numSteps: number;
  prompts: readonly [numKeys: number, numRows: number, goesOn?: boolean][];
}

/**
 * Tiles have 32, 16, 8 rows of D = 32, 64, 128 (8 lanes; 4 keys at once), or 64, 32, 16 (64 threads; 16, 8, 4
 * keys).
 */
const CASES: Case[] = [
  { numHeads: 1, headDim: 32, numSteps: 1, prompts: [[1, 1]] },
  { numHeads: 2, headDim: 64, numSteps: 0, prompts: [[1, 1], [33, 2]] },
  { numHeads: 2, headDim: 32, numSteps: 1, prompts: [[3, 31], [4, 32], [5, 33]] },
  { numHeads: 1, headDim: 32, numSteps: 3, prompts: [[15, 63], [16, 64], [17, 65]] },
  { numHeads: 4, headDim: 32, numSteps: 1, prompts: [[21, 132], [250, 132]] },
  { numHeads: 2, headDim: 64, numSteps: 2, prompts: [[7, 15], [8, 17], [9, 33]] },
  { numHeads: 2, headDim: 128, numSteps: 5, prompts: [[3, 7], [5, 9], [4, 17]] },
  {
    numHeads: 2,
    headDim: 64,
    numSteps: 1,
    prompts: [[1, 2], [5, 3, true], [18, 40, true], [19, 1, true], [7, 2]],
  },
  {
    numHeads: 1,
    headDim: 32,
    numSteps: 0,
    prompts: [[2, 1], [3, 1, true], [40, 1, true], [6, 1], [9, 50, true]],
  },
  { numHeads: 1, headDim: 128, numSteps: 2, prompts: [[2, 3], [11, 3, true], [12, 9, true]] },
];

function tilesOf({ prompts }: Case): DecodeTile[] {
  const tiles: DecodeTile[] = [];
  let firstRow = 0;
  for (const [numKeys, numRows, goesOn] of prompts) {
    const before = tiles.at(-1);
    const firstKey = (goesOn ? before?.firstKey : before?.endKey) ?? 0;
    tiles.push({ firstKey, endKey: firstKey + numKeys, firstRow, endRow: firstRow + numRows });
    firstRow += numRows;
  }
  return tiles;
}

function decodeProblemOf({ numHeads, headDim, numSteps, prompts }: Case) {
  const width = numHeads * headDim;
  const numKeys = prompts.reduce((sum, [keys]) => sum + keys, 0);
  const numRows = prompts.reduce((sum, [, rows]) => sum + rows, 0);
  const shape: DecodeShape = { numRows, numSteps, numHeads, headDim };
  const numAppended = numSteps * numRows + 3;
  const random = new RandomStream(0, "suffixRows");
  const inputs: DecodeInputs = {
    q: randomNormal("q", numRows * width),
    promptK: randomNormal("promptK", numKeys * width),
    promptV: randomNormal("promptV", numKeys * width),
    suffixK: randomNormal("suffixK", numAppended * width),
    suffixV: randomNormal("suffixV", numAppended * width),
    suffixRows: Uint32Array.from({ length: numSteps * numRows }, () => random.below(numAppended)),
  };
  return { shape, inputs };
}

/** Computes a problem `times` times, with an empty tile at the end; reads what was written. */
async function decoded(
  bench: KernelBench,
  problem: Parameters<typeof addProblem>[2],
  times = 1,
): Promise<Float32Array[]> {
  const outs: Tensor[] = [];
  await bench.run((program) => {
    for (let i = 0; i < times; i++) outs.push(addProblem(bench, program, problem));
  });
  return await bench.read(...outs);
}

function addProblem(
  bench: KernelBench,
  program: Program,
  { shape, inputs, tiles }: { shape: DecodeShape; inputs: DecodeInputs; tiles: readonly DecodeTile[] },
) {
  const { numRows, numSteps, numHeads, headDim } = shape;
  const input = (label: Exclude<keyof DecodeInputs, "suffixRows">) =>
    bench.input(label, [inputs[label].length / (numHeads * headDim), numHeads, headDim], inputs[label]);
  const ends = new Uint32Array(numRows);
  for (const { endKey, firstRow, endRow } of tiles) ends.fill(endKey, firstRow, endRow);
  const cut = decodeTiles(tiles, decodeTileRows(bench.gpu.info, headDim));
  const words = cut.flatMap(({ firstKey, endKey, firstRow, endRow }) => [firstKey, endKey, firstRow, endRow]);
  const numTiles = cut.length + 1;
  const out = bench.output("out", [numRows, numHeads, headDim]);
  addAttentionDecode(program, {
    ...shape,
    q: input("q"),
    promptK: input("promptK"),
    promptV: input("promptV"),
    suffixK: input("suffixK"),
    suffixV: input("suffixV"),
    rowKeys: bench.inputUint32("rowKeys", [1 + numSteps, numRows], [...ends, ...inputs.suffixRows]),
    tiles: bench.inputUint32("tiles", [numTiles, 4], [...words, 0, 0, 0, 0]),
    numTiles,
    out,
  });
  return out;
}

/** A bound on |q . k| / sqrt(D). */
function maxDecodeScore({ headDim }: DecodeShape, { q, promptK, suffixK }: DecodeInputs): number {
  return largestNorm(q, headDim) * Math.max(largestNorm(promptK, headDim), largestNorm(suffixK, headDim)) /
    Math.sqrt(headDim);
}

function toleranceOf(item: Case, shape: DecodeShape, inputs: DecodeInputs) {
  const sequenceLength = Math.max(...item.prompts.map(([numKeys]) => numKeys)) + item.numSteps;
  const magnitude = Math.max(largestOf(inputs.promptV), largestOf(inputs.suffixV));
  return attentionTolerance({ ...shape, sequenceLength }, maxDecodeScore(shape, inputs), magnitude);
}

testOnEachDevice(
  "addAttentionDecode() reproducibly matches the float64 reference",
  async (bench) => {
    for (const item of CASES) {
      const tiles = tilesOf(item);
      const { shape, inputs } = decodeProblemOf(item);
      const [out, again] = await decoded(bench, { shape, inputs, tiles }, 2);
      const expected = attentionDecode(shape, inputs, tiles);
      assertClose(out, expected, toleranceOf(item, shape, inputs), `out of ${JSON.stringify(item)}`);
      assertSameBits(out, again, "out");
      bench.clear();
    }
  },
);

testOnEachDevice(
  "addAttentionDecode() stays accurate with scores in the thousands",
  async (bench) => {
    const item: Case = { numHeads: 1, headDim: 32, numSteps: 3, prompts: [[21, 40]] };
    const tiles = tilesOf(item);
    const { shape, inputs } = decodeProblemOf(item);
    inputs.q = inputs.q.map((value) => value * 1024);
    const [out] = await decoded(bench, { shape, inputs, tiles });
    assertClose(out, attentionDecode(shape, inputs, tiles), toleranceOf(item, shape, inputs), "out");
  },
);

testOnEachDevice("addAttentionDecode() does not write rows outside its tiles", async (bench) => {
  const item: Case = { numHeads: 1, headDim: 32, numSteps: 1, prompts: [[5, 40]] };
  const tiles = [{ ...tilesOf(item)[0], firstRow: 3, endRow: 37 }];
  const { shape, inputs } = decodeProblemOf(item);
  const [out] = await decoded(bench, { shape, inputs, tiles });
  for (const row of [0, 1, 2, 37, 38, 39]) assert(out.subarray(row * 32, row * 32 + 32).every(Number.isNaN));
  assert(!out.subarray(3 * 32, 37 * 32).some(Number.isNaN));
});

testOnEachDevice(
  "addAttentionDecode() rejects unsupported head sizes and tensors that are too small",
  (bench) => {
    const program = new Program(bench.registry, "refused");
    const small = bench.gpu.tensor("small", [64]);
    const tensors = {
      q: small,
      promptK: small,
      promptV: small,
      suffixK: small,
      suffixV: small,
      rowKeys: small,
      tiles: small,
    };
    const args = { ...tensors, out: small, numRows: 4, numSteps: 1, numHeads: 1, numTiles: 1 };
    assertThrows(
      () => addAttentionDecode(program, { ...args, headDim: 48 }),
      KernelError,
      "headDim is 48, expected one of 32, 64, 128",
    );
    assertThrows(
      () => addAttentionDecode(program, { ...args, headDim: 32 }),
      KernelError,
      "q (tensor small) has the shape [64], expected 128 elements",
    );
    return Promise.resolve();
  },
);

Deno.test("decodeTiles() separates rows that begin at different keys", () => {
  const prompts = tilesOf({ numHeads: 1, headDim: 32, numSteps: 1, prompts: [[3, 5], [2, 0], [4, 2]] });
  assertEquals(
    decodeTiles(prompts, 2).map(({ firstKey, firstRow, endRow }) => [firstKey, firstRow, endRow]),
    [
      [0, 0, 2],
      [0, 2, 4],
      [0, 4, 5],
      [5, 5, 7],
    ],
  );
  const goingOn = tilesOf({
    numHeads: 1,
    headDim: 32,
    numSteps: 1,
    prompts: [[3, 1], [5, 4, true], [6, 0, true], [9, 1, true], [2, 1]],
  });
  assertEquals(
    decodeTiles(goingOn, 4).map((
      { firstKey, endKey, firstRow, endRow },
    ) => [firstKey, endKey, firstRow, endRow]),
    [[0, 5, 0, 4], [0, 9, 4, 6], [9, 11, 6, 7]],
  );
});
