import { assertEquals, assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import {
  type ActivationKind,
  addGemm,
  type GemmEpilogue,
  type GemmKind,
  gemmSplits,
  gemmVariant,
  gemmVariants,
} from "../../lib/tensor/ops/gemm.ts";
import { Program } from "../../lib/tensor/program.ts";
import type { DType, Tensor } from "../../lib/tensor/tensor.ts";
import { checkGradient } from "../reference/check_gradient.ts";
import { gemm, gemmBackward, type GemmShape } from "../reference/gemm.ts";
import {
  addTolerances,
  BUILT_IN_ULPS,
  expressionTolerance,
  sumTolerance,
  TRIGONOMETRY_ABSOLUTE,
} from "../tolerances.ts";
import {
  assertClose,
  assertSameBits,
  KernelBench,
  largestOf,
  randomIn,
  randomNormal,
  storedIn,
  testOnEachDevice,
  testOnEachLayout,
} from "./support.ts";
import { ACTIVATION, ACTIVATION_SLOPE } from "../reference/layers.ts";

const KINDS: GemmKind[] = ["NN", "NT", "TN"];

/**
 * m, n, k around the tiles of 32, 64 and 128 rows and columns and 16, 32 and 64 steps of k; one from the demo
 * model; the multiples of 8 also suit matrix units.
 */
const SIZES = [
  [8, 8, 8],
  [72, 136, 40],
  [200, 72, 264],
  [1, 4, 4],
  [31, 28, 20],
  [32, 32, 16],
  [33, 36, 12],
  [63, 60, 4],
  [65, 68, 36],
  [129, 132, 40],
  [7, 268, 128],
  [256, 128, 512],
];

/** Rounds to multiples of 4 where the kind requires them. */
function shapeOf(kind: GemmKind, [m, n, k]: number[]): GemmShape {
  return kind === "TN" ? { kind, m: Math.ceil(m / 4) * 4, n, k: k - 1 } : { kind, m, n, k };
}

function operands(bench: KernelBench, { m, n, k, kind }: GemmShape) {
  const [a, b] = [randomIn("f16", "a", m * k), randomIn("f16", "b", k * n)];
  return {
    a,
    b,
    tensorA: bench.input("a", kind === "TN" ? [k, m] : [m, k], a),
    tensorB: bench.input("b", kind === "NT" ? [n, k] : [k, n], b),
  };
}

/** The largest sum of |a b| over the outputs of a product of standard normal numbers, with a margin. */
const magnitude = (k: number) => k + 4 * Math.sqrt(k) + 4;

type GemmArgs = Parameters<typeof addGemm>[1];

/**
 * Computes a product by each variant that suits it.
 *
 * @param length Number of elements of C (m n).
 * @param before Initial content of C (default: NaN).
 * @returns Kernel and tile, and the output; variants of one kernel have written the same bits.
 */
async function byEachVariant(
  bench: KernelBench,
  args: Omit<GemmArgs, "c" | "variant">,
  { length = args.m * args.n, before }: { length?: number; before?: Float64Array } = {},
): Promise<[name: string, actual: Float32Array][]> {
  const variants = gemmVariants(bench.gpu.info, args)
    .filter(({ kernel }) => (args.splits ?? 1) === 1 || kernel !== "gemm_subgroup8");
  const outputs = variants.map(({ kernel, tile }) => bench.output(`${kernel} ${tile}`, [length], before));
  await bench.run((program) =>
    variants.forEach((variant, i) => addGemm(program, { ...args, c: outputs[i], variant }))
  );
  const written = await bench.read(...outputs);
  variants.forEach(({ kernel }, i) => {
    const first = variants.findIndex((other) => other.kernel === kernel);
    assertSameBits(written[i], written[first], `${outputs[i].label} of ${args.kind} ${args.m} x ${args.n}`);
  });
  return written.map((actual, i) => [outputs[i].label, actual]);
}

testOnEachDevice(
  "addGemm() matches the float64 product for every kind and size, with the same bits from each variant of a kernel",
  async (bench) => {
    for (const kind of KINDS) {
      for (const size of SIZES) {
        const shape = shapeOf(kind, size);
        const { a, b, tensorA, tensorB } = operands(bench, shape);
        const expected = gemm(shape, a, b);
        const tolerance = sumTolerance(shape.k, magnitude(shape.k));
        for (const [name, actual] of await byEachVariant(bench, { ...shape, a: tensorA, b: tensorB })) {
          assertClose(actual, expected, tolerance, `${kind} ${size} of ${name}`);
        }
        bench.clear();
      }
    }
  },
);

testOnEachDevice("addGemm() accumulates into C or adds a matrix", async (bench) => {
  for (const kind of KINDS) {
    const shape = shapeOf(kind, [37, 44, 24]);
    const { m, n, k } = shape;
    const { a, b, tensorA, tensorB } = operands(bench, shape);
    const before = randomNormal("before", m * n);
    const expected = gemm(shape, a, b).map((value, i) => value + before[i]);
    const addend = bench.input("addend", [m, n], before);
    const cases: [Tensor, GemmEpilogue][] = [
      [bench.output("accumulated", [m, n], before), "accumulate"],
      [bench.output("sum", [m, n]), { add: addend }],
    ];
    for (const [c, epilogue] of cases) {
      await bench.run((program) => addGemm(program, { ...shape, a: tensorA, b: tensorB, c, epilogue }));
      const [actual] = await bench.read(c);
      assertClose(actual, expected, sumTolerance(k + 1, magnitude(k) + 5), `${kind} ${c.label}`);
    }
  }
});

testOnEachDevice("addGemm() stores a symmetric product on both sides of the diagonal", async (bench) => {
  for (const kind of ["NT", "TN"] as const) {
    for (const size of [4, 32, 68, 72, 132, 136, 264]) {
      const shape = { kind, m: size, n: size, k: 40 };
      const a = randomIn("f16", "a", size * shape.k);
      const tensor = bench.input("a", kind === "TN" ? [shape.k, size] : [size, shape.k], a);
      const variants = gemmVariants(bench.gpu.info, shape);
      const outputs = variants.map(({ tile }) => bench.output(`symmetric by ${tile}`, [size, size]));
      const whole = bench.output("whole", [size, size]);
      await bench.run((program) => {
        addGemm(program, { ...shape, a: tensor, b: tensor, c: whole, variant: variants[0] });
        variants.forEach((variant, i) =>
          addGemm(program, { ...shape, a: tensor, b: tensor, c: outputs[i], variant, symmetric: true })
        );
      });
      const expected = gemm(shape, a, a);
      const [bits, ...read] = await bench.read(whole, ...outputs);
      read.forEach((actual, i) => {
        const what = `${kind} of ${size} by ${outputs[i].label}`;
        assertClose(actual, expected, sumTolerance(shape.k, magnitude(shape.k)), what);
        if (i === 0) assertSameBits(actual, bits, what);
      });
      bench.clear();
    }
  }
});

testOnEachDevice("addGemm() computes Muon's polynomial of a Gram matrix", async (bench) => {
  const [size, batch] = [72, 2];
  const shape: GemmShape = { kind: "NN", m: size, n: size, k: size };
  const factors = randomNormal("x", batch * size * 24);
  const grams = Array.from({ length: batch }, (_, z) => {
    const x = factors.subarray(z * size * 24, (z + 1) * size * 24).map((value) => value / 8);
    return gemm({ kind: "NT", m: size, n: size, k: 24 }, x, x).map(Math.f16round);
  });
  const gram = bench.input("gram", [batch, size, size], grams.flatMap((values) => [...values]));
  const expected = grams.flatMap((values) => {
    const squared = gemm(shape, values, values);
    const diagonal = (i: number) => i % (size + 1) === 0 ? 3.4445 : 0;
    return [...values].map((value, i) => diagonal(i) - 4.775 * value + 2.0315 * squared[i]);
  });
  const args = { ...shape, a: gram, b: gram, epilogue: { gram }, batch, symmetric: true };
  for (const [name, actual] of await byEachVariant(bench, args, { length: batch * size * size })) {
    assertClose(actual, expected, sumTolerance(size + 2, 8), name);
  }
});

testOnEachDevice("addGemm() multiplies each pair of matrices in a batch", async (bench) => {
  const batch = 3;
  for (const kind of KINDS) {
    const shape = shapeOf(kind, [72, 40, 24]);
    const { m, n, k } = shape;
    const [a, b] = [randomIn("f16", "stack a", batch * m * k), randomIn("f16", "stack b", batch * k * n)];
    const tensors = {
      a: bench.input("stack a", [batch, m * k], a),
      b: bench.input("stack b", [batch, k * n], b),
    };
    const addend = randomNormal("stack d", batch * m * n);
    const add = bench.input("stack d", [batch, m * n], addend);
    const args = { ...shape, ...tensors, batch, epilogue: { add } };
    for (const [name, actual] of await byEachVariant(bench, args, { length: batch * m * n })) {
      for (let z = 0; z < batch; z++) {
        const product = gemm(
          shape,
          a.subarray(z * m * k, (z + 1) * m * k),
          b.subarray(z * k * n, (z + 1) * k * n),
        );
        const expected = product.map((value, i) => value + addend[z * m * n + i]);
        const part = actual.subarray(z * m * n, (z + 1) * m * n);
        assertClose(part, expected, sumTolerance(k + 1, magnitude(k) + 5), `${kind} matrix ${z} of ${name}`);
      }
    }
    bench.clear();
  }
});

testOnEachDevice(
  "addGemm() multiplies several matrices at given strides by one, with and without splits",
  async (bench) => {
    const shape: GemmShape = { kind: "TN", m: 40, n: 24, k: 80 };
    const { m, n, k } = shape;
    const [a, b] = [randomIn("f16", "a", 2 * m * k), randomIn("f16", "b", k * n)];
    const strides = { a: m * k, b: 0, c: m * n + 64 };
    const tensors = { a: bench.input("a", [2 * m * k], a), b: bench.input("b", [k, n], b) };
    const before = randomNormal("before", strides.c + m * n);
    const expected = before.slice();
    for (const z of [0, 1]) {
      const product = gemm(shape, a.subarray(z * m * k, (z + 1) * m * k), b);
      product.forEach((value, i) => expected[z * strides.c + i] += value);
    }
    const tolerance = sumTolerance(k + 3, magnitude(k) + 5);
    for (const splits of [1, 2]) {
      const args = { ...shape, ...tensors, batch: 2, strides, splits, epilogue: "accumulate" } as const;
      for (const [name, actual] of await byEachVariant(bench, args, { length: before.length, before })) {
        assertClose(actual, expected, tolerance, `${splits} splits of ${name}`);
      }
    }
  },
);

testOnEachDevice("addGemm() sums the products of several terms", async (bench) => {
  for (const kind of KINDS) {
    const shape = { kind, m: 72, n: 40, k: 64, terms: 3 };
    const { m, n, k } = shape;
    const strides = { a: m * k + 64, b: k * n };
    const [a, b] = [randomIn("f16", "a", 2 * strides.a + m * k), randomIn("f16", "b", 3 * k * n)];
    const tensors = { a: bench.input("a", [a.length], a), b: bench.input("b", [b.length], b) };
    const products = [0, 1, 2].map((i) => gemm(shape, a.subarray(i * strides.a), b.subarray(i * strides.b)));
    const expected = products[0].map((value, i) => value + products[1][i] + products[2][i]);
    const tolerance = sumTolerance(3 * k, magnitude(3 * k));
    for (const [name, actual] of await byEachVariant(bench, { ...shape, ...tensors, strides })) {
      assertClose(actual, expected, tolerance, `${kind} ${name}`);
    }
    bench.clear();
  }
});

testOnEachDevice("addGemm() updates each matrix of a batch by its factors", async (bench) => {
  const shape = { kind: "NN", m: 36, n: 24, k: 16 } as const;
  const { m, n, k } = shape;
  const [a, b, c] = [["a", m * k], ["b", k * n], ["c", m * n]].map(([label, length]) =>
    randomIn("f16", `${label}`, 2 * Number(length))
  );
  const tensors = { a: bench.input("a", [2, m * k], a), b: bench.input("b", [2, k * n], b) };
  const factors = bench.input("factors", [3, 4], [9, 9, 9, 9, 9, 0.5, 2, 9, 9, 1, 0, 9]);
  const product = gemm(shape, a.subarray(0, m * k), b.subarray(0, k * n));
  const expected = c.map((value, i) => i < m * n ? 0.5 * value - 2 * product[i] : value);
  const tolerance = sumTolerance(k + 2, 2 * magnitude(k) + 5);
  const args = { ...shape, ...tensors, batch: 2, epilogue: { factors, first: 1 } };
  for (const [name, actual] of await byEachVariant(bench, args, { length: c.length, before: c })) {
    assertClose(actual, expected, tolerance, name);
  }
});

testOnEachLayout("addGemm() sums the splits of k in order, stored or accumulated", async (bench) => {
  const sizes = [[[64, 68, 33], 2], [[36, 44, 200], 5], [[72, 40, 1100], 5], [[8, 4, 1000], 16]] as const;
  for (const [[m, n, k], splits] of sizes) {
    const shape: GemmShape = { kind: "TN", m, n, k };
    const { a, b, tensorA, tensorB } = operands(bench, shape);
    const before = randomNormal("before", m * n);
    const args = { ...shape, a: tensorA, b: tensorB, splits };
    const expected = gemm(shape, a, b);
    const tolerance = sumTolerance(k + splits + 1, magnitude(k) + 5);
    const stored = await byEachVariant(bench, args);
    const again = await byEachVariant(bench, args);
    stored.forEach(([name, actual], i) => {
      assertClose(actual, expected, tolerance, `${name}, ${splits} splits`);
      assertSameBits(actual, again[i][1], name);
    });
    const summed = expected.map((value, i) => value + before[i]);
    for (const [name, sum] of await byEachVariant(bench, { ...args, epilogue: "accumulate" }, { before })) {
      assertClose(sum, summed, tolerance, `accumulated ${name}`);
    }
    bench.clear();
  }
});

Deno.test("gemmSplits() splits the gradients of small weights on a GPU, by shape alone", () => {
  const gpu = { isSoftware: false };
  const gradient = { kind: "TN", m: 640, n: 640, k: 16384 } as const;
  assertEquals(gemmSplits(gpu, gradient, 16), 16);
  assertEquals(gemmSplits(gpu, { ...gradient, m: 2560 }, 16), 5);
  assertEquals(gemmSplits(gpu, { ...gradient, m: 128, n: 128, k: 512 }, 16), 8);
  assertEquals(gemmSplits(gpu, { ...gradient, m: 6144, n: 1536 }, 16), 1);
  assertEquals(gemmSplits(gpu, { ...gradient, kind: "NT" }, 16), 1);
  assertEquals(gemmSplits({ isSoftware: true }, gradient, 16), 1);
  // Fewer if the steps of a split are rounded up.
  assertEquals(gemmSplits(gpu, { ...gradient, k: 1000 }, 16), 13);
  assertEquals(gemmSplits(gpu, { ...gradient, k: 1000 }, 64), 8);
});

/** The dtypes of A, B and C: for a block's products, for an f32 C (or added matrix), for an f32 A. */
const PRODUCTS: [GemmKind, DType, DType, DType][] = [
  ["NT", "f16", "f16", "f16"],
  ["NT", "f16", "f16", "f32"],
  ["NN", "f16", "f16", "f16"],
  ["NN", "f32", "f16", "f16"],
  ["TN", "f16", "f16", "f32"],
  ["TN", "f32", "f16", "f32"],
];

/** m, n, k around the tiles of 32 and 64 rows and columns and 16 steps of k; m is a multiple of 4 for TN. */
const HALF_SIZES = [[4, 4, 4], [8, 8, 8], [32, 28, 20], [36, 36, 12], [64, 68, 36], [136, 32, 64], [
  200,
  136,
  72,
]];

testOnEachDevice("addGemm() matches the float64 product for f16 tensors", async (bench) => {
  for (const [i, [kind, dtypeA, dtypeB, dtypeC]] of PRODUCTS.entries()) {
    for (const [m, n, k] of HALF_SIZES) {
      const [a, b] = [randomIn("f16", "a", m * k), randomIn("f16", "b", k * n)];
      const tensors = { a: bench.input("a", [m * k], a, dtypeA), b: bench.input("b", [k * n], b, dtypeB) };
      // The model's kernel and, for one product, the others.
      const [variant, ...others] = gemmVariants(bench.gpu.info, { kind, m, n, k });
      const variants = [variant, variant, ...(i === 0 ? others : [])];
      const outputs = variants.map(({ tile }) => bench.output(`tile ${tile}`, [m * n], undefined, dtypeC));
      await bench.run((program) =>
        variants.forEach((variant, j) =>
          addGemm(program, { kind, m, n, k, ...tensors, c: outputs[j], variant })
        )
      );
      const results = await bench.read(...outputs);
      const expected = gemm({ kind, m, n, k }, a, b);
      const tolerance = storedIn(dtypeC, sumTolerance(k, magnitude(k)));
      for (const actual of results) assertClose(actual, expected, tolerance, `${kind} ${[m, n, k]}`);
      assertSameBits(results[0], results[1], kind);
      bench.clear();
    }
  }
});

/**
 * The lost parts of |a b|: of each operand what two f16 cannot represent, and the product of the low parts.
 * WGSL lets `pack2x16float` round either way (17.9.4), so a low part may be near 2^-10 of its operand.
 */
const SPLIT_ERROR = 2 ** -21 + 2 ** -21 + 2 ** -20;
/** All numbers are below 2^3. WGSL lets f16 below 2^-14 be 0; low parts of numbers near 2^8 are larger. */
const SPLIT_EXPONENT = 12;

testOnEachDevice(
  "addGemm() keeps 20 bits of f32 operands that matrix units split",
  async (bench) => {
    for (const kind of KINDS) {
      for (const [[m, n, k], shift] of [[[72, 136, 200], 5], [[8, 16, 24], -3]] as const) {
        const exponents = { a: SPLIT_EXPONENT + shift, b: SPLIT_EXPONENT - shift };
        const [a, b] = [randomNormal("a", m * k, 2 ** -shift), randomNormal("b", k * n, 2 ** shift)];
        const tensors = { a: bench.input("a", [m * k], a), b: bench.input("b", [k * n], b) };
        const c = bench.output("c", [m, n]);
        await bench.run((program) => addGemm(program, { kind, m, n, k, ...tensors, c, exponents }));
        const [actual] = await bench.read(c);
        const tolerance = addTolerances(sumTolerance(k, magnitude(k)), {
          relative: 0,
          absolute: SPLIT_ERROR * magnitude(k),
        });
        assertClose(actual, gemm({ kind, m, n, k }, a, b), tolerance, kind);
        bench.clear();
      }
    }
  },
);

testOnEachDevice("addGemm() applies its epilogues to f16 tensors", async (bench) => {
  const [m, n, k] = [33, 40, 24];
  const [a, b, d] = [randomIn("f16", "a", m * k), randomIn("f16", "b", n * k), randomIn("f16", "d", m * n)];
  const [tensorA, tensorB] = [bench.input("a", [m, k], a, "f16"), bench.input("b", [n, k], b, "f16")];
  const product = gemm({ kind: "NT", m, n, k }, a, b);
  const [added, slopeAt] = [bench.input("added", [m, n], d), bench.input("slopeAt", [m, n], d, "f16")];
  const before = bench.output("before", [m, n], undefined, "f16");
  const square = (x: number) => Math.max(x, 0) ** 2;
  const cases: [string, DType, GemmEpilogue, (p: number, i: number) => number][] = [
    ["accumulated", "f16", "accumulate", (p, i) => d[i] + p],
    ["sum", "f32", { add: added }, (p, i) => d[i] + p],
    ["activated", "f16", { activation: "relu2", before }, square],
    ["slope", "f16", { activation: "relu2", slopeAt }, (p, i) => p * 2 * Math.sqrt(Math.max(d[i], 0))],
  ];
  const outputs = cases.map(([label, dtype, epilogue]) =>
    bench.output(label, [m, n], epilogue === "accumulate" ? d : undefined, dtype)
  );
  await bench.run((program) =>
    cases.forEach(([, , epilogue], i) =>
      addGemm(program, { kind: "NT", m, n, k, a: tensorA, b: tensorB, c: outputs[i], epilogue })
    )
  );
  const sum = sumTolerance(k + 1, magnitude(k));
  // relu^2 and its slope have a derivative of at most twice the largest product, or twice the largest d.
  const steepest = 2 * Math.max(largestOf(product), largestOf(d));
  const tolerance = { relative: sum.relative, absolute: sum.absolute * steepest };
  (await bench.read(...outputs)).forEach((actual, i) => {
    const [label, dtype, , f] = cases[i];
    assertClose(actual, product.map(f), storedIn(dtype, tolerance), label);
  });
  const [kept] = await bench.read(before);
  assertClose(kept, product, storedIn("f16", sum), "before");
});

testOnEachDevice("addGemm() confines NaN to its row", async (bench) => {
  const [m, n, k] = [6, 8, 8];
  const a = randomNormal("a", m * k);
  a.fill(NaN, 5 * k);
  const c = bench.output("c", [m, n]);
  const tensors = {
    a: bench.input("a", [m, k], a),
    b: bench.input("b", [n, k], randomNormal("b", n * k)),
    c,
  };
  await bench.run((program) => addGemm(program, { kind: "NT", m, n, k, ...tensors }));
  const [actual] = await bench.read(c);
  assertEquals([...actual].map(Number.isNaN), [...actual.keys()].map((i) => i >= 5 * n));
});

testOnEachDevice("addGemm() rejects unsupported sizes and mismatched tensors", (bench) => {
  const program = new Program(bench.registry, "refused");
  const [a, b, c] = ["a", "b", "c"].map((label) => bench.gpu.tensor(label, [8, 8]));
  const refuse = (kind: GemmKind, m: number, n: number, k: number, message: string) =>
    assertThrows(() => addGemm(program, { kind, m, n, k, a, b, c }), KernelError, message);
  refuse("NN", 8, 6, 8, "n is 6, expected a positive multiple of 4");
  refuse("NT", 8, 8, 6, "k is 6");
  refuse("TN", 6, 8, 8, "m is 6");
  refuse("NN", 0, 8, 8, "the length is 0, expected at least 1");
  refuse("NN", 12, 8, 8, "a (tensor a) has the shape [8,8], expected 96 elements");
  for (const splits of [2, 9]) {
    const shape = { kind: "TN", m: 8, n: 8, k: 8 } as const;
    const [variant] = gemmVariants(bench.gpu.info, shape).slice(splits === 2 ? 0 : -1);
    assertThrows(
      () => addGemm(program, { ...shape, a, b, c, variant, splits }),
      KernelError,
      `cannot divide k into ${splits} splits`,
    );
  }
  assertThrows(
    () => addGemm(program, { kind: "NN", m: 8, n: 8, k: 8, a, b, c, epilogue: { add: c } }),
    KernelError,
    'to add to c use "accumulate"',
  );
  assertThrows(
    () => addGemm(program, { kind: "NN", m: 4, n: 8, k: 8, a, b, c, symmetric: true }),
    KernelError,
    "4 x 8 cannot be symmetric",
  );
  return Promise.resolve();
});

Deno.test("gemmVariant() chooses by adapter, shape and operand storage", () => {
  const shape = { kind: "NT", m: 64, n: 64, k: 64 } as const;
  const large = { ...shape, m: 8192, n: 4096 };
  const kernelOf = (
    lanes: number | undefined,
    isSoftware: boolean,
    byMatrices?: "half" | "split",
    of: GemmShape = shape,
  ) => {
    const matrix = byMatrices && { side: 16, lanes: 32 };
    const { kernel, tile } = gemmVariant({ subgroupSize: lanes, isSoftware, matrix }, of, byMatrices);
    return `${kernel} ${tile}`;
  };
  assertEquals(kernelOf(8, true), "gemm_subgroup8 32");
  assertEquals(kernelOf(32, false), "gemm_tiled 64");
  assertEquals(kernelOf(undefined, false, undefined, large), "gemm_tiled 128");
  assertEquals(kernelOf(undefined, true, undefined, large), "gemm_tiled 64");
  assertEquals(kernelOf(32, false, "half"), "gemm_matrix 128");
  assertEquals(kernelOf(32, false, "split"), "gemm_matrix 128");
  assertEquals(kernelOf(32, false, "half", { ...shape, k: 60 }), "gemm_tiled 64");
  assertEquals(gemmVariant({ subgroupSize: 32, isSoftware: false }, shape, "half").kernel, "gemm_tiled");
});

Deno.test("gemmBackward() of the reference is the derivative of gemm()", () => {
  for (const kind of KINDS) {
    const shape: GemmShape = { kind, m: 3, n: 4, k: 5 };
    checkGradient({
      inputs: { a: randomNormal("a", 15), b: randomNormal("b", 20) },
      forward: ({ a, b }) => gemm(shape, a, b),
      backward: ({ a, b }, dC) => gemmBackward(shape, a, b, dC),
    });
  }
});

const ACTIVATIONS: ActivationKind[] = ["relu2", "gelu", "silu"];

/** Rows and columns around the tiles of 32, 64 and 128. */
const ACTIVATED_SIZES = [[1, 4], [31, 28], [32, 32], [33, 36], [65, 68], [72, 72], [129, 132]];

/** relu2 has two roundings; the others use a built-in, whose error is scaled by a factor below 20. */
const activationTolerance = (kind: ActivationKind) =>
  kind === "relu2"
    ? expressionTolerance(3)
    : addTolerances(expressionTolerance(BUILT_IN_ULPS.exp + BUILT_IN_ULPS.division + 6), {
      relative: 0,
      absolute: kind === "gelu" ? 20 * TRIGONOMETRY_ABSOLUTE : 0,
    });

const slopeTolerance = (kind: ActivationKind) =>
  addTolerances(
    activationTolerance(kind),
    expressionTolerance(kind === "relu2" ? BUILT_IN_ULPS.sqrt : BUILT_IN_ULPS.exp, 5),
  );

/** The argument of an activation's slope: the activation's argument or, for relu2, its value. */
const slopeInput = (kind: ActivationKind, u: Float64Array) =>
  kind === "relu2" ? Float64Array.from(u, (value) => Math.fround(ACTIVATION[kind](value))) : u;

/** A product with the identity is the matrix itself, so any difference comes from the epilogue. */
function identity(size: number): Float64Array {
  return Float64Array.from({ length: size * size }, (_, i) => Number(i % (size + 1) === 0));
}

testOnEachDevice("addGemm() applies an activation or its slope to the product", async (bench) => {
  for (const activation of ACTIVATIONS) {
    for (const [m, n] of ACTIVATED_SIZES) {
      const variants = gemmVariants(bench.gpu.info, { kind: "NN", m, n, k: n });
      const [u, at] = [randomNormal("u", m * n, 3).map(Math.f16round), randomNormal("at", m * n, 3)];
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
        assertClose(h, u.map(ACTIVATION[activation]), activationTolerance(activation), `h ${where}`);
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

testOnEachDevice("addGemm() activates large values without overflow", async (bench) => {
  const u = Float64Array.from([-1e4, -100, 100, 1e4]);
  const [row, ones] = [bench.input("u", [1, 4], u), bench.input("ones", [1, 4], [1, 1, 1, 1])];
  const b = bench.input("identity", [4, 4], identity(4));
  for (const activation of ACTIVATIONS) {
    const [h, du] = [bench.output("h", [1, 4]), bench.output("du", [1, 4])];
    const slopeAt = bench.input("at", [1, 4], slopeInput(activation, u));
    await bench.run((program) => {
      const shape = { kind: "NN", m: 1, n: 4, k: 4, b } as const;
      addGemm(program, { ...shape, a: row, c: h, epilogue: { activation } });
      addGemm(program, { ...shape, a: ones, c: du, epilogue: { activation, slopeAt } });
    });
    const [actualH, actualDu] = await bench.read(h, du);
    assertClose(actualH, u.map(ACTIVATION[activation]), activationTolerance(activation), `h ${activation}`);
    assertClose(
      actualDu,
      u.map(ACTIVATION_SLOPE[activation]),
      slopeTolerance(activation),
      `du ${activation}`,
    );
  }
});

testOnEachDevice("addGemm() rejects tensors that do not fit the activation", (bench) => {
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
  for (const kind of ACTIVATIONS) {
    checkGradient({
      inputs: { u: randomNormal("u", 32, 2) },
      forward: ({ u }) => u.map(ACTIVATION[kind]),
      backward: ({ u }, dh) => ({ u: u.map((value, i) => dh[i] * ACTIVATION_SLOPE[kind](value)) }),
    });
  }
});
