import { assertEquals } from "@std/assert";
import {
  addEmbedding,
  addEmbeddingBackward,
  numTokenRows,
  tokenRows,
} from "../../lib/tensor/ops/embedding.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { embedding, embeddingBackward } from "../reference/layers.ts";
import { sumTolerance } from "../tolerances.ts";
import { assertClose, assertSameBits, randomIntegers, randomNormal, testOnEachDevice } from "./support.ts";

/** Rows, width, vocabulary; 8 or 64 lanes own 16 columns each. */
const SIZES = [
  [1, 4, 1],
  [31, 124, 7],
  [32, 128, 5],
  [33, 132, 11],
  [255, 1020, 3],
  [257, 1028, 3],
  [2048, 128, 267],
];

testOnEachDevice("addEmbedding() and its backward equal the float64 reference", async (bench) => {
  for (const [rows, width, vocabSize] of SIZES) {
    const tokens = randomIntegers("tokens", rows, vocabSize);
    const table = randomNormal("table", vocabSize * width);
    const dx = randomNormal("dx", rows * width);
    const before = randomNormal("before", vocabSize * width);
    const inputs = { tokens: bench.inputUint32("tokens", [rows], tokens), rows, width };
    const order = tokenRows(tokens, vocabSize);
    const rowsOfTokens = bench.inputUint32("token rows", [numTokenRows(rows, vocabSize)], order);
    const backward = { tokenRows: rowsOfTokens, rows, width, vocabSize };
    const tensorTable = bench.input("table", [vocabSize, width], table);
    const tensorDx = bench.input("dx", [rows, width], dx);
    const x = bench.output("x", [rows, width]);
    const dTable = bench.output("dTable", [vocabSize, width], before);
    const again = bench.output("again", [vocabSize, width], before);
    await bench.run((program) => {
      addEmbedding(program, { ...inputs, table: tensorTable, x });
      addEmbeddingBackward(program, { ...backward, dx: tensorDx, dTable });
      addEmbeddingBackward(program, { ...backward, dx: tensorDx, dTable: again });
    });
    const [actualX, actual, repeated] = await bench.read(x, dTable, again);
    assertClose(
      actualX,
      embedding(tokens, table, width),
      { relative: 0, absolute: 0 },
      `x ${rows} x ${width}`,
    );
    const expected = embeddingBackward(tokens, dx, { width, vocabSize }).map((value, i) => value + before[i]);
    const maxTerms = Math.max(
      ...tokens.reduce((counts, v) => (counts[v]++, counts), new Uint32Array(vocabSize)),
    );
    assertClose(actual, expected, sumTolerance(maxTerms + 1, maxTerms + 10), `dTable ${rows} x ${width}`);
    assertSameBits(actual, repeated, "dTable");
    bench.clear();
  }
});

Deno.test("tokenRows() puts the rows of each token together, ascending", () => {
  assertEquals([...tokenRows([2, 0, 2, 3, 2], 5)], [6, 7, 7, 10, 11, 11, 1, 0, 2, 4, 3]);
  const tokens = randomIntegers("tokens", 500, 40);
  const places = tokenRows(tokens, 60);
  for (let token = 0; token < 60; token++) {
    const rows = places.subarray(places[token], places[token + 1]);
    assertEquals([...rows], [...tokens.keys()].filter((row) => tokens[row] === token));
  }
});

Deno.test("embeddingBackward() of the reference is the derivative of embedding()", () => {
  const tokens = [2, 0, 2, 1, 2];
  checkGradient({
    inputs: { table: randomNormal("table", 4 * 4) },
    forward: ({ table }) => embedding(tokens, table, 4),
    backward: (_, dx) => ({ table: embeddingBackward(tokens, dx, { width: 4, vocabSize: 4 }) }),
  });
});
