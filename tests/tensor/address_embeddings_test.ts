import { assert } from "@std/assert";
import { adamWHyper, addAdamWRows } from "../../lib/tensor/ops/adamw.ts";
import { addLimitRows, addRows } from "../../lib/tensor/ops/embedding.ts";
import { adamWRows, addRows as addRowsReference, addRowsBackward } from "../reference/address_embeddings.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { BUILT_IN_ULPS, expressionTolerance, sumTolerance } from "../tolerances.ts";
import { assertClose, assertSameBits, randomIntegers, randomNormal, testOnEachDevice } from "./support.ts";

/** Rows, width, rows of the table, rows a token. */
const SIZES = [[1, 4, 1, 1], [31, 124, 7, 3], [257, 132, 300, 3], [2048, 96, 4096, 2]];

testOnEachDevice("addRows() equals the float64 reference", async (bench) => {
  for (const [rows, width, tableRows, rowsPerToken] of SIZES) {
    // A third of the places have none.
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

const AT = { learningRate: 0.01, beta1: 0.8, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };
/** As of addAdamW(), and the power of a beta, which is at most 0.95 after an update. */
const TOLERANCE = expressionTolerance(BUILT_IN_ULPS.sqrt + BUILT_IN_ULPS.division + 64, 5);

function arrays(tableRows: number, width: number) {
  return {
    parameter: randomNormal("parameter", tableRows * width),
    expAvg: randomNormal("m", tableRows * width),
    expAvgSq: randomNormal("v", tableRows * width).map(Math.abs),
    numUpdates: Float64Array.from({ length: tableRows }, (_, row) => row % 7),
  };
}

for (const factor of [0.5, 0]) {
  const title = factor === 0
    ? "addAdamWRows() changes nothing when the clip factor is 0"
    : "addAdamWRows() updates the rows that have slots as the float64 reference, and no others";
  testOnEachDevice(title, async (bench) => {
    const [tableRows, width, slots] = [300, 132, 64];
    const rows = [5, 299, 0, 17, 6];
    const data = arrays(tableRows, width);
    // Gradients of slots that are not used must not be read.
    const gradient = randomNormal("gradient", slots * width).fill(NaN, rows.length * width);
    const slotRows = new Uint32Array(1 + slots).fill(1);
    slotRows.set([rows.length, ...rows]);
    const state = {
      parameter: bench.output("parameter", [tableRows, width], data.parameter),
      expAvg: bench.output("m", [tableRows, width], data.expAvg),
      expAvgSq: bench.output("v", [tableRows, width], data.expAvgSq),
      numUpdates: bench.output("updates", [tableRows], data.numUpdates),
    };
    const tensors = {
      slotRows: bench.inputUint32("slot rows", [1 + slots], slotRows),
      gradient: bench.input("gradient", [slots, width], gradient),
      hyper: bench.input("hyper", [8], adamWHyper({ ...AT, step: 1 })),
      clip: bench.input("clip", [4], [factor, 0, 0, 0]),
    };
    await bench.run((program) => addAdamWRows(program, { ...state, ...tensors, slots, width }));
    const actual = await bench.read(state.parameter, state.expAvg, state.expAvgSq, state.numUpdates);
    const names = ["parameter", "expAvg", "expAvgSq", "numUpdates"] as const;
    if (factor === 0) {
      names.forEach((name, i) => assertSameBits(actual[i], Float32Array.from(data[name]), name));
      return;
    }
    const clipped = gradient.slice(0, rows.length * width).map((g) => g * factor);
    const expected = adamWRows(data, { rows, gradient: clipped, at: AT });
    names.forEach((name, i) => assertClose(actual[i], expected[name], TOLERANCE, name));
  });
}

testOnEachDevice("addLimitRows() moves rows that are too far away back to the limit", async (bench) => {
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
