import { assert, assertEquals, assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import {
  addAttentionDecode,
  type DecodeShape,
  type DecodeTile,
  decodeTileRows,
  decodeTiles,
} from "../../lib/tensor/ops/attention.ts";
import { Program } from "../../lib/tensor/program.ts";
import { RandomStream } from "../../lib/base/random.ts";
import { attentionDecode, type DecodeInputs } from "../reference/attention_decode.ts";
import { attentionTolerance } from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  type KernelBench,
  largestNorm,
  randomNormal,
  testOnEachDevice,
} from "./support.ts";

/** A case: heads, head dim, steps, and for each prompt its number of keys and of rows, and whether it begins with the one before. */
interface Case {
  numHeads: number;
  headDim: number;
  numSteps: number;
  prompts: readonly [numKeys: number, numRows: number, goesOn?: boolean][];
}

/** A tile has 32, 16, 8 rows of D = 32, 64, 128 (8 lanes), or 64, 32, 16 (64 threads); keys come 4, or 16, 8, 4 at once. */
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

function problemOf({ numHeads, headDim, numSteps, prompts }: Case) {
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

/** Adds a problem's dispatch, with a tile of no rows at the end; returns what it writes. */
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
function maxScore({ headDim }: DecodeShape, { q, promptK, suffixK }: DecodeInputs): number {
  return largestNorm(q, headDim) * Math.max(largestNorm(promptK, headDim), largestNorm(suffixK, headDim)) /
    Math.sqrt(headDim);
}

const largestOf = (x: Float64Array) => x.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

function toleranceOf(item: Case, shape: DecodeShape, inputs: DecodeInputs) {
  const sequenceLength = Math.max(...item.prompts.map(([numKeys]) => numKeys)) + item.numSteps;
  const magnitude = Math.max(largestOf(inputs.promptV), largestOf(inputs.suffixV));
  return attentionTolerance({ ...shape, sequenceLength }, maxScore(shape, inputs), magnitude);
}

testOnEachDevice(
  "addAttentionDecode() equals the float64 reference, the same at each run",
  async (bench) => {
    for (const item of CASES) {
      const tiles = tilesOf(item);
      const { shape, inputs } = problemOf(item);
      let outs: ReturnType<typeof addProblem>[] = [];
      await bench.run((program) => {
        outs = [0, 1].map(() => addProblem(bench, program, { shape, inputs, tiles }));
      });
      const [out, again] = await bench.read(...outs);
      const expected = attentionDecode(shape, inputs, tiles);
      assertClose(out, expected, toleranceOf(item, shape, inputs), `out of ${JSON.stringify(item)}`);
      assertSameBits(out, again, "out");
      bench.clear();
    }
  },
);

testOnEachDevice(
  "addAttentionDecode() neither overflows nor forgets where scores are in the thousands",
  async (bench) => {
    const item: Case = { numHeads: 1, headDim: 32, numSteps: 3, prompts: [[21, 40]] };
    const tiles = tilesOf(item);
    const { shape, inputs } = problemOf(item);
    inputs.q = inputs.q.map((value) => value * 1024);
    let written: ReturnType<typeof addProblem> | undefined;
    await bench.run((program) => {
      written = addProblem(bench, program, { shape, inputs, tiles });
    });
    assert(written);
    const [out] = await bench.read(written);
    assertClose(out, attentionDecode(shape, inputs, tiles), toleranceOf(item, shape, inputs), "out");
  },
);

testOnEachDevice("addAttentionDecode() leaves rows of no tile as they are", async (bench) => {
  const item: Case = { numHeads: 1, headDim: 32, numSteps: 1, prompts: [[5, 40]] };
  const tiles = [{ ...tilesOf(item)[0], firstRow: 3, endRow: 37 }];
  const { shape, inputs } = problemOf(item);
  let written: ReturnType<typeof addProblem> | undefined;
  await bench.run((program) => {
    written = addProblem(bench, program, { shape, inputs, tiles });
  });
  assert(written);
  const [out] = await bench.read(written);
  for (const row of [0, 1, 2, 37, 38, 39]) assert(out.subarray(row * 32, row * 32 + 32).every(Number.isNaN));
  assert(!out.subarray(3 * 32, 37 * 32).some(Number.isNaN));
});

testOnEachDevice(
  "addAttentionDecode() refuses a head of another size and tensors that are too small",
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

Deno.test("decodeTiles() cuts rows that begin at different keys apart", () => {
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
