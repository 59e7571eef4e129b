import { assert, assertEquals } from "@std/assert";
import { resolve, toFileUrl } from "@std/path";
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

type Dependency = { specifier: string } | undefined;

interface Graph {
  modules: { specifier: string; dependencies?: { code?: Dependency; type?: Dependency }[] }[];
}

/** The path of every file of TypeScript in a folder and those in it. */
function sourcesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return sourcesIn(path);
    return name.endsWith(".ts") ? [path] : [];
  });
}

/** Each module of lib/ and tasks/ and what it imports, also of types only. */
async function importsOfSources(): Promise<Map<string, string[]>> {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  const addresses = ["lib", "tasks"].flatMap(sourcesIn).map((path) => toFileUrl(resolve(path)).href);
  await Deno.writeTextFile(
    entry,
    addresses.map((address) => `import ${JSON.stringify(address)};\n`).join(""),
  );
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--config", "deno.json", entry],
    stderr: "null",
  }).output();
  await Deno.remove(entry);
  assert(success, "deno info failed");
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as Graph;
  const imports = modules.map(({ specifier, dependencies = [] }): [string, string[]] => {
    return [
      specifier,
      dependencies.flatMap(({ code, type }) => [code, type]).flatMap((to) => to?.specifier ?? []),
    ];
  });
  return new Map(imports.filter(([specifier]) => addresses.includes(specifier)));
}

Deno.test("the modules of lib/ and tasks/ import each other in no cycle, not even types", async () => {
  const imports = await importsOfSources();
  assert(imports.size > 400, `only ${imports.size} modules were found`);
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
