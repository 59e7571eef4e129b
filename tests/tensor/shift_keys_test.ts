import { assertEquals } from "@std/assert";
import { addShiftKeys, previousRows } from "../../lib/tensor/ops/qk_norm_rope.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { shiftKeys, shiftKeysBackward } from "../reference/shift_keys.ts";
import { assertClose, randomIntegers, randomNormal, randomPrevious, testOnEachDevice } from "./support.ts";

/** Rows, heads, D; a workgroup has 2048 elements. */
const SIZES = [[1, 1, 16], [31, 2, 32], [32, 2, 32], [33, 3, 64], [65, 1, 128], [515, 4, 32]];
const EXACT = { relative: 0, absolute: 0 };

testOnEachDevice("addShiftKeys() equals the float64 reference", async (bench) => {
  for (const [rows, numHeads, headDim] of SIZES) {
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
