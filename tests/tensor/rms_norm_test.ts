import { assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import { addRmsNorm, addRmsNormBackward } from "../../lib/tensor/ops/rms_norm.ts";
import { Program } from "../../lib/tensor/program.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { rmsNorm, rmsNormBackward } from "../reference/layers.ts";
import { addTolerances, BUILT_IN_ULPS, expressionTolerance, sumTolerance } from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  DTYPES,
  KernelBench,
  randomIn,
  randomNormal,
  storedIn,
  testOnEachDevice,
  testOnEachLayout,
} from "./support.ts";

/** Rows and width; a row has 8 or 64 lanes of 4 columns. */
const SIZES = [[1, 4], [3, 28], [5, 32], [2, 36], [7, 252], [9, 256], [4, 260], [65, 640]];

/** The mean is a sum of `width` terms over `width`, so of magnitude about 1; its root halves the error. */
const tolerance = (width: number) =>
  addTolerances(
    expressionTolerance(BUILT_IN_ULPS.inverseSqrt + 3),
    { relative: sumTolerance(width, 1).absolute, absolute: 0 },
  );

testOnEachLayout(
  "addRmsNorm() and its backward, stored or accumulated, match the float64 reference",
  async (bench) => {
    for (const [rows, width, dtype] of SIZES.flatMap(([m, n]) => DTYPES.map((of) => [m, n, of] as const))) {
      const [data, before] = ["x", "before"].map((label) => randomNormal(label, rows * width));
      const dData = randomIn(dtype, "dy", rows * width);
      const expected = rmsNorm(data, width);
      const gradient = rmsNormBackward(data, dData, width);
      const shape = [rows, width];
      const x = bench.input("x", shape, data);
      const inputs = {
        x,
        dy: bench.input("dy", shape, dData, dtype),
        scale: bench.input("known scale", [rows], expected.scale),
      };
      const [y, scale] = [bench.output("y", shape, undefined, dtype), bench.output("scale", [rows])];
      const [stored, again] = ["stored", "again"].map((label) => bench.output(label, shape));
      const accumulated = bench.output("accumulated", shape, before);
      await bench.run((program) => {
        addRmsNorm(program, { x, y, scale, rows, width });
        addRmsNormBackward(program, { ...inputs, dx: stored, rows, width, accumulate: false });
        addRmsNormBackward(program, { ...inputs, dx: accumulated, rows, width, accumulate: true });
        addRmsNormBackward(program, { ...inputs, dx: again, rows, width, accumulate: false });
      });
      const [actualY, actualScale, dx, sum, repeated] = await bench.read(
        y,
        scale,
        stored,
        accumulated,
        again,
      );
      const what = `${rows} x ${width} ${dtype}`;
      assertClose(actualY, expected.y, storedIn(dtype, tolerance(width)), `y ${what}`);
      assertClose(actualScale, expected.scale, tolerance(width), `scale ${what}`);
      // |x| and |dy| are below 5; the row's factor is below 5 except for the shortest rows.
      const allowed = addTolerances(expressionTolerance(8, 10), sumTolerance(width, 10));
      assertClose(dx, gradient, allowed, `dx ${what}`);
      assertClose(sum, gradient.map((value, i) => value + before[i]), allowed, `accumulated ${what}`);
      assertSameBits(dx, repeated, "dx");
      bench.clear();
    }
  },
);

testOnEachLayout(
  "addRmsNorm() maps zeros to zeros and confines NaN to its row",
  async (bench) => {
    const data = new Float64Array(3 * 8);
    data.fill(NaN, 8, 16);
    const x = bench.input("x", [3, 8], data);
    const [y, scale] = [bench.output("y", [3, 8]), bench.output("scale", [3])];
    await bench.run((program) => addRmsNorm(program, { x, y, scale, rows: 3, width: 8 }));
    const [actual] = await bench.read(y);
    assertClose(actual, data, { relative: 0, absolute: 0 }, "y");
  },
);

testOnEachDevice(
  "results of addRmsNorm() and its backward do not depend on the layout of rows",
  async ({ gpu }) => {
    const [rows, width] = [9, 260];
    const [x, dy, before] = ["x", "dy", "before"].map((label) => randomNormal(label, rows * width));
    // A GPU's compiler may fuse other operations if more of a row stays in registers.
    const first = new Map<number, Float32Array[]>();
    for (const rowsPerGroup of [1, 2, 4]) {
      for (const maxKept of [0, 1, 5, 12]) {
        const bench = new KernelBench(gpu, { rowsPerGroup, maxKept });
        const inputs = { x: bench.input("x", [rows, width], x), rows, width };
        const ofDy = bench.input("dy", [rows, width], dy);
        const [y, scale] = [bench.output("y", [rows, width]), bench.output("scale", [rows])];
        const dx = bench.output("dx", [rows, width], before);
        await bench.run((program) => {
          addRmsNorm(program, { ...inputs, y, scale });
          addRmsNormBackward(program, { ...inputs, scale, dy: ofDy, dx, accumulate: true });
        });
        const results = await bench.read(y, scale, dx);
        const of = gpu.info.isSoftware ? 0 : maxKept;
        const expected = first.get(of) ?? results;
        first.set(of, expected);
        results.forEach((result, i) =>
          assertSameBits(result, expected[i], `${i}, ${rowsPerGroup} ${maxKept}`)
        );
        bench.clear();
      }
    }
  },
);

testOnEachDevice("addRmsNorm() rejects a width that is not a multiple of 4", (bench) => {
  const [x, y, scale] = ["x", "y", "scale"].map((label) => bench.gpu.tensor(label, [6]));
  const program = new Program(bench.registry, "refused");
  assertThrows(
    () => addRmsNorm(program, { x, y, scale, rows: 1, width: 6 }),
    KernelError,
    "width is 6, expected a positive multiple of 4",
  );
  return Promise.resolve();
});

Deno.test("rmsNormBackward() of the reference is the derivative of rmsNorm()", () => {
  checkGradient({
    inputs: { x: randomNormal("x", 3 * 8) },
    forward: ({ x }) => rmsNorm(x, 8).y,
    backward: ({ x }, dy) => ({ x: rmsNormBackward(x, dy, 8) }),
  });
});
