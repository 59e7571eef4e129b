import { assert, assertEquals, assertThrows } from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import { withHalfStorage } from "../../lib/tensor/registry.ts";
import { KERNEL_SOURCES } from "../../lib/tensor/kernels.ts";
import { addCopy } from "../../lib/tensor/ops/common.ts";
import { addSum } from "../../lib/tensor/ops/reduce.ts";
import { Program } from "../../lib/tensor/program.ts";
import { HALF_STORAGE } from "../tolerances.ts";
import { assertClose, randomNormal, testOnEachDevice } from "./support.ts";

const DECLARATIONS = `@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
`;

/** A body's text with y, or x and y, stored as f16. */
function changedBody(body: string, names = ["x", "y"]): string {
  const changed = withHalfStorage("k", DECLARATIONS + body, names);
  return changed.slice(
    changed.indexOf(";\n", changed.indexOf(" y:")) + 2,
    changed.indexOf("\nfn unpack_half"),
  );
}

Deno.test("withHalfStorage() changes reads, stores and sums, also within one another", () => {
  const cases = [
    ["let v = x[i];", "let v = unpack_half(x[i]);"],
    ["y[at[i / 8u] + i] = z[i] * s;", "y[at[i / 8u] + i] = pack_half(z[i] * s);"],
    ["y[i] = f(x[a[i]], y[i]);", "y[i] = pack_half(f(unpack_half(x[a[i]]), unpack_half(y[i])));"],
    ["y[i] += x[i] * 2f;", "y[i] = pack_half(unpack_half(y[i]) + (unpack_half(x[i]) * 2f));"],
    [
      "if (x[i].y == y[i].x) { y[i] = v; }",
      "if (unpack_half(x[i]).y == unpack_half(y[i]).x) { y[i] = pack_half(v); }",
    ],
    ["let x2 = ax[i] + params.x + (*p).y[i];", "let x2 = ax[i] + params.x + (*p).y[i];"],
    ["y[i] = x[i]; // y[i] = x[i]\ny[j] = v;", "y[i] = pack_half(unpack_half(x[i])); \ny[j] = pack_half(v);"],
  ];
  for (const [body, expected] of cases) assertEquals(changedBody(body), expected);
  assertEquals(changedBody("y[i] = x[i];", ["y"]), "y[i] = pack_half(x[i]);");
});

Deno.test("withHalfStorage() leaves a kernel without f16 bindings as it is", () => {
  const source = `${DECLARATIONS}// a comment`;
  assertEquals(withHalfStorage("k", source, []), source);
});

Deno.test("withHalfStorage() refuses other arrays, names and uses, with the line", () => {
  const refuse = (source: string, name: string, message: string, line?: number) => {
    const error = assertThrows(() => withHalfStorage("k", source, [name]), KernelError, message);
    assertEquals(error.line, line);
  };
  refuse(
    DECLARATIONS.replace("vec4f", "f32"),
    "x",
    "x is not an array of vec4f and cannot be bound to an f16 tensor",
  );
  refuse(DECLARATIONS, "z", "z is not an array of vec4f");
  refuse(`${DECLARATIONS}fn f() {\n  let x = 1f;\n}`, "x", "x is used in another way than x[i]", 4);
  refuse(`${DECLARATIONS}fn f() { return arrayLength(&y); }`, "y", "y is used in another way than y[i]", 3);
});

testOnEachDevice("every array of vec4f of every kernel can be f16", async ({ registry, gpu }) => {
  const prelude = `${gpu.info.enablesSubgroups ? "enable subgroups;" : ""}
const LANES = ${registry.lanes}u;
fn lane_sum(x: f32, lane: u32) -> f32 { return x; }
fn lane_max(x: f32, lane: u32) -> f32 { return x; }
`;
  let numChanged = 0;
  for (const [name, source] of Object.entries(KERNEL_SOURCES)) {
    const isPossible = gpu.info.subgroupSize !== undefined || !/subgroup[A-Z]/.test(source);
    const names = [...source.matchAll(/var<storage[^>]*>\s*(\w+)\s*:\s*array<vec4f>/g)].map(([, name]) =>
      name
    );
    if (!isPossible || names.length === 0) continue;
    gpu.device.pushErrorScope("validation");
    gpu.device.createShaderModule({ label: name, code: prelude + withHalfStorage(name, source, names) });
    const error = await gpu.device.popErrorScope();
    assertEquals(error?.message, undefined, name);
    numChanged++;
  }
  assert(numChanged > 15, `${numChanged} kernels`);
});

testOnEachDevice("a kernel reads and writes every finite f16", async (bench) => {
  const bits = Uint16Array.from({ length: 65536 }, (_, i) => i).filter((i) => (i & 0x7c00) !== 0x7c00);
  const all = Float32Array.from(new Float16Array(bits.buffer));
  const [x, length] = [bench.input("x", [all.length], all, "f16"), all.length];
  const [y, z] = [bench.output("y", [length]), bench.output("z", [length], undefined, "f16")];
  await bench.run((program) => {
    addCopy(program, { x, y, length });
    addCopy(program, { x: y, y: z, length });
  });
  for (const actual of await bench.read(y, z)) {
    // WGSL lets subnormal numbers be flushed to zero (15.7.2).
    const at = actual.findIndex((value, i) =>
      value !== all[i] && !(value === 0 && Math.abs(all[i]) < HALF_STORAGE.absolute)
    );
    assert(at < 0, `${actual[at]} instead of ${all[at]}`);
  }
});

testOnEachDevice("a kernel rounds to a neighbouring f16, and what is too large to NaN", async (bench) => {
  const around = [
    ...randomNormal("x", 1000),
    ...randomNormal("x", 1000, 1e-6),
    ...randomNormal("x", 1000, 1e3),
  ];
  const largest = [65504, -65504, 65503, -65503, 2 ** -24, 2 ** -25, 1e-38, 0];
  const beyond = [65504.01, -65504.01, 65520, 1e38, -1e38, Infinity, -Infinity, NaN];
  const data = Float64Array.from([...around, ...largest, ...beyond], Math.fround);
  const x = bench.input("x", [data.length], data);
  const y = bench.output("y", [data.length], undefined, "f16");
  await bench.run((program) => addCopy(program, { x, y, length: data.length }));
  const [actual] = await bench.read(y);
  const numKept = around.length + largest.length;
  assertClose(actual.slice(0, numKept), data.slice(0, numKept), HALF_STORAGE, "y");
  assertEquals(actual.slice(numKept), new Float32Array(beyond.length).fill(NaN));
});

testOnEachDevice("a kernel with f16 bindings is another one, made once", async ({ registry, gpu }) => {
  const [x, y] = ["x", "y"].map((label) => gpu.tensor(label, [4], "f16"));
  const z = gpu.tensor("z", [4]);
  const program = new Program(registry, "copies");
  for (const args of [{ x, y: z }, { x, y: z }, { x: z, y }, { x, y }, { x: z, y: gpu.tensor("w", [4]) }]) {
    addCopy(program, { ...args, length: 4 });
  }
  assertEquals(registry.numPipelines, 4);
  await registry.ready();
});

testOnEachDevice(
  "Program.add() refuses an f16 tensor where a kernel has f32 elements",
  ({ registry, gpu }) => {
    const [x, out] = [gpu.tensor("x", [8], "f16"), gpu.tensor("out", [1], "f16")];
    assertThrows(
      () => addSum(new Program(registry, "refused"), { x, length: 8, out }),
      KernelError,
      "kernel reduce_partials: partials is not an array of vec4f and cannot be bound to an f16 tensor",
    );
    return Promise.resolve();
  },
);
