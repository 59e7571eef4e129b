import { assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import { type ActivationKind, addGemm, type GemmEpilogue, gemmVariants } from "../../lib/tensor/ops/gemm.ts";
import { Program } from "../../lib/tensor/program.ts";
import { ACTIVATION, ACTIVATION_SLOPE } from "../reference/layers.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { addTolerances, BUILT_IN_ULPS, expressionTolerance, TRIGONOMETRY_ABSOLUTE } from "../tolerances.ts";
import { assertClose, assertSameBits, randomNormal, testOnEachDevice } from "./support.ts";

const KINDS: ActivationKind[] = ["relu2", "gelu", "silu"];

/** Rows and columns around the tiles of 32, 64 and 128; the demo model's tokens of a sequence and its MLP. */
const SIZES = [[1, 4], [31, 28], [32, 32], [33, 36], [65, 68], [129, 132], [256, 512]];

/** relu2 has two roundings; the others a built-in, whose error their factor (below 20) scales. */
const tolerance = (kind: ActivationKind) =>
  kind === "relu2"
    ? expressionTolerance(3)
    : addTolerances(expressionTolerance(BUILT_IN_ULPS.exp + BUILT_IN_ULPS.division + 6), {
      relative: 0,
      absolute: kind === "gelu" ? 20 * TRIGONOMETRY_ABSOLUTE : 0,
    });

const slopeTolerance = (kind: ActivationKind) =>
  addTolerances(
    tolerance(kind),
    expressionTolerance(kind === "relu2" ? BUILT_IN_ULPS.sqrt : BUILT_IN_ULPS.exp, 5),
  );

/** The argument of an activation's slope: that of the activation, or of relu2 its value. */
const slopeInput = (kind: ActivationKind, u: Float64Array) =>
  kind === "relu2" ? Float64Array.from(u, (value) => Math.fround(ACTIVATION[kind](value))) : u;

/** The product of a matrix with the identity is the matrix itself, so what differs is the epilogue's doing. */
function identity(size: number): Float64Array {
  return Float64Array.from({ length: size * size }, (_, i) => Number(i % (size + 1) === 0));
}

testOnEachDevice("addGemm() puts its product through an activation and its slope", async (bench) => {
  const variants = gemmVariants(bench.gpu.info);
  for (const activation of KINDS) {
    for (const [m, n] of SIZES) {
      const [u, at] = [randomNormal("u", m * n, 3), randomNormal("at", m * n, 3)];
      const [a, slopeAt] = [
        bench.input("u", [m, n], u),
        bench.input("at", [m, n], slopeInput(activation, at)),
      ];
      const b = bench.input("identity", [n, n], identity(n));
      const outputs = variants.map(({ tile }) =>
        ["h", "h alone", "before", "du", "again"].map((label) => bench.output(`${label} ${tile}`, [m, n]))
      );
      await bench.run((program) =>
        variants.forEach((variant, i) => {
          const shape = { kind: "NN", m, n, k: n, a, b, variant } as const;
          const [h, alone, before, du, again] = outputs[i];
          addGemm(program, { ...shape, c: h, epilogue: { activation, before } });
          addGemm(program, { ...shape, c: alone, epilogue: { activation } });
          for (const c of [du, again]) addGemm(program, { ...shape, c, epilogue: { activation, slopeAt } });
        })
      );
      for (const [i, tensors] of outputs.entries()) {
        const where = `${activation} ${m} x ${n}, tile of ${variants[i].tile}`;
        const [h, alone, before, du, again] = await bench.read(...tensors);
        assertClose(h, u.map(ACTIVATION[activation]), tolerance(activation), `h ${where}`);
        assertSameBits(h, alone, `h alone ${where}`);
        assertSameBits(before, Float32Array.from(u), `before ${where}`);
        const expected = at.map((value, j) => u[j] * ACTIVATION_SLOPE[activation](value));
        assertClose(du, expected, slopeTolerance(activation), `du ${where}`);
        assertSameBits(du, again, `du ${where}`);
      }
      bench.clear();
    }
  }
});

testOnEachDevice("addGemm() activates what is large without overflow", async (bench) => {
  const u = Float64Array.from([-1e4, -100, 100, 1e4]);
  const [row, ones] = [bench.input("u", [1, 4], u), bench.input("ones", [1, 4], [1, 1, 1, 1])];
  const b = bench.input("identity", [4, 4], identity(4));
  for (const activation of KINDS) {
    const [h, du] = [bench.output("h", [1, 4]), bench.output("du", [1, 4])];
    const slopeAt = bench.input("at", [1, 4], slopeInput(activation, u));
    await bench.run((program) => {
      const shape = { kind: "NN", m: 1, n: 4, k: 4, b } as const;
      addGemm(program, { ...shape, a: row, c: h, epilogue: { activation } });
      addGemm(program, { ...shape, a: ones, c: du, epilogue: { activation, slopeAt } });
    });
    const [actualH, actualDu] = await bench.read(h, du);
    assertClose(actualH, u.map(ACTIVATION[activation]), tolerance(activation), `h ${activation}`);
    assertClose(
      actualDu,
      u.map(ACTIVATION_SLOPE[activation]),
      slopeTolerance(activation),
      `du ${activation}`,
    );
  }
});

testOnEachDevice("addGemm() refuses tensors that do not fit its activation", (bench) => {
  const program = new Program(bench.registry, "refused");
  const [a, b, c] = ["a", "b", "c"].map((label) => bench.gpu.tensor(label, [8, 8]));
  const small = bench.gpu.tensor("small", [8, 4]);
  const refuse = (epilogue: GemmEpilogue, message: string) =>
    assertThrows(
      () => addGemm(program, { kind: "NN", m: 8, n: 8, k: 8, a, b, c, epilogue }),
      KernelError,
      message,
    );
  refuse({ activation: "relu2", before: small }, "small");
  refuse({ activation: "relu2", slopeAt: small }, "expected 64 elements");
  refuse({ activation: "relu2", before: c }, "in the buffer of c");
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
