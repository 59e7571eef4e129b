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

testOnEachLayout("addRmsNorm() equals the float64 reference, stored in any dtype", async (bench) => {
  for (const [rows, width] of SIZES) {
    const data = randomNormal("x", rows * width);
    const x = bench.input("x", [rows, width], data);
    const expected = rmsNorm(data, width);
    for (const dtype of DTYPES) {
      const y = bench.output("y", [rows, width], undefined, dtype);
      const scale = bench.output("scale", [rows]);
      await bench.run((program) => addRmsNorm(program, { x, y, scale, rows, width }));
      const [actualY, actualScale] = await bench.read(y, scale);
      assertClose(actualY, expected.y, storedIn(dtype, tolerance(width)), `y ${rows} x ${width} ${dtype}`);
      assertClose(actualScale, expected.scale, tolerance(width), `scale ${rows} x ${width}`);
    }
    bench.clear();
  }
});

testOnEachLayout(
  "addRmsNorm() maps zeros to zeros and keeps a row that is not finite to itself",
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

testOnEachLayout(
  "addRmsNormBackward() equals the float64 reference, stored or accumulated",
  async (bench) => {
    for (const [rows, width, dtype] of SIZES.flatMap(([m, n]) => DTYPES.map((of) => [m, n, of] as const))) {
      const [x, before] = ["x", "before"].map((label) => randomNormal(label, rows * width));
      const dy = randomIn(dtype, "dy", rows * width);
      const { scale } = rmsNorm(x, width);
      const shape = [rows, width];
      const inputs = {
        x: bench.input("x", shape, x),
        dy: bench.input("dy", shape, dy, dtype),
        scale: bench.input("scale", [rows], scale),
      };
      const stored = bench.output("stored", shape);
      const accumulated = bench.output("accumulated", shape, before);
      const again = bench.output("again", shape);
      await bench.run((program) => {
        addRmsNormBackward(program, { ...inputs, dx: stored, rows, width, accumulate: false });
        addRmsNormBackward(program, { ...inputs, dx: accumulated, rows, width, accumulate: true });
        addRmsNormBackward(program, { ...inputs, dx: again, rows, width, accumulate: false });
      });
      const [actual, sum, repeated] = await bench.read(stored, accumulated, again);
      const expected = rmsNormBackward(x, dy, width);
      // |x| and |dy| are below 5, the row's factor is below 5 except for the shortest rows.
      const allowed = addTolerances(expressionTolerance(8, 10), sumTolerance(width, 10));
      assertClose(actual, expected, allowed, `dx ${rows} x ${width}`);
      assertClose(
        sum,
        expected.map((value, i) => value + before[i]),
        allowed,
        `accumulated ${rows} x ${width}`,
      );
      assertSameBits(actual, repeated, "dx");
      bench.clear();
    }
  },
);

testOnEachDevice(
  "results of addRmsNorm() and its backward do not depend on the layout of rows",
  async ({ gpu }) => {
    const [rows, width] = [9, 260];
    const [x, dy, before] = ["x", "dy", "before"].map((label) => randomNormal(label, rows * width));
    // A GPU's compiler may fuse other operations where more of a row stays in registers.
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

testOnEachDevice("addRmsNorm() refuses a width that is not a multiple of 4", (bench) => {
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
