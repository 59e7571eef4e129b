import { assertEquals, assertMatch } from "@std/assert";
import { storageRaces } from "./kernel_races.ts";

const textOf = (name: string) => Deno.readTextFileSync(`kernels/${name}`);

Deno.test("no kernel reads an element of a storage buffer that another lane writes without storageBarrier()", () => {
  const names = [...Deno.readDirSync("kernels")].map(({ name }) => name).filter((name) =>
    name.endsWith(".wgsl")
  );
  assertEquals(names.length > 30, true);
  const faults = names.flatMap((name) =>
    storageRaces(textOf(name)).map((fault) => `kernels/${name}: ${fault}`)
  );
  assertEquals(faults, []);
});

Deno.test("storageRaces() finds a barrier of the wrong memory, a missing one, and a sum of lanes in its place", () => {
  const right = textOf("adamw_rows.wgsl");
  for (const between of ["workgroupBarrier();", "", "let all = lane_sum(t, lane);"]) {
    const [fault] = storageRaces(right.replace("storageBarrier();", between));
    assertMatch(fault ?? "", /^num_updates\[row\] is read and num_updates\[row\] written without/, between);
  }
});

Deno.test("storageRaces() finds a row that its lanes write and one lane reads", () => {
  const right = textOf("rms_norm_forward.wgsl");
  const [fault] = storageRaces(right.replace("scale[row] = s;", "scale[row] = y[base].x;"));
  assertMatch(fault ?? "", /^y\[base\] is read and y\[base \+ i\] written without/);
});
