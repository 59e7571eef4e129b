import { assertRejects } from "@std/assert";
import { Gpu } from "../../lib/tensor/device.ts";
import { Program } from "../../lib/tensor/program.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { KernelBench } from "./support.ts";

/** One thread for each of x and y, which have 8 vec4. */
const kernel = (statement: string) => `
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
var<workgroup> tile: array<array<f32, 4>, 2>;

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  tile[i / 4u][i % 4u] = f32(i);
  workgroupBarrier();
  ${statement}
}
`;

/** Statements, each with its out-of-bounds access. */
const CASES: [statement: string, fault?: string][] = [
  ["y[i] = vec4f(x[7u - i].x, tile[i % 2u][i / 2u], x[i][i % 4u], 0f);"],
  ["y[i] = x[i + 1u];", "x at index 8"],
  ["y[2u * i] = x[i];", "y at index 14"],
  ["y[i].x = tile[i % 2u][i];", "tile[i] at index 7"],
  ["y[i].x = x[i][i % 5u];", "a vec4 at index 4"],
];

Deno.test("a watched device detects out-of-bounds accesses", async () => {
  using gpu = await Gpu.open({ toggles: [] });
  const bench = new KernelBench(gpu);
  for (const [statement, fault] of CASES) {
    const registry = new KernelRegistry(gpu, { sources: { copy: kernel(statement) } });
    const program = new Program(registry, "test");
    const [x, y] = ["x", "y"].map((label) => gpu.tensor(label, [32]));
    program.add({ kernel: "copy", bindings: { x, y }, grid: [1] });
    program.run();
    await registry.ready();
    if (fault) await assertRejects(() => bench.check(), Error, `copy: ${fault}`, statement);
    else await bench.check();
  }
});
