import type { DType } from "../../lib/tensor/tensor.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import {
  addQkNormRope,
  addQkNormRopeBackward,
  addShiftKeys,
  type HeadsShape,
  previousRows,
} from "../../lib/tensor/ops/qk_norm_rope.ts";
import { Program } from "../../lib/tensor/program.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { qkNormRope, qkNormRopeBackward, shiftKeys, shiftKeysBackward } from "../reference/layers.ts";
import { addTolerances, BUILT_IN_ULPS, expressionTolerance, sumTolerance } from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  DTYPES,
  largestOf,
  randomIn,
  randomIntegers,
  randomNormal,
  randomPrevious,
  storedIn,
  testOnEachDevice,
  testOnEachLayout,
} from "./support.ts";

/** rows, H, D, T: one or up to 8 lanes share a head, each with some of its D / 8 pairs. */
const SHAPES = [
  [1, 1, 8, 1],
  [9, 7, 32, 3],
  [16, 4, 32, 16],
  [5, 13, 40, 5],
  [6, 3, 64, 2],
  [66, 2, 128, 33],
];

const shapesOf = (): (HeadsShape & { dtype: DType })[] =>
  SHAPES.flatMap(([rows, numHeads, headDim, sequenceLength]) =>
    [true, false].flatMap((norm) =>
      DTYPES.map((dtype) => ({ rows, numHeads, headDim, sequenceLength, norm, dtype }))
    )
  );

/**
 * Normalised values are at most sqrt(D); the factor comes from a sum of D squares; two products are added.
 */
const tolerance = ({ headDim }: HeadsShape, magnitude: number) =>
  addTolerances(
    expressionTolerance(BUILT_IN_ULPS.inverseSqrt + 6, magnitude),
    sumTolerance(headDim, magnitude),
  );

testOnEachLayout(
  "addQkNormRope() and its backward reproducibly match the float64 reference",
  async (bench) => {
    for (const { dtype, ...shape } of shapesOf()) {
      const { rows, numHeads, headDim, norm } = shape;
      const [x, dy] = ["x", "dy"].map((label) => randomIn(dtype, label, rows * numHeads * headDim));
      const extents = [rows, numHeads, headDim];
      const expected = qkNormRope(shape, x);
      const gradient = qkNormRopeBackward(shape, x, dy);
      const inputs = {
        x: bench.input("x", extents, x, dtype),
        dy: bench.input("dy", extents, dy, dtype),
        scale: bench.input("known scale", [rows, numHeads], expected.scale),
      };
      const [y, dx, again] = ["y", "dx", "again"].map((label) =>
        bench.output(label, extents, undefined, dtype)
      );
      const scale = bench.output("scale", [rows, numHeads]);
      await bench.run((program) => {
        addQkNormRope(program, { ...shape, x: inputs.x, y, scale });
        addQkNormRopeBackward(program, { ...shape, ...inputs, dx });
        addQkNormRopeBackward(program, { ...shape, ...inputs, dx: again });
      });
      const [actualY, actualScale, actualDx, repeated] = await bench.read(y, scale, dx, again);
      const what = `${dtype} ${JSON.stringify(shape)}`;
      const within = (magnitude: number) => storedIn(dtype, tolerance(shape, magnitude));
      assertClose(actualY, expected.y, within(largestOf(expected.y)), `y of ${what}`);
      if (norm) assertClose(actualScale, expected.scale, tolerance(shape, 1), `scale of ${what}`);
      assertClose(actualDx, gradient, within(2 * largestOf(gradient)), `dx of ${what}`);
      assertSameBits(actualDx, repeated, "dx");
      bench.clear();
    }
  },
);

testOnEachLayout("addQkNormRope() maps zeros to zeros", async (bench) => {
  const shape = { rows: 2, numHeads: 2, headDim: 8, sequenceLength: 2, norm: true };
  const x = bench.input("x", [2, 2, 8], new Float64Array(32));
  const [y, scale] = [bench.output("y", [2, 2, 8]), bench.output("scale", [2, 2])];
  await bench.run((program) => addQkNormRope(program, { ...shape, x, y, scale }));
  const [actual] = await bench.read(y);
  assertClose(actual, new Float64Array(32), { relative: 0, absolute: 0 }, "y");
});

testOnEachLayout("addQkNormRope() rotates each of 1024 positions by an accurate angle", async (bench) => {
  const shape = { rows: 1024, numHeads: 1, headDim: 32, sequenceLength: 1024, norm: false };
  const data = new Float64Array(1024 * 32).fill(1);
  const x = bench.input("x", [1024, 32], data);
  const [y, scale] = [bench.output("y", [1024, 32]), bench.output("scale", [1024])];
  await bench.run((program) => addQkNormRope(program, { ...shape, x, y, scale }));
  const [actual] = await bench.read(y);
  assertClose(actual, qkNormRope(shape, data).y, expressionTolerance(2, 1), "y");
});

testOnEachLayout(
  "addQkNormRope() and its backward match the float64 reference with the last rows shifted",
  async (bench) => {
    for (const [ofKeys, numHeads, headDim] of [[1, 1, 16], [32, 2, 32], [64, 3, 64], [48, 1, 128]]) {
      for (const norm of [true, false]) {
        const sequenceLength = Math.min(16, ofKeys);
        const shape = { rows: 2 * ofKeys, numHeads, headDim, sequenceLength, norm };
        const half = ofKeys * numHeads * headDim;
        const [x, dy] = ["x", "dy"].map((label) => randomNormal(label, 2 * half));
        const previous = randomPrevious(ofKeys);
        const problem = { numHeads, headDim, previous };
        const extents = [2 * ofKeys, numHeads, headDim];
        const whole = qkNormRope(shape, x);
        const shift = { previous: bench.inputUint32("previous", [ofKeys], previous), rows: ofKeys };
        const inputs = { x: bench.input("x", extents, x), dy: bench.input("dy", extents, dy) };
        const known = bench.input("known scale", extents.slice(0, 2), whole.scale);
        const [y, dx] = ["y", "dx"].map((label) => bench.output(label, extents));
        const scale = bench.output("scale", extents.slice(0, 2));
        await bench.run((program) => {
          addQkNormRope(program, { ...shape, x: inputs.x, y, scale, shift });
          addQkNormRopeBackward(program, { ...shape, ...inputs, scale: known, dx, shift });
        });
        const [actualY, actualDx] = await bench.read(y, dx);
        const what = JSON.stringify(shape);
        const expected = whole.y.slice();
        expected.set(shiftKeys(problem, whole.y.slice(half)), half);
        assertClose(actualY, expected, tolerance(shape, largestOf(expected)), `y of ${what}`);
        const dRotated = dy.slice();
        dRotated.set(shiftKeysBackward(problem, dy.slice(half)), half);
        const gradient = qkNormRopeBackward(shape, x, dRotated);
        assertClose(actualDx, gradient, tolerance(shape, 2 * largestOf(gradient)), `dx of ${what}`);
        bench.clear();
      }
    }
  },
);

testOnEachDevice("addQkNormRope() rejects heads whose halves are not whole vec4s", (bench) => {
  const [x, y, scale] = ["x", "y", "scale"].map((label) => bench.gpu.tensor(label, [12]));
  const shape = { rows: 1, numHeads: 1, headDim: 12, sequenceLength: 1, norm: true };
  assertThrows(
    () => addQkNormRope(new Program(bench.registry, "refused"), { ...shape, x, y, scale }),
    KernelError,
    "headDim is 12, expected a positive multiple of 8",
  );
  return Promise.resolve();
});

Deno.test("qkNormRopeBackward() of the reference is the derivative of qkNormRope()", () => {
  for (const norm of [true, false]) {
    const shape = { numHeads: 2, headDim: 8, sequenceLength: 3, norm };
    checkGradient({
      inputs: { x: randomNormal("x", 6 * 2 * 8) },
      forward: ({ x }) => qkNormRope(shape, x).y,
      backward: ({ x }, dy) => ({ x: qkNormRopeBackward(shape, x, dy) }),
    });
  }
});

/** Rows, heads, D; a workgroup has 2048 elements. */
const SHIFTED_SIZES = [[1, 1, 16], [31, 2, 32], [32, 2, 32], [33, 3, 64], [65, 1, 128], [515, 4, 32]];
const EXACT = { relative: 0, absolute: 0 };

testOnEachDevice("addShiftKeys() matches the float64 reference", async (bench) => {
  for (const [rows, numHeads, headDim] of SHIFTED_SIZES) {
    const length = rows * numHeads * headDim;
    const shape = [rows, numHeads, headDim];
    const x = randomNormal("x", length);
    const earlier = randomNormal("earlier", 2 * length);
    const previous = randomPrevious(rows);
    const anywhere = randomIntegers("anywhere", rows, 2 * rows);
    const inputs = { rows, numHeads, headDim };
    const tensors = {
      x: bench.input("x", shape, x),
      earlier: bench.input("earlier", [2 * rows, numHeads, headDim], earlier),
      previous: bench.inputUint32("previous", [rows], previous),
      anywhere: bench.inputUint32("anywhere", [rows], anywhere),
    };
    const [own, other] = ["own", "other"].map((name) => bench.output(name, shape));
    await bench.run((program) => {
      const { x, earlier, previous, anywhere } = tensors;
      addShiftKeys(program, { ...inputs, x, earlier: x, previous, y: own });
      addShiftKeys(program, { ...inputs, x, earlier, previous: anywhere, y: other });
    });
    const results = await bench.read(own, other);
    const problem = { numHeads, headDim, previous };
    const label = shape.join(" x ");
    assertClose(results[0], shiftKeys(problem, x), EXACT, `y ${label}`);
    const expected = shiftKeys({ ...problem, previous: anywhere }, x, earlier);
    assertClose(results[1], expected, EXACT, `y of other rows ${label}`);
    bench.clear();
  }
});

Deno.test("shiftKeysBackward() of the reference is the derivative of shiftKeys()", () => {
  const problem = { numHeads: 2, headDim: 4, previous: [0, 0, 2, 2, 3, 5] };
  checkGradient({
    inputs: { x: randomNormal("x", 6 * 8) },
    forward: ({ x }) => shiftKeys(problem, x),
    backward: (_, dy) => ({ x: shiftKeysBackward(problem, dy) }),
  });
});

Deno.test("previousRows() stays within segments and sequences", () => {
  assertEquals([...previousRows([0, 0, 2, 2, 0, 0, 0, 3], 4)], [0, 0, 2, 2, 4, 4, 5, 7]);
});
