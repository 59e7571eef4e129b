import {
  assert,
  assertEquals,
  assertGreater,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { KernelError } from "../../lib/base/errors.ts";
import { Gpu } from "../../lib/tensor/device.ts";
import { KernelRegistry, withHalfStorage } from "../../lib/tensor/registry.ts";
import { KERNEL_SOURCES, type KernelName, parseKernel } from "../../lib/tensor/kernels.ts";
import { Program } from "../../lib/tensor/program.ts";
import { testOnEachDevice } from "./support.ts";

const HEAD_DIMS = [{ HEAD_DIM: 64 }, { HEAD_DIM: 128 }];

/** Values to compile besides the defaults; of a `bool` override both values are compiled anyway. */
const VARIANTS: Partial<Record<KernelName, Record<string, number>[]>> = {
  attention_backward_key_subgroup8: HEAD_DIMS,
  attention_backward_key_tiled: HEAD_DIMS,
  attention_backward_query_subgroup8: HEAD_DIMS,
  attention_backward_query_tiled: HEAD_DIMS,
  attention_decode_subgroup8: HEAD_DIMS,
  attention_decode_tiled: HEAD_DIMS,
  attention_forward_subgroup8: HEAD_DIMS,
  attention_forward_tiled: HEAD_DIMS,
  gemm_subgroup8: [{ ACTIVATION: 1 }, { ACTIVATION: 2 }],
  gemm_tiled: [{ TILE: 128 }, { ACTIVATION: 1 }, { ACTIVATION: 2 }],
};

/** The default overrides, each bool by itself, and the table's. */
function variantsOf(name: KernelName): Record<string, number>[] {
  const bools = [...KERNEL_SOURCES[name].matchAll(/^\s*override\s+(\w+)\s*:\s*bool/gm)];
  return [{}, ...bools.map(([, override]) => ({ [override]: 1 })), ...VARIANTS[name] ?? []];
}

testOnEachDevice("KernelRegistry compiles every variant of every kernel", async ({ registry, gpu }) => {
  for (const name of Object.keys(KERNEL_SOURCES) as KernelName[]) {
    const { usesSubgroups } = parseKernel(name, KERNEL_SOURCES[name]);
    for (const overrides of variantsOf(name)) {
      if (usesSubgroups && gpu.info.subgroupSize === undefined) {
        assertThrows(() => registry.get(name, overrides), KernelError, `kernel ${name}: it needs subgroups`);
      } else {
        registry.get(name, overrides);
      }
    }
  }
  await registry.ready();
  assertGreater(registry.numPipelines, 10);
});

testOnEachDevice("KernelRegistry.get() compiles a kernel once per set of overrides", async ({ registry }) => {
  const first = registry.get("gemm_tiled", { TILE: 64, TRANSPOSE_A: 1 });
  assertStrictEquals(registry.get("gemm_tiled", { TRANSPOSE_A: 1, TILE: 64 }), first);
  registry.get("gemm_tiled", { TILE: 128, TRANSPOSE_A: 1 });
  assertEquals(registry.numPipelines, 2);
  await registry.ready();
});

/** A correct kernel but for line 4. */
const sourceWith = (line: string) =>
  `// a kernel
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1) fn main() {
  ${line}
}`;

for (const subgroups of [true, false]) {
  const kind = subgroups ? "with" : "without";
  Deno.test(`KernelRegistry.ready() names kernel and line of a WGSL error (${kind} subgroups)`, async () => {
    using gpu = await Gpu.open({ subgroups });
    for (
      const line of ["out[0] = 1u;", "out[0] = nothing;", "out[0] = ;", "out[0] = 1u + lane_sum(1f, LANES);"]
    ) {
      const registry = new KernelRegistry(gpu, { sources: { clip_factor: sourceWith(line) } });
      const error = await assertRejects(async () => {
        registry.get("clip_factor");
        await registry.ready();
      }, KernelError);
      assertEquals([error.kernel, error.line], ["clip_factor", 4], `${line} gave ${error.message}`);
    }
  });
}

/** The kernels whose texts hold a file of kernels/ besides their own, and all of their files. */
function assembledKernels(): { name: KernelName; files: Map<string, string> }[] {
  const texts = [...Deno.readDirSync("kernels")].map(({ name }): [string, string] => {
    return [name.replace(".wgsl", ""), Deno.readTextFileSync(`kernels/${name}`)];
  });
  return (Object.keys(KERNEL_SOURCES) as KernelName[]).map((name) => ({
    name,
    files: new Map(texts.filter(([, text]) => KERNEL_SOURCES[name].includes(text))),
  })).filter(({ files }) => files.size > 1);
}

testOnEachDevice(
  "KernelRegistry names file and line of an error in each part of a kernel",
  async ({ gpu }) => {
    const assembled = assembledKernels();
    assertEquals(assembled.length, 10);
    for (const { name, files } of assembled) {
      if (
        parseKernel(name, KERNEL_SOURCES[name]).usesSubgroups && gpu.info.subgroupSize === undefined
      ) continue;
      for (const [file, text] of files) {
        const lines = text.split("\n");
        const firstOfCode = lines.findIndex((line) => !line.startsWith("//"));
        for (const at of [firstOfCode, lines.length - 1]) {
          const broken = lines.toSpliced(at, 0, "const broken = nothing;").join("\n");
          const registry = new KernelRegistry(gpu, {
            sources: { [name]: KERNEL_SOURCES[name].replace(text, () => broken) },
          });
          const error = await assertRejects(() => {
            registry.get(name);
            return registry.ready();
          }, KernelError);
          assertEquals([error.kernel, error.file, error.line], [name, file, at + 1], error.message);
        }
      }
    }
  },
);

Deno.test("withHalfStorage() names file and line of what a part of a kernel does with a binding", () => {
  const files = assembledKernels().find(({ name }) => name === "gemm_tiled")?.files;
  const epilogue = files?.get("gemm_epilogue") ?? "";
  const lines = epilogue.split("\n");
  const at = lines.findIndex((line) => line.includes("c[at] = result;"));
  const broken = lines.toSpliced(at, 1, "c[at] = result +", "vec4f(f32(arrayLength(&c)));").join("\n");
  const source = KERNEL_SOURCES.gemm_tiled.replace(epilogue, () => broken);
  const error = assertThrows(() => withHalfStorage("gemm_tiled", source, ["c"]), KernelError);
  assertEquals([error.file, error.line], ["gemm_epilogue", at + 2]);
  assert(
    error.message.startsWith(`Cannot use kernel gemm_tiled (line ${at + 2} of gemm_epilogue.wgsl): c is`),
  );
});

testOnEachDevice("KernelRegistry.get() refuses an unknown kernel", ({ registry }) => {
  assertThrows(() => registry.get("gemm_tiles"), KernelError, "kernel gemm_tiles: it is unknown");
  return Promise.resolve();
});

testOnEachDevice("KernelRegistry.get() refuses an unknown override", ({ registry }) => {
  assertThrows(
    () => registry.get("gemm_tiled", { TILES: 64 }),
    KernelError,
    "kernel gemm_tiled: override TILES is unknown",
  );
  return Promise.resolve();
});

testOnEachDevice("Program.add() names what is missing, unknown or too large", ({ registry, gpu }) => {
  const program = new Program(registry, "refused");
  const [x, y, scale] = ["x", "y", "scale"].map((label) => gpu.tensor(label, [4]));
  const kernel = "rms_norm_forward";
  const right = { kernel, bindings: { x, y, scale }, params: { rows: 1, width: 4 }, grid: [1] } as const;
  const refuse = (changed: object, message: string) =>
    assertThrows(() => program.add({ ...right, ...changed }), KernelError, message);
  refuse({ bindings: { x, y } }, "binding scale is missing");
  refuse({ bindings: { x, y, scale, z: x } }, "binding z is unknown; known are x, y, scale");
  refuse({ params: { rows: 1 } }, "parameter width is missing");
  refuse({ grid: [0] }, "the grid is [0], expected 1 to 65535 workgroups");
  refuse({ grid: [1, 65536] }, "the grid is [1,65536]");
  assertEquals(program.length, 0);
  return Promise.resolve();
});

Deno.test("parseKernel() reads bindings, parameters, overrides and needs", () => {
  const parsed = parseKernel(
    "k",
    `// override NOT: u32; subgroupAdd(x)
override TILE: u32 = 4;
struct Params { rows: u32, scale: f32 }
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;
fn f() { lane_sum(1f, 0u); }`,
  );
  assertEquals(parsed, {
    bindings: [
      { name: "x", index: 0, access: "read" },
      { name: "y", index: 1, access: "read_write" },
      { name: "params", index: 2, access: "uniform" },
    ],
    params: [{ name: "rows", type: "u32" }, { name: "scale", type: "f32" }],
    overrides: ["TILE"],
    usesLanes: true,
    usesSubgroups: false,
  });
});

Deno.test("parseKernel() refuses declarations that are not of the plain form", () => {
  assertThrows(() => parseKernel("k", "struct Params { v: vec4f }"), KernelError, 'field "v: vec4f"');
  assertThrows(
    () => parseKernel("k", "@group(1) @binding(0) var<storage, read> x: array<f32>;"),
    KernelError,
    "binding x is in group 1",
  );
});
