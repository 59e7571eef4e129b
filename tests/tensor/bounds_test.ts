import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Gpu } from "../../lib/tensor/device.ts";
import { Program } from "../../lib/tensor/program.ts";
import { KernelRegistry } from "../../lib/tensor/registry.ts";
import { withBoundsChecks } from "./bounds.ts";
import { KernelBench } from "./support.ts";

/** One thread for each of x and y, which have 8 vec4. */
const kernel = (statement: string) => `
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
struct Row { part: array<f32, 3> }
const WIDTH = 4u;
var<workgroup> tile: array<array<f32, WIDTH>, 2>;

fn part(row: ptr<function, Row>, i: u32) -> f32 { return (*row).part[i]; }

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
  var row = Row();
  let v = x[0];
  tile[i / 4u][i % 4u] = f32(i);
  workgroupBarrier();
  ${statement}
}
`;

/** Statements, each with its out-of-bounds access. */
const CASES: [statement: string, fault?: string | undefined][] = [
  ["y[i] = vec4f(x[7u - i].x, part(&row, i % 3u), tile[i % 2u][i / 2u], v[i / 2u]);"],
  ["y[i] = x[i + 1u];", "x at index 8"],
  ["y[i] = x[i - 1u];", "x at index 4294967295"],
  ["y[i] = x[u32(x[i + 3u].x)];", "x at index 10"],
  ["y[2u * i] = v;", "y at index 14"],
  ["if (i > 5u) { y[i * 5u] += v; }", "y at index 35"],
  ["if (i == 7u) { y[8] = v; return; } y[i] = v;", "y at index 8"],
  ["y[i].x = tile[i / 3u][i % 4u];", "tile at index 2"],
  ["y[i].x = tile[i % 2u][i];", "tile[i] at index 7"],
  ["tile[1][i % 6u] = 1f;", "tile[i] at index 5"],
  ["y[i].x = part(&row, i % 4u);", "(*row).part at index 3"],
  ["y[i].x = v[i];", "a vec4 at index 7"],
  ["y[i].x = x[i][i % 5u];", "a vec4 at index 4"],
];

/** For matrix units; a matrix of sums fills the tile. */
const matrixKernel = (at: string) => `
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
const ROW = MATRIX / 4u;
var<workgroup> tile: array<vec4u, MATRIX * ROW>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) i: u32) {
  for (var at = i; at < MATRIX * ROW; at += LANES) { tile[at] = bitcast<vec4u>(x[0]); }
  workgroupBarrier();
  let left = subgroupMatrixLoad<Left, row_major>(&tile, ${at}, ROW);
  let sum = subgroupMatrixMultiplyAccumulate(left, Right(), Sum());
  workgroupBarrier();
  subgroupMatrixStore<row_major>(&tile, ${at}, sum, ROW);
  workgroupBarrier();
  y[0] = bitcast<vec4f>(tile[0]);
}
`;

/** On a device that clamps indexes. */
async function findsFaults(subgroups: boolean): Promise<void> {
  using gpu = await Gpu.open({ subgroups, toggles: [] });
  const bench = new KernelBench(gpu);
  const { matrix } = gpu.info;
  const side = matrix?.side ?? 0;
  const ofMatrices: typeof CASES = [
    [matrixKernel("u32(x[0].x)")],
    [matrixKernel("u32(x[0].x) + 1u"), `tile at index ${side * side / 4}`],
  ];
  const sources = CASES.map(([statement, fault]): typeof CASES[0] => [kernel(statement), fault]);
  for (const [source, fault] of [...sources, ...matrix ? ofMatrices : []]) {
    const registry = new KernelRegistry(gpu, { sources: { copy: source } });
    const program = new Program(registry, "test");
    const [x, y] = ["x", "y"].map((label) => gpu.tensor(label, [32]));
    program.add({ kernel: "copy", bindings: { x, y }, grid: [1] });
    program.run();
    await registry.ready();
    if (fault) await assertRejects(() => bench.check(), Error, `copy: ${fault}`, source);
    else await bench.check();
  }
}

async function findsUnwritten(subgroups: boolean): Promise<void> {
  using gpu = await Gpu.open({ subgroups, toggles: [] });
  const unwritten = kernel("y[i].x = spare[i / 4u][i % 4u];");
  const sources = { copy: `${unwritten}var<workgroup> spare: array<array<f32, 4>, 2>;\n` };
  const bench = new KernelBench(gpu);
  const program = new Program(new KernelRegistry(gpu, { sources }), "test");
  const [x, y] = ["x", "y"].map((label) => gpu.tensor(label, [32]));
  program.add({ kernel: "copy", bindings: { x, y }, grid: [1] });
  program.run();
  const [values] = await bench.read(y);
  assertEquals(values.filter((_, i) => i % 4 === 0), new Float32Array(8).fill(NaN));
}

for (const subgroups of [true, false]) {
  const on = subgroups ? "with" : "without";
  Deno.test(`a watched device detects each out-of-bounds access (${on} subgroups)`, () =>
    findsFaults(subgroups));
  Deno.test(`a watched device initialises workgroup memory to NaN (${on} subgroups)`, () =>
    findsUnwritten(subgroups));
}

Deno.test("withBoundsChecks() rejects a pointer to an array, which it cannot check", () => {
  const fault = "&x is a pointer to an array, expected only x[i]";
  assertThrows(() => withBoundsChecks(kernel("y[i] = first(&x);"), () => 1), Error, fault);
});
