import { assert, assertAlmostEquals, assertEquals, assertGreater } from "@std/assert";
import {
  type BenchCase,
  BenchMemory,
  kernelCases,
  measureCase,
} from "../../../lib/cli/bench/kernel_bench.ts";
import { Gpu } from "../../../lib/tensor/device.ts";
import { addRmsNorm } from "../../../lib/tensor/ops/rms_norm.ts";
import { Program } from "../../../lib/tensor/program.ts";
import { KernelRegistry } from "../../../lib/tensor/registry.ts";

Deno.test("kernelCases() returns runnable cases with distinct names", async () => {
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const cases = kernelCases();
  assertEquals(new Set(cases.map(({ name }) => name)).size, cases.length);
  for (const { name, work, prepare } of cases) {
    using memory = new BenchMemory(gpu);
    const program = new Program(registry, name);
    prepare(memory)(program);
    program.run();
    assertGreater(work, 0);
    await registry.ready();
    await gpu.finish();
  }
});

Deno.test("measureCase() returns a median between the slowest and the fastest batch", async () => {
  using gpu = await Gpu.open();
  const registry = new KernelRegistry(gpu);
  const length = 65_536;
  for (const unit of ["GFLOP/s", "ns/element"] as const) {
    const benchCase: BenchCase = {
      name: "rmsNorm",
      unit,
      work: length,
      prepare(memory) {
        const [x, y] = ["x", "y"].map((label) => memory.float32(label, [length]));
        const shape = { rows: length / 128, width: 128 };
        const scale = memory.float32("scale", [shape.rows]);
        return (program) => addRmsNorm(program, { x, y, scale, ...shape });
      },
    };
    const row = await measureCase(registry, benchCase, { seconds: 0.05 });
    const better = unit === "GFLOP/s" ? row.fastest - row.slowest : row.slowest - row.fastest;
    assert(better >= 0 && row.median > 0, JSON.stringify(row));
    const [low, high] = [row.slowest, row.fastest].sort((a, b) => a - b);
    assert(low <= row.median && row.median <= high, JSON.stringify(row));
    assertGreater(row.repetitions, 6);
    const secondsPerRepetition = row.unit === "GFLOP/s"
      ? length / row.median / 1e9
      : length * row.median / 1e9;
    // rmsNorm reads x and writes y and one scale per row.
    const bytes = 4 * (2 * length + length / 128);
    assertAlmostEquals(row.gigabytesPerSecond, bytes / secondsPerRepetition / 1e9, 1e-9);
  }
});
