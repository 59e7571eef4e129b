import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  addEmbedding,
  addEmbeddingBackward,
  addLimitRows,
  addRows,
  numTokenRows,
  tokenRows,
} from "../../lib/tensor/ops/embedding.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { embedding, embeddingBackward } from "../reference/layers.ts";
import { sumTolerance } from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  randomIn,
  randomIntegers,
  randomNormal,
  testOnEachDevice,
  testOnEachLayout,
} from "./support.ts";
import { addRows as addRowsReference, addRowsBackward } from "../reference/address_embeddings.ts";

/** Rows, width, vocabulary; 8 or 64 lanes own 4 or 16 columns each. */
const SIZES = [
  [1, 4, 1],
  [31, 124, 7],
  [32, 128, 5],
  [33, 132, 11],
  [255, 1020, 3],
  [257, 1028, 3],
  [2048, 128, 267],
];

testOnEachLayout("addEmbedding() and its backward match the float64 reference", async (bench) => {
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

testOnEachDevice("addEmbedding() reads rows of an f16 table", async (bench) => {
  const [rows, width, vocabSize] = [33, 132, 11];
  const tokens = randomIntegers("tokens", rows, vocabSize);
  const table = randomIn("f16", "table", vocabSize * width);
  const x = bench.output("x", [rows, width]);
  const tensors = {
    tokens: bench.inputUint32("tokens", [rows], tokens),
    table: bench.input("table", [vocabSize, width], table, "f16"),
  };
  await bench.run((program) => addEmbedding(program, { ...tensors, x, rows, width }));
  const [actual] = await bench.read(x);
  assertClose(actual, embedding(tokens, table, width), { relative: 0, absolute: 0 }, "x");
});

Deno.test("tokenRows() groups rows by token, in ascending order", () => {
  assertEquals([...tokenRows([2, 0, 2, 3, 2], 5)], [6, 7, 7, 10, 11, 11, 1, 0, 2, 4, 3]);
  const tokens = randomIntegers("tokens", 500, 40);
  const places = tokenRows(tokens, 60);
  for (let token = 0; token < 60; token++) {
    const rows = places.subarray(places[token], places[token + 1]);
    assertEquals([...rows], [...tokens.keys()].filter((row) => tokens[row] === token));
  }
  assertThrows(
    () => tokenRows([1, 0, 1], 2, { numUses: 2 }),
    Error,
    "3 tokens have rows, expected at most 2",
  );
});

Deno.test("embeddingBackward() of the reference is the derivative of embedding()", () => {
  const tokens = [2, 0, 2, 1, 2];
  checkGradient({
    inputs: { table: randomNormal("table", 4 * 4) },
    forward: ({ table }) => embedding(tokens, table, 4),
    backward: (_, dx) => ({ table: embeddingBackward(tokens, dx, { width: 4, vocabSize: 4 }) }),
  });
});

/** Rows, width, rows of the table, rows per token. */
const ROW_SIZES = [[1, 4, 1, 1], [31, 124, 7, 3], [257, 132, 300, 3], [2048, 96, 4096, 2]];

testOnEachDevice("addRows() matches the float64 reference", async (bench) => {
  for (const [rows, width, tableRows, rowsPerToken] of ROW_SIZES) {
    // A third of the indexes have no row.
    const indexes = randomIntegers("indexes", rows * rowsPerToken, Math.ceil(tableRows * 1.5));
    const table = randomNormal("table", tableRows * width);
    const before = randomNormal("x", rows * width);
    const x = bench.output("x", [rows, width], before);
    const tensors = {
      indexes: bench.inputUint32("indexes", [rows, rowsPerToken], indexes),
      table: bench.input("table", [tableRows, width], table),
      x,
    };
    await bench.run((program) => addRows(program, { ...tensors, rows, rowsPerToken, tableRows, width }));
    const expected = addRowsReference(before, { indexes, table, rowsPerToken, width });
    const [actual] = await bench.read(x);
    assertClose(
      actual,
      expected,
      sumTolerance(rowsPerToken + 1, 5 * (rowsPerToken + 1)),
      `x ${rows} x ${width}`,
    );
    bench.clear();
  }
});

Deno.test("addRowsBackward() of the reference is the derivative of addRows()", () => {
  const indexes = [2, 9, 0, 2, 1, 1];
  const sizes = { indexes, rowsPerToken: 2, width: 4 };
  const x = randomNormal("x", 3 * 4);
  checkGradient({
    inputs: { table: randomNormal("table", 3 * 4) },
    forward: ({ table }) => addRowsReference(x, { ...sizes, table }),
    backward: (_, dx) => ({ table: addRowsBackward(dx, { ...sizes, tableRows: 3 }) }),
  });
});

testOnEachDevice("addLimitRows() moves rows beyond their limit back to it", async (bench) => {
  for (const [rows, width] of [[1, 4], [31, 124], [300, 96]]) {
    const [anchors, before] = [
      randomNormal("anchors", rows * width),
      randomNormal("table", (rows + 2) * width),
    ];
    const limits = Float64Array.from(
      { length: rows },
      (_, row) => Math.fround(0.5 * (row % 5) * Math.sqrt(width)),
    );
    const table = bench.output("table", [rows + 2, width], before);
    const tensors = {
      table,
      anchors: bench.input("anchors", [rows, width], anchors),
      limits: bench.input("limits", [rows], limits),
    };
    await bench.run((program) => addLimitRows(program, { ...tensors, rows, width }));
    const expected = before.slice();
    let numMoved = 0;
    for (let row = 0; row < rows; row++) {
      const at = Array.from({ length: width }, (_, i) => row * width + i);
      const distance = Math.hypot(...at.map((i) => before[i] - anchors[i]));
      if (distance <= limits[row]) continue;
      numMoved++;
      for (const i of at) expected[i] = anchors[i] + (before[i] - anchors[i]) * limits[row] / distance;
    }
    assert(rows === 1 || numMoved > 0 && numMoved < rows, `${numMoved} of ${rows}`);
    const [actual] = await bench.read(table);
    assertClose(actual, expected, { relative: 1e-5, absolute: 1e-5 }, `${rows} x ${width}`);
    bench.clear();
  }
});
