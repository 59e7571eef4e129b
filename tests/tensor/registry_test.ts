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
import {
  KERNEL_SOURCES,
  type KernelName,
  parseKernel,
  withConstants,
  withUnrolledLoops,
} from "../../lib/tensor/kernels.ts";
import { describeProfile, mergeProfiles, type ProfileRow, Program } from "../../lib/tensor/program.ts";
import { assertClose, assertSameBits, randomNormal, testOnEachDevice, testOnEachLayout } from "./support.ts";
import { addCopy } from "../../lib/tensor/ops/common.ts";
import { addSum } from "../../lib/tensor/ops/reduce.ts";
import { HALF_STORAGE } from "../tolerances.ts";
import { addRmsNorm } from "../../lib/tensor/ops/rms_norm.ts";

const HEAD_DIMS = [{ HEAD_DIM: 64 }, { HEAD_DIM: 128 }];

/** Override values to compile other than the defaults; both values of a `bool` are compiled anyway. */
const VARIANTS: Partial<Record<KernelName, Record<string, number>[]>> = {
  attention_backward_key_matrix: [{ HEAD_DIM: 32 }],
  attention_backward_key_subgroup8: HEAD_DIMS,
  attention_backward_key_tiled: HEAD_DIMS,
  attention_backward_query_matrix: [{ HEAD_DIM: 32 }],
  attention_backward_query_subgroup8: HEAD_DIMS,
  attention_backward_query_tiled: HEAD_DIMS,
  attention_decode_subgroup8: HEAD_DIMS,
  attention_decode_tiled: HEAD_DIMS,
  attention_forward_matrix: [{ HEAD_DIM: 32 }],
  attention_forward_subgroup8: HEAD_DIMS,
  attention_forward_tiled: HEAD_DIMS,
  embedding_backward: [{ COLUMNS: 4, LOADS: 8 }],
  gemm_matrix: [{ ACTIVATION: 1 }, { ACTIVATION: 2 }],
  gemm_subgroup8: [{ ACTIVATION: 1 }, { ACTIVATION: 2 }],
  gemm_tiled: [{ TILE: 128 }, { ACTIVATION: 1 }, { ACTIVATION: 2 }],
  qk_norm_rope_backward: [{ HEAD_LANES: 8, NUM_KEPT: 2 }],
  qk_norm_rope_forward: [{ HEAD_LANES: 8, NUM_KEPT: 2 }],
  rms_norm_backward: [{ NUM_KEPT: 12 }],
  rms_norm_forward: [{ NUM_KEPT: 12 }],
};

/** The default overrides, each bool changed by itself, and the table's. */
function variantsOf(name: KernelName): Record<string, number>[] {
  const bools = [...KERNEL_SOURCES[name].matchAll(/^\s*override\s+(\w+)\s*:\s*bool/gm)];
  return [{}, ...bools.map(([, override]) => ({ [override]: 1 })), ...VARIANTS[name] ?? []];
}

testOnEachDevice("KernelRegistry compiles every variant of every kernel", async ({ registry, gpu }) => {
  for (const name of Object.keys(KERNEL_SOURCES) as KernelName[]) {
    for (const overrides of variantsOf(name)) {
      if (runsOn(gpu, name)) {
        registry.get(name, overrides);
      } else {
        assertThrows(() => registry.get(name, overrides), KernelError, `kernel ${name}: it needs `);
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

/** Where a kernel uses a variable to index something other than its bindings and workgroup memory. */
function indexedVariables(source: string): string[] {
  const code = source.replace(/\/\/.*/g, "");
  const memory = new Set([...code.matchAll(/var<[^>]*>\s*(\w+)/g)].map(([, name]) => name));
  return [...code.matchAll(/(\w+)\)?(?:\.\w+)*\[([^\]]+)\]/g)]
    .filter(([, name, index]) => !memory.has(name) && !/^\d+u?( % [A-Z]+)?$/.test(index)).map(([access]) =>
      access
    );
}

Deno.test("GPU kernels keep sums and loads in registers, never indexed by a variable", () => {
  const names = Object.keys(KERNEL_SOURCES) as KernelName[];
  const checked = names.filter((name) => !name.endsWith("_subgroup8") && name !== "cross_entropy");
  for (const name of checked) {
    assertEquals(indexedVariables(withUnrolledLoops(withConstants(KERNEL_SOURCES[name], {}))), [], name);
  }
  assertEquals(indexedVariables("fn f(x: mat4x4f, i: u32) -> vec4f { return x[i] + x[2u]; }"), ["x[i]"]);
});

Deno.test("withUnrolledLoops() unrolls loops and keeps line numbers", () => {
  const loop =
    "for (var k = 0u; k < NUM; k++) { // unrolled\n  let i = k; // of k\n  if (kk[k] > 0u) { x[i] = k; }\n}\nnext";
  assertEquals(
    withUnrolledLoops(`const NUM: u32 = 2;\n${loop}`),
    "const NUM: u32 = 2;\n" +
      "{ let i = 0u; if (kk[0u] > 0u) { x[i] = 0u; } } { let i = 1u; if (kk[1u] > 0u) { x[i] = 1u; } }\n\n\n\nnext",
  );
  assertEquals(withUnrolledLoops(`const NUM = 0u;\n${loop}`), "const NUM = 0u;\n\n\n\n\nnext");
  assertThrows(() => withUnrolledLoops(loop), Error, "NUM of an unrolled loop is not a constant");
});

/** A kernel that is correct except for line 4. */
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
      const compile = async () => {
        registry.get("clip_factor");
        await registry.ready();
      };
      await assertRejects(compile, KernelError, "Cannot use kernel clip_factor (line 4): ", line);
    }
  });
}

function runsOn({ info }: Gpu, name: KernelName): boolean {
  const { usesSubgroups, usesMatrices } = parseKernel(name, KERNEL_SOURCES[name]);
  return !(usesSubgroups && info.subgroupSize === undefined) && !(usesMatrices && !info.matrix);
}

/** The kernels whose sources include other files of kernels/, and all of their files. */
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
  "KernelRegistry reports the file and line of an error in each part of a kernel",
  async ({ gpu }) => {
    const assembled = assembledKernels();
    assertEquals(assembled.length, 13);
    for (const { name, files } of assembled) {
      if (!runsOn(gpu, name)) continue;
      for (const [file, text] of files) {
        const lines = text.split("\n");
        const firstOfCode = lines.findIndex((line) => !line.startsWith("//"));
        for (const at of [firstOfCode, lines.length - 1]) {
          const broken = lines.toSpliced(at, 0, "const broken = nothing;").join("\n");
          const registry = new KernelRegistry(gpu, {
            sources: { [name]: KERNEL_SOURCES[name].replace(text, () => broken) },
          });
          const compile = () => {
            registry.get(name);
            return registry.ready();
          };
          const place = file === name ? "" : ` of ${file}.wgsl`;
          await assertRejects(compile, KernelError, `Cannot use kernel ${name} (line ${at + 1}${place}): `);
        }
      }
    }
  },
);

Deno.test("withHalfStorage() names the file and line where a part of a kernel misuses a binding", () => {
  const files = assembledKernels().find(({ name }) => name === "gemm_tiled")?.files;
  const epilogue = files?.get("gemm_epilogue") ?? "";
  const lines = epilogue.split("\n");
  const at = lines.findIndex((line) => line.includes("c[at] = result;"));
  const broken = lines.toSpliced(at, 1, "c[at] = result +", "vec4f(f32(arrayLength(&c)));").join("\n");
  const source = KERNEL_SOURCES.gemm_tiled.replace(epilogue, () => broken);
  assertThrows(
    () => withHalfStorage("gemm_tiled", source, ["c"]),
    KernelError,
    `Cannot use kernel gemm_tiled (line ${at + 2} of gemm_epilogue.wgsl): c is`,
  );
});

testOnEachDevice("KernelRegistry.get() rejects an unknown kernel or override", ({ registry }) => {
  assertThrows(() => registry.get("gemm_tiles"), KernelError, "kernel gemm_tiles: it is unknown");
  assertThrows(
    () => registry.get("gemm_tiled", { TILES: 64 }),
    KernelError,
    "kernel gemm_tiled: override TILES is unknown",
  );
  return Promise.resolve();
});

testOnEachDevice(
  "Program.add() reports missing or unknown arguments and invalid grids",
  ({ registry, gpu }) => {
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
  },
);

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
    usesMatrices: false,
  });
});

Deno.test("parseKernel() rejects unsupported declarations", () => {
  assertThrows(() => parseKernel("k", "struct Params { v: vec4f }"), KernelError, 'field "v: vec4f"');
  assertThrows(
    () => parseKernel("k", "@group(1) @binding(0) var<storage, read> x: array<f32>;"),
    KernelError,
    "binding x is in group 1",
  );
});

const DECLARATIONS = `@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
`;

/** A kernel body with y, or x and y, stored as f16. */
function changedBody(body: string, names = ["x", "y"]): string {
  const changed = withHalfStorage("k", DECLARATIONS + body, names);
  return changed.slice(
    changed.indexOf(";\n", changed.indexOf(" y:")) + 2,
    changed.indexOf("\nfn unpack_half"),
  );
}

Deno.test("withHalfStorage() rewrites reads, stores and sums, also when nested", () => {
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
  const source = `${DECLARATIONS}// a comment`;
  assertEquals(withHalfStorage("k", source, []), source);
});

Deno.test("withHalfStorage() rejects other arrays, names and uses, with the line", () => {
  const refuse = (source: string, name: string, message: string, line?: number) => {
    const error = assertThrows(() => withHalfStorage("k", source, [name]), KernelError, message);
    assertEquals(/ \(line (\d+)\)/.exec(error.message)?.[1], line?.toString());
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

testOnEachDevice("every vec4f array of every kernel can be f16", async ({ registry, gpu }) => {
  for (const [name, source] of Object.entries(KERNEL_SOURCES)) {
    if (!runsOn(gpu, name as KernelName)) continue;
    const names = [...source.matchAll(/var<storage[^>]*>\s*(\w+)\s*:\s*array<vec4f>/g)].map(([, name]) =>
      name
    );
    if (names.length > 0) registry.get(name, {}, names);
  }
  await registry.ready();
  assertGreater(registry.numPipelines, 15);
});

testOnEachLayout("a kernel reads and writes every finite f16", async (bench) => {
  // The first 8 are repeated at the end, so that the last workgroup is not full.
  const bits = Uint16Array.from({ length: 65536 + 8 }, (_, i) => i).filter((i) => (i & 0x7c00) !== 0x7c00);
  const all = Float32Array.from(new Float16Array(bits.buffer));
  const [x, length] = [bench.input("x", [all.length], all, "f16"), all.length];
  const [y, z] = [bench.output("y", [length]), bench.output("z", [length], undefined, "f16")];
  await bench.run((program) => {
    addCopy(program, { x, y, length });
    addCopy(program, { x: y, y: z, length });
  });
  for (const actual of await bench.read(y, z)) {
    // WGSL allows subnormal numbers to be flushed to zero (15.7.2).
    const at = actual.findIndex((value, i) =>
      value !== all[i] && !(value === 0 && Math.abs(all[i]) < HALF_STORAGE.absolute)
    );
    assert(at < 0, `${actual[at]} instead of ${all[at]}`);
  }
});

testOnEachDevice(
  "a kernel rounds to a neighbouring f16, and stores NaN for out-of-range values",
  async (bench) => {
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
  },
);

testOnEachDevice(
  "KernelRegistry compiles a kernel once per set of f16 bindings",
  async ({ registry, gpu }) => {
    const [x, y] = ["x", "y"].map((label) => gpu.tensor(label, [4], "f16"));
    const z = gpu.tensor("z", [4]);
    const program = new Program(registry, "copies");
    for (const args of [{ x, y: z }, { x, y: z }, { x: z, y }, { x, y }, { x: z, y: gpu.tensor("w", [4]) }]) {
      addCopy(program, { ...args, length: 4 });
    }
    assertEquals(registry.numPipelines, 4);
    await registry.ready();
  },
);

testOnEachDevice(
  "Program.add() rejects an f16 tensor for a binding with f32 elements",
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

const rowOf = (label: string, seconds: number): ProfileRow => ({
  label,
  calls: 1,
  seconds,
  flops: seconds * 3e9,
  bytes: 1e6,
});

Deno.test("mergeProfiles() sums rows by label and sorts the slowest first", () => {
  assertEquals(mergeProfiles([[rowOf("a", 1), rowOf("b", 3)], [rowOf("c", 0.5), rowOf("a", 3)]]), [
    { label: "a", calls: 2, seconds: 4, flops: 12e9, bytes: 2e6 },
    rowOf("b", 3),
    rowOf("c", 0.5),
  ]);
});

Deno.test("describeProfile() prints a column for each number, and no speed where none was declared", () => {
  const rows = [rowOf("matrix product", 0.3), { ...rowOf("copy", 0.1), flops: 0, bytes: 2e8 }];
  assertEquals(describeProfile(rows).split("\n"), [
    "kernel          calls      ms   share  GFLOP/s  GB/s",
    "matrix product      1  300.00  75.0 %      3.0  0.00",
    "copy                1  100.00  25.0 %           2.00",
    "all                    400.00",
  ]);
});

testOnEachDevice("Program.profile() counts bytes and computes the same results as run()", async (bench) => {
  const [rows, width] = [5, 64];
  const x = bench.input("x", [rows, width], randomNormal("x", rows * width));
  const results: Float32Array[] = [];
  for (const isProfiled of [false, true]) {
    const [y, scale] = [bench.output("y", [rows, width]), bench.output("scale", [rows])];
    const program = new Program(bench.registry, "normalisation");
    for (let i = 0; i < 2; i++) addRmsNorm(program, { x, y, scale, rows, width });
    const bytes = 2 * 4 * (2 * rows * width + rows);
    assertEquals(program.bytes, bytes);
    if (isProfiled) {
      const profile = mergeProfiles([await program.profile()]);
      assertEquals(profile.map(({ calls, bytes }) => ({ calls, bytes })), [{ calls: 2, bytes }]);
      assert(profile[0].seconds > 0);
    } else program.run();
    results.push(...await bench.read(y));
  }
  assertSameBits(results[0], results[1], "y");
});

/** Replaces the clocks of a device and its host: a workgroup takes a second, all else takes no time. */
function countWorkgroups(gpu: Gpu): void {
  let now = 0n;
  const ticks = new Map<number, bigint>();
  const works = new WeakMap<GPUCommandBuffer, () => void>();
  const { device } = gpu;
  const { createCommandEncoder } = device;
  device.createCommandEncoder = (descriptor) => {
    const encoder = createCommandEncoder.call(device, descriptor);
    const { beginComputePass, finish } = encoder;
    const steps: (() => void)[] = [];
    const tick = (index: number | undefined) => {
      if (index !== undefined) steps.push(() => ticks.set(index, now));
    };
    encoder.beginComputePass = (descriptor) => {
      const pass = beginComputePass.call(encoder, descriptor);
      const { dispatchWorkgroups, end } = pass;
      const { beginningOfPassWriteIndex, endOfPassWriteIndex } = descriptor?.timestampWrites ?? {};
      tick(beginningOfPassWriteIndex);
      pass.dispatchWorkgroups = (x, y = 1, z = 1) => {
        dispatchWorkgroups.call(pass, x, y, z);
        steps.push(() => now += BigInt(x * y * z));
      };
      pass.end = () => {
        end.call(pass);
        tick(endOfPassWriteIndex);
      };
      return pass;
    };
    encoder.finish = (descriptor) => {
      const commands = finish.call(encoder, descriptor);
      works.set(commands, () => steps.forEach((step) => step()));
      return commands;
    };
    return encoder;
  };
  const { submit } = device.queue;
  device.queue.submit = (all) => {
    submit.call(device.queue, all);
    for (const commands of all) works.get(commands)?.();
  };
  const timeS = gpu.timeS.bind(gpu);
  gpu.timeS = async (submit) => {
    const before = now;
    await timeS(submit);
    return Number(now - before);
  };
  const read = gpu.read.bind(gpu);
  gpu.read = async (...tensors) => {
    const results = await read(...tensors);
    return results.map((result, i) => {
      if (tensors[i].label !== "timestamps") return result;
      const own = new BigUint64Array(result.length / 2);
      // Dawn's ticks are nanoseconds.
      const ticksPerS = gpu.info.engine === "dawn" ? 10n ** 9n : 1n;
      for (const [index, at] of ticks) own[index] = at * ticksPerS;
      return new Float32Array(own.buffer);
    });
  };
}

for (const subgroups of [true, false]) {
  Deno.test(`Program.profile() times each dispatch separately (${subgroups ? "with" : "without"} timestamps)`, async () => {
    // A separate device, because its methods are replaced.
    using gpu = await Gpu.open({ subgroups });
    countWorkgroups(gpu);
    const program = new Program(new KernelRegistry(gpu, { rows: { rowsPerGroup: 1 } }), "normalisations");
    const numRows = [1, 2000, 30];
    for (const rows of numRows) {
      const [x, y] = ["x", "y"].map((label) => gpu.tensor(label, [rows, 64]));
      addRmsNorm(program, { x, y, scale: gpu.tensor("scale", [rows]), rows, width: 64 });
    }
    const profile = await program.profile();
    assertEquals(profile.map(({ seconds }) => seconds), numRows);
  });
}
