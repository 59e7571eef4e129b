import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { outputOf, succeeded } from "../cli/process.ts";
import { LocalRegistry } from "./local_registry.ts";

const PIPED = { stdout: "piped", stderr: "piped" } as const;

Deno.test("deno publish includes what a user needs and nothing else", async () => {
  await using registry = await LocalRegistry.of(fromFileUrl(new URL("../../", import.meta.url)));
  const top = new Set(registry.files.map((path) => path.split("/")[1]));
  const needed = ["LICENSE", "README.md", "configs", "deno.json", "kernels", "lib", "mod.ts", "tasks"];
  assertEquals([...top].sort(), needed);
  // It is published although git ignores it.
  assert(registry.files.includes("/lib/serve/page_bundle.json"));
  assertEquals(registry.files.filter((path) => /\.tsx$|_test\.ts$|golden|\.(py|lock)$/.test(path)), []);
});

Deno.test("importing the library resolves no package for charts", async () => {
  const args = ["info", "--json", fromFileUrl(new URL("../../mod.ts", import.meta.url))];
  const { stdout } = await succeeded(outputOf(new Deno.Command(Deno.execPath(), { args, ...PIPED }).spawn()));
  const modules: { specifier: string; npmPackage?: string }[] = JSON.parse(stdout).modules;
  assert(modules.some(({ specifier }) => specifier.endsWith("/lib/base/report/charts.ts")));
  assertEquals(modules.flatMap(({ npmPackage = "" }) => npmPackage.match(/^vega.*/) ?? []), []);
});
