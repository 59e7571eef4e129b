import { assert, assertEquals } from "@std/assert";
import { faultOfImport } from "./layering.ts";

Deno.test("faultOfImport() accepts imports down the layers", () => {
  assertEquals(faultOfImport("lib/model/forward.ts", "../gpu/program.ts"), undefined);
  assertEquals(faultOfImport("lib/model/forward.ts", "./config.ts"), undefined);
  assertEquals(faultOfImport("lib/gpu/ops/gemm.ts", "../program.ts"), undefined);
  assertEquals(faultOfImport("tasks/train.ts", "../lib/train/trainer.ts"), undefined);
  assertEquals(faultOfImport("lib/gpu/kernels.ts", "../../kernels/gemm.wgsl"), undefined);
});

Deno.test("faultOfImport() refuses imports up the layers, of private files and of kernels", () => {
  assertEquals(faultOfImport("lib/gpu/program.ts", "../model/config.ts"), "lib/gpu may not import lib/model");
  assertEquals(faultOfImport("lib/tokens/ip.ts", "../gpu/device.ts"), "lib/tokens may not import lib/gpu");
  assert(faultOfImport("lib/model/forward.ts", "../gpu/_private.ts"));
  assert(faultOfImport("lib/model/forward.ts", "../../kernels/gemm.wgsl"));
  assert(faultOfImport("lib/train/trainer.ts", "../../tasks/train.ts"));
  assert(faultOfImport("lib/unknown/a.ts", "../gpu/device.ts"));
});

interface Graph {
  modules: { specifier: string; dependencies?: { code?: { specifier: string } }[] }[];
}

async function modulesOf(entry: string): Promise<Graph["modules"]> {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", entry],
    stderr: "null",
  }).output();
  assert(success, `deno info ${entry} failed`);
  return (JSON.parse(new TextDecoder().decode(stdout)) as Graph).modules;
}

Deno.test("the modules of lib/ and tasks/ import each other in no cycle", async () => {
  const modules = [...await modulesOf("mod.ts"), ...await modulesOf("tasks/main.ts")];
  const imports = new Map(
    modules.filter(({ specifier }) => specifier.startsWith("file:")).map((module) => [
      module.specifier,
      (module.dependencies ?? []).flatMap(({ code }) => code ? [code.specifier] : []),
    ]),
  );
  assert(imports.size > 10, `only ${imports.size} modules were found`);
  const state = new Map<string, "open" | "done">();
  const visit = (specifier: string, path: string[]) => {
    if (state.get(specifier) === "done") return;
    assert(state.get(specifier) !== "open", `import cycle: ${[...path, specifier].join(" -> ")}`);
    state.set(specifier, "open");
    for (const next of imports.get(specifier) ?? []) visit(next, [...path, specifier]);
    state.set(specifier, "done");
  };
  for (const specifier of imports.keys()) visit(specifier, []);
});
