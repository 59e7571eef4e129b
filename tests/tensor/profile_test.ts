import { assert, assertEquals } from "@std/assert";
import { addRmsNorm } from "../../lib/tensor/ops/rms_norm.ts";
import { describeProfile, mergeProfiles, type ProfileRow, Program } from "../../lib/tensor/program.ts";
import { assertSameBits, randomNormal, testOnEachDevice } from "./support.ts";

const rowOf = (label: string, seconds: number): ProfileRow => ({
  label,
  calls: 1,
  seconds,
  flops: seconds * 3e9,
  bytes: 1e6,
});

Deno.test("mergeProfiles() adds the rows of one label and puts the slowest first", () => {
  assertEquals(mergeProfiles([[rowOf("a", 1), rowOf("b", 3)], [rowOf("c", 0.5), rowOf("a", 3)]]), [
    { label: "a", calls: 2, seconds: 4, flops: 12e9, bytes: 2e6 },
    rowOf("b", 3),
    rowOf("c", 0.5),
  ]);
});

Deno.test("describeProfile() has a column for each number, and no speed where none was declared", () => {
  const rows = [rowOf("matrix product", 0.3), { ...rowOf("copy", 0.1), flops: 0, bytes: 2e8 }];
  assertEquals(describeProfile(rows).split("\n"), [
    "kernel          calls      ms   share  GFLOP/s  GB/s",
    "matrix product      1  300.00  75.0 %      3.0  0.00",
    "copy                1  100.00  25.0 %           2.00",
    "all                    400.00",
  ]);
});

testOnEachDevice("Program.profile() counts bytes and gives the results of run()", async (bench) => {
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
