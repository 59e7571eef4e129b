import { assertThrows } from "@std/assert";
import { KernelError } from "../../lib/errors.ts";
import { type ActivationKind, addActivation, addActivationBackward } from "../../lib/gpu/ops/activation.ts";
import { Program } from "../../lib/gpu/program.ts";
import { ACTIVATION, ACTIVATION_SLOPE } from "../reference/activation.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { addTolerances, BUILT_IN_ULPS, expressionTolerance, TRIGONOMETRY_ABSOLUTE } from "../tolerances.ts";
import { assertClose, assertSameBits, randomNormal, testOnEachDevice } from "./support.ts";

const KINDS: ActivationKind[] = ["relu2", "gelu", "silu"];

/** A thread has a vec4, a workgroup 64 threads, 8 times each: 2048 elements. */
const LENGTHS = [4, 252, 256, 260, 2044, 2048, 2052, 6148, 2048 * 512];

/** relu2 has two roundings; the others a built-in, whose error their factor (below 20) scales. */
const tolerance = (kind: ActivationKind) =>
  kind === "relu2"
    ? expressionTolerance(3)
    : addTolerances(expressionTolerance(BUILT_IN_ULPS.exp + BUILT_IN_ULPS.division + 6), {
      relative: 0,
      absolute: kind === "gelu" ? 20 * TRIGONOMETRY_ABSOLUTE : 0,
    });

testOnEachDevice("addActivation() and its backward equal the float64 reference", async (bench) => {
  for (const kind of KINDS) {
    for (const length of LENGTHS) {
      const [u, dh] = [randomNormal("u", length, 3), randomNormal("dh", length)];
      const [inputU, inputDh] = [bench.input("u", [length], u), bench.input("dh", [length], dh)];
      const [h, du, again] = ["h", "du", "again"].map((label) => bench.output(label, [length]));
      await bench.run((program) => {
        addActivation(program, { kind, u: inputU, h, length });
        addActivationBackward(program, { kind, u: inputU, dh: inputDh, du, length });
        addActivationBackward(program, { kind, u: inputU, dh: inputDh, du: again, length });
      });
      const [actualH, actualDu, repeated] = await bench.read(h, du, again);
      assertClose(actualH, u.map(ACTIVATION[kind]), tolerance(kind), `h ${kind} ${length}`);
      const expected = u.map((value, i) => dh[i] * ACTIVATION_SLOPE[kind](value));
      const slopeTolerance = addTolerances(tolerance(kind), expressionTolerance(BUILT_IN_ULPS.exp, 5));
      assertClose(actualDu, expected, slopeTolerance, `du ${kind} ${length}`);
      assertSameBits(actualDu, repeated, `du ${kind}`);
      bench.clear();
    }
  }
});

testOnEachDevice("addActivation() is finite for large arguments", async (bench) => {
  const u = Float64Array.from([-1e4, -100, 100, 1e4]);
  for (const kind of KINDS) {
    const [h, du] = [bench.output("h", [4]), bench.output("du", [4])];
    const [inputU, dh] = [bench.input("u", [4], u), bench.input("dh", [4], [1, 1, 1, 1])];
    await bench.run((program) => {
      addActivation(program, { kind, u: inputU, h, length: 4 });
      addActivationBackward(program, { kind, u: inputU, dh, du, length: 4 });
    });
    const [actualH, actualDu] = await bench.read(h, du);
    assertClose(actualH, u.map(ACTIVATION[kind]), tolerance(kind), `h ${kind}`);
    assertClose(actualDu, u.map(ACTIVATION_SLOPE[kind]), tolerance(kind), `du ${kind}`);
  }
});

testOnEachDevice("addActivation() refuses a length that is no multiple of 4", (bench) => {
  const [u, h] = ["u", "h"].map((label) => bench.gpu.tensor(label, [8]));
  const program = new Program(bench.registry, "refused");
  const add = (length: number) => addActivation(program, { kind: "relu2", u, h, length });
  assertThrows(() => add(6), KernelError, "length is 6, a positive multiple of 4 was wanted");
  assertThrows(() => add(12), KernelError, "12 elements were wanted");
  return Promise.resolve();
});

Deno.test("ACTIVATION_SLOPE of the reference is the derivative of ACTIVATION", () => {
  for (const kind of KINDS) {
    checkGradient({
      inputs: { u: randomNormal("u", 32, 2) },
      forward: ({ u }) => u.map(ACTIVATION[kind]),
      backward: ({ u }, dh) => ({ u: u.map((value, i) => dh[i] * ACTIVATION_SLOPE[kind](value)) }),
    });
  }
});
